//! Every tool as a model sees it: name, description, schema. What a tool does is elsewhere.

use serde_json::{Value, json};

use super::{listing, read, script, search, shell};
use crate::model::ToolDefinition;

/// Returns all tools.
pub(super) fn all() -> Vec<ToolDefinition> {
    vec![
        read(),
        write(),
        edit(),
        shell(),
        grep(),
        find(),
        ls(),
        delegate(),
        script(),
    ]
}

fn tool(name: &str, description: String, required: &[&str], properties: Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description,
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn yes_no(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn number(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 1, "description": description })
}

fn globs(description: &str) -> Value {
    json!({
        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        "description": description,
    })
}

const FILE: &str = "The file, from the working directory or absolute.";

fn read() -> ToolDefinition {
    let description = format!(
        "Reads a text file: at most {} lines or {} KiB at a time, exactly as they are, without line numbers. \
         A longer file says how to go on. Tells of binary files and images what they are.",
        read::LINES,
        read::BYTES >> 10
    );
    let properties = json!({
        "path": text(FILE),
        "offset": number("First line, from 1."),
        "limit": number("How many lines."),
    });
    tool("read", description, &["path"], properties)
}

fn write() -> ToolDefinition {
    let description = "Writes a whole file, new or in place of the one there, and makes missing folders. \
                       To change a part of a file, use `edit`.";
    let properties = json!({
        "path": text(FILE),
        "content": text("All that the file shall hold."),
    });
    tool(
        "write",
        description.to_owned(),
        &["path", "content"],
        properties,
    )
}

fn edit() -> ToolDefinition {
    let description = "Replaces text in a file. `old` has to be exactly what is there, blanks included, and to be \
                       there once, unless `all` is true; give enough lines around it. `new` is taken literally. \
                       Line ends stay as the file has them.";
    let properties = json!({
        "path": text(FILE),
        "old": text("The exact text to replace."),
        "new": text("What stands there afterwards."),
        "all": yes_no("Whether to replace every occurrence."),
    });
    tool(
        "edit",
        description.to_owned(),
        &["path", "old", "new"],
        properties,
    )
}

fn shell() -> ToolDefinition {
    let description = format!(
        "Runs a command line with bash in the working directory. There is no input and no terminal: what asks a \
         person fails at once. Returns the end of the output; all of it is kept in a file. The call ends when the \
         shell ends; what it started in the background goes on and is named, and later output of that is lost \
         unless it goes to a file. Time-out: {} s, or as told, at most {} s.",
        shell::DEFAULT_TIMEOUT.as_secs(),
        shell::MOST_TIMEOUT.as_secs()
    );
    let properties = json!({
        "command": text("The command line."),
        "timeout_seconds": { "type": "number", "description": "How long it may run." },
    });
    tool("shell", description, &["command"], properties)
}

fn grep() -> ToolDefinition {
    let description = "Searches the lines of files for a regular expression (or plain text with `literal`). Leaves \
                       out what git ignores; a path that is named is searched even if ignored. Long lines are shown \
                       around the hit; of binary files only that they match.";
    let properties = json!({
        "pattern": text("What to search for; never an option, whatever it starts with."),
        "path": text("The file or folder; the working directory if left out."),
        "include": globs("Which files: globs as in .gitignore, from `path`. `*.{ts,tsx}` at any depth, `/src` only \
                          from there, `!*.d.ts` leaves out, `\\[id\\]` for brackets in names."),
        "literal": yes_no("Whether the pattern is plain text."),
        "ignore_case": yes_no("Whether upper and lower case are the same."),
        "limit": number(&format!("Most lines to return; {} if left out, at most {}.", search::HITS, search::MOST_HITS)),
    });
    tool("grep", description.to_owned(), &["pattern"], properties)
}

fn find() -> ToolDefinition {
    let description = "Finds files and folders by name. Leaves out what git ignores; a folder that is named is \
                       searched even if ignored. Folders end in `/`.";
    let properties = json!({
        "pattern": globs("Globs as in .gitignore, from `path`: `*.rs` at any depth, `/src/*.rs` only there, \
                          `test*/` folders, `!*.d.ts` leaves out."),
        "path": text("The folder; the working directory if left out."),
        "limit": number(&format!("Most names to return; {} if left out, at most {}.", search::NAMES, search::MOST_NAMES)),
    });
    tool("find", description.to_owned(), &["pattern"], properties)
}

fn ls() -> ToolDefinition {
    let description = format!(
        "Lists a folder: all names, also hidden and ignored ones, at most {}. Folders end in `/`, links in `@`.",
        listing::NAMES
    );
    let properties = json!({ "path": text("The folder; the working directory if left out.") });
    tool("ls", description, &[], properties)
}

fn delegate() -> ToolDefinition {
    let description = "Hands a task on to a conversation of its own, with the same tools and rules but none of this \
                       conversation's history, and returns its last answer. For work that stands by itself; several \
                       can go on at once. People can look into it, steer it and stop it.";
    let properties = json!({
        "task": text("All that it has to know and to do, and what to answer with."),
        "title": text("A few words for people."),
    });
    tool("delegate", description.to_owned(), &["task"], properties)
}

fn script() -> ToolDefinition {
    let description = format!(
        "Runs a small script that calls other tools, for work of many similar calls of which only the outcome matters: \
         filtering, counting, going through many files. The language is Rhai (like JavaScript and Rust): `let x = 1;`, \
         `for f in list {{ }}`, `if`, `fn name(a) {{ }}`, strings with `${{x}}` in backticks, maps `#{{ a: 1 }}`, arrays; \
         strings have `split`, `contains`, `index_of`, `sub_string`, `trim`, `len`; `parse_json(text)` and `to_json(map)`. \
         Functions and closures do not see variables outside of them: use loops. `tool(\"read\", #{{ path: \"a.txt\" }})` \
         calls a tool and returns its text; what fails or is refused throws (`try {{ }} catch (e) {{ }}`). Every call asks as \
         it would by itself. `script` and `delegate` cannot be called. The result is the last expression and what was \
         printed with `print`. There is no other access to files, time or network. At most {} calls, {} operations, {} s \
         of computing, texts of 256 KiB. It is never run a second time by itself.",
        crate::nested::MOST_CALLS,
        script::OPERATIONS,
        script::TIME.as_secs(),
    );
    let properties = json!({ "code": text("The script.") });
    tool("script", description, &["code"], properties)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an argument that fits its schema.
    fn sample(name: &str, schema: &Value) -> Value {
        match schema["type"].as_str() {
            Some("string") => json!(format!("some {name}")),
            Some("boolean") => json!(true),
            Some("integer" | "number") => json!(3),
            _ => json!(["*.a", "*.b"]),
        }
    }

    #[test]
    fn what_a_schema_allows_can_be_planned_and_what_it_requires_is_missed() {
        let cwd = &crate::location::Place::of(std::path::Path::new("/"));
        for tool in all() {
            let properties = tool.schema["properties"].as_object().expect("properties");
            let whole: serde_json::Map<_, _> = properties
                .iter()
                .map(|(name, schema)| (name.clone(), sample(name, schema)))
                .collect();
            let plan = crate::tool::plan(&tool.name, &json!(whole), cwd);
            assert!(plan.is_ok(), "{}: {plan:?}", tool.name);
            for required in tool.schema["required"].as_array().expect("names") {
                let name = required.as_str().expect("a name");
                let mut less = whole.clone();
                assert!(less.remove(name).is_some(), "{}: {name}", tool.name);
                let error = crate::tool::plan(&tool.name, &json!(less), cwd).expect_err("no plan");
                assert!(error.0.contains(&format!("`{name}`")), "{error}");
            }
        }
    }
}
