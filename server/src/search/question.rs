//! What someone looks for: typed text as words that are all to be found, as the index's own question, and where they stand
//! in a text. Pure; whatever is typed is only ever words.

use unicode_normalization::UnicodeNormalization as _;

/// Words and phrases of one search, at most.
const TERMS: usize = 16;
/// Places of one text that are noted, at most.
const PLACES: usize = 256;

/// What someone looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    terms: Vec<Term>,
}

/// Words that stand together; mostly one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// As it was typed, without quotes and control characters.
    typed: String,
    /// Its words, folded; never none.
    words: Vec<String>,
    /// Whether the last word may go on.
    open: bool,
}

/// Where a term stands in a text: bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// First byte.
    pub from: usize,
    /// The end.
    pub to: usize,
    /// Which term.
    pub term: usize,
    /// Whether the word is the one that was looked for, and not only begins like it.
    pub whole: bool,
}

impl Question {
    /// Returns what a typed text looks for; `None`: there is no word in it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut terms = Vec::new();
        let mut parts = text.split('"').enumerate().peekable();
        while let Some((n, part)) = parts.next() {
            // Between quotes; the last part is not, unless its quote is still open: then it is being typed.
            let is_last = parts.peek().is_none();
            match n % 2 == 1 {
                true => terms.extend(Term::new(part, is_last)),
                false => {
                    let typing = is_last && !part.ends_with(char::is_whitespace);
                    let mut words = part.split_whitespace().peekable();
                    while let Some(word) = words.next() {
                        terms.extend(Term::new(word, typing && words.peek().is_none()));
                    }
                }
            }
        }
        terms.truncate(TERMS);
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// Returns the question in the index's language. Every word is in quotes, so that none is an operator.
    pub(super) fn to_match(&self) -> String {
        let term = |term: &Term| {
            let star = if term.open { " *" } else { "" };
            format!("\"{}\"{star}", term.typed)
        };
        let terms: Vec<String> = self.terms.iter().map(term).collect();
        format!("{{body}} : ({})", terms.join(" AND "))
    }

    /// Returns how many terms there are.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Returns where the terms stand, in order, not overlapping.
    pub fn places(&self, text: &str) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        // Of each term: how many of its words were just seen, and where they began.
        let mut seen: Vec<(usize, usize)> = vec![(0, 0); self.terms.len()];
        for (from, word) in words(text) {
            for (n, term) in self.terms.iter().enumerate() {
                let Some(whole) = term.step(&mut seen[n], from, word) else {
                    continue;
                };
                let place = Place {
                    from: seen[n].1,
                    to: from + word.len(),
                    term: n,
                    whole,
                };
                if places.last().is_none_or(|last| last.to <= place.from) {
                    places.push(place);
                }
            }
            if places.len() >= PLACES {
                break;
            }
        }
        places
    }

    /// Returns whether every term stands in a text.
    pub fn is_in(&self, text: &str) -> bool {
        let places = self.every_place(text);
        (0..self.terms.len()).all(|n| places.contains(&n))
    }

    /// Returns the terms that stand in a text, also where they overlap.
    fn every_place(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let mut seen: Vec<(usize, usize)> = vec![(0, 0); self.terms.len()];
        for (from, word) in words(text) {
            for (n, term) in self.terms.iter().enumerate() {
                if term.step(&mut seen[n], from, word).is_some() {
                    found.push(n);
                }
            }
        }
        found
    }
}

impl Term {
    fn new(typed: &str, open: bool) -> Option<Self> {
        let typed: String = typed.chars().filter(|c| !c.is_control()).collect();
        let words: Vec<String> = words(&typed).map(|(_, word)| fold(word)).collect();
        (!words.is_empty()).then_some(Self { typed, words, open })
    }

    /// Takes the next word of a text; returns, where it completes the term, whether it is the word itself.
    fn step(&self, (seen, began): &mut (usize, usize), from: usize, word: &str) -> Option<bool> {
        if *seen >= self.words.len() {
            *seen = 0;
        }
        let mut fits = self.fits(*seen, word);
        if fits.is_none() && *seen > 0 {
            *seen = 0;
            fits = self.fits(0, word);
        }
        let whole = fits?;
        if *seen == 0 {
            *began = from;
        }
        *seen += 1;
        (*seen == self.words.len()).then_some(whole)
    }

    fn fits(&self, n: usize, word: &str) -> Option<bool> {
        let wanted = &self.words[n];
        let open = self.open && n + 1 == self.words.len();
        if word.is_ascii() {
            let (word, wanted) = (word.as_bytes(), wanted.as_bytes());
            let begins = word
                .get(..wanted.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(wanted));
            let whole = word.len() == wanted.len();
            return (begins && (whole || open)).then_some(whole);
        }
        let word = fold(word);
        let whole = word == *wanted;
        (whole || (open && word.starts_with(wanted.as_str()))).then_some(whole)
    }
}

/// Returns a word as it is compared: without case, accents and other marks.
fn fold(word: &str) -> String {
    let plain = word.nfd().filter(|c| !is_mark(*c));
    plain.flat_map(char::to_lowercase).collect()
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Returns the words of a text with their first bytes, as the index takes a text apart: runs of letters and digits.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || is_mark(c);
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let from = at + rest.find(is_word)?;
        let rest = &text[from..];
        let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        at = from + len;
        Some((from, &rest[..len]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Question {
        Question::parse(text).expect("words")
    }

    #[test]
    fn what_is_typed_is_only_ever_words() {
        let cases = [
            ("a b", r#"{body} : ("a" AND "b" *)"#),
            ("a b ", r#"{body} : ("a" AND "b")"#),
            (r#""a b" c"#, r#"{body} : ("a b" AND "c" *)"#),
            (r#"say "a b"#, r#"{body} : ("say" AND "a b" *)"#),
            (
                "x OR NOT near(y)",
                r#"{body} : ("x" AND "OR" AND "NOT" AND "near(y)" *)"#,
            ),
            ("src/main.rs", r#"{body} : ("src/main.rs" *)"#),
            ("-- * ^ a\0b", r#"{body} : ("ab" *)"#),
        ];
        for (typed, question) in cases {
            assert_eq!(asked(typed).to_match(), question, "{typed}");
        }
        for nothing in ["", " ", "\"", "-", "***", "\"\"\"", "\0"] {
            assert_eq!(Question::parse(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn words_are_found_without_case_and_accents_and_the_last_one_by_its_beginning() {
        let places = |question: &str, text: &str| {
            let found = asked(question).places(text);
            let found = found.iter().map(|p| text[p.from..p.to].to_owned());
            found.collect::<Vec<_>>()
        };
        assert_eq!(places("uber ", "Über uber UBERS"), ["Über", "uber"]);
        assert_eq!(places("ub", "Über uber UBERS"), ["Über", "uber", "UBERS"]);
        assert_eq!(
            places("\"big house\" a", "a big big house"),
            ["a", "big house"]
        );
        assert_eq!(
            places("main.rs", "src/main.rs, main_rs"),
            ["main.rs", "main_rs"]
        );
        assert!(asked("house gre").is_in("The great House"));
        assert!(!asked("house great x").is_in("The great House"));
    }
}
