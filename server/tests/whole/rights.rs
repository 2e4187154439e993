//! Everything that can be asked for, by everyone, over real links; and everything that someone had under way when their
//! access ended. The rows are those of the table, so that a new call is tried at once.

use std::time::{Duration, Instant};

use porthole_door::{AccessCause, LinkControl, UPLOAD_CHUNK};
use porthole_protocol::{
    AccessId, Call, CallError, ErrorCode, GuestMode, Method, ServerFrame, SessionId, Topic, replies,
};
use portholed::permit::{Access, permit_call, permit_watch, session_of};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::Message;

use crate::world::{Client, FULL, VIEW, Wishes, World, conversation, eventually, submit};

/// Access that ended has ended everywhere within this time.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Returns a call of this kind about a session. A parameter that is missing here is told by its name.
fn call(method: Method, session: &SessionId, number: usize) -> Call {
    let mut parameters = json!({
        "session": session, "conversation": 1, "request": format!("r{number}"), "mode": "follow_up",
        "dir": null, "title": "t", "model": null, "pinned": true, "text": "hi", "attachments": [],
        "submission": 1, "question": 1, "answer": "yes", "thinking": null, "policy": null,
        "command": "true", "included": true, "before": null, "limit": 1, "run": "r", "generation": 1,
        "from": 0, "bytes": 1, "instructions": "", "entry": 1, "excluded": true, "archived": true,
        "query": "", "may_approve": false, "once": false, "name": "", "seconds": null,
        "id": "nobody", "device": "nobody", "changes": [], "format": "markdown",
    });
    if method == Method::ShareCreate {
        parameters["mode"] = "view".into();
    }
    let call = json!({ "method": method.name(), "params": parameters });
    serde_json::from_value(call)
        .unwrap_or_else(|error| panic!("`{}` needs another parameter here: {error}", method.name()))
}

fn is_unknown(error: &CallError) -> bool {
    error.code == ErrorCode::NotFound && error.message == "there is no such session"
}

fn check(what: &str, expected: Access, told: Result<(), CallError>) {
    let is_so = match (expected, &told) {
        (Access::Yes, Ok(())) => true,
        (Access::Yes, Err(error)) => error.code != ErrorCode::NotAllowed && !is_unknown(error),
        (Access::No, told) => matches!(told, Err(error) if error.code == ErrorCode::NotAllowed),
        (Access::Unknown, told) => matches!(told, Err(error) if is_unknown(error)),
    };
    assert!(
        is_so,
        "{what}: {expected:?} is expected, and told was {told:?}"
    );
}

async fn watched(client: &mut Client, topic: &Topic) -> Result<(), CallError> {
    client.watch(topic.clone()).await;
    let answers = |frame: &ServerFrame| match frame {
        ServerFrame::Snapshot { topic: of, .. } | ServerFrame::Ended { topic: of, .. } => {
            of == topic
        }
        _ => false,
    };
    match client.until("an answer to the watch", answers).await {
        ServerFrame::Ended { error, .. } => Err(error),
        _ => Ok(()),
    }
}

#[tokio::test]
async fn every_call_and_watch_is_answered_to_each_guest_as_the_table_says() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let (theirs, other) = (owner.new_session("a").await, owner.new_session("b").await);
    for (mode, may_approve) in [
        (GuestMode::View, false),
        (GuestMode::View, true),
        (GuestMode::Full, false),
        (GuestMode::Full, true),
    ] {
        let wishes = Wishes {
            mode,
            may_approve,
            ..VIEW
        };
        let shared = world.share(&theirs, wishes).await;
        let mut guest = world.link(&world.guest(&shared, "x").await).await;
        let role = guest.who.clone().expect("the server says").role;
        for session in [&theirs, &other] {
            for (number, method) in Method::ALL.iter().enumerate() {
                let call = call(*method, session, number);
                let what = format!("{mode:?} {may_approve} {}", method.name());
                let expected = permit_call(&call, &role);
                let told = guest.call::<Value>(call).await.map(|_| ());
                check(&what, expected, told);
            }
            for topic in [Topic::Sessions, Topic::Settings, conversation(session)] {
                let expected = permit_watch(&topic, &role);
                let told = watched(&mut guest, &topic).await;
                check(&format!("{mode:?} {topic:?}"), expected, told);
            }
        }
    }
}

#[tokio::test]
async fn the_owner_is_refused_nothing_and_nobody_gets_a_link() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    for (number, method) in Method::ALL.iter().enumerate() {
        // Some calls are the end of a session.
        let session = owner.new_session(&format!("s{number}")).await;
        let call = call(*method, &session, number);
        let of_a_session = session_of(&call).is_some();
        let told = owner.call::<Value>(call).await.map(|_| ());
        match told {
            // Of what is in no session there may be nothing.
            Err(error) if is_unknown(&error) && !of_a_session => {}
            told => check(method.name(), Access::Yes, told),
        }
    }
    let none = format!("cookie: porthole-device-{}=phd_x\r\n", world.address.port());
    for cookie in ["", &none] {
        let upgrade = format!(
            "{cookie}origin: http://{}\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            world.address
        );
        assert_eq!(world.get("/link", &upgrade).await.status, 401);
    }
}

/// Someone with everything under way that can be.
struct Busy {
    client: Client,
    cookie: String,
    upload: TcpStream,
    call: u64,
}

impl Busy {
    async fn new(world: &World, session: &SessionId, cookie: String) -> Self {
        let body = json!({ "session": session, "name": "f", "bytes": UPLOAD_CHUNK, "media_type": "text/plain" });
        let opened = world.post("/door/upload", &cookie, &body.to_string()).await;
        assert_eq!(opened.status, 200, "{}", opened.body);
        let opened: Value = serde_json::from_str(&opened.body).expect("JSON");
        let head = format!(
            "PUT /door/upload/{}/0 HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {UPLOAD_CHUNK}\r\n{cookie}\r\n",
            opened["upload"].as_str().expect("an id"),
            world.address,
        );
        let mut upload = TcpStream::connect(world.address).await.expect("connects");
        upload.write_all(head.as_bytes()).await.expect("writes");
        upload
            .write_all(&[b'x'; 64 << 10])
            .await
            .expect("a part of it arrives");
        let mut client = world.link(&cookie).await;
        client.watch(conversation(session)).await;
        client.snapshot(&conversation(session)).await;
        let call = client.post(submit(session, "stall")).await;
        // The call is with the worker: whatever is asked after it is answered.
        client.watch(Topic::Sessions).await;
        client.snapshot(&Topic::Sessions).await;
        Self {
            client,
            cookie,
            upload,
            call,
        }
    }

    /// Waits until everything has ended; returns the word to the launcher.
    async fn ended(mut self, world: &World, session: &SessionId) -> Option<AccessCause> {
        let mut cause = None;
        while let Some(message) = self.client.next().await {
            match message {
                Message::Binary(bytes) => {
                    let control = serde_json::from_slice(&bytes).expect("a control");
                    if let LinkControl::AccessEnded { cause: of, reason } = control {
                        assert!(!reason.is_empty());
                        cause = Some(of);
                    }
                }
                Message::Text(text) => {
                    let answered = format!(r#"{{"reply":{{"id":{},"#, self.call);
                    assert!(
                        !text.starts_with(&answered),
                        "the call was answered: {text}"
                    );
                }
                Message::Close(_) => break,
                _ => {}
            }
        }
        let mut answer = String::new();
        self.upload
            .read_to_string(&mut answer)
            .await
            .expect("an answer to the upload");
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        let download = format!("/door/download?session={session}&output=r&from=0&bytes=1");
        for path in ["/door/admitted", "/door/ui/manifest", &download] {
            assert_eq!(world.get(path, &self.cookie).await.status, 401, "{path}");
        }
        cause
    }
}

#[tokio::test]
async fn whatever_is_under_way_when_access_ends_ends_with_it_within_a_second() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    for (end, expected) in [
        ("share", AccessCause::Revoked),
        ("guest", AccessCause::Revoked),
        ("archive", AccessCause::SessionGone),
        ("delete", AccessCause::SessionGone),
        ("device", AccessCause::SignedOut),
    ] {
        let session = owner.new_session(end).await;
        let shared = world.share(&session, FULL).await;
        let cookie = match end {
            "device" => world.sign_in().await,
            _ => world.guest(&shared, "x").await,
        };
        let mut busy = Busy::new(&world, &session, cookie).await;
        let who = busy.client.who.clone().expect("the server says");
        let revoke = |id: &str| Call::ShareRevoke {
            id: AccessId::parse(id).expect("an id"),
        };
        let call = match end {
            "share" => revoke(shared.share.id.as_str()),
            "guest" => revoke(&who.id),
            "archive" => Call::SessionArchive {
                session: session.clone(),
            },
            "delete" => Call::SessionDelete {
                session: session.clone(),
            },
            _ => {
                let devices = busy.client.call(Call::DeviceList {}).await;
                let devices: replies::Devices = devices.expect("listed");
                let this = devices.devices.into_iter().find(|row| row.this);
                Call::DeviceSignOut {
                    device: this.expect("this one").id,
                }
            }
        };
        let begun = Instant::now();
        owner.call::<Value>(call).await.expect("ended");
        let cause = busy.ended(&world, &session).await;
        assert!(begun.elapsed() < AT_ONCE, "{end}: {:?}", begun.elapsed());
        assert_eq!(cause, Some(expected), "{end}");
        eventually("nothing of it is left", || world.server.links() == 1).await;
    }
}

#[tokio::test]
async fn a_guest_of_two_sessions_has_a_cookie_for_each_and_both_go_on() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let (first, second) = (owner.new_session("a").await, owner.new_session("b").await);
    let (one, two) = (
        world.share(&first, VIEW).await,
        world.share(&second, FULL).await,
    );
    let cookie = world.guest(&one, "Mira").await;
    let joined = world.join(&two, "Mira", &cookie).await;
    assert_eq!(joined.status, 200, "{}", joined.body);
    let other = joined.cookie();
    assert_ne!(cookie, other);
    let mut people = Vec::new();
    for (cookie, session, foreign) in [(&cookie, &first, &second), (&other, &second, &first)] {
        let mut guest = world.link(cookie).await;
        assert!(watched(&mut guest, &conversation(session)).await.is_ok());
        let refused = watched(&mut guest, &conversation(foreign)).await;
        assert!(is_unknown(&refused.expect_err("refused")));
        people.push(guest);
    }
    let revoke = Call::ShareRevoke { id: one.share.id };
    owner.call::<Value>(revoke).await.expect("revoked");
    assert_eq!(world.get("/door/admitted", &cookie).await.status, 401);
    assert_eq!(world.get("/door/admitted", &other).await.status, 200);
}
