//! https through the real launcher, with a certificate authority of the test's own.

use std::{fs, path::PathBuf};

use porthole_tests::{Server, World};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};

use super::{COLS, ROWS, leave};

/// An authority and a certificate of it, as files.
struct Files {
    authority: PathBuf,
    cert: PathBuf,
    key: PathBuf,
}

fn make(world: &World, names: &[&str], until: i32) -> Files {
    let mut ca = CertificateParams::new(Vec::new()).expect("no names");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer =
        CertifiedIssuer::self_signed(ca, KeyPair::generate().expect("a key")).expect("signs");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut leaf = CertificateParams::new(names).expect("names");
    leaf.not_before = date_time_ymd(2020, 1, 1);
    leaf.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().expect("a key");
    let cert = leaf.signed_by(&key, &issuer).expect("signs");
    let write = |name: &str, text: String| {
        let path = world.home().join(name);
        fs::write(&path, text).expect("written");
        path
    };
    Files {
        authority: write("authority.pem", issuer.pem()),
        cert: write("cert.pem", cert.pem()),
        key: write("key.pem", key.serialize_pem()),
    }
}

fn serve(world: &World, files: &Files) -> Server {
    let path = |path: &PathBuf| path.display().to_string();
    let (cert, key) = (path(&files.cert), path(&files.key));
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--allow-host",
        "localhost",
    ];
    world.serve_with(&arguments, &[]).expect("serves")
}

/// Returns a link of the server under the name `localhost`.
fn link(world: &World, server: &Server) -> String {
    let link = world.owner_link().expect("a link");
    let (_, fragment) = link.split_once("/#").expect("a fragment");
    let port = server.address.rsplit_once(':').expect("a port").1;
    format!("https://localhost:{port}/#{fragment}")
}

#[test]
fn a_server_with_a_certificate_of_a_trusted_authority_opens() {
    let world = World::new().expect("a world");
    let _model = world.model(Vec::new()).expect("a model");
    let files = make(&world, &["localhost"], 2090);
    let server = serve(&world, &files);
    let session = world.session().expect("a session");
    let authority = files.authority.display().to_string();
    let trusted = [("SSL_CERT_FILE", authority.as_str())];
    let link = link(&world, &server);
    let mut terminal = world
        .launch_with(&["--session", &session], Some(&link), COLS, ROWS, &trusted)
        .expect("launches");
    terminal.wait_for("Enter send");
    terminal.send("over TLS\r");
    terminal.wait_for("You said: over TLS");
    leave(terminal);
    let mut records =
        fs::read_dir(world.home().join(".state/porthole/credentials")).expect("there");
    let record = records.find_map(|entry| {
        let text = fs::read_to_string(entry.ok()?.path()).ok()?;
        text.contains("cookie_name").then_some(text)
    });
    assert!(record.expect("a record").contains("__Host-porthole-device"));
}

#[test]
fn certificates_that_are_not_good_are_told_apart() {
    for (names, until, is_known, expected) in [
        (
            ["localhost"],
            2090,
            false,
            "an authority that this computer does not trust",
        ),
        (["localhost"], 2021, true, "has expired"),
        (["elsewhere.example"], 2090, true, "is for another name"),
    ] {
        let world = World::new().expect("a world");
        let files = make(&world, &names, until);
        let other = World::new().expect("a world");
        let unknown = make(&other, &names, until);
        let server = serve(&world, &files);
        let authority = if is_known { &files } else { &unknown };
        let authority = authority.authority.display().to_string();
        let trusted = [("SSL_CERT_FILE", authority.as_str())];
        let link = link(&world, &server);
        let mut terminal = world
            .launch_with(&[], Some(&link), 200, ROWS, &trusted)
            .expect("launches");
        assert_eq!(terminal.wait_exit(), 1);
        let said = terminal.text();
        assert!(said.contains(expected) && said.contains("hint: "), "{said}");
    }
}
