//! The one codec: postcard, with every limit checked on both ways through.

use serde::{Serialize, de::DeserializeOwned};

use crate::{Action, Event, Looks, Preference, Request, Signal, Source, limits};

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes are no message of this contract.
    #[error("not a message of this bridge")]
    Malformed,
    /// A part is over its limit.
    #[error("{what} is over {limit} bytes")]
    TooLarge {
        /// Which part.
        what: &'static str,
        /// Its limit in bytes.
        limit: usize,
    },
}

/// Returns the bytes of a message to a UI.
///
/// # Errors
/// [`CodecError::TooLarge`] where a part is over its limit.
pub fn encode_signal(signal: &Signal) -> Result<Vec<u8>, CodecError> {
    check_event(&signal.event)?;
    encode(signal)
}

/// Returns the message to a UI in `bytes`.
///
/// # Errors
/// Where the bytes are no whole message, more than one, or a part is over its limit.
pub fn decode_signal(bytes: &[u8]) -> Result<Signal, CodecError> {
    let signal: Signal = decode(bytes)?;
    check_event(&signal.event)?;
    Ok(signal)
}

/// Returns the bytes of a message from a UI.
///
/// # Errors
/// [`CodecError::TooLarge`] where a part is over its limit.
pub fn encode_request(request: &Request) -> Result<Vec<u8>, CodecError> {
    check_request(request)?;
    encode(request)
}

/// Returns the message from a UI in `bytes`.
///
/// # Errors
/// Where the bytes are no whole message, more than one, or a part is over its limit.
pub fn decode_request(bytes: &[u8]) -> Result<Request, CodecError> {
    let request = decode(bytes)?;
    check_request(&request)?;
    Ok(request)
}

fn encode(message: &impl Serialize) -> Result<Vec<u8>, CodecError> {
    postcard::to_stdvec(message).map_err(|_| CodecError::Malformed)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    at_most("a message", bytes.len(), limits::MESSAGE_BYTES)?;
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(CodecError::Malformed),
    }
}

fn check_event(event: &Event) -> Result<(), CodecError> {
    match event {
        Event::Start(start) => at_most(
            "a snapshot",
            start.snapshot.as_ref().map_or(0, Vec::len),
            limits::SNAPSHOT_BYTES,
        ),
        Event::Paste(text) => at_most("a paste", text.len(), limits::PASTE_BYTES),
        Event::Link(frame) => at_most("a link frame", frame.len(), limits::LINK_IN_BYTES),
        Event::Key(_)
        | Event::Mouse(_)
        | Event::Resize(_)
        | Event::Focus(_)
        | Event::LinkState(_)
        | Event::Outcome { .. }
        | Event::Wake
        | Event::SaveSnapshot
        | Event::Stop => Ok(()),
        Event::Attached(file) => at_most("a name", file.name.len(), limits::NAME_BYTES),
        Event::Looks(looks) => check_looks(looks),
    }
}

fn check_looks(looks: &Looks) -> Result<(), CodecError> {
    let themes = looks.themes.iter();
    let bytes = themes
        .map(|theme| theme.name.len() + theme.text.len())
        .sum();
    at_most(
        "preferences",
        looks.preferences.len().max(looks.theme.len()),
        limits::PREFERENCES_BYTES,
    )?;
    at_most("the number of themes", looks.themes.len(), limits::THEMES)?;
    at_most(
        "themes",
        bytes,
        limits::THEMES_BYTES + limits::THEMES * limits::PREFERENCE_BYTES,
    )?;
    at_most(
        "the number of complaints",
        looks.complaints.len(),
        limits::COMPLAINTS,
    )?;
    let longest = looks.complaints.iter().map(String::len).max();
    at_most("a complaint", longest.unwrap_or(0), limits::COMPLAINT_BYTES)
}

fn check_request(request: &Request) -> Result<(), CodecError> {
    match request {
        Request::Frame(frame) => at_most("a frame", frame.len(), limits::FRAME_BYTES),
        Request::Link(frame) => at_most("a link frame", frame.len(), limits::LINK_OUT_BYTES),
        Request::Action { action, .. } => check_action(action),
        Request::Snapshot(bytes) => at_most("a snapshot", bytes.len(), limits::SNAPSHOT_BYTES),
        Request::Title(text) => at_most("a title", text.len(), limits::TITLE_BYTES),
        Request::Place(Some(place)) => {
            at_most("a session", place.session.len(), limits::SESSION_BYTES)
        }
        Request::WakeIn(_) | Request::Place(None) => Ok(()),
    }
}

fn check_action(action: &Action) -> Result<(), CodecError> {
    match action {
        Action::Copy(text) => at_most("a copy", text.len(), limits::COPY_BYTES),
        Action::OpenUrl(url) => at_most("a URL", url.len(), limits::URL_BYTES),
        Action::Edit(text) => at_most("an edited text", text.len(), limits::EDIT_BYTES),
        Action::Download { what, name } => {
            at_most("a name", name.len(), limits::NAME_BYTES)?;
            at_most("a source", source_bytes(what), limits::SOURCE_BYTES)
        }
        Action::SavePreferences(kept) => {
            at_most(
                "the number of preferences",
                kept.len(),
                limits::KEPT_PREFERENCES,
            )?;
            let longest =
                |one: &Preference| one.key.len().max(one.value.as_ref().map_or(0, String::len));
            let bytes = kept.iter().map(longest).max().unwrap_or(0);
            at_most("a preference", bytes, limits::PREFERENCE_BYTES)
        }
        Action::Suspend | Action::SignOut | Action::Quit | Action::Upload(_) => Ok(()),
    }
}

fn source_bytes(what: &Source) -> usize {
    match what {
        Source::Attachment(id) | Source::Output(id) | Source::Export(id) => id.len(),
        Source::File(path) => path.len(),
    }
}

fn at_most(what: &'static str, len: usize, limit: usize) -> Result<(), CodecError> {
    if len > limit {
        return Err(CodecError::TooLarge { what, limit });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_one_byte_over_the_limit_is_refused_on_both_sides() {
        let fits = Request::Frame(vec![b'x'; limits::FRAME_BYTES]);
        let over = Request::Frame(vec![b'x'; limits::FRAME_BYTES + 1]);
        let bytes = encode_request(&fits).expect("fits");
        assert_eq!(decode_request(&bytes), Ok(fits));
        assert!(matches!(
            encode_request(&over),
            Err(CodecError::TooLarge { .. })
        ));
        let smuggled = postcard::to_stdvec(&over).expect("encodes");
        assert!(matches!(
            decode_request(&smuggled),
            Err(CodecError::TooLarge { .. })
        ));
    }

    #[test]
    fn trailing_bytes_are_no_message() {
        let mut bytes = encode_request(&Request::WakeIn(Some(5))).expect("encodes");
        bytes.push(0);
        assert_eq!(decode_request(&bytes), Err(CodecError::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            if let Ok(request) = decode_request(&bytes) {
                let again = encode_request(&request).expect("a decoded message encodes");
                prop_assert_eq!(decode_request(&again), Ok(request));
            }
            if let Ok(signal) = decode_signal(&bytes) {
                let again = encode_signal(&signal).expect("a decoded message encodes");
                prop_assert_eq!(decode_signal(&again), Ok(signal));
            }
        }
    }
}
