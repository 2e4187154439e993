//! What a server says of its tools, as a model may see it: names of a fixed alphabet, texts and schemas within bounds.
//! A server's own hints about what a tool does are not believed. It asks no server.

use std::collections::BTreeMap;

use ring::digest;
use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::{fit, model::ToolDefinition};

/// What the names of all of them start with.
pub(crate) const START: &str = "mcp_";
/// Longest name that every API takes.
const NAME_BYTES: usize = 64;
/// Most tools of one server.
pub(crate) const MOST_TOOLS: usize = 64;
/// Longest description, in bytes.
const DESCRIPTION_BYTES: usize = 2 << 10;
/// Largest schema, in bytes of JSON.
const SCHEMA_BYTES: usize = 16 << 10;

/// A tool as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    /// What the server calls it.
    pub(crate) original: String,
    /// What the model sees.
    pub(crate) definition: ToolDefinition,
}

/// Returns the tools of a server as they are offered, in the server's order.
pub(crate) fn offered(server: &str, tools: &[Tool]) -> Vec<Offered> {
    let mut taken = BTreeMap::new();
    let mut offered = Vec::new();
    for tool in tools.iter().take(MOST_TOOLS) {
        let plain = name(server, &tool.name, false);
        let name = match taken.contains_key(&plain) {
            false => plain,
            true => name(server, &tool.name, true),
        };
        if taken.insert(name.clone(), ()).is_none() {
            offered.push(Offered {
                original: tool.name.to_string(),
                definition: definition(server, name, tool),
            });
        }
    }
    offered
}

/// Returns `mcp_SERVER_TOOL`: letters, digits, `_` and `-`. What had to be changed for that, or is too long, ends in a
/// number made from the whole name, so that two tools do not become one.
fn name(server: &str, tool: &str, always_numbered: bool) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = tool
        .chars()
        .take(NAME_BYTES)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    let whole = format!("{START}{server}_{plain}");
    if plain == tool && whole.len() <= NAME_BYTES && !always_numbered {
        return whole;
    }
    let hash = digest::digest(&digest::SHA256, tool.as_bytes());
    let number: String = hash.as_ref()[..4]
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let room = NAME_BYTES - number.len() - 1;
    format!("{}_{number}", &whole[..whole.len().min(room)])
}

fn definition(server: &str, name: String, tool: &Tool) -> ToolDefinition {
    let said = tool.description.as_deref().unwrap_or_default();
    let said = fit::start(&plain(said), DESCRIPTION_BYTES);
    ToolDefinition {
        name,
        description: format!("(From the MCP server `{server}`.) {said}"),
        schema: schema(tool),
    }
}

/// Returns the schema of the arguments; one that is too large, or is none of an object, says that anything goes.
fn schema(tool: &Tool) -> Value {
    let schema = Value::Object((*tool.input_schema).clone());
    let fits = schema["type"] == "object" && schema.to_string().len() <= SCHEMA_BYTES;
    if fits {
        schema
    } else {
        json!({ "type": "object" })
    }
}

/// Returns a text without control characters but line ends and tabs.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn tool(name: &str, description: &str, schema: Value) -> Tool {
        let Value::Object(schema) = schema else {
            panic!("a schema is an object");
        };
        Tool::new(name.to_owned(), description.to_owned(), Arc::new(schema))
    }

    #[test]
    fn names_keep_to_the_alphabet_are_short_and_two_never_become_one() {
        let names = ["list", "a b", "a/b", "a\u{1b}b", "ä", "list", ""];
        let long = ["x".repeat(500), format!("{}y", "x".repeat(500))];
        let tools: Vec<_> = names
            .iter()
            .copied()
            .chain(long.iter().map(String::as_str))
            .map(|name| tool(name, "", json!({ "type": "object" })))
            .collect();
        let offered = offered("tracker", &tools);
        assert_eq!(offered[0].definition.name, "mcp_tracker_list");
        let mut seen = std::collections::BTreeSet::new();
        for one in &offered {
            let name = &one.definition.name;
            assert!(
                name.len() <= NAME_BYTES && name.starts_with("mcp_tracker_"),
                "{name}"
            );
            assert!(
                name.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
            );
            assert!(seen.insert(name.clone()), "{name} twice");
        }
    }

    #[test]
    fn texts_and_schemas_that_are_too_large_are_cut_and_numbers_of_tools_too() {
        let huge = json!({ "type": "object", "description": "s".repeat(1 << 20) });
        let one = tool("a", &"d\u{1b}".repeat(1 << 20), huge);
        let of = offered("s", &[one]);
        assert!(of[0].definition.description.len() < 3 << 10);
        assert!(!of[0].definition.description.contains('\u{1b}'));
        assert_eq!(of[0].definition.schema, json!({ "type": "object" }));
        let wrong = offered("s", &[tool("a", "", json!({ "type": "string" }))]);
        assert_eq!(wrong[0].definition.schema, json!({ "type": "object" }));
        let many: Vec<_> = (0..500)
            .map(|n| tool(&format!("t{n}"), "", json!({ "type": "object" })))
            .collect();
        assert_eq!(offered("s", &many).len(), MOST_TOOLS);
    }
}
