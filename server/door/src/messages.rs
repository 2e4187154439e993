//! The bodies of door requests and answers, as JSON.

use serde::{Deserialize, Serialize};

/// Asks the server to prove that it holds its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofRequest {
    /// 32 fresh random bytes, base64url without padding.
    pub nonce: String,
}

/// The server's proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// [`crate::DOOR_VERSION`] of the server.
    pub door: u32,
    /// The server's version, to show.
    pub server: String,
    /// Ed25519 public key, base64url without padding.
    pub public_key: String,
    /// Signature over [`proof_message`], base64url without padding.
    pub signature: String,
}

/// Returns the bytes that a proof signs: bound to this purpose, so that the key signs nothing else by mistake.
pub fn proof_message(nonce: &str) -> Vec<u8> {
    format!("porthole door proof v1\n{nonce}").into_bytes()
}

/// Turns a link's token into a cookie.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redeem {
    /// The token of the link. A secret.
    pub token: String,
    /// The name to show: the device's for an owner, the person's for a guest; at most 40 characters.
    pub name: String,
}

/// Asks what a share link allows, before it is redeemed. Uses nothing up.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The token of the link. A secret.
    pub token: String,
}

/// What a share link allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The session's title.
    pub title: String,
    /// `view` or `full`.
    pub mode: String,
    /// Whether its guests may answer questions.
    #[serde(default)]
    pub may_approve: bool,
    /// When it ends, in milliseconds since the Unix epoch; 0: not told.
    #[serde(default)]
    pub expires_ms: u64,
    /// Whether it is for one person only.
    #[serde(default)]
    pub once: bool,
}

/// Which devices sign out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignOut {
    /// Every device of the owner, this one too.
    #[serde(default)]
    pub all_devices: bool,
}

/// Who a redeemed link makes you.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redeemer {
    /// A device of the owner.
    Owner,
    /// A guest of one session.
    Guest {
        /// The session.
        session: String,
        /// `view` or `full`.
        mode: String,
        /// Whether they may answer questions.
        #[serde(default)]
        may_approve: bool,
        /// The name as the server keeps it.
        #[serde(default)]
        name: String,
        /// The session's title.
        #[serde(default)]
        title: String,
        /// When the access ends, in milliseconds since the Unix epoch; 0: not told.
        #[serde(default)]
        expires_ms: u64,
    },
}

/// The answer to [`Redeem`]. The cookie comes in `Set-Cookie`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redeemed {
    /// Who you are now.
    pub who: Redeemer,
}

/// The answer of the probe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admitted {
    /// Who you are.
    pub who: Redeemer,
}

/// A refusal, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What failed, one sentence.
    pub message: String,
    /// What to do next; may be empty.
    #[serde(default)]
    pub hint: String,
}

/// The manifest of a UI bundle; at most 8 KiB of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The bundle's own name, to show.
    pub name: String,
    /// The bundle's own version, to show.
    pub version: String,
    /// Version of the bridge it speaks.
    pub abi: i32,
    /// SHA-256 of the bundle, 64 lower-case hex digits.
    pub sha256: String,
    /// Size of the bundle in bytes.
    pub bytes: u64,
}

/// Why access ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessCause {
    /// The device signed out, or was signed out.
    SignedOut,
    /// The owner revoked the link or the access.
    Revoked,
    /// The link's time is over.
    Expired,
    /// The session was put away or deleted.
    SessionGone,
    /// A cause that this side does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// A binary frame of the link: what concerns the launcher, as JSON bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LinkControl {
    /// The server has another bundle now.
    BundleChanged {
        /// Its hash.
        sha256: String,
    },
    /// The credential no longer admits; the connection closes.
    AccessEnded {
        /// Why, for a person.
        reason: String,
        /// Why, for a program.
        #[serde(default)]
        cause: AccessCause,
    },
    /// The server is shutting down; trying again is right.
    ShuttingDown,
}
