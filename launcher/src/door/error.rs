//! Everything that can go wrong at the door, each with a sentence and what to do next.
//! Texts of the server are escaped and cut before they become part of one.

use std::time::Duration;

use porthole_door::Failure as Told;
use reqwest::{Response, StatusCode, header::RETRY_AFTER};

use super::address::NoAddress;
use crate::{escape, failure::Failure};

/// Columns of a server's own sentence that are shown.
const TOLD_COLUMNS: usize = 200;

/// What is wrong with a server's TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateFault {
    /// Its time is over.
    #[error("the server's certificate has expired")]
    Expired,
    /// Its time has not come.
    #[error("the server's certificate is not valid yet")]
    NotYet,
    /// Nobody this computer trusts has signed it.
    #[error("the server's certificate comes from an authority that this computer does not trust")]
    UnknownAuthority,
    /// It is for other names.
    #[error("the server's certificate is for another name")]
    WrongName,
    /// There is no TLS at all.
    #[error("what answers at this address does not speak TLS")]
    NoTls,
    /// Anything else.
    #[error("the server and this computer cannot agree on a secure connection")]
    Other,
}

impl CertificateFault {
    fn of(error: &rustls::Error) -> Self {
        use rustls::{CertificateError as C, Error as E};
        match error {
            E::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => Self::Expired,
            E::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. }) => Self::NotYet,
            // An authority of the same name with another key is another authority.
            E::InvalidCertificate(C::UnknownIssuer | C::BadSignature) => Self::UnknownAuthority,
            E::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => {
                Self::WrongName
            }
            E::InvalidMessage(_) => Self::NoTls,
            _ => Self::Other,
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Expired | Self::NotYet => {
                "check this computer's clock; if it is right, the server needs a new certificate"
            }
            Self::UnknownAuthority => {
                "name the authority's file in `SSL_CERT_FILE`, or use a certificate from a known authority"
            }
            Self::WrongName => "use the name that the certificate is for",
            Self::NoTls => {
                "check scheme and port: without TLS only this machine is reached, with `http://`"
            }
            Self::Other => {
                "look at what stands between this computer and the server, such as a proxy"
            }
        }
    }
}

/// Why the door did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DoorError {
    /// Nothing listens there.
    #[error("nothing answers at this address")]
    Refused,
    /// It could not be reached in another way.
    #[error("the server cannot be reached")]
    Unreachable,
    /// The name leads nowhere.
    #[error("this computer knows no address for that name")]
    UnknownHost,
    /// The ssh program that carries the connection ended or did not begin; what it said, escaped.
    #[error("{0}")]
    Ssh(String),
    /// TLS failed.
    #[error("{0}")]
    Certificate(CertificateFault),
    /// It did not answer in time.
    #[error("the server did not answer in time")]
    TimedOut,
    /// What answers is no Porthole server.
    #[error("what answers at this address is not a Porthole server")]
    NotPorthole,
    /// The server is too old.
    #[error("the server is older than this launcher")]
    OlderServer,
    /// The server is too new.
    #[error("the server is newer than this launcher")]
    NewerServer,
    /// The key is another one.
    #[error(
        "the server at this address is not the one it was: its key is another. Nothing was sent to it"
    )]
    ForeignKey,
    /// A link that is not, or no longer, good.
    #[error("{0}")]
    LinkRefused(String),
    /// The credential admits nobody.
    #[error("this computer is no longer admitted here")]
    SignedOut,
    /// What was asked for is not there, or not any more.
    #[error("the server does not have what this launcher asks for")]
    Missing,
    /// Too many requests; wait so long.
    #[error("the server asks to wait")]
    Busy(Duration),
    /// The server wants another version of the launcher.
    #[error("the server no longer talks to this version of the launcher")]
    UpgradeRequired,
    /// A redirect, which is never followed.
    #[error("the server sends requests elsewhere, which this launcher does not follow")]
    Redirect,
    /// The server failed.
    #[error("the server failed (status {0})")]
    Server(u16),
    /// An answer over its limit of so many bytes.
    #[error("the server's answer is over its limit of {0} bytes")]
    TooLarge(usize),
    /// Something that does not parse.
    #[error("the server's {0} is not one")]
    Malformed(&'static str),
    /// No randomness on this computer.
    #[error("this computer gives no random numbers")]
    NoRandomness,
    /// No TLS roots on this computer.
    #[error("this computer's certificates cannot be loaded")]
    NoRoots,
}

impl DoorError {
    /// Returns what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused => "start the server with `portholed start`, or check the address",
            Self::Unreachable | Self::TimedOut => {
                "check the network and the address, then try again"
            }
            Self::Ssh(_) => {
                "run `ssh` by hand to see what it says; where it asks for a password, leave and run `porthole --ssh` again"
            }
            Self::UnknownHost => "check how the name is spelt, and the network",
            Self::Certificate(fault) => fault.hint(),
            Self::NotPorthole => {
                "check the port: `portholed status` shows where the server listens"
            }
            Self::OlderServer => "update `portholed` on the server",
            Self::NewerServer | Self::UpgradeRequired => "update `porthole` on this computer",
            Self::ForeignKey => {
                "if the server was set up anew, make a fresh link there with `portholed link owner`"
            }
            Self::LinkRefused(_) | Self::SignedOut => {
                "make a fresh link on the server with `portholed link owner`"
            }
            Self::Missing => "check that server and launcher are of the same version",
            Self::Busy(_) => "try again in a little while",
            Self::Redirect => "use the address that the server itself names",
            Self::Server(_) => "look at `portholed logs` on the server",
            Self::TooLarge(_) | Self::Malformed(_) => "check what is served; nothing of it was run",
            Self::NoRandomness | Self::NoRoots => "run `porthole doctor`",
        }
    }

    /// Returns whether trying again by itself may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused
            | Self::Unreachable
            | Self::UnknownHost
            | Self::Ssh(_)
            | Self::TimedOut
            | Self::Busy(_)
            | Self::Server(_)
            | Self::NoRandomness => true,
            Self::Certificate(_)
            | Self::NotPorthole
            | Self::OlderServer
            | Self::NewerServer
            | Self::ForeignKey
            | Self::LinkRefused(_)
            | Self::SignedOut
            | Self::Missing
            | Self::UpgradeRequired
            | Self::Redirect
            | Self::TooLarge(_)
            | Self::Malformed(_)
            | Self::NoRoots => false,
        }
    }

    /// Returns whether it may be somebody else who answers for a moment: a hotel's login page, a proxy whose server restarts.
    /// Of a server that was there it is no last word.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::NotPorthole
                | Self::Redirect
                | Self::TooLarge(_)
                | Self::Malformed(_)
                | Self::Certificate(_)
        )
    }

    /// Returns how long the server asked to wait.
    pub fn asked_wait(&self) -> Option<Duration> {
        match self {
            Self::Busy(wait) => Some(*wait),
            _ => None,
        }
    }

    /// Returns the failure of a command that spoke to `origin`.
    pub fn to_failure(&self, origin: &str) -> Failure {
        Failure::new(
            format!("`{}`: {self}", escape::visible(origin)),
            self.hint(),
        )
    }
}

/// Returns what a status means that is none of success, for anything but redeeming.
pub(crate) fn from_status(status: u16, retry_after: Option<&str>) -> DoorError {
    match status {
        401 | 403 => DoorError::SignedOut,
        404 | 410 => DoorError::Missing,
        426 => DoorError::UpgradeRequired,
        429 => DoorError::Busy(seconds(retry_after)),
        300..=399 => DoorError::Redirect,
        500..=599 => DoorError::Server(status),
        _ => DoorError::NotPorthole,
    }
}

pub(super) async fn from_response(response: Response) -> DoorError {
    let retry = header(&response, RETRY_AFTER.as_str());
    from_status(response.status().as_u16(), retry.as_deref())
}

/// The server says in its own words why a link is not good; the words are shown escaped.
pub(super) async fn from_redeem(response: Response) -> DoorError {
    let status = response.status();
    let refused = matches!(
        status,
        StatusCode::BAD_REQUEST
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::CONFLICT
            | StatusCode::GONE
    );
    if !refused {
        return from_response(response).await;
    }
    let told: Option<Told> = super::read_json(response).await.ok();
    let message = told
        .map(|told| escape::visible_cut(told.message.trim_end_matches('.'), TOLD_COLUMNS))
        .filter(|message| !message.is_empty())
        .unwrap_or_else(|| "this link is used, expired or unknown".to_owned());
    DoorError::LinkRefused(message)
}

pub(super) fn from_send(error: &reqwest::Error) -> DoorError {
    if error.is_timeout() {
        return DoorError::TimedOut;
    }
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(current) = cause {
        if let Some(io) = current.downcast_ref::<std::io::Error>()
            && let Some(found) = from_io(io)
        {
            return found;
        }
        if current.is::<NoAddress>() {
            return DoorError::UnknownHost;
        }
        if let Some(tls) = current.downcast_ref::<rustls::Error>() {
            return DoorError::Certificate(CertificateFault::of(tls));
        }
        cause = current.source();
    }
    // Only what is whole and wrong says that no Porthole is there; what was cut off says nothing.
    match is_wrong_http(error) {
        true => DoorError::NotPorthole,
        false => DoorError::Unreachable,
    }
}

/// Returns whether an answer came that is no HTTP. One that was cut off is none.
fn is_wrong_http(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(current) = cause {
        if let Some(http) = current.downcast_ref::<hyper::Error>() {
            return http.is_parse() && !http.is_incomplete_message();
        }
        cause = current.source();
    }
    false
}

/// Returns what an error of the operating system means; nothing where it only wraps another.
pub(crate) fn from_io(error: &std::io::Error) -> Option<DoorError> {
    use std::io::ErrorKind as K;
    let inner = error.get_ref();
    if let Some(wrapped) = inner.and_then(|inner| inner.downcast_ref::<std::io::Error>()) {
        return from_io(wrapped);
    }
    if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return Some(DoorError::Certificate(CertificateFault::of(tls)));
    }
    if inner.is_some_and(|inner| inner.is::<NoAddress>()) {
        return Some(DoorError::UnknownHost);
    }
    match error.kind() {
        K::ConnectionRefused => Some(DoorError::Refused),
        K::TimedOut => Some(DoorError::TimedOut),
        K::ConnectionReset
        | K::ConnectionAborted
        | K::BrokenPipe
        | K::HostUnreachable
        | K::NetworkUnreachable
        | K::UnexpectedEof => Some(DoorError::Unreachable),
        _ => None,
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    Some(response.headers().get(name)?.to_str().ok()?.to_owned())
}

/// Seconds only; a date, or nothing, counts as one second.
fn seconds(retry_after: Option<&str>) -> Duration {
    let seconds = retry_after
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(1);
    Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_means_one_thing() {
        let seven = Duration::from_secs(7);
        for (status, expected, again) in [
            (401, DoorError::SignedOut, false),
            (403, DoorError::SignedOut, false),
            (404, DoorError::Missing, false),
            (410, DoorError::Missing, false),
            (426, DoorError::UpgradeRequired, false),
            (429, DoorError::Busy(seven), true),
            (302, DoorError::Redirect, false),
            (500, DoorError::Server(500), true),
            (503, DoorError::Server(503), true),
            (418, DoorError::NotPorthole, false),
        ] {
            let error = from_status(status, Some("7"));
            assert_eq!(error, expected);
            assert_eq!(error.is_transient(), again, "{status}");
        }
    }

    #[test]
    fn a_failure_names_the_origin_escaped() {
        let failure = DoorError::Refused.to_failure("http://127.0.0.1:1\u{1b}[31m");
        assert!(!failure.to_string().contains('\u{1b}'));
        assert!(failure.message.contains("http://127.0.0.1:1"));
    }
}
