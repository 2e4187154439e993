//! The server as attackers meet it: pages in the owner's browser, neighbours on the machine, guests who want more.

use porthole_protocol::{GuestMode, Role};
use portholed::permit::{Access, Act, Asker, Route, permit};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::world::{VIEW, Wishes, World};

/// Sends a request with exactly these headers; returns its status.
async fn asks(world: &World, method: &str, path: &str, headers: &[String], body: &str) -> u16 {
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    if !body.is_empty() {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    world.http(&format!("{text}\r\n{body}")).await.status
}

/// Returns a path of a route.
fn path(route: Route) -> String {
    let path = route.path();
    ["{sha256}", "{upload}", "{chunk}"]
        .iter()
        .fold(path, |path, part| path.replace(part, "1"))
}

fn upgrade(host: &str, origin: Option<&str>, cookie: &str) -> Vec<String> {
    let mut headers = vec![
        format!("host: {host}"),
        cookie.trim().to_owned(),
        "upgrade: websocket".to_owned(),
        "sec-websocket-version: 13".to_owned(),
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==".to_owned(),
    ];
    headers.extend(origin.map(|origin| format!("origin: {origin}")));
    headers
}

#[tokio::test]
async fn a_rebound_name_reaches_no_route_whatever_it_is_made_to_look_like() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    let (here, port) = (world.address, world.address.port());
    for host in [
        format!("evil.example:{port}"),
        format!("evil.example@127.0.0.1:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.:{port}"),
        format!("LOCALHOST.EVIL:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("127.0.0.1:{port}:80"),
        format!("127.0.0.1:{port}@evil.example"),
        format!("127.0.0.1:0{port}0000"),
        format!("0.0.0.0:{port}"),
        format!("2130706433:{port}"),
    ] {
        for route in Route::ALL {
            let headers = [format!("host: {host}"), cookie.trim().to_owned()];
            let status = asks(&world, route.method(), &path(*route), &headers, "").await;
            assert!(matches!(status, 400 | 421), "{host} {route:?}: {status}");
        }
    }
    let twice = [format!("host: {here}"), "host: evil.example".to_owned()];
    assert_eq!(asks(&world, "GET", "/health", &twice, "").await, 400);
    assert_eq!(asks(&world, "GET", "/health", &[], "").await, 400);
    let whole = format!("http://{here}/health");
    let host = [format!("host: {here}")];
    assert_eq!(asks(&world, "GET", &whole, &host, "").await, 400);
    for host in [
        format!("127.0.0.1:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
    ] {
        let host = [format!("host: {host}")];
        assert_eq!(asks(&world, "GET", "/health", &host, "").await, 200);
    }
}

#[tokio::test]
async fn a_page_of_another_origin_opens_no_link_with_the_owners_cookie() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    let (here, port) = (world.address.to_string(), world.address.port());
    let others = [
        None,
        Some("null".to_owned()),
        Some("http://evil.example".to_owned()),
        Some(format!("https://{here}")),
        Some(format!("http://{here}.evil.example")),
        Some(format!("http://evil.example?{here}")),
        Some(format!("http://localhost:{port}")),
        Some("http://127.0.0.1:1".to_owned()),
        Some("file://".to_owned()),
    ];
    for origin in others {
        let headers = upgrade(&here, origin.as_deref(), &cookie);
        let status = asks(&world, "GET", "/link", &headers, "").await;
        assert_eq!(status, 403, "{origin:?}");
    }
    let own = format!("http://{here}");
    let mut cross = upgrade(&here, Some(&own), &cookie);
    cross.push("sec-fetch-site: cross-site".to_owned());
    assert_eq!(asks(&world, "GET", "/link", &cross, "").await, 403);
    let mut twice = upgrade(&here, Some(&own), &cookie);
    twice.push(format!("origin: {own}"));
    assert_eq!(asks(&world, "GET", "/link", &twice, "").await, 403);
}

#[tokio::test]
async fn a_form_of_another_site_changes_nothing() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    let here = world.address.to_string();
    let body = format!(r#"{{"token":"{}","name":"x","a":"="}}"#, world.token());
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ] {
        let plain = [
            format!("host: {here}"),
            cookie.trim().to_owned(),
            format!("content-type: {kind}"),
        ];
        let status = asks(&world, "POST", "/door/redeem", &plain, &body).await;
        assert_eq!(status, 415, "{kind}");
        for told in [
            "origin: null",
            "origin: http://evil.example",
            "sec-fetch-site: same-site",
        ] {
            let headers = [&plain[..], &[told.to_owned()]].concat();
            for path in ["/door/redeem", "/door/sign-out"] {
                let status = asks(&world, "POST", path, &headers, &body).await;
                assert_eq!(status, 403, "{kind} {told} {path}");
            }
        }
    }
    assert_eq!(world.get("/door/admitted", &cookie).await.status, 200);
    assert_eq!(
        world.post("/door/redeem", "", &body).await.status,
        200,
        "unused"
    );
}

#[tokio::test]
async fn nothing_is_framed_cached_sniffed_or_told_to_others() {
    let world = World::new().await;
    for route in Route::ALL {
        let path = &path(*route);
        let answer = match route.method() {
            "POST" => world.post(path, "", "{}").await,
            _ => world.get(path, "").await,
        };
        for header in [
            "x-frame-options: DENY",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "default-src 'none'",
            "cache-control: no-store",
            "referrer-policy: no-referrer",
            "x-content-type-options: nosniff",
        ] {
            assert!(answer.head.contains(header), "{path}: {}", answer.head);
        }
        assert!(!answer.head.contains("unsafe-inline"), "{path}");
        assert!(!answer.head.contains("access-control-"), "{path}");
        let framed = world.get(path, "sec-fetch-dest: iframe\r\n").await;
        assert_eq!(framed.status, 403, "{path}");
    }
    let nonce = |page: &str| {
        page.split("nonce=\"")
            .nth(1)
            .map(|rest| rest[..22].to_owned())
    };
    let (first, second) = (world.get("/", "").await, world.get("/", "").await);
    let (a, b) = (nonce(&first.body), nonce(&second.body));
    assert!(a.is_some() && a != b, "a nonce is used once");
    assert!(
        first
            .head
            .contains(&format!("'nonce-{}'", a.unwrap_or_default()))
    );
    assert!(first.body.contains("porthole 'LINK'") && !first.body.contains("<script"));
}

#[tokio::test]
async fn headers_of_a_proxy_are_no_way_to_be_someone_else() {
    let world = World::new().await;
    for header in [
        "x-forwarded-host: evil.example",
        "x-forwarded-for: 1.2.3.4",
        "x-forwarded-proto: https",
        "forwarded: for=1.2.3.4;host=evil.example",
        "x-real-ip: 1.2.3.4",
    ] {
        let answer = world.get("/health", &format!("{header}\r\n")).await;
        assert_eq!(answer.status, 403, "{header}");
    }
    let link = world.server.owner_link().expect("made");
    assert!(link.starts_with(&format!("http://{}/#", world.address)));
}

#[tokio::test]
async fn a_cookie_of_a_neighbour_on_another_port_counts_for_nothing() {
    let (world, other) = (World::new().await, World::new().await);
    let (mine, theirs) = (world.sign_in().await, other.sign_in().await);
    assert_eq!(world.get("/door/admitted", &theirs).await.status, 401);
    let value = |cookie: &str| cookie.trim().trim_start_matches("cookie: ").to_owned();
    let both = format!("cookie: {}; {}\r\n", value(&theirs), value(&mine));
    assert_eq!(world.get("/door/admitted", &both).await.status, 200);
    let name = value(&mine);
    let name = name.split('=').next().expect("a name");
    let tossed = format!(
        "cookie: {name}=phd_{}; {}\r\n",
        "a".repeat(43),
        value(&mine)
    );
    let status = world.get("/door/admitted", &tossed).await.status;
    assert_eq!(status, 401, "one that is there twice is nobody's");
}

#[tokio::test]
async fn every_route_answers_each_role_as_the_table_says() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let guest = |mode, may_approve| Role::Guest {
        session: session.clone(),
        mode,
        may_approve,
    };
    let mut askers = vec![("nobody", None)];
    askers.push(("owner", Some((Role::Owner, None))));
    for (name, mode, may_approve) in [
        ("view", GuestMode::View, false),
        ("view+approve", GuestMode::View, true),
        ("full", GuestMode::Full, false),
        ("full+approve", GuestMode::Full, true),
    ] {
        let wishes = Wishes {
            mode,
            may_approve,
            ..VIEW
        };
        let shared = world.share(&session, wishes).await;
        askers.push((name, Some((guest(mode, may_approve), Some(shared)))));
    }
    for (name, who) in &askers {
        let mut cookie = match who {
            None => String::new(),
            Some((_, None)) => world.sign_in().await,
            Some((_, Some(shared))) => world.guest(shared, "x").await,
        };
        // Some end what the cookie admits to, so they come last.
        let (last, first): (Vec<Route>, Vec<Route>) = Route::ALL
            .iter()
            .partition(|route| matches!(route, Route::SignOut | Route::SignOutAll));
        for route in first.into_iter().chain(last) {
            if let (Route::SignOutAll, Some((Role::Owner, _))) = (route, who) {
                cookie = world.sign_in().await;
            }
            let path = path(route);
            let origin = format!("{cookie}origin: http://{}\r\n", world.address);
            let body = "{}";
            let text = format!(
                "{} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{origin}\r\n{body}",
                route.method(),
                world.address,
                body.len()
            );
            let answer = world.http(&text).await;
            let asker = who
                .as_ref()
                .map_or(Asker::Nobody, |(role, _)| Asker::Admitted(role));
            let may = permit(Act::Route(route), asker) == Access::Yes;
            let refused = matches!(answer.status, 401 | 403);
            assert_eq!(may, !refused, "{name} {route:?}: {}", answer.head);
        }
    }
}

#[tokio::test]
async fn guesses_from_outside_do_not_hinder_the_owner_on_the_machine() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let wrong = format!(r#"{{"token":"phs_{}","name":"a"}}"#, "a".repeat(43));
    let mut status = 0;
    for _ in 0..40 {
        status = world.post("/door/redeem", "", &wrong).await.status;
    }
    assert_eq!(status, 429);
    assert!(world.server.owner_link().is_ok());
    assert!(world.share(&session, VIEW).await.only_here);
}

#[tokio::test]
async fn a_file_that_is_a_page_is_served_as_bytes_to_save_and_runs_nowhere() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    let dir = world.home.path().join("work");
    std::fs::create_dir(&dir).expect("made");
    let mut owner = world.link(&cookie).await;
    let session = owner.create_at("r", &dir).await;
    for name in ["page.html", "image.svg", "code.js", "paper.pdf"] {
        std::fs::write(dir.join(name), "<script>alert(1)</script>").expect("written");
        let path = format!("/door/download?session={session}&file={name}&from=0&bytes=100");
        let answer = world.get(&path, &cookie).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        for header in [
            "content-type: application/octet-stream",
            "content-disposition: attachment; ",
            "x-content-type-options: nosniff",
            "cross-origin-resource-policy: same-origin",
            "default-src 'none'",
            "; sandbox",
        ] {
            assert!(answer.head.contains(header), "{name}: {}", answer.head);
        }
    }
}

#[tokio::test]
async fn a_link_is_never_compressed_whatever_is_offered() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    let here = world.address.to_string();
    let mut headers = upgrade(&here, Some(&format!("http://{here}")), &cookie);
    headers.push("connection: upgrade".to_owned());
    headers.push("sec-websocket-extensions: permessage-deflate; client_max_window_bits".to_owned());
    let text = format!("GET /link HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n"));
    let mut stream = TcpStream::connect(world.address).await.expect("connects");
    stream.write_all(text.as_bytes()).await.expect("writes");
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a head"));
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101"), "{head}");
    assert!(!head.contains("sec-websocket-extensions"), "{head}");
}
