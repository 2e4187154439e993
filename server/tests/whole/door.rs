//! The door over real sockets: what is reached by whom, and how a link becomes a cookie.

use crate::world::World;

#[tokio::test]
async fn nothing_but_health_page_and_redeeming_is_reached_without_a_cookie() {
    let world = World::new().await;
    for (path, status) in [
        ("/health", 200),
        ("/", 200),
        ("/door/admitted", 401),
        ("/door/ui/manifest", 401),
        ("/door/ui/bundle/abc", 401),
        ("/nowhere", 404),
        ("/door/redeem", 405),
    ] {
        let answer = world.get(path, "").await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "content-security-policy: default-src 'none'",
        ] {
            assert!(answer.head.contains(header), "{path}: {}", answer.head);
        }
    }
    let origin = format!("origin: http://{}\r\n", world.address);
    assert_eq!(world.get("/link", &origin).await.status, 401);
    assert_eq!(
        world.get("/link", "").await.status,
        403,
        "before anyone asks who"
    );
    assert_eq!(world.post("/door/sign-out", "", "").await.status, 401);
}

#[tokio::test]
async fn the_gate_stands_before_every_route() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    for path in [
        "/",
        "/health",
        "/door/admitted",
        "/door/ui/manifest",
        "/link",
        "/nowhere",
    ] {
        let text = format!(
            "GET {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n{cookie}\r\n"
        );
        assert_eq!(world.http(&text).await.status, 421, "{path}");
        let cross = world
            .get(path, &format!("{cookie}sec-fetch-site: cross-site\r\n"))
            .await;
        assert_eq!(cross.status, 403, "{path}");
    }
    let long = "x".repeat(40_000);
    let answer = world.get("/health", &format!("x-long: {long}\r\n")).await;
    assert_eq!(answer.status, 431, "{}", answer.head);
}

#[tokio::test]
async fn a_link_is_looked_at_freely_and_redeemed_once() {
    let world = World::new().await;
    let body = format!(r#"{{"token":"{}","name":"a"}}"#, world.token());
    for _ in 0..3 {
        assert_eq!(world.get("/", "").await.status, 200);
    }
    let first = world.post("/door/redeem", "", &body);
    let (first, second) = tokio::join!(first, world.post("/door/redeem", "", &body));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410], "of two at once one wins");
    let loser = if first.status == 410 { first } else { second };
    assert!(loser.body.contains("already used"), "{}", loser.body);
    assert!(
        loser.body.contains("portholed link owner"),
        "{}",
        loser.body
    );
    let wrong = format!(r#"{{"token":"pho_{}","name":"a"}}"#, "a".repeat(43));
    assert_eq!(world.post("/door/redeem", "", &wrong).await.status, 404);
    assert_eq!(world.post("/door/redeem", "", "{").await.status, 400);
}

#[tokio::test]
async fn guessing_is_slowed_down_with_a_time_to_wait() {
    let world = World::new().await;
    let wrong = format!(r#"{{"token":"pho_{}","name":"a"}}"#, "a".repeat(43));
    for _ in 0..40 {
        let answer = world.post("/door/redeem", "", &wrong).await;
        if answer.status == 429 {
            return assert!(answer.head.contains("retry-after: "), "{}", answer.head);
        }
    }
    panic!("forty guesses were all looked at");
}

#[tokio::test]
async fn the_cookie_is_strict_and_gives_manifest_and_bundle() {
    let world = World::new().await;
    let body = format!(r#"{{"token":"{}","name":"a"}}"#, world.token());
    let answer = world.post("/door/redeem", "", &body).await;
    let expected = format!("set-cookie: porthole-device-{}=phd_", world.address.port());
    assert!(answer.head.contains(&expected), "{}", answer.head);
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(answer.head.contains(part), "{}", answer.head);
    }
    let cookie = world.sign_in().await;
    let manifest = world.get("/door/ui/manifest", &cookie).await;
    let manifest: porthole_door::Manifest =
        serde_json::from_str(&manifest.body).expect("a manifest");
    let path = format!("/door/ui/bundle/{}", manifest.sha256);
    assert_eq!(world.get(&path, &cookie).await.body, "one");
    assert_eq!(world.get("/door/ui/bundle/0", &cookie).await.status, 404);
}
