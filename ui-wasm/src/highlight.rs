//! Colours for code: which part of a line plays which role. Done line by line within a budget for each frame,
//! since a whole file would take longer than one call may. It knows no files and lays nothing out.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use ratatui_core::style::Style;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use crate::theme::Theme;

/// The grammars, with patterns that are cheap to compile (`build/grammars.rs`).
const GRAMMARS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/grammars.bin"));
/// Bytes of code that one frame works through.
const FRAME_BYTES: usize = 2 << 10;
/// Larger blocks stay plain.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;
/// Longer lines stay plain: they are data, and cost the most.
const LINE_BYTES: usize = 600;
/// Lines kept in each of the two generations of the cache.
const GENERATION: usize = 3_000;

/// Languages whose compiled patterns are kept at once.
const WARM_LANGUAGES: usize = 4;

/// What a part of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Plain,
    Keyword,
    String,
    Comment,
    Type,
    Function,
    Number,
    Added,
    Removed,
}

impl Role {
    pub(crate) fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Plain => theme.code_block,
            Self::Keyword => theme.keyword,
            Self::String => theme.string,
            Self::Comment => theme.comment,
            Self::Type => theme.type_name,
            Self::Function => theme.function,
            Self::Number => theme.number,
            Self::Added => theme.added,
            Self::Removed => theme.removed,
        }
    }
}

/// The parts of a line: where each ends, in bytes, and what it is.
pub(crate) type Parts = Rc<[(usize, Role)]>;

/// Names that people give languages beside those the syntaxes know.
const ALIASES: &[(&str, &str)] = &[
    ("console", "sh"),
    ("shell", "sh"),
    ("shell-session", "sh"),
    ("sh-session", "sh"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("golang", "go"),
    ("python3", "py"),
    ("node", "js"),
    // The grammar of TypeScript takes a whole call for its first line.
    ("ts", "js"),
    ("mts", "js"),
    ("cts", "js"),
    ("tsx", "js"),
    ("typescript", "js"),
    ("docker", "dockerfile"),
    ("make", "makefile"),
    ("patch", "diff"),
];

/// Languages whose grammars compile their patterns in pieces small enough for one call, one a line. The others stay plain:
/// one line of HTML, Markdown, PHP or Ruby may take longer than a call has. The build keeps the grammars of these alone.
const COLOURED: &str = include_str!("../build/coloured.txt");

/// Scopes by what they are to a reader; the innermost known scope counts.
const SCOPES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("meta.interpolation", Role::Plain),
    ("meta.template.expression", Role::Plain),
    ("string", Role::String),
    ("constant.character", Role::String),
    ("constant.numeric", Role::Number),
    ("constant.language", Role::Number),
    ("keyword.operator.word", Role::Keyword),
    ("keyword.operator", Role::Plain),
    ("keyword", Role::Keyword),
    ("storage", Role::Keyword),
    ("variable.language", Role::Keyword),
    ("entity.name.function", Role::Function),
    ("entity.name.macro", Role::Function),
    ("support.function", Role::Function),
    ("support.macro", Role::Function),
    ("variable.function", Role::Function),
    ("variable.annotation", Role::Function),
    ("entity.name.type", Role::Type),
    ("entity.name.class", Role::Type),
    ("entity.name.struct", Role::Type),
    ("entity.name.enum", Role::Type),
    ("entity.name.trait", Role::Type),
    ("entity.name.impl", Role::Type),
    ("entity.name.interface", Role::Type),
    ("entity.name.namespace", Role::Type),
    ("entity.name.section", Role::Type),
    ("entity.name.tag", Role::Keyword),
    ("entity.other.inherited-class", Role::Type),
    ("entity.other.attribute-name", Role::Function),
    ("support.type.property-name", Role::Function),
    ("support.type", Role::Type),
    ("support.class", Role::Type),
    ("markup.inserted", Role::Added),
    ("markup.deleted", Role::Removed),
    ("markup.heading", Role::Keyword),
    ("meta.diff.range", Role::Comment),
];

/// Colours code. One for a UI, so that equal code is worked through once.
#[derive(Default)]
pub(crate) struct Highlighter {
    grammar: Option<Grammar>,
    young: HashMap<u64, Known>,
    old: HashMap<u64, Known>,
    left: usize,
    behind: bool,
    /// Languages whose patterns were in use before.
    warm: HashSet<String>,
}

impl fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Highlighter")
            .field("left", &self.left)
            .field("behind", &self.behind)
            .finish_non_exhaustive()
    }
}

/// Where the work on a block of code is: after which lines.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    lang: Option<String>,
    key: u64,
}

impl Progress {
    /// Whether all that follows is plain.
    pub(crate) fn is_plain(&self) -> bool {
        self.lang.is_none()
    }
}

/// A line that was worked through.
#[derive(Clone)]
struct Known {
    parts: Parts,
    after: State,
}

/// What the next line starts with.
#[derive(Clone)]
struct State {
    parse: ParseState,
    stack: ScopeStack,
}

impl Highlighter {
    /// Starts a frame: there is a new budget, and nothing is behind yet.
    pub(crate) fn begin_frame(&mut self) {
        self.left = FRAME_BYTES;
        self.behind = false;
    }

    /// Whether a line of this frame stayed plain only because the budget was used up.
    pub(crate) fn is_behind(&self) -> bool {
        self.behind
    }

    /// Starts a block of so many bytes in a language, named as in a code fence or by a file's path.
    pub(crate) fn start(&self, lang: &str, bytes: usize) -> Progress {
        let lang = (bytes <= BLOCK_BYTES).then(|| token(lang)).flatten();
        let mut hasher = DefaultHasher::new();
        lang.hash(&mut hasher);
        Progress {
            lang,
            key: hasher.finish(),
        }
    }

    /// Returns the parts of the next line of a block, or `None` where it is plain, for good or for now.
    pub(crate) fn line(&mut self, at: &mut Progress, line: &str) -> Option<Parts> {
        let lang = at.lang.as_deref()?;
        let before = at.key;
        let mut hasher = DefaultHasher::new();
        (before, line).hash(&mut hasher);
        let key = hasher.finish();
        let known = match self.recall(key) {
            Some(known) => known,
            None => {
                let known = self.work(lang, before, line);
                match known {
                    Some(known) => {
                        self.keep(key, known.clone());
                        known
                    }
                    None => {
                        at.lang = None;
                        return None;
                    }
                }
            }
        };
        at.key = key;
        Some(known.parts)
    }

    fn work(&mut self, lang: &str, before: u64, line: &str) -> Option<Known> {
        if self.left == 0 {
            self.behind = true;
            return None;
        }
        if self.grammar.is_none() {
            // Unpacking the grammars is a frame's work by itself.
            self.grammar = Some(Grammar::load());
            self.left = 0;
            self.behind = true;
            return None;
        }
        if !self.warm.contains(lang) && self.warm.len() >= WARM_LANGUAGES {
            // Compiled patterns take the most memory of all; they go, and the lines that were worked through stay.
            self.grammar = None;
            self.warm.clear();
            self.behind = true;
            self.left = 0;
            return None;
        }
        let state = self.recall(before).map(|known| known.after);
        let grammar = self.grammar.as_mut()?;
        let state = match state {
            Some(state) => state,
            None => grammar.first(lang)?,
        };
        self.left = self.left.saturating_sub(line.len() + 20);
        let scopes = grammar.seen.len();
        let known = grammar.line(state, line);
        let first = self.warm.insert(lang.to_owned());
        if first || grammar.seen.len() > scopes {
            // Scopes of which none was seen before mean patterns that were compiled just now, which takes the most time.
            self.left = 0;
        }
        Some(known)
    }

    fn recall(&mut self, key: u64) -> Option<Known> {
        if let Some(known) = self.young.get(&key) {
            return Some(known.clone());
        }
        let known = self.old.remove(&key)?;
        self.keep(key, known.clone());
        Some(known)
    }

    fn keep(&mut self, key: u64, known: Known) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, known);
    }
}

/// Returns the word by which a syntax is found: the first word of a fence, or the end of a path.
fn token(lang: &str) -> Option<String> {
    let word = lang.split([' ', ',', '\t', '{']).next().unwrap_or_default();
    let name = word.rsplit('/').next().unwrap_or_default();
    let end = name
        .rsplit_once('.')
        .map_or(name, |(_, end)| end)
        .to_lowercase();
    let end = ALIASES
        .iter()
        .find(|(from, _)| *from == end)
        .map_or(end.as_str(), |(_, to)| to);
    COLOURED
        .lines()
        .any(|name| name == end)
        .then(|| end.to_owned())
}

struct Grammar {
    set: SyntaxSet,
    scopes: Vec<(Scope, Role)>,
    seen: HashMap<Scope, Option<Role>>,
}

impl Grammar {
    fn load() -> Self {
        let scopes = SCOPES
            .iter()
            .filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role)))
            .collect();
        Self {
            set: syntect::dumps::from_uncompressed_data(GRAMMARS).unwrap_or_default(),
            scopes,
            seen: HashMap::new(),
        }
    }

    fn first(&self, lang: &str) -> Option<State> {
        let syntax = self.set.find_syntax_by_token(lang)?;
        Some(State {
            parse: ParseState::new(syntax),
            stack: ScopeStack::new(),
        })
    }

    fn line(&mut self, mut state: State, line: &str) -> Known {
        let plain: Parts = Rc::from([(line.len(), Role::Plain)]);
        if line.len() > LINE_BYTES {
            return Known {
                parts: plain,
                after: state,
            };
        }
        let ended = format!("{line}\n");
        let Ok(ops) = state.parse.parse_line(&ended, &self.set) else {
            return Known {
                parts: plain,
                after: state,
            };
        };
        let mut parts: Vec<(usize, Role)> = Vec::new();
        for (at, op) in ops {
            let role = self.role(&state.stack);
            push_part(&mut parts, at.min(line.len()), role);
            // A scope that cannot be popped is the grammar's fault; the line goes on.
            let _ = state.stack.apply(&op);
        }
        let role = self.role(&state.stack);
        push_part(&mut parts, line.len(), role);
        Known {
            parts: Rc::from(parts),
            after: state,
        }
    }

    fn role(&mut self, stack: &ScopeStack) -> Role {
        let Self { scopes, seen, .. } = self;
        let known = |scope: &Scope| {
            scopes
                .iter()
                .find(|(prefix, _)| prefix.is_prefix_of(*scope))
                .map(|(_, role)| *role)
        };
        stack
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| *seen.entry(*scope).or_insert_with(|| known(scope)))
            .unwrap_or(Role::Plain)
    }
}

fn push_part(parts: &mut Vec<(usize, Role)>, end: usize, role: Role) {
    let start = parts.last().map_or(0, |(end, _)| *end);
    match parts.last_mut() {
        _ if end <= start => {}
        Some((last_end, last)) if *last == role => *last_end = end,
        _ => parts.push((end, role)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the parts of a block's lines after as many frames as it takes.
    fn all(
        highlighter: &mut Highlighter,
        lang: &str,
        lines: &[&str],
    ) -> (Vec<Option<Parts>>, usize) {
        for frame in 1..100 {
            highlighter.begin_frame();
            let mut at = highlighter.start(lang, lines.iter().map(|l| l.len()).sum());
            let parts = lines
                .iter()
                .map(|line| highlighter.line(&mut at, line))
                .collect();
            if !highlighter.is_behind() {
                return (parts, frame);
            }
        }
        panic!("never done");
    }

    fn role_of(line: &str, parts: &Parts, word: &str) -> Role {
        let at = line.find(word).expect("the word is there");
        parts
            .iter()
            .find(|(end, _)| *end > at)
            .map(|(_, role)| *role)
            .expect("a part")
    }

    #[test]
    fn code_has_roles_that_carry_over_lines() {
        let lines = [
            "/* a",
            "b */ fn wait(base: u32) -> String { \"x\".repeat(41) }",
        ];
        let (parts, frames) = all(&mut Highlighter::default(), "rust,ignore", &lines);
        assert_eq!(
            frames, 3,
            "one to unpack, one for each line with something new"
        );
        let second = parts[1].as_ref().expect("coloured");
        for (word, role) in [
            ("b */", Role::Comment),
            ("fn", Role::Keyword),
            ("wait", Role::Function),
            ("\"x\"", Role::String),
            ("41", Role::Number),
        ] {
            assert_eq!(role_of(lines[1], second, word), role, "{word}");
        }
    }

    #[test]
    fn the_languages_of_a_working_day_are_known() {
        let mut highlighter = Highlighter::default();
        for (lang, line, word, role) in [
            ("src/main.rs", "let x = 1;", "let", Role::Keyword),
            ("py", "def f(): return 'a'", "'a'", Role::String),
            ("typescript", "const a: number = 1", "const", Role::Keyword),
            ("tsx", "const a = 1", "const", Role::Keyword),
            ("Cargo.toml", "name = \"x\"", "\"x\"", Role::String),
            ("console", "echo \"hi\"", "\"hi\"", Role::String),
            ("json", "{\"a\": 1}", "1", Role::Number),
            ("golang", "func main() {}", "func", Role::Keyword),
            ("Dockerfile", "FROM debian", "FROM", Role::Keyword),
            ("yaml", "a: true # no", "# no", Role::Comment),
            ("diff", "+added", "+added", Role::Added),
        ] {
            let (parts, _) = all(&mut highlighter, lang, &[line]);
            let parts = parts[0]
                .as_ref()
                .unwrap_or_else(|| panic!("{lang} is unknown"));
            assert_eq!(role_of(line, parts, word), role, "{lang}");
        }
    }

    #[test]
    fn a_frame_stops_at_its_budget_and_the_next_goes_on() {
        let text = "let a = \"some text that takes its time\";";
        let lines: Vec<&str> = std::iter::repeat_n(text, 500).collect();
        let (parts, frames) = all(&mut Highlighter::default(), "rs", &lines);
        assert!(parts.iter().all(Option::is_some));
        assert!((12..=22).contains(&frames), "{frames} frames");
    }

    #[test]
    fn unknown_languages_large_blocks_and_plain_text_cost_nothing() {
        let mut highlighter = Highlighter::default();
        highlighter.begin_frame();
        let mut large = highlighter.start("rs", BLOCK_BYTES + 1);
        assert!(highlighter.line(&mut large, "fn f() {}").is_none());
        let mut plain = highlighter.start("text", 10);
        assert!(highlighter.line(&mut plain, "fn f() {}").is_none());
        assert!(!highlighter.is_behind());
        let (parts, _) = all(&mut highlighter, "no-such-language", &["fn f() {}"]);
        assert_eq!(parts, [None]);
    }
}
