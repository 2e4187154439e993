//! A small server of a test: it proves its key, redeems one link and serves one bundle. What it says can be hostile.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porthole_bridge::ABI;
use porthole_door::{
    Manifest, PATH_BUNDLE, PATH_MANIFEST, PATH_PROVE, PATH_REDEEM, Proof, ProofRequest,
    proof_message,
};
use porthole_launcher::bundle::sha256_hex;
use ring::{
    digest::{SHA256, digest},
    signature::{Ed25519KeyPair, KeyPair},
};

pub(crate) const TOKEN: &str = "pho_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const RUDE: &str = "\x1b]0;owned\x07\u{9b}2J\u{202e}\x1b[31m";
const COOKIE: &str = "phd_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A server that proves its key, redeems one link and serves a bundle; its link always fails.
pub(crate) struct Server {
    pub(crate) link: String,
    /// Requests that carried the token or the cookie.
    pub(crate) secrets: Arc<Mutex<u32>>,
}

impl Server {
    /// Starts one; `honest` or with a key that is not the link's.
    pub(crate) fn start(bundle: Vec<u8>, honest: Honest) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let pair = Arc::new(Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a key"));
        let shown = match honest {
            Honest::Yes | Honest::Rude => {
                URL_SAFE_NO_PAD.encode(digest(&SHA256, pair.public_key().as_ref()))
            }
            Honest::No => "z".repeat(43),
        };
        let secrets = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&secrets);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pair, bundle, counted) =
                    (Arc::clone(&pair), bundle.clone(), Arc::clone(&counted));
                std::thread::spawn(move || serve(stream, &pair, &bundle, &counted, honest));
            }
        });
        Self {
            link: format!("http://127.0.0.1:{port}/#owner={TOKEN}&key={shown}"),
            secrets,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Honest {
    Yes,
    No,
    /// With the right key, and terminal controls in everything it says.
    Rude,
}

pub(crate) fn serve(
    stream: TcpStream,
    pair: &Ed25519KeyPair,
    bundle: &[u8],
    secrets: &Mutex<u32>,
    honest: Honest,
) {
    let mut reader = BufReader::new(stream.try_clone().expect("clones"));
    let mut out = stream;
    while let Some((path, secret, body)) = request(&mut reader) {
        *secrets.lock().expect("not poisoned") += u32::from(secret);
        let (status, answer) = match path.as_str() {
            PATH_PROVE => (200, prove(pair, &body)),
            PATH_REDEEM => (200, br#"{"who":"owner"}"#.to_vec()),
            PATH_MANIFEST if honest == Honest::Rude => (200, manifest(b"no module", RUDE)),
            PATH_MANIFEST => (200, manifest(bundle, "small")),
            path if path.starts_with(PATH_BUNDLE) && honest == Honest::Rude => {
                (200, b"no module".to_vec())
            }
            path if path.starts_with(PATH_BUNDLE) => (200, bundle.to_vec()),
            _ => (503, Vec::new()),
        };
        let reason = match honest {
            Honest::Rude => "\u{9b}2J\u{202e}",
            Honest::Yes | Honest::No => "x",
        };
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\ncontent-length: {}\r\nset-cookie: porthole-device={COOKIE}\r\n\r\n",
            answer.len()
        );
        if out.write_all(&[head.as_bytes(), &answer].concat()).is_err() {
            return;
        }
    }
}

/// Reads one request: its path, whether it held a secret, its body.
pub(crate) fn request(reader: &mut impl BufRead) -> Option<(String, bool, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut secret) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        secret |= header.contains(COOKIE);
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    secret |= String::from_utf8_lossy(&body).contains(TOKEN);
    Some((path, secret, body))
}

pub(crate) fn prove(pair: &Ed25519KeyPair, body: &[u8]) -> Vec<u8> {
    let asked: ProofRequest = serde_json::from_slice(body).expect("a proof request");
    let proof = Proof {
        door: porthole_door::DOOR_VERSION,
        server: "test".into(),
        public_key: URL_SAFE_NO_PAD.encode(pair.public_key()),
        signature: URL_SAFE_NO_PAD.encode(pair.sign(&proof_message(&asked.nonce))),
    };
    serde_json::to_vec(&proof).expect("serialises")
}

pub(crate) fn manifest(bundle: &[u8], name: &str) -> Vec<u8> {
    let manifest = Manifest {
        name: name.into(),
        version: name.into(),
        abi: ABI,
        sha256: sha256_hex(bundle),
        bytes: bundle.len() as u64,
    };
    serde_json::to_vec(&manifest).expect("serialises")
}
