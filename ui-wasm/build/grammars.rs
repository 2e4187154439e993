//! The grammars with patterns that are cheap to compile: classes of Unicode letters, of which each pattern would carry
//! hundreds of ranges, become ASCII letters and everything beyond ASCII. It knows no colours.

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs,
    path::Path,
};

use serde::{Deserialize, Serialize};
use syntect::{
    dumps,
    parsing::{
        Regex, Scope,
        syntax_definition::{Context, Pattern},
    },
};

/// The languages that are coloured, by the names that find them.
const COLOURED: &str = include_str!("coloured.txt");

/// What stands for a class in the middle of brackets.
const WORD: &str = r"0-9A-Za-z_\x{80}-\x{10FFFF}";
const LETTER: &str = r"A-Za-z\x{80}-\x{10FFFF}";
const BEYOND: &str = r"\x{80}-\x{10FFFF}";
const DIGIT: &str = "0-9";

/// A dump of all syntaxes, as far as it is changed here.
#[derive(Serialize, Deserialize)]
struct Set {
    syntaxes: Vec<Syntax>,
    path_syntaxes: Vec<(String, usize)>,
}

#[derive(Serialize, Deserialize)]
struct Syntax {
    name: String,
    file_extensions: Vec<String>,
    scope: Scope,
    first_line_match: Option<String>,
    hidden: bool,
    variables: BTreeMap<String, String>,
    contexts: Vec<u8>,
}

#[derive(Default, Serialize, Deserialize)]
struct Contexts {
    ids: BTreeMap<String, (usize, usize)>,
    contexts: Vec<Context>,
}

/// Writes `grammars.bin` into `out`.
pub(crate) fn write(out: &Path) -> Result<(), Box<dyn Error>> {
    let path = out.join("grammars.bin");
    dumps::dump_to_uncompressed_file(&two_face::syntax::extra_newlines(), &path)?;
    let mut set: Set = dumps::from_uncompressed_data(&fs::read(&path)?)?;
    keep_coloured(&mut set);
    for syntax in &mut set.syntaxes {
        let mut contexts: Contexts = dumps::from_binary(&syntax.contexts);
        for context in &mut contexts.contexts {
            for pattern in &mut context.patterns {
                if let Pattern::Match(matched) = pattern {
                    matched.regex = Regex::new(cheaper(matched.regex.regex_str()));
                }
            }
        }
        syntax.contexts = dumps::dump_binary(&contexts);
    }
    dumps::dump_to_uncompressed_file(&set, &path)?;
    Ok(())
}

/// Empties the grammars of languages that are never coloured, unless one that is refers to them. Their places stay, since
/// grammars refer to each other by place.
fn keep_coloured(set: &mut Set) {
    let is_coloured = |syntax: &Syntax| {
        let named = |name: &str| syntax.name.eq_ignore_ascii_case(name);
        COLOURED
            .lines()
            .any(|name| named(name) || syntax.file_extensions.iter().any(|end| end == name))
    };
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    let mut open: Vec<usize> = (0..set.syntaxes.len())
        .filter(|at| is_coloured(&set.syntaxes[*at]))
        .collect();
    while let Some(at) = open.pop() {
        if kept.insert(at) {
            open.extend(referred(&set.syntaxes[at]));
        }
    }
    for (at, syntax) in set.syntaxes.iter_mut().enumerate() {
        if !kept.contains(&at) {
            syntax.file_extensions.clear();
            syntax.first_line_match = None;
            syntax.variables.clear();
            syntax.contexts = dumps::dump_binary(&Contexts::default());
        }
    }
    set.path_syntaxes.retain(|(_, at)| kept.contains(at));
}

/// Returns the places of the grammars that one refers to. The fields are private, so they are read from the debug form.
fn referred(syntax: &Syntax) -> Vec<usize> {
    let contexts: Contexts = dumps::from_binary(&syntax.contexts);
    let text = format!("{:?}", contexts.contexts);
    let place = |part: &str| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        part[..digits].parse().ok()
    };
    text.split("syntax_index: ")
        .skip(1)
        .filter_map(place)
        .collect()
}

/// Returns the pattern with its classes of Unicode letters replaced.
fn cheaper(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut depth = 0_usize;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let (ranges, length) = class(rest);
        match (c, ranges) {
            (_, Some(ranges)) if depth > 0 => out.push_str(ranges),
            (_, Some(ranges)) => out.push_str(&format!("[{ranges}]")),
            ('[', None) => {
                depth += 1;
                out.push(c);
            }
            (']', None) => {
                depth = depth.saturating_sub(1);
                out.push(c);
            }
            _ => out.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    out
}

/// Returns the ranges of the class at the start of `text`, and how many bytes of it were read.
fn class(text: &str) -> (Option<&'static str>, usize) {
    let mut chars = text.chars();
    let first = chars.next().map_or(0, char::len_utf8);
    if !text.starts_with('\\') {
        return (None, first);
    }
    let length = first + chars.next().map_or(0, char::len_utf8);
    match text.as_bytes().get(1) {
        Some(b'w') => (Some(WORD), length),
        Some(b'd') => (Some(DIGIT), length),
        Some(b'p') => match text[length..]
            .strip_prefix('{')
            .and_then(|t| t.split_once('}'))
        {
            Some((name, _)) => (property(name), length + name.len() + 2),
            None => (None, length),
        },
        _ => (None, length),
    }
}

fn property(name: &str) -> Option<&'static str> {
    Some(match name {
        "L" | "Lu" | "Ll" | "Lt" | "Lm" | "Lo" | "Alphabetic" | "XID_Start" | "ID_Start" => LETTER,
        "XID_Continue" | "ID_Continue" | "Word" | "word" => WORD,
        "Nl" | "Mn" | "Mc" | "M" => BEYOND,
        "Nd" | "N" => DIGIT,
        _ => return None,
    })
}
