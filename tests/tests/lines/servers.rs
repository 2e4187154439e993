//! Who is there: ended access, other servers behind the same port, somebody else on it.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc,
    time::Instant,
};

use porthole_tests::{Proxy, World, terminal::PATIENCE};
use serde_json::Value;

use super::{COLS, ROWS, Scene, leave, through};

fn known(world: &World) -> Vec<Value> {
    let output = world
        .command("porthole")
        .args(["servers", "--json"])
        .output()
        .expect("runs");
    serde_json::from_slice(&output.stdout).expect("is JSON")
}

#[test]
fn ended_access_asks_for_a_fresh_link_in_the_same_place_and_goes_on_there() {
    let mut scene = Scene::open();
    scene.terminal.type_and_see("not sent yet");
    let devices = scene.world.ask(&["devices"]).expect("devices");
    let device = devices.split_whitespace().next().expect("one");
    scene.world.ask(&["sign-out", device]).expect("signed out");
    scene.terminal.wait_for("Make a fresh link");
    // The record goes beside what is drawn, so that the page may be there first.
    let end = Instant::now() + PATIENCE;
    while let records @ [_, ..] = &known(&scene.world)[..] {
        assert!(Instant::now() < end, "not forgotten: {records:?}");
    }
    let link = scene.world.owner_link().expect("a link");
    // As the server names itself: the forwarded port is another, the key is the same.
    scene.terminal.send(&link);
    scene.terminal.wait_for("••••");
    assert!(
        !scene.terminal.text().contains("pho_"),
        "a link is a secret"
    );
    scene.terminal.send("\r");
    scene.terminal.wait_for("not sent yet");
    scene.terminal.send("\r");
    scene.terminal.wait_for("You said: not sent yet");
    assert_eq!(known(&scene.world).len(), 1);
}

#[test]
fn two_servers_behind_one_port_are_told_apart_by_their_keys() {
    let (one, two) = (
        World::new().expect("a world"),
        World::new().expect("a world"),
    );
    let (first, second) = (one.serve().expect("serves"), two.serve().expect("serves"));
    let proxy = Proxy::start(&first.address).expect("a proxy");
    let origin = format!("http://{}", proxy.address);
    let terminal = one
        .launch(&[], Some(&through(&one, &proxy)), COLS, ROWS)
        .expect("the launcher");
    terminal.wait_for("No sessions yet");
    leave(terminal);

    proxy.lead_to(&second.address);
    let mut refused = one.launch(&[&origin], None, COLS, ROWS).expect("launches");
    refused.wait_for("its key is another");
    refused.send("q");
    assert_eq!(refused.wait_exit(), 1);
    assert_eq!(
        two.ask(&["devices"]).expect("devices").lines().count(),
        1,
        "nobody came"
    );

    // The same person has access to the second, too.
    let terminal = one
        .launch(&[], Some(&through(&two, &proxy)), COLS, ROWS)
        .expect("the launcher");
    terminal.wait_for("No sessions yet");
    leave(terminal);
    assert_eq!(known(&one).len(), 2);
    for (server, world) in [(&first, &one), (&second, &two)] {
        let session = world.session().expect("a session");
        proxy.lead_to(&server.address);
        let terminal = one
            .launch(&[&origin, "--session", &session], None, COLS, ROWS)
            .expect("launches");
        terminal.wait_for("Enter send");
        leave(terminal);
    }
}

#[test]
fn whoever_squats_on_the_port_gets_no_cookie() {
    let world = World::new().expect("a world");
    let server = world.serve().expect("a server");
    let proxy = Proxy::start(&server.address).expect("a proxy");
    let terminal = world
        .launch(&[], Some(&through(&world, &proxy)), COLS, ROWS)
        .expect("the launcher");
    terminal.wait_for("No sessions yet");
    let squatter = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = squatter.local_addr().expect("bound").to_string();
    let (sender, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in squatter.incoming().flatten() {
            let mut request = vec![0; 16 << 10];
            let read = stream.read(&mut request).unwrap_or(0);
            request.truncate(read);
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            let _ = stream.write_all(answer);
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    proxy.lead_to(&address);
    terminal.wait_for("what answer");
    let mut requests = 0;
    while let Ok(request) = heard.try_recv() {
        let text = String::from_utf8_lossy(&request).to_lowercase();
        assert!(!text.contains("phd_") && !text.contains("cookie"), "{text}");
        requests += 1;
    }
    assert!(requests > 0, "the squatter was asked who it is");
    // It was nobody's last word: the server is found again.
    proxy.lead_to(&server.address);
    terminal.wait_for("connected again");
}
