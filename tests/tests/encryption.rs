//! The launcher over TLS: the server's own, and that of a proxy which is set up as the documents say. The authority that
//! signs exists for one test and is believed through `SSL_CERT_FILE`.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use porthole_tests::{Terminal, World};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// Writes an authority, a certificate of it for `localhost`, and the key.
fn issue(folder: &Path) {
    let mut authority = CertificateParams::new(Vec::new()).expect("parameters");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("a key");
    let own = authority.self_signed(&authority_key).expect("signed");
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let cert = params.signed_by(&key, &issuer).expect("signed");
    fs::write(folder.join("authority.pem"), own.pem()).expect("written");
    fs::write(folder.join("cert.pem"), cert.pem()).expect("written");
    fs::write(folder.join("key.pem"), key.serialize_pem()).expect("written");
}

fn launch(world: &World, link: &str, authority: &str) -> Terminal {
    let authority = world.home().join(authority).display().to_string();
    let variables = [("SSL_CERT_FILE", authority.as_str())];
    world
        .launch_with(&[], Some(link), 100, 30, &variables)
        .expect("the launcher")
}

/// Redeems, opens the UI, and sees a change of the list come over the link.
fn assert_works(world: &World, link: &str) {
    let terminal = launch(world, link, "authority.pem");
    terminal.wait_for("No sessions yet");
    terminal.wait_for("localhost");
    let dir = world.project().display().to_string();
    world
        .ask(&["new", &dir, "--title", "seen through the tunnel"])
        .expect("a session");
    terminal.wait_for("seen through the tunnel");
}

#[test]
fn the_launcher_reaches_a_server_that_encrypts_by_itself() {
    let world = World::new().expect("a world");
    issue(&world.home());
    let file = |name: &str| world.home().join(name).display().to_string();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
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
    let _server = world.serve_with(&arguments, &[]).expect("a server");
    let link = world.owner_link().expect("a link");
    assert!(
        link.starts_with("https://localhost:"),
        "it names the certificate's host"
    );
    // One that nobody believes is not talked to, and the link is still good after that.
    issue(&world.project());
    let mut refused = launch(&world, &link, "project/authority.pem");
    refused.wait_until("the refusal", |state| state.closed);
    assert!(refused.text().contains("certificate"), "{}", refused.text());
    assert_ne!(refused.wait_exit(), 0);
    assert_works(&world, &link);
}

/// A running nginx. It is ended when this is dropped.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts nginx with the configuration of the documents, in which only names, ports and files are replaced.
fn proxy(world: &World, port: u16, server: &str) -> Proxy {
    let home = world.home();
    let file = |name: &str| home.join(name).display().to_string();
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/nginx.conf");
    let mut recipe = fs::read_to_string(recipe).expect("the recipe");
    for (documented, here) in [
        ("listen 443 ssl;", format!("listen 127.0.0.1:{port} ssl;")),
        (
            "server_name box.example;",
            "server_name localhost;".to_owned(),
        ),
        ("/etc/ssl/box.example.pem", file("cert.pem")),
        ("/etc/ssl/box.example.key", file("key.pem")),
        ("http://127.0.0.1:7420", format!("http://{server}")),
    ] {
        assert!(recipe.contains(documented), "the recipe has `{documented}`");
        recipe = recipe.replace(documented, &here);
    }
    let config = format!(
        "daemon off;\nmaster_process off;\npid {};\nerror_log {} info;\nevents {{}}\nhttp {{\naccess_log {};\n\
         client_body_temp_path {temp};\nproxy_temp_path {temp};\nfastcgi_temp_path {temp};\nuwsgi_temp_path {temp};\n\
         scgi_temp_path {temp};\n{recipe}}}\n",
        file("nginx.pid"),
        file("nginx.log"),
        file("access.log"),
        temp = file("nginx-temp"),
    );
    fs::write(home.join("nginx.conf"), config).expect("written");
    let child = Command::new("nginx")
        .args(["-c", &file("nginx.conf"), "-e", &file("nginx.log")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = child.expect("`nginx` is needed here; `apt-get install nginx-light` brings it");
    let proxy = Proxy(child);
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        let log = || fs::read_to_string(home.join("nginx.log")).unwrap_or_default();
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "nginx does not listen: {}",
            log()
        );
        std::thread::yield_now();
    }
    proxy
}

#[test]
fn the_launcher_reaches_a_server_behind_a_proxy_set_up_as_documented() {
    let world = World::new().expect("a world");
    issue(&world.home());
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        free.local_addr().expect("an address").port()
    };
    let public = format!("https://localhost:{port}");
    let arguments = ["--listen", "127.0.0.1:0", "--public-url", &public];
    let server = world.serve_with(&arguments, &[]).expect("a server");
    let _proxy = proxy(&world, port, &server.address);
    let link = world.owner_link().expect("a link");
    assert!(
        link.starts_with(&format!("{public}/#owner=")),
        "links name the public address"
    );
    assert_works(&world, &link);
    let logs = ["access.log", "nginx.log"].map(|name| fs::read_to_string(world.home().join(name)));
    let token = link
        .split("#owner=")
        .nth(1)
        .and_then(|rest| rest.get(4..30))
        .expect("a token");
    for log in logs {
        assert!(
            !log.expect("a log").contains(token),
            "no token in the proxy's log"
        );
    }
}
