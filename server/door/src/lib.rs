//! The door: what the launcher says to the server over HTTP in its own name, before and beside the link.
//! Plain data and names; no HTTP, no keys. Nothing here is ever seen by a UI.

mod link;
mod messages;
mod transfer;

pub use link::{Link, LinkError, LinkKind};
pub use messages::{
    AccessCause, Admitted, Failure, LinkControl, Look, Manifest, Offer, Proof, ProofRequest,
    Redeem, Redeemed, Redeemer, SignOut, proof_message,
};

pub use transfer::{
    Attached, Confusion, DOWNLOAD_BYTES, DOWNLOAD_RANGE, Download, HEADER_NAME, HEADER_TOTAL,
    HEADER_TYPE, HEADER_VERSION, PATH_DOWNLOAD, PATH_UPLOAD, Source, UPLOAD_BYTES, UPLOAD_CHUNK,
    UPLOAD_CHUNKS, UploadFinish, UploadOpen, UploadState, chunk_path, chunks, finish_path,
    upload_path,
};

/// The version of this contract; the server names its own in [`Proof`].
pub const DOOR_VERSION: u32 = 1;

/// `POST`: the server signs a nonce, before any secret is sent to it.
pub const PATH_PROVE: &str = "/door/prove";
/// `POST`: a link's token becomes a cookie.
pub const PATH_REDEEM: &str = "/door/redeem";
/// `POST`: what a share link allows; uses nothing up.
pub const PATH_LOOK: &str = "/door/look";
/// `GET`: whether the cookie still admits, and as whom.
pub const PATH_ADMITTED: &str = "/door/admitted";
/// `GET`: the manifest of the UI bundle.
pub const PATH_MANIFEST: &str = "/door/ui/manifest";
/// `GET`: prefix of the bundle; the hash from the manifest follows.
pub const PATH_BUNDLE: &str = "/door/ui/bundle/";
/// `POST`: the cookie's device signs out.
pub const PATH_SIGN_OUT: &str = "/door/sign-out";
/// `POST`: every device of the owner signs out, the one that asks too. A server that cannot do it answers 404.
pub const PATH_SIGN_OUT_ALL: &str = "/door/sign-out-all";
/// `GET`, upgraded: the link. Text frames are the UI's, binary frames are [`LinkControl`].
pub const PATH_LINK: &str = "/link";
/// `GET`: readiness, without credentials: `{"ok":true}`.
pub const PATH_HEALTH: &str = "/health";

/// Every door answer is at most so many bytes, but the manifest and the bundle.
pub const ANSWER_BYTES: usize = 2 << 10;
/// Every door request ends within this many seconds, but the bundle's.
pub const TIMEOUT_SECONDS: u64 = 10;

/// Prefix of an owner link's token. Each prefix is what a scrubber looks for.
pub const PREFIX_OWNER_LINK: &str = "pho_";
/// Name of a device's cookie over https.
pub const COOKIE_DEVICE: &str = "__Host-porthole-device";
/// Name of a device's cookie over http on loopback; the port that the client sees follows.
pub const COOKIE_DEVICE_PORT: &str = "porthole-device-";
/// Name of a guest's cookie over https.
pub const COOKIE_GUEST: &str = "__Host-porthole-guest";
/// Name of a guest's cookie over http on loopback; the port that the client sees follows.
pub const COOKIE_GUEST_PORT: &str = "porthole-guest-";

/// Prefix of a share link's token.
pub const PREFIX_SHARE_LINK: &str = "phs_";
/// Prefix of a device cookie's value.
pub const PREFIX_DEVICE: &str = "phd_";
/// Prefix of a guest cookie's value.
pub const PREFIX_GUEST: &str = "phg_";
