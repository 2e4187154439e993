//! A leading `<think>` part of a text stream, told from the answer after it. Tags later in the text are text.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// Most bytes to hold back before the answer; blanks that go on longer are the answer.
const MOST_HELD: usize = 256;

/// What a stretch of the stream is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Of the answer.
    Text(String),
    /// Of the thought.
    Thought(String),
}

/// Where in the stream the next text belongs.
#[derive(Debug)]
pub(crate) enum Splitter {
    /// Nothing but blanks and a part of the opening tag has come; held back.
    Start(String),
    /// Inside the thought; held back is what may be the start of the closing tag.
    Inside(String),
    /// The thought is over; line breaks before the answer are dropped.
    Gap,
    /// The answer.
    Answer,
}

impl Default for Splitter {
    fn default() -> Self {
        Self::Start(String::new())
    }
}

impl Splitter {
    /// Takes the next text and returns what of it is known.
    pub(crate) fn feed(&mut self, text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = text.to_owned();
        while !rest.is_empty() {
            rest = self.step(rest, &mut parts);
        }
        parts
    }

    /// Returns what was held back, at the end of the stream or before something else comes.
    pub(crate) fn finish(&mut self) -> Option<Part> {
        let part = match std::mem::replace(self, Self::Answer) {
            Self::Start(held) => Part::Text(held),
            Self::Inside(held) => Part::Thought(held),
            Self::Gap | Self::Answer => return None,
        };
        (!matches!(&part, Part::Text(t) | Part::Thought(t) if t.is_empty())).then_some(part)
    }

    /// Takes `text` in the present state; returns what is left for the next one.
    fn step(&mut self, text: String, parts: &mut Vec<Part>) -> String {
        match self {
            Self::Start(held) => {
                let all = std::mem::take(held) + text.as_str();
                self.start(all)
            }
            Self::Inside(held) => {
                let all = std::mem::take(held) + text.as_str();
                self.inside(all, parts)
            }
            Self::Gap => {
                let answer = text.trim_start_matches(['\n', '\r']).to_owned();
                if !answer.is_empty() {
                    *self = Self::Answer;
                }
                answer
            }
            Self::Answer => {
                parts.push(Part::Text(text));
                String::new()
            }
        }
    }

    fn start(&mut self, all: String) -> String {
        let seen = all.trim_start();
        if let Some(rest) = seen.strip_prefix(OPEN) {
            let rest = rest.to_owned();
            *self = Self::Inside(String::new());
            return rest;
        }
        if OPEN.starts_with(seen) && all.len() < MOST_HELD {
            *self = Self::Start(all);
            return String::new();
        }
        *self = Self::Answer;
        all
    }

    fn inside(&mut self, all: String, parts: &mut Vec<Part>) -> String {
        let (thought, rest, next) = match all.split_once(CLOSE) {
            Some((thought, rest)) => (thought, rest.to_owned(), Self::Gap),
            None => {
                let held = held_back(&all);
                let (thought, held) = all.split_at(all.len() - held);
                (thought, String::new(), Self::Inside(held.to_owned()))
            }
        };
        if !thought.is_empty() {
            parts.push(Part::Thought(thought.to_owned()));
        }
        *self = next;
        rest
    }
}

/// Returns how many bytes at the end may be the start of the closing tag.
fn held_back(text: &str) -> usize {
    (1..CLOSE.len())
        .rev()
        .find(|&n| text.ends_with(&CLOSE[..n]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the thought and the answer of a stream that comes in these pieces.
    fn split<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let mut splitter = Splitter::default();
        let mut parts: Vec<Part> = pieces
            .into_iter()
            .flat_map(|piece| splitter.feed(piece))
            .collect();
        parts.extend(splitter.finish());
        let (mut thought, mut answer) = (String::new(), String::new());
        for part in parts {
            match part {
                Part::Text(text) => answer += &text,
                Part::Thought(text) => thought += &text,
            }
        }
        (thought, answer)
    }

    #[test]
    fn only_a_leading_tag_starts_a_thought_wherever_the_stream_is_cut() {
        let table = [
            ("<think>a</think>\n\nb", "a", "b"),
            ("\n <think>a</think>b", "a", "b"),
            ("<think></think>b", "", "b"),
            ("b <think>a</think>", "", "b <think>a</think>"),
            (
                "<think>a</think>b<think>c</think>",
                "a",
                "b<think>c</think>",
            ),
            ("<thi", "", "<thi"),
            ("  b", "", "  b"),
            ("<think>a</thi", "a</thi", ""),
            ("<think>a </ b</think>c", "a </ b", "c"),
            ("<think>a<</think>c", "a<", "c"),
            ("<think>a", "a", ""),
        ];
        for (stream, thought, answer) in table {
            let expected = (thought.to_owned(), answer.to_owned());
            for cut in 0..=stream.len() {
                let (left, right) = stream.split_at(cut);
                assert_eq!(split([left, right]), expected, "{stream:?} cut at {cut}");
            }
            let single: Vec<String> = stream.chars().map(String::from).collect();
            assert_eq!(split(single.iter().map(String::as_str)), expected);
        }
    }
}
