//! The door client: what the launcher asks a server over HTTP in its own name.
//! The server's key is proved before any secret goes out; nothing here reads a session.

pub(crate) mod address;
mod error;
mod http;
mod proof;
mod transfer;

use std::time::Duration;

use porthole_door::{
    ANSWER_BYTES, Admitted, Link, LinkKind, Look, Manifest, Offer, PATH_ADMITTED, PATH_BUNDLE,
    PATH_LOOK, PATH_MANIFEST, PATH_PROVE, PATH_REDEEM, PATH_SIGN_OUT, PATH_SIGN_OUT_ALL, Proof,
    Redeem, Redeemed, Redeemer, SignOut,
};
use reqwest::{
    Method, RequestBuilder, Response, StatusCode,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};
use serde::{Serialize, de::DeserializeOwned};

pub use error::{CertificateFault, DoorError};
pub(crate) use error::{from_io, from_status};
pub use http::Tls;
pub(crate) use http::is_plain;
pub(crate) use transfer::STALL;
pub use transfer::{Answered, Range};

use crate::credential::Record;

/// Longest time for a bundle to arrive.
const BUNDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// A client of one origin. It sends secrets only through [`Proved`].
#[derive(Clone)]
pub struct Door {
    client: reqwest::Client,
    origin: String,
}

/// A door whose server has just proved that it holds the expected key.
pub struct Proved<'a>(&'a Door);

/// A redeemed link: the cookie is a secret, so there is no `Debug`.
pub struct Redemption {
    /// Who it makes you.
    pub who: porthole_door::Redeemer,
    /// The cookie's name.
    pub cookie_name: String,
    /// The cookie's value. A secret.
    pub cookie_value: String,
}

impl Door {
    /// Returns a client of `origin`. It follows no redirects, sends no referrer, and uses no proxy for this machine.
    ///
    /// # Errors
    /// Where this computer's TLS roots cannot be loaded.
    pub fn new(origin: &str, tls: &Tls) -> Result<Self, DoorError> {
        Ok(Self {
            client: http::client(tls)?,
            origin: origin.to_owned(),
        })
    }

    /// Has the server prove that it holds the key of `fingerprint`.
    ///
    /// # Errors
    /// Where it is no Porthole, of another version, or holds another key.
    pub async fn prove(&self, fingerprint: &str) -> Result<Proved<'_>, DoorError> {
        let challenge = proof::Challenge::new()?;
        let proof = self.ask_proof(&challenge).await?;
        challenge.check(&proof, fingerprint)?;
        Ok(Proved(self))
    }

    async fn ask_proof(&self, challenge: &proof::Challenge) -> Result<Proof, DoorError> {
        let request = post_json(self.request(Method::POST, PATH_PROVE), &challenge.request());
        let response = self.send(request).await?;
        let answer: Result<Proof, _> = match response.status() {
            StatusCode::OK => read_json(response).await,
            StatusCode::TOO_MANY_REQUESTS => return Err(error::from_response(response).await),
            status if status.is_server_error() => {
                return Err(error::from_response(response).await);
            }
            _ => Err(DoorError::NotPorthole),
        };
        answer.map_err(|error| match error {
            DoorError::TooLarge(_) => DoorError::NotPorthole,
            other => other,
        })
    }

    /// Has the server prove that it holds some key, and returns that key's fingerprint: who is there, to choose a credential by.
    ///
    /// # Errors
    /// Where it is no Porthole, or of another version.
    pub async fn fingerprint(&self) -> Result<String, DoorError> {
        let challenge = proof::Challenge::new()?;
        let proof = self.ask_proof(&challenge).await?;
        challenge.fingerprint(&proof)
    }

    /// Returns the bundle that `manifest` describes, calling `progress` with the bytes so far.
    ///
    /// # Errors
    /// Where it cannot be had or is over its limit.
    pub async fn bundle(
        &self,
        record: &Record,
        manifest: &Manifest,
        progress: impl Fn(u64),
    ) -> Result<Vec<u8>, DoorError> {
        let proved = self.prove(&record.fingerprint).await?;
        let path = format!("{PATH_BUNDLE}{}", manifest.sha256);
        let request = proved
            .with_cookie(Method::GET, &path, record)
            .timeout(BUNDLE_TIMEOUT);
        let response = accepted(self.send(request).await?).await?;
        let limit = porthole_bridge::limits::MODULE_BYTES;
        read_bounded(response, limit, progress).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.origin))
            .header("origin", &self.origin)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, DoorError> {
        request
            .send()
            .await
            .map_err(|error| error::from_send(&error))
    }
}

impl Proved<'_> {
    /// Returns what a share link allows, without using it up.
    ///
    /// # Errors
    /// Where the link is used, expired or unknown; [`DoorError::Missing`] where the server does not tell beforehand.
    pub async fn look(&self, link: &Link) -> Result<Offer, DoorError> {
        let body = Look {
            token: link.token.clone(),
        };
        let request = post_json(self.0.request(Method::POST, PATH_LOOK), &body);
        let response = self.0.send(request).await?;
        match response.status() {
            StatusCode::OK => read_json(response).await,
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Err(DoorError::Missing),
            _ => Err(error::from_redeem(response).await),
        }
    }

    /// Redeems `link` under `name`; the server hears who one is already.
    ///
    /// # Errors
    /// Where the link is used, expired or unknown.
    pub async fn redeem(
        &self,
        link: &Link,
        name: &str,
        already: Option<&Record>,
    ) -> Result<Redemption, DoorError> {
        let body = Redeem {
            token: link.token.clone(),
            name: name.to_owned(),
        };
        let mut request = post_json(self.0.request(Method::POST, PATH_REDEEM), &body);
        if let Some(record) = already {
            request = request.header("cookie", record.cookie());
        }
        let response = self.0.send(request).await?;
        if !response.status().is_success() {
            return Err(error::from_redeem(response).await);
        }
        let (cookie_name, cookie_value) =
            http::device_cookie(response.headers()).ok_or(DoorError::NotPorthole)?;
        let answer: Redeemed = read_json(response).await?;
        let is_guest = matches!(answer.who, Redeemer::Guest { .. });
        if is_guest != (link.kind == LinkKind::Share) {
            return Err(DoorError::NotPorthole);
        }
        Ok(Redemption {
            who: answer.who,
            cookie_name,
            cookie_value,
        })
    }

    /// Returns whom the cookie still admits.
    ///
    /// # Errors
    /// [`DoorError::SignedOut`] where it admits nobody.
    pub async fn admitted(&self, record: &Record) -> Result<Admitted, DoorError> {
        let request = self.with_cookie(Method::GET, PATH_ADMITTED, record);
        read_json(accepted(self.0.send(request).await?).await?).await
    }

    /// Returns the manifest of the server's bundle.
    ///
    /// # Errors
    /// Where it cannot be had, is over its limit, or is none.
    pub async fn manifest(&self, record: &Record) -> Result<Manifest, DoorError> {
        let request = self.with_cookie(Method::GET, PATH_MANIFEST, record);
        let response = accepted(self.0.send(request).await?).await?;
        let limit = porthole_bridge::limits::MANIFEST_BYTES;
        let bytes = read_bounded(response, limit, |_| ()).await?;
        parse_manifest(&bytes)
    }

    /// Ends the cookie on the server's side, or those of every device of the owner.
    ///
    /// # Errors
    /// Where the server did not do it.
    pub async fn sign_out(&self, record: &Record, which: SignOut) -> Result<(), DoorError> {
        let path = match which.all_devices {
            true => PATH_SIGN_OUT_ALL,
            false => PATH_SIGN_OUT,
        };
        let request = self.with_cookie(Method::POST, path, record);
        accepted(self.0.send(request).await?).await.map(|_| ())
    }

    fn with_cookie(&self, method: Method, path: &str, record: &Record) -> RequestBuilder {
        self.0
            .request(method, path)
            .header("cookie", record.cookie())
    }
}

fn parse_manifest(bytes: &[u8]) -> Result<Manifest, DoorError> {
    let manifest: Manifest =
        serde_json::from_slice(bytes).map_err(|_| DoorError::Malformed("manifest"))?;
    // The hash becomes part of an address.
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    match manifest.sha256.len() == 64 && manifest.sha256.bytes().all(hex) {
        true => Ok(manifest),
        false => Err(DoorError::Malformed("manifest")),
    }
}

fn post_json(request: RequestBuilder, body: &impl Serialize) -> RequestBuilder {
    // The door's own messages always serialise; an empty body would be refused in words.
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    request
        .header("content-type", "application/json")
        .body(bytes)
}

async fn accepted(response: Response) -> Result<Response, DoorError> {
    if response.status().is_success() {
        return Ok(response);
    }
    Err(error::from_response(response).await)
}

async fn read_json<T: DeserializeOwned>(response: Response) -> Result<T, DoorError> {
    // A body whose end is only the connection's may be cut off without anybody noticing.
    let headers = response.headers();
    let whole = headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING);
    let bytes = read_bounded(response, ANSWER_BYTES, |_| ()).await?;
    serde_json::from_slice(&bytes).map_err(|error| match error.is_eof() && !whole {
        true => DoorError::Unreachable,
        false => DoorError::NotPorthole,
    })
}

/// Reads a body; stops at the first byte over `limit`, whatever the length header says.
async fn read_bounded(
    mut response: Response,
    limit: usize,
    progress: impl Fn(u64),
) -> Result<Vec<u8>, DoorError> {
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| error::from_send(&error))?
    {
        if body.len() + chunk.len() > limit {
            return Err(DoorError::TooLarge(limit));
        }
        body.extend_from_slice(&chunk);
        progress(body.len() as u64);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
    };

    use super::*;

    /// Asks a server that answers every connection with these bytes and hangs up.
    async fn asked(answer: &[u8]) -> DoorError {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let answer = answer.to_vec();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("asked");
            let mut request = Vec::new();
            let mut chunk = [0; 1024];
            while !request.ends_with(b"}") {
                let read = stream.read(&mut chunk).expect("a request");
                request.extend_from_slice(&chunk[..read]);
            }
            let _ = stream.write_all(&answer);
        });
        let tls = Tls::for_origin(&origin).expect("plain");
        let door = Door::new(&origin, &tls).expect("a client");
        let proved = door.prove("fingerprint").await.err();
        server.join().expect("served");
        proved.expect("no proof")
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_answer_that_is_cut_off_is_asked_for_again() {
        let body = r#"{"door":1,"server":"0.1.0","public_key":"a","signature":"b"}"#;
        let sized = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let open = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
        let chunked = format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3c\r\n{body}\r\n0\r\n\r\n"
        );
        for whole in [sized, open, chunked] {
            for length in 0..whole.len() - 5 {
                let error = asked(&whole.as_bytes()[..length]).await;
                assert!(error.is_transient(), "{error:?} {:?}", &whole[..length]);
            }
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_redirect_is_followed_nowhere() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a port");
        elsewhere.set_nonblocking(true).expect("set");
        let address = elsewhere.local_addr().expect("bound");
        for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
            let answer = format!(
                "HTTP/1.1 {status}\r\nlocation: http://{address}/\r\ncontent-length: 0\r\n\r\n"
            );
            assert_eq!(asked(answer.as_bytes()).await, DoorError::NotPorthole);
        }
        let nobody = elsewhere.accept().expect_err("nobody came");
        assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_manifest_whose_hash_is_none_is_refused() {
        let of = |hash: &str| {
            let text =
                format!(r#"{{"name":"a","version":"1","abi":1,"sha256":"{hash}","bytes":1}}"#);
            parse_manifest(text.as_bytes())
        };
        let good = "0123456789abcdef".repeat(4);
        assert!(of(&good).is_ok());
        for bad in [
            &good[1..],
            &format!("{good}0"),
            &good.to_uppercase(),
            &format!("../{}", &good[3..]),
            &format!("?{}", &good[1..]),
            "",
        ] {
            assert_eq!(
                of(bad).err(),
                Some(DoorError::Malformed("manifest")),
                "{bad}"
            );
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_whole_wrong_answer_is_no_porthole() {
        for answer in [
            "SSH-2.0-OpenSSH_9.9\r\n",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]",
            "HTTP/1.1 200 OK\r\n\r\n<html></html>",
        ] {
            assert_eq!(
                asked(answer.as_bytes()).await,
                DoorError::NotPorthole,
                "{answer:?}"
            );
        }
    }
}
