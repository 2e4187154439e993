//! Server-sent events: bytes in, events out, wherever the bytes are cut. It knows no API and reads no socket.

/// Most bytes that one event may have.
pub(crate) const EVENT_LIMIT: usize = 8 << 20;

/// One event with data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// The name; empty where it has none.
    pub(crate) name: String,
    /// The data lines, joined by line feeds; never empty.
    pub(crate) data: String,
}

/// An event passed [`EVENT_LIMIT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one event of the stream is over {} MiB", EVENT_LIMIT >> 20)]
pub(crate) struct EventTooLarge;

/// Where in a stream the next byte belongs.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The bytes of the unfinished line: decoded only when it is whole, so that no character is ever cut.
    line: Vec<u8>,
    after_cr: bool,
    past_first_line: bool,
    event: Event,
    has_data: bool,
}

impl Parser {
    /// Takes the next bytes and appends the events that they finish.
    ///
    /// # Errors
    /// Where an event is too large; those before it are in `events`.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        events: &mut Vec<Event>,
    ) -> Result<(), EventTooLarge> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            self.extend(&bytes[..end])?;
            self.finish_line(events);
            let rest = &bytes[end + 1..];
            self.after_cr = bytes[end] == b'\r' && rest.is_empty();
            let is_cr = bytes[end] == b'\r';
            bytes = rest.strip_prefix(b"\n").filter(|_| is_cr).unwrap_or(rest);
        }
        self.extend(bytes)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        if self.line.len() + self.event.data.len() + bytes.len() > EVENT_LIMIT {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn finish_line(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if !std::mem::replace(&mut self.past_first_line, true) {
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        if bytes.is_empty() {
            self.dispatch(events);
        } else {
            self.field(&String::from_utf8_lossy(bytes));
        }
        self.line = line;
        self.line.clear();
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => self.data_line(value),
            "event" => value.clone_into(&mut self.event.name),
            _ => {}
        }
    }

    fn data_line(&mut self, value: &str) {
        if std::mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        self.event.data.push_str(value);
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        self.has_data = false;
        let event = std::mem::take(&mut self.event);
        if !event.data.is_empty() {
            events.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.feed(piece, &mut events).expect("small events fit");
        }
        events.into_iter().map(|e| (e.name, e.data)).collect()
    }

    fn pair(name: &str, data: &str) -> (String, String) {
        (name.to_owned(), data.to_owned())
    }

    #[test]
    fn every_kind_of_line_end_ends_a_line_once() {
        let expected = vec![pair("x", "a\nb"), pair("", "c")];
        for end in ["\n", "\r", "\r\n"] {
            let text = "event: x\ndata: a\ndata:b\n\ndata: c\n\n".replace('\n', end);
            for cut in 0..=text.len() {
                let (left, right) = text.as_bytes().split_at(cut);
                assert_eq!(parse(&[left, right]), expected, "{end:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn comments_ids_and_empty_events_are_no_events() {
        let text = b": c\n\n:\n\nretry: 3\nid: 7\n\nevent: keepalive\n\ndata:\n\ndata: \n\ndata:  two spaces\n\n";
        assert_eq!(parse(&[text]), [pair("", " two spaces")]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_only_at_the_start() {
        let text = b"\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n";
        assert_eq!(parse(&[text]), [pair("", "a")]);
    }

    #[test]
    fn an_invalid_byte_becomes_one_replacement_character_and_the_stream_goes_on() {
        let text = b"data: a\xFFb\n\ndata: c\n\n";
        assert_eq!(parse(&[text]), [pair("", "a\u{FFFD}b"), pair("", "c")]);
    }

    #[test]
    fn an_unfinished_event_is_never_given_out() {
        assert_eq!(parse(&[b"data: a\n\ndata: half"]), [pair("", "a")]);
        assert_eq!(parse(&[b"data: a\n\ndata: whole line\n"]), [pair("", "a")]);
    }

    #[test]
    fn two_mebibytes_pass_and_more_than_the_limit_is_refused() {
        let line = [b"data: ".as_slice(), &vec![b'x'; 2 << 20], b"\n\n"].concat();
        let pieces: Vec<&[u8]> = line.chunks(1000).collect();
        assert_eq!(parse(&pieces)[0].1.len(), 2 << 20);
        let mut parser = Parser::default();
        let mut events = Vec::new();
        let piece = [b"data: ".as_slice(), &vec![b'x'; 1 << 20], b"\n"].concat();
        let fed = (0..9).try_for_each(|_| parser.feed(&piece, &mut events));
        assert_eq!(fed, Err(EventTooLarge));
    }

    proptest! {
        #[test]
        fn cutting_anywhere_changes_nothing(
            lines in proptest::collection::vec("(data|event|id|:|[a-z\\x{FEFF}])?[: ]{0,3}[a-zé🌧 ]{0,6}(\r|\n|\r\n)", 0..30),
            cuts in proptest::collection::vec(1usize..9, 1..40),
        ) {
            let text = lines.concat();
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            pieces.push(rest);
            prop_assert_eq!(parse(&pieces), parse(&[text.as_bytes()]));
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(parse(&single), parse(&[&bytes]));
        }
    }
}
