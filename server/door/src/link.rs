//! Links that are redeemed: an origin, and in the fragment (which no server log sees) a token and the server's fingerprint.
//! `ORIGIN/#owner=TOKEN&key=FINGERPRINT` or `ORIGIN/#share=TOKEN&key=FINGERPRINT`.

use url::{Host, Url};

use crate::{PREFIX_OWNER_LINK, PREFIX_SHARE_LINK};

/// What a link makes of whoever redeems it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// A device of the owner.
    Owner,
    /// A guest of one session.
    Share,
}

/// A link that can be redeemed. Its token is a secret, so it has no `Debug` and no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Link {
    /// Scheme, host and port, without a trailing slash.
    pub origin: String,
    /// What it makes of you.
    pub kind: LinkKind,
    /// The secret.
    pub token: String,
    /// SHA-256 of the server's public key, base64url without padding.
    pub fingerprint: String,
}

/// Why a text is no link. Never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It does not parse as a URL.
    #[error("this is not a link: it has no address")]
    NotAUrl,
    /// The scheme or host is not one a link may have.
    #[error("this link's address is not one to trust: it must be https, or http to this machine")]
    BadOrigin,
    /// The part after `#` is missing or cut.
    #[error("this link is incomplete: the part after `#` is missing or cut")]
    NoToken,
}

impl Link {
    /// Returns the link in `text`, forgiving blanks, angle brackets, quotes and a full stop around it.
    ///
    /// # Errors
    /// Where the text is no link; the error never repeats the text.
    pub fn parse(text: &str) -> Result<Self, LinkError> {
        let trimmed = text.trim_matches(|c: char| {
            c.is_whitespace() || matches!(c, '<' | '>' | '"' | '\'' | '`' | '(' | ')' | '.' | ',')
        });
        let url = Url::parse(trimmed).map_err(|_| LinkError::NotAUrl)?;
        let origin = origin_of(&url).ok_or(LinkError::BadOrigin)?;
        let fragment = url.fragment().ok_or(LinkError::NoToken)?;
        let (kind, token, fingerprint) = parse_fragment(fragment).ok_or(LinkError::NoToken)?;
        Ok(Self {
            origin,
            kind,
            token,
            fingerprint,
        })
    }

    /// Returns the link as text. The result is a secret.
    pub fn to_text(&self) -> String {
        let kind = match self.kind {
            LinkKind::Owner => "owner",
            LinkKind::Share => "share",
        };
        format!(
            "{}/#{kind}={}&key={}",
            self.origin, self.token, self.fingerprint
        )
    }
}

/// Returns the origin of `url` where it may be one of a server: https, or http to a loopback host; no user, no password.
fn origin_of(url: &Url) -> Option<String> {
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let allowed = match (url.scheme(), url.host()?) {
        ("https", _) => true,
        ("http", host) => is_loopback(&host),
        _ => false,
    };
    allowed.then(|| url.origin().ascii_serialization())
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

fn parse_fragment(fragment: &str) -> Option<(LinkKind, String, String)> {
    let (mut kind, mut token, mut fingerprint) = (None, None, None);
    for part in fragment.split('&') {
        match part.split_once('=')? {
            ("owner", value) => (kind, token) = (Some(LinkKind::Owner), Some(value)),
            ("share", value) => (kind, token) = (Some(LinkKind::Share), Some(value)),
            ("key", value) => fingerprint = Some(value),
            _ => {}
        }
    }
    let (kind, token, fingerprint) = (kind?, token?, fingerprint?);
    let prefix = match kind {
        LinkKind::Owner => PREFIX_OWNER_LINK,
        LinkKind::Share => PREFIX_SHARE_LINK,
    };
    let body = token.strip_prefix(prefix)?;
    (is_43_base64url(body) && is_43_base64url(fingerprint))
        .then(|| (kind, token.to_owned(), fingerprint.to_owned()))
}

/// 32 bytes in base64url without padding are 43 characters.
fn is_43_base64url(text: &str) -> bool {
    text.len() == 43
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(origin: &str) -> String {
        format!(
            "{origin}/#owner=pho_{}&key={}",
            "a".repeat(43),
            "B".repeat(43)
        )
    }

    #[test]
    fn sloppy_copies_are_trimmed() {
        let plain = text("http://127.0.0.1:7420");
        for sloppy in [
            plain.clone(),
            format!("<{plain}>"),
            format!(" {plain}\n"),
            format!("\"{plain}\"."),
            format!("{plain}."),
        ] {
            let link = Link::parse(&sloppy).expect("parses");
            assert_eq!(link.to_text(), plain);
        }
    }

    #[test]
    fn addresses_not_to_trust_are_refused() {
        for origin in [
            "http://example.com",
            "ftp://127.0.0.1",
            "http://127.0.0.1.evil.example",
            "https://bank@evil.example",
            "file://",
        ] {
            assert!(
                matches!(
                    Link::parse(&text(origin)),
                    Err(LinkError::BadOrigin | LinkError::NotAUrl)
                ),
                "{origin}"
            );
        }
        for origin in [
            "http://localhost:1",
            "http://[::1]:7420",
            "https://box.example",
        ] {
            assert!(Link::parse(&text(origin)).is_ok(), "{origin}");
        }
    }

    #[test]
    fn a_cut_link_says_that_it_is_cut() {
        let whole = text("http://127.0.0.1:7420");
        for end in "http://127.0.0.1:7420/".len()..whole.len() {
            assert!(
                matches!(Link::parse(&whole[..end]), Err(LinkError::NoToken)),
                "{end}"
            );
        }
    }
}
