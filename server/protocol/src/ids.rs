//! Names of things. Text ids have a fixed alphabet, so that none can become a path, an option or markup.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a text is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid id")]
pub struct IdError;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the id in `text`: 1 to its maximum of lower-case letters, digits, `-` and `_`, not starting with `-`.
            ///
            /// # Errors
            /// Where the text has another form.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let fits = !text.is_empty()
                    && text.len() <= $max
                    && !text.starts_with('-')
                    && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
                if fits { Ok(Self(text.to_owned())) } else { Err(IdError) }
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// A session; made by the server. It is also the name of the session's folder.
    SessionId, 32
}
text_id! {
    /// A client-made id of a call that changes something: the same id twice is one change.
    RequestId, 64
}
text_id! {
    /// A run of a command, whose output is an artifact.
    RunId, 32
}
text_id! {
    /// A way in that can be ended: a share link, a guest's access, a device.
    AccessId, 32
}
text_id! {
    /// A file that a person uploaded; made by the server. It is also the name of its file in the session's folder.
    AttachmentId, 32
}
text_id! {
    /// A tool call; made by us, unique in its conversation.
    CallId, 64
}
number_id! {
    /// A conversation in its session; the root is 1.
    ConversationId
}
number_id! {
    /// A committed entry; grows within a session.
    EntryId
}
number_id! {
    /// A submission; grows within a session.
    SubmissionId
}
number_id! {
    /// A turn; grows within a session.
    TurnId
}
number_id! {
    /// A question; grows within a session.
    QuestionId
}

impl ConversationId {
    /// The conversation that a session begins with.
    pub const ROOT: Self = Self(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_be_paths_options_or_markup_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "-x",
            "A",
            "a b",
            "a\u{0}",
            "é",
            &"a".repeat(33),
        ] {
            assert_eq!(SessionId::parse(bad), Err(IdError), "{bad:?}");
            let json = serde_json::to_string(bad).expect("encodes");
            assert!(serde_json::from_str::<SessionId>(&json).is_err(), "{bad:?}");
        }
        assert!(SessionId::parse("k3v9x2-a_b").is_ok());
    }
}
