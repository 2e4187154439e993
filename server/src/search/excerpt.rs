//! A piece of a text around the words that were found, in one line, and where in it they stand. Pure.

use super::question::{Place, Question};

/// Characters of an excerpt.
const CHARS: usize = 200;
/// Characters before the first word.
const BEFORE: usize = 40;
/// What stands where something was left out.
const CUT: char = '…';

/// A piece of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// One line without control characters.
    pub text: String,
    /// First byte and end of what was found.
    pub matches: Vec<(u32, u32)>,
}

/// Returns the piece in which most of the words stand.
pub fn excerpt(question: &Question, text: &str) -> Excerpt {
    let places = question.places(text);
    let begin = best(&places, question.terms()).map_or(0, |place| place.from);
    let from = back(text, begin, BEFORE);
    let mut out = Line::default();
    if from > 0 {
        out.push(CUT);
    }
    let mut next = places.iter().skip_while(|place| place.from < from);
    let mut place = next.next();
    for (at, c) in text[from..].char_indices().map(|(at, c)| (from + at, c)) {
        if place.is_some_and(|place| place.to <= at) {
            out.end();
            place = next.next();
        }
        if out.chars >= CHARS {
            out.push(CUT);
            break;
        }
        if place.is_some_and(|place| place.from == at) {
            out.begin();
        }
        out.push(c);
    }
    out.finish()
}

/// Returns the place from which on most terms stand close together.
fn best(places: &[Place], terms: usize) -> Option<&Place> {
    let mut best: Option<(usize, &Place)> = None;
    for (n, place) in places.iter().enumerate() {
        let near = places[n..]
            .iter()
            .take_while(|other| other.to <= place.from + CHARS - BEFORE);
        let mut seen = vec![false; terms];
        let mut weight = 0;
        for other in near {
            weight += usize::from(!std::mem::replace(&mut seen[other.term], true)) * 2;
            weight += usize::from(other.whole);
        }
        if best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, place));
        }
    }
    best.map(|(_, place)| place)
}

/// Returns where so many characters before a byte begin, at a word where one begins there.
fn back(text: &str, at: usize, chars: usize) -> usize {
    let start = text[..at].char_indices().rev().take(chars).last();
    let start = start.map_or(at, |(n, _)| n);
    if start == 0 {
        return 0;
    }
    let gap = text[start..at].find(char::is_whitespace);
    gap.map_or(start, |gap| {
        let rest = &text[start + gap..at];
        at - rest.trim_start().len()
    })
}

/// The line as it grows: runs of blanks and controls are one blank.
#[derive(Default)]
struct Line {
    text: String,
    chars: usize,
    began: Option<usize>,
    matches: Vec<(u32, u32)>,
}

impl Line {
    fn push(&mut self, c: char) {
        let c = if c.is_whitespace() || c.is_control() || is_hidden(c) {
            ' '
        } else {
            c
        };
        if c == ' ' && (self.text.is_empty() || self.text.ends_with(' ')) {
            return;
        }
        self.text.push(c);
        self.chars += 1;
    }

    fn begin(&mut self) {
        self.began = Some(self.text.len());
    }

    fn end(&mut self) {
        if let Some(from) = self.began.take() {
            let to = self.text.trim_end().len();
            if to > from {
                // An excerpt has some hundred bytes.
                self.matches.push((from as u32, to as u32));
            }
        }
    }

    fn finish(mut self) -> Excerpt {
        if let Some(from) = self.began.take() {
            let to = self.text.trim_end().trim_end_matches(CUT).len();
            if to > from {
                self.matches.push((from as u32, to as u32));
            }
        }
        self.text.truncate(self.text.trim_end().len());
        Excerpt {
            text: self.text,
            matches: self.matches,
        }
    }
}

/// Marks that turn the direction of text around, and others that nobody sees.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(question: &str, text: &str) -> String {
        let found = excerpt(&Question::parse(question).expect("words"), text);
        let mut out = found.text.clone();
        for (from, to) in found.matches.iter().rev() {
            out.insert(*to as usize, ']');
            out.insert(*from as usize, '[');
        }
        out
    }

    #[test]
    fn the_words_stand_in_the_middle_of_one_line() {
        assert_eq!(
            shown("house ", "A house\n\n\tis a House."),
            "A [house] is a [House]."
        );
        let long = format!(
            "{}the needle here{}",
            "hay ".repeat(500),
            " hay".repeat(500)
        );
        let found = shown("needle", &long);
        assert!(found.starts_with("…hay hay"), "{found}");
        assert!(found.contains("the [needle] here hay"), "{found}");
        assert!(
            found.ends_with('…') && found.chars().count() < 215,
            "{found}"
        );
        let apart = format!("one {} one two", "x ".repeat(400));
        assert!(shown("one two", &apart).ends_with("[one] [two]"));
        assert_eq!(shown("absent", "nothing of it"), "nothing of it");
        assert_eq!(shown("ab", "x\u{202e}ab\u{1b}[2Jab"), "x [ab] [2Jab");
    }

    proptest! {
        #[test]
        fn every_excerpt_is_one_line_with_places_on_boundaries(question in ".{1,20}", text in ".{0,400}", word in "[a-zé]{1,4}") {
            for question in [question, word] {
                let Some(question) = Question::parse(&question) else { continue };
                let found = excerpt(&question, &text);
                prop_assert!(!found.text.chars().any(char::is_control));
                let mut last = 0;
                for (from, to) in found.matches {
                    prop_assert!(last <= from && from < to);
                    prop_assert!(found.text.get(from as usize..to as usize).is_some());
                    last = to;
                }
            }
        }
    }
}
