//! How the door's requests travel: one HTTP client per origin, its TLS settings, and the one cookie it looks for.
//! Deciding what an answer means is not done here.

use std::{sync::Arc, time::Duration};

use porthole_door::{PREFIX_DEVICE, PREFIX_GUEST, TIMEOUT_SECONDS};
use reqwest::header::{HeaderMap, SET_COOKIE};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use super::{DoorError, address::Names};

/// TLS settings, shared by the door and the link.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Returns the settings for `origin`. This computer's roots are loaded only where they are needed: it takes a while.
    ///
    /// # Errors
    /// Where the roots cannot be loaded.
    pub fn for_origin(origin: &str) -> Result<Self, DoorError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| DoorError::NoRoots)?;
        let config = if is_plain(origin) {
            builder
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth()
        } else {
            builder
                .with_platform_verifier()
                .map_err(|_| DoorError::NoRoots)?
                .with_no_client_auth()
        };
        Ok(Self(Arc::new(config)))
    }

    /// Returns the settings.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}

/// Returns whether `origin` is http, which the link parser allows to this machine only.
pub(crate) fn is_plain(origin: &str) -> bool {
    origin.starts_with("http://")
}

pub(super) fn client(tls: &Tls) -> Result<reqwest::Client, DoorError> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .timeout(Duration::from_secs(TIMEOUT_SECONDS))
        .connect_timeout(Duration::from_secs(TIMEOUT_SECONDS))
        .user_agent(concat!("porthole/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        // The link goes straight to the server, so the door does too; variables that name proxies mean other programs.
        .no_proxy()
        .dns_resolver(Arc::new(Names))
        .tls_backend_preconfigured((*tls.0).clone())
        .build()
        .map_err(|_| DoorError::NoRoots)
}

/// Returns name and value of the device's or guest's cookie among the answer's cookies.
pub(super) fn device_cookie(headers: &HeaderMap) -> Option<(String, String)> {
    headers.get_all(SET_COOKIE).iter().find_map(|header| {
        let pair = header.to_str().ok()?.split(';').next()?;
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let ours = value.starts_with(PREFIX_DEVICE) || value.starts_with(PREFIX_GUEST);
        (ours && is_token(name) && is_token(value) && value.len() <= 128)
            .then(|| (name.to_owned(), value.to_owned()))
    })
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_porthole_cookie_of_plain_characters_is_kept() {
        let mut headers = HeaderMap::new();
        headers.append(SET_COOKIE, "other=1; Path=/".parse().expect("valid"));
        headers.append(
            SET_COOKIE,
            "porthole-device-7420=phd_abc-_9; HttpOnly; Path=/"
                .parse()
                .expect("valid"),
        );
        assert_eq!(
            device_cookie(&headers),
            Some(("porthole-device-7420".into(), "phd_abc-_9".into()))
        );
        let mut odd = HeaderMap::new();
        odd.append(SET_COOKIE, "a b=phd_x".parse().expect("valid"));
        odd.append(SET_COOKIE, "a=phd_x y".parse().expect("valid"));
        assert_eq!(device_cookie(&odd), None);
    }
}
