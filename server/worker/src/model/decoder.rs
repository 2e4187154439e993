//! The decoder of one stream, whichever API it speaks. It reads no socket and knows no time.

use super::{
    Api, ModelError, ModelErrorKind, Piece, Response, chat, failure, messages, responses, sse,
};

/// What an event meant for the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing: a keep-alive, or an event of a kind that is not known.
    Ignored,
    /// The answer grew.
    Took,
    /// The answer, or its failure, is whole; whatever follows is not read.
    Ended,
}

/// A stream that is being decoded.
#[derive(Debug)]
pub(crate) enum Decoder {
    Chat(chat::Decoder),
    Responses(responses::Decoder),
    Messages(messages::Decoder),
}

impl Decoder {
    /// Returns a decoder at the start of a stream. `salt` goes into the call ids that the provider left out.
    pub(crate) fn new(api: Api, salt: &str) -> Self {
        match api {
            Api::Chat => Self::Chat(chat::Decoder::new(salt)),
            Api::Responses => Self::Responses(responses::Decoder::new(salt)),
            Api::Messages => Self::Messages(messages::Decoder::new(salt)),
        }
    }

    /// Takes the next event; what there is to show is appended to `out`.
    pub(crate) fn event(&mut self, event: &sse::Event, out: &mut Vec<Piece>) -> Step {
        match self {
            Self::Chat(decoder) => decoder.event(event, out),
            Self::Responses(decoder) => decoder.event(event, out),
            Self::Messages(decoder) => decoder.event(event, out),
        }
    }

    /// Returns whether the stream may end here without an error.
    pub(crate) fn may_end(&self) -> bool {
        match self {
            Self::Chat(decoder) => decoder.may_end(),
            Self::Responses(_) => false,
            Self::Messages(decoder) => decoder.may_end(),
        }
    }

    /// Returns the answer at the end of the stream, however it ended.
    ///
    /// # Errors
    /// The failure that the provider told of, or that the stream ended early; with what had arrived.
    pub(crate) fn finish(self, out: &mut Vec<Piece>) -> Result<Response, ModelError> {
        match self {
            Self::Chat(decoder) => decoder.finish(out),
            Self::Responses(decoder) => decoder.finish(),
            Self::Messages(decoder) => decoder.finish(),
        }
    }

    /// Returns what had arrived, for a failure that is not in the stream.
    pub(crate) fn fail(self, error: ModelError) -> ModelError {
        let partial = match self.finish(&mut Vec::new()) {
            Ok(response) => response,
            Err(error) => *error.partial,
        };
        error.with_partial(partial)
    }
}

/// How a stream stands: it goes on, or it ended one way or the other.
#[derive(Debug, Default)]
pub(crate) enum End {
    /// No end has come.
    #[default]
    Open,
    /// The answer is whole.
    Whole,
    /// The provider told of a failure.
    Failed(ModelError),
}

impl End {
    /// Returns the result for what had arrived.
    pub(crate) fn result(self, arrived: Response) -> Result<Response, ModelError> {
        match self {
            Self::Whole => Ok(arrived),
            Self::Failed(error) => Err(error.with_partial(arrived)),
            Self::Open => Err(failure::truncated().with_partial(arrived)),
        }
    }
}

/// Returns the failure of an event that should be JSON of a known form and is not.
pub(crate) fn malformed(data: &str) -> ModelError {
    let start: String = data.chars().take(200).collect();
    failure::plain(
        ModelErrorKind::UnexpectedResponse,
        format!("the stream holds an event that cannot be read: {start}"),
        true,
    )
}
