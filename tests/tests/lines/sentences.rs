//! What a person reads when a server cannot be opened: each cause has its own sentence and says what to do.

use std::{
    io::{Read, Write},
    net::TcpListener,
};

use porthole_tests::World;

/// Opens a made-up link of `origin`; returns what was said and the exit code.
fn open(world: &World, origin: &str, variables: &[(&str, &str)]) -> (String, u32) {
    let link = format!("{origin}/#owner=pho_{0}&key={0}", "a".repeat(43));
    let launched = world.launch_with(&[], Some(&link), 200, 30, variables);
    let mut terminal = launched.expect("the launcher");
    let code = terminal.wait_exit();
    (terminal.text(), code)
}

/// A server that answers everything in one way; returns its origin.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("bound"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 16 << 10]);
            let head =
                format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
        }
    });
    origin
}

#[test]
fn each_cause_has_its_sentence_and_a_hint() {
    let world = World::new().expect("a world");
    let plain = answering("200 OK");
    for (origin, expected) in [
        (
            "http://127.0.0.1:1".to_owned(),
            "nothing answers at this address",
        ),
        (
            "https://nowhere.invalid".to_owned(),
            "no address for that name",
        ),
        (
            plain.replace("http://127.0.0.1", "https://localhost"),
            "does not speak TLS",
        ),
        (plain, "not a Porthole server"),
        (answering("404 Not Found"), "not a Porthole server"),
        (answering("410 Gone"), "not a Porthole server"),
        (answering("302 Found"), "not a Porthole server"),
        (
            answering("503 Service Unavailable"),
            "the server failed (status 503)",
        ),
        (answering("429 Too Many Requests"), "asks to wait"),
    ] {
        let (said, code) = open(&world, &origin, &[]);
        assert_eq!(code, 1, "{origin}: {said}");
        assert!(
            said.contains(expected) && said.contains("hint: "),
            "{origin}: {said}"
        );
        assert!(!said.contains("pho_"), "a link is never repeated: {said}");
    }
}

#[test]
fn variables_that_name_proxies_are_ignored() {
    let world = World::new().expect("a world");
    let proxy = answering("418 I am the proxy");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"] {
        let (said, _) = open(&world, "http://127.0.0.1:1", &[(name, proxy.as_str())]);
        assert!(
            said.contains("nothing answers at this address"),
            "{name}: {said}"
        );
    }
}
