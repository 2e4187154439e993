//! What must hold for any bytes, one function for each decoder that meets bytes of others. They panic where it does not.
//! The fuzz targets call them, and so does a bounded test on stable (`tests/tests/any_bytes.rs`, which includes this file).

use std::io::Read;

use porthole_bridge::{ColorDepth, limits::FRAME_BYTES};
use porthole_door::Link;
use porthole_launcher::{
    draw::Painter,
    screen::{Screen, sweep},
    terminal::{decoder::Decoder, event::from_crossterm},
    transfer::{name_in, safe_name},
};
use porthole_protocol::{ClientFrame, ServerFrame, decode, encode, limits};
use porthole_worker::model::debug_stream;

#[path = "../../launcher/tests/terminal/alphabet.rs"]
mod alphabet;

/// A frame of a UI, on a screen whose size the first two bytes say: what comes out is the launcher's own drawing.
pub fn frame(bytes: &[u8]) {
    let Some((size, frame)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let (cols, rows) = (u16::from(size[0] % 90) + 1, u16::from(size[1] % 30) + 1);
    let mut screen = Screen::new(cols, rows);
    let is_taken = screen.paint(frame).is_ok();
    assert_eq!(is_taken, frame.len() <= FRAME_BYTES);
    let mut buffer = screen.buffer().clone();
    sweep(&mut buffer);
    assert_eq!(&buffer, screen.buffer(), "the sweep found something");
    let drawn = Painter::new(ColorDepth::True).frame(&mut buffer, screen.cursor(), rows);
    assert_eq!(alphabet::outside(&drawn), None);
}

/// A message on the bridge, either way: what is taken says the same when it is written and read again.
pub fn bridge(bytes: &[u8]) {
    if let Ok(request) = porthole_bridge::decode_request(bytes) {
        let again = porthole_bridge::encode_request(&request).expect("it was within the limits");
        assert_eq!(porthole_bridge::decode_request(&again), Ok(request));
    }
    if let Ok(signal) = porthole_bridge::decode_signal(bytes) {
        let again = porthole_bridge::encode_signal(&signal).expect("it was within the limits");
        assert_eq!(porthole_bridge::decode_signal(&again), Ok(signal));
    }
}

/// A link that somebody pasted: what is taken leads to one origin with one token and key, and an error repeats nothing.
pub fn link(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Link::parse(&text) {
        Ok(link) => {
            assert!(!link.origin.contains(['@', '#', '?', ' ']));
            assert!(link.origin.starts_with("http"));
            assert!(Link::parse(&link.to_text()) == Ok(link), "another link");
        }
        Err(error) => {
            let said = error.to_string();
            assert!(said.len() < 100 && !said.contains("pho_"));
        }
    }
}

/// A frame of the link, either way.
pub fn protocol(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(frame) = decode::<ClientFrame>(&text, limits::CLIENT_FRAME_BYTES) {
        let once = encode(&frame, usize::MAX).expect("it is JSON");
        let again: ClientFrame = decode(&once, usize::MAX).expect("it was a frame");
        assert_eq!(encode(&again, usize::MAX), Ok(once));
    }
    if let Ok(frame) = decode::<ServerFrame>(&text, limits::SERVER_FRAME_BYTES) {
        let once = encode(&frame, usize::MAX).expect("it is JSON");
        let again: ServerFrame = decode(&once, usize::MAX).expect("it was a frame");
        assert_eq!(encode(&again, usize::MAX), Ok(once));
    }
}

/// A file name of a server, in a header or bare: what it becomes is one visible, unhidden component, and stays itself.
pub fn name(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let named = name_in(&text).ok().flatten().unwrap_or_default();
    for name in [bytes, named.as_slice()] {
        let Ok(safe) = safe_name(name) else {
            continue;
        };
        assert!((1..=255).contains(&safe.len()), "{safe:?}");
        assert!(
            !safe.contains(['/', '\\']) && !safe.starts_with('.'),
            "{safe:?}"
        );
        assert!(!safe.chars().any(char::is_control), "{safe:?}");
        assert_eq!(safe_name(safe.as_bytes()).as_ref(), Ok(&safe));
    }
}

/// What a keyboard or a terminal sends: the same events wherever it is cut, and nothing is refused. The first byte says
/// where.
pub fn keys(bytes: &[u8]) {
    let Some((cut, typed)) = bytes.split_first() else {
        return;
    };
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    let (mut one, mut two) = (Decoder::default(), Decoder::default());
    one.feed(typed, &mut whole);
    for piece in typed.chunks(usize::from(*cut) + 1) {
        two.feed(piece, &mut pieces);
    }
    one.silence(&mut whole);
    two.silence(&mut pieces);
    assert_eq!(whole, pieces);
    for event in whole {
        from_crossterm(event);
    }
}

/// A model's streamed answer, for each way of speaking: the same wherever it is cut. The first byte says where.
pub fn events(bytes: &[u8]) {
    let Some((cut, body)) = bytes.split_first() else {
        return;
    };
    for api in ["chat", "responses", "messages"] {
        let pieces = Pieces {
            rest: body,
            most: usize::from(*cut) + 1,
        };
        assert_eq!(debug_stream(api, body), debug_stream(api, pieces), "{api}");
    }
}

/// A body that comes in pieces.
struct Pieces<'a> {
    rest: &'a [u8],
    most: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.most.min(buffer.len());
        self.rest.by_ref().take(most as u64).read(buffer)
    }
}
