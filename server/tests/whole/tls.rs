//! Encryption of the server's own, with certificates of an authority that exists for one test.

use std::{path::Path, sync::Arc};

use porthole_protocol::{Call, replies};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustix::process::Signal;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::{
    commands::{ok, text},
    real::{self, Real, signal},
    world::{self, SOON, link_over},
};

/// An authority, and what a client needs to believe it.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    roots: RootCertStore,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("signed");
        let mut roots = RootCertStore::empty();
        roots.add(own.der().clone()).expect("a root");
        Self {
            issuer: Issuer::new(params, key),
            roots,
        }
    }

    /// Writes a certificate for `localhost` and its key; returns the certificate.
    fn issue(&self, cert: &Path, key: &Path) -> CertificateDer<'static> {
        let pair = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let signed = params.signed_by(&pair, &self.issuer).expect("signed");
        std::fs::write(cert, signed.pem()).expect("written");
        std::fs::write(key, pair.serialize_pem()).expect("written");
        signed.der().clone()
    }

    async fn connect(&self, server: &Real) -> TlsStream<TcpStream> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        let stream = TcpStream::connect(server.address).await.expect("connects");
        let name = ServerName::try_from("localhost").expect("a name");
        let agreed = TlsConnector::from(Arc::new(config)).connect(name, stream);
        agreed.await.expect("the certificate is believed")
    }

    async fn ask(&self, server: &Real, request: &str) -> String {
        let mut stream = self.connect(server).await;
        stream.write_all(request.as_bytes()).await.expect("asks");
        let mut answer = Vec::new();
        // Some close without the last word of TLS.
        let _ = stream.read_to_end(&mut answer).await;
        text(&answer)
    }
}

async fn serve(authority: &Authority) -> Real {
    let home = tempfile::tempdir().expect("a folder");
    world::bundle(&home.path().join("bundle"), b"one");
    let (cert, key) = files(home.path());
    authority.issue(Path::new(&cert), Path::new(&key));
    let arguments = [
        "--listen",
        "0.0.0.0:0",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--allow-host",
        "localhost",
    ];
    Real::within(home, &arguments).await
}

fn files(home: &Path) -> (String, String) {
    let name = |name: &str| home.join(name).display().to_string();
    (name("cert.pem"), name("key.pem"))
}

#[tokio::test]
async fn a_link_is_redeemed_and_opened_over_the_servers_own_encryption() {
    let authority = Authority::new();
    let server = serve(&authority).await;
    let origin = format!("https://localhost:{}", server.address.port());
    let link = ok(&server.data(), &["link", "owner"]).await;
    assert!(
        link.starts_with(&format!("{origin}/#owner=")),
        "it names the certificate's host"
    );
    let token = porthole_door::Link::parse(&link).expect("a link").token;
    let body = format!(r#"{{"token":"{token}","name":"test"}}"#);
    let host = format!(
        "host: localhost:{}\r\norigin: {origin}\r\nconnection: close",
        server.address.port()
    );
    let redeem = format!(
        "POST /door/redeem HTTP/1.1\r\n{host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = authority.ask(&server, &redeem).await;
    let cookie = answer
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .expect("a cookie");
    for word in [
        "__Host-porthole-device=",
        "Secure",
        "HttpOnly",
        "SameSite=Strict",
        "Path=/",
    ] {
        assert!(cookie.contains(word), "{word}: {cookie}");
    }
    let cookie = format!("cookie: {}", cookie.split(';').next().expect("a value"));
    let mut client = link_over(authority.connect(&server).await, &origin, &cookie).await;
    client
        .call::<replies::Models>(Call::Models {})
        .await
        .expect("answered");
}

#[tokio::test]
async fn other_names_and_plain_speech_are_refused_there() {
    let authority = Authority::new();
    let server = serve(&authority).await;
    let ask = |host: &str, more: &str| {
        format!("GET /health HTTP/1.1\r\nhost: {host}\r\n{more}connection: close\r\n\r\n")
    };
    let here = format!("localhost:{}", server.address.port());
    assert!(
        authority
            .ask(&server, &ask(&here, ""))
            .await
            .contains(r#"{"ok":true}"#)
    );
    for (host, more) in [
        ("evil.example", String::new()),
        (&*here, format!("origin: http://{here}\r\n")),
    ] {
        let answer = authority.ask(&server, &ask(host, &more)).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let plain = world::http(server.address, &ask(&here, "")).await;
    assert_eq!(plain.status, 400);
    assert!(plain.body.contains("use `https://`"), "{}", plain.body);
    // One who never agrees on anything keeps nobody out.
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(server.address).await.expect("connects"));
    }
    assert!(
        authority
            .ask(&server, &ask(&here, ""))
            .await
            .contains(r#"{"ok":true}"#)
    );
}

#[tokio::test]
async fn a_new_certificate_is_taken_on_hangup_and_a_bad_one_is_not() {
    let authority = Authority::new();
    let server = serve(&authority).await;
    let (cert, key) = files(server.home.path());
    let (cert, key) = (Path::new(&cert), Path::new(&key));
    let shown = async || {
        let stream = authority.connect(&server).await;
        let (_, session) = stream.get_ref();
        session.peer_certificates().expect("shown")[0]
            .clone()
            .into_owned()
    };
    let first = shown().await;
    let good = std::fs::read(cert).expect("there");
    std::fs::write(cert, "nonsense").expect("written");
    signal(server.pid(), Signal::HUP);
    let log = server.data().join("log/serve.log");
    world::eventually("the log says that it stays", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.contains("the certificate stays as it was")
    })
    .await;
    assert_eq!(shown().await, first);
    std::fs::write(cert, good).expect("written");
    let second = authority.issue(cert, key);
    signal(server.pid(), Signal::HUP);
    let begun = std::time::Instant::now();
    while shown().await != second {
        assert!(begun.elapsed() < SOON, "the new one is shown");
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let authority = Authority::new();
    let home = tempfile::tempdir().expect("a folder");
    world::bundle(&home.path().join("bundle"), b"one");
    let (cert, key) = files(home.path());
    let other = home.path().join("other.pem").display().to_string();
    let nonsense = home.path().join("nonsense.pem").display().to_string();
    authority.issue(Path::new(&cert), Path::new(&key));
    authority.issue(Path::new(&nonsense), Path::new(&other));
    std::fs::write(&nonsense, "nonsense").expect("written");
    for (cert, key, words) in [
        ("/no/such.pem", &*key, "cannot read `/no/such.pem`"),
        (&*nonsense, &*key, "nonsense.pem` holds no certificate"),
        (&*cert, &*nonsense, "nonsense.pem` holds no private key"),
        (&*cert, &*other, "is not the one of the certificate"),
    ] {
        let output = real::command(home.path(), &["--tls-cert", cert, "--tls-key", key]).output();
        let output = output.await.expect("runs");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains(words) && told.contains("hint: `--tls-cert` takes"),
            "{told}"
        );
        assert!(!told.contains("PRIVATE KEY-----"), "{told}");
    }
    let half = real::command(home.path(), &["--tls-cert", &cert]).output();
    assert_eq!(half.await.expect("runs").status.code(), Some(2));
}
