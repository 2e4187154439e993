//! Sharing over real sockets: how guests come, what they see, and how their access ends.

use std::time::{Duration, Instant};

use porthole_door::{AccessCause, LinkControl};
use porthole_protocol::{
    Call, ConversationId, ErrorCode, Presence, RequestId, Role, ServerFrame, SessionId,
    SessionsDelta, Standing, Topic, TopicDelta, TopicState, Who, replies,
};
use tokio_tungstenite::tungstenite::Message;

use crate::world::{Client, FULL, VIEW, Wishes, World, conversation, submit};

/// Access that ended has ended everywhere within this time.
const AT_ONCE: Duration = Duration::from_secs(1);

async fn who(world: &World, cookie: &str) -> Who {
    world.link(cookie).await.who.expect("the server says")
}

fn history(session: &SessionId) -> Call {
    Call::History {
        session: session.clone(),
        conversation: ConversationId::ROOT,
        before: None,
        limit: 1,
    }
}

/// Reads until the connection ends; returns the last word to the launcher.
async fn last_word(client: &mut Client) -> Option<LinkControl> {
    let mut word = None;
    while let Some(message) = client.next().await {
        match message {
            Message::Binary(bytes) => {
                word = Some(serde_json::from_slice(&bytes).expect("a control"));
            }
            Message::Close(_) => break,
            _ => {}
        }
    }
    word
}

fn cause(word: Option<&LinkControl>) -> Option<AccessCause> {
    match word {
        Some(LinkControl::AccessEnded { cause, .. }) => Some(*cause),
        _ => None,
    }
}

#[tokio::test]
async fn a_share_link_makes_a_guest_of_one_session_and_no_doubles() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let shared = world.share(&session, FULL).await;
    assert!(shared.only_here && shared.link.contains("/#share=phs_"));
    let first = world.join(&shared, "M\u{202e}ira", "").await;
    assert_eq!(first.status, 200, "{}", first.body);
    let named = format!("porthole-guest-{}=phg_", world.address.port());
    for part in [&named[..], "HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(first.head.contains(part), "{}", first.head);
    }
    let body: serde_json::Value = serde_json::from_str(&first.body).expect("JSON");
    let guest = &body["who"]["guest"];
    assert_eq!(guest["session"], session.as_str());
    assert_eq!(
        (&guest["mode"], &guest["name"]),
        (&"full".into(), &"M<202E>ira".into())
    );
    let cookie = first.cookie();
    let known = who(&world, &cookie).await;
    assert!(matches!(known.role, Role::Guest { session: of, .. } if of == session));
    let again = world.join(&shared, "Mira", &cookie).await;
    assert_eq!(again.cookie(), cookie, "the same cookie");
    let again = who(&world, &cookie).await;
    assert_eq!((again.id, again.name.as_str()), (known.id, "Mira"));
    world.guest(&shared, "Noor").await;
    let mut owner = world.owner().await;
    let listed: replies::Shares = owner
        .call(Call::ShareList { session: None })
        .await
        .expect("listed");
    let names: Vec<_> = listed.shares[0]
        .guests
        .iter()
        .map(|g| &g.name[..])
        .collect();
    assert_eq!(names, ["Mira", "Noor"]);
    let admitted = world.get("/door/admitted", &cookie).await;
    assert!(
        admitted.body.contains(r#""mode":"full""#),
        "{}",
        admitted.body
    );
}

#[tokio::test]
async fn of_two_people_at_once_one_gets_in_by_a_link_for_one() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let once = Wishes { once: true, ..VIEW };
    let shared = world.share(&session, once).await;
    let all = (0..8).map(|_| world.join(&shared, "x", ""));
    let mut statuses: Vec<_> = futures_util::future::join_all(all)
        .await
        .iter()
        .map(|answer| answer.status)
        .collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410, 410, 410, 410, 410, 410, 410]);
}

#[tokio::test]
async fn a_guest_finds_one_session_and_nothing_tells_others_from_none() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let (theirs, other) = (owner.new_session("a").await, owner.new_session("b").await);
    let shared = world.share(&theirs, FULL).await;
    let mut guest = world.link(&world.guest(&shared, "x").await).await;
    guest.watch(Topic::Sessions).await;
    let home = guest
        .until("home", |f| matches!(f, ServerFrame::Snapshot { .. }))
        .await;
    let ServerFrame::Snapshot {
        state: TopicState::Sessions(rows),
        ..
    } = home
    else {
        panic!("the home list")
    };
    assert_eq!(rows.iter().map(|r| &r.id).collect::<Vec<_>>(), [&theirs]);
    let none = SessionId::parse("nope").expect("an id");
    let mut told = Vec::new();
    for session in [&other, &none] {
        let called = guest.call::<replies::History>(history(session)).await;
        guest.watch(conversation(session)).await;
        let ended = guest
            .until("the end", |f| matches!(f, ServerFrame::Ended { .. }))
            .await;
        let ServerFrame::Ended { error, .. } = ended else {
            unreachable!("only this")
        };
        told.push((called.expect_err("refused"), error));
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0].0.code, ErrorCode::NotFound);
    let workers = world.server.counts().0.workers;
    assert_eq!(workers, 0, "no worker was started to say no");
    let shares = Call::ShareList {
        session: Some(other),
    };
    let refused = guest.call::<replies::Shares>(shares).await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::NotAllowed);
}

#[tokio::test]
async fn a_viewing_guest_only_reads() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let shared = world.share(&session, VIEW).await;
    let mut guest = world.link(&world.guest(&shared, "x").await).await;
    guest.watch(conversation(&session)).await;
    guest.snapshot(&conversation(&session)).await;
    let refused = guest
        .call::<replies::Submitted>(submit(&session, "hi"))
        .await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::NotAllowed);
}

#[tokio::test]
async fn a_revoked_link_throws_every_viewer_out_in_the_middle_of_a_stream() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let session = owner.new_session("r").await;
    let (gone, stays) = (
        world.share(&session, VIEW).await,
        world.share(&session, VIEW).await,
    );
    let cookie = world.guest(&gone, "many").await;
    let mut viewers = Vec::new();
    for _ in 0..40 {
        let mut viewer = world.link(&cookie).await;
        viewer.watch(conversation(&session)).await;
        viewer.snapshot(&conversation(&session)).await;
        viewers.push(tokio::spawn(async move { last_word(&mut viewer).await }));
    }
    // One that never reads: its socket is full, and it gets no second more for it.
    let mut deaf = world.link(&cookie).await;
    deaf.watch(conversation(&session)).await;
    let mut other = world.link(&world.guest(&stays, "other").await).await;
    other.watch(conversation(&session)).await;
    other.snapshot(&conversation(&session)).await;
    owner
        .call::<replies::Submitted>(submit(&session, "flood 400"))
        .await
        .expect("flooded");
    let revoke = Call::ShareRevoke {
        id: gone.share.id.clone(),
    };
    owner.call::<replies::Done>(revoke).await.expect("revoked");
    let begun = Instant::now();
    let others = 2;
    crate::world::eventually("all are closed", || world.server.links() == others).await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    for viewer in viewers {
        let word = viewer.await.expect("it read");
        assert_eq!(cause(word.as_ref()), Some(AccessCause::Revoked));
    }
    drop(deaf);
    assert_eq!(world.get("/door/admitted", &cookie).await.status, 401);
    assert_eq!(world.join(&gone, "x", "").await.status, 404);
    other.watch(Topic::Sessions).await;
    other.snapshot(&Topic::Sessions).await;
}

#[tokio::test]
async fn one_guest_a_device_and_an_archived_session_end_at_once_too() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let session = owner.new_session("r").await;
    let shared = world.share(&session, VIEW).await;
    let (first, second) = (
        world.guest(&shared, "a").await,
        world.guest(&shared, "b").await,
    );
    let id = who(&world, &first).await.id;
    let (mut first, mut stays) = (world.link(&first).await, world.link(&second).await);
    let revoke = Call::ShareRevoke {
        id: porthole_protocol::AccessId::parse(&id).expect("an id"),
    };
    owner.call::<replies::Done>(revoke).await.expect("ended");
    let word = last_word(&mut first).await;
    assert_eq!(cause(word.as_ref()), Some(AccessCause::Revoked));
    stays.watch(Topic::Sessions).await;
    stays.snapshot(&Topic::Sessions).await;
    let archive = Call::SessionArchive {
        session: session.clone(),
    };
    owner.call::<replies::Done>(archive).await.expect("away");
    let word = last_word(&mut stays).await;
    assert_eq!(cause(word.as_ref()), Some(AccessCause::SessionGone));
    assert_eq!(world.get("/door/admitted", &second).await.status, 401);
    let other = world.sign_in().await;
    let mut device = world.link(&other).await;
    let devices: replies::Devices = device.call(Call::DeviceList {}).await.expect("listed");
    let this = devices.devices.iter().find(|row| row.this);
    let this = this.expect("this one").clone();
    assert!(this.here && this.from == "127.0.0.1");
    let sign_out = Call::DeviceSignOut { device: this.id };
    owner.call::<replies::Done>(sign_out).await.expect("out");
    let word = last_word(&mut device).await;
    assert_eq!(cause(word.as_ref()), Some(AccessCause::SignedOut));
}

#[tokio::test]
async fn access_that_expires_while_its_guest_is_there_ends_with_that_reason() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let short = Wishes {
        seconds: Some(2),
        ..VIEW
    };
    let shared = world.share(&session, short).await;
    let cookie = world.guest(&shared, "x").await;
    let mut guest = world.link(&cookie).await;
    let word = last_word(&mut guest).await;
    assert_eq!(cause(word.as_ref()), Some(AccessCause::Expired));
    assert_eq!(world.get("/door/admitted", &cookie).await.status, 401);
    assert_eq!(world.join(&shared, "y", "").await.status, 410);
}

#[tokio::test]
async fn what_a_link_allows_is_told_before_it_is_used_and_as_often_as_wanted() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let once = Wishes { once: true, ..VIEW };
    let shared = world.share(&session, once).await;
    let token = porthole_door::Link::parse(&shared.link)
        .expect("a link")
        .token;
    let look = async |token: &str| {
        let body = serde_json::json!({ "token": token }).to_string();
        world.post("/door/look", "", &body).await
    };
    for _ in 0..2 {
        let answer = look(&token).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let offer: porthole_door::Offer = serde_json::from_str(&answer.body).expect("an offer");
        assert_eq!((offer.mode.as_str(), offer.once), ("view", true));
        assert_eq!(offer.expires_ms, shared.share.expires_ms);
    }
    world.guest(&shared, "x").await;
    assert_eq!(look(&token).await.status, 410, "used up");
    assert_eq!(look("phs_unknown").await.status, 410);
}

#[tokio::test]
async fn every_device_signs_out_at_once_and_a_guest_cannot_ask_for_it() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let shared = world.share(&session, VIEW).await;
    let guest = world.guest(&shared, "x").await;
    let (one, other) = (world.sign_in().await, world.sign_in().await);
    let mut watching = world.link(&other).await;
    assert_eq!(
        world.post("/door/sign-out-all", &guest, "").await.status,
        403
    );
    assert_eq!(world.get("/door/admitted", &one).await.status, 200);
    assert_eq!(world.post("/door/sign-out-all", &one, "").await.status, 200);
    for cookie in [&one, &other] {
        assert_eq!(world.get("/door/admitted", cookie).await.status, 401);
    }
    let word = last_word(&mut watching).await;
    assert_eq!(cause(word.as_ref()), Some(AccessCause::SignedOut));
    assert_eq!(world.get("/door/admitted", &guest).await.status, 200);
}

#[tokio::test]
async fn a_guest_who_signs_out_is_out_everywhere() {
    let world = World::new().await;
    let session = world.owner().await.new_session("r").await;
    let shared = world.share(&session, VIEW).await;
    let cookie = world.guest(&shared, "x").await;
    let mut guest = world.link(&cookie).await;
    let answer = world.post("/door/sign-out", &cookie, "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("Max-Age=0"), "{}", answer.head);
    let word = last_word(&mut guest).await;
    assert_eq!(cause(word.as_ref()), Some(AccessCause::SignedOut));
    assert_eq!(world.get("/door/admitted", &cookie).await.status, 401);
}

async fn presence(client: &mut Client, is_it: impl Fn(&Presence) -> bool) {
    client
        .until("who is here", |frame| match frame {
            ServerFrame::Delta {
                delta: TopicDelta::Sessions(SessionsDelta::Row { row }),
                ..
            } => is_it(&row.presence),
            _ => false,
        })
        .await;
}

#[tokio::test]
async fn everyone_sees_who_is_here_and_with_which_right() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let session = owner.new_session("r").await;
    owner.watch(Topic::Sessions).await;
    owner.snapshot(&Topic::Sessions).await;
    let shared = world.share(&session, FULL).await;
    let cookie = world.guest(&shared, "Mira").await;
    let mut guests = Vec::new();
    for _ in 0..2 {
        let mut guest = world.link(&cookie).await;
        guest.watch(conversation(&session)).await;
        guests.push(guest);
    }
    presence(&mut owner, |presence| {
        let standing = presence.people.first().map(|person| person.standing);
        presence.people.len() == 1 && standing.is_some_and(|s| s.label() == "full")
    })
    .await;
    owner.watch(conversation(&session)).await;
    presence(&mut owner, |presence| {
        let standings: Vec<_> = presence.people.iter().map(|p| p.standing).collect();
        standings.len() == 2 && standings[0] == Standing::Owner
    })
    .await;
    drop(guests);
    presence(&mut owner, |presence| presence.people.len() == 1).await;
}

#[tokio::test]
async fn a_lost_reply_is_made_good_and_wishes_that_make_no_sense_are_refused() {
    let world = World::new().await;
    let mut owner = world.owner().await;
    let session = owner.new_session("r").await;
    let create = |seconds, name: &str, session: &SessionId| Call::ShareCreate {
        session: session.clone(),
        request: RequestId::parse("same").expect("an id"),
        mode: VIEW.mode,
        may_approve: false,
        once: false,
        name: name.to_owned(),
        seconds,
    };
    for wrong in [
        create(Some(0), "", &session),
        create(Some(u64::MAX), "", &session),
        create(None, &"x".repeat(41), &session),
        create(None, "", &SessionId::parse("nope").expect("an id")),
    ] {
        assert!(owner.call::<replies::Shared>(wrong).await.is_err());
    }
    let first: replies::Shared = owner.call(create(None, "", &session)).await.expect("made");
    let second: replies::Shared = owner.call(create(None, "", &session)).await.expect("again");
    assert_eq!(world.join(&first, "x", "").await.status, 404);
    assert_eq!(world.join(&second, "x", "").await.status, 200);
    let third = owner
        .call::<replies::Shared>(create(None, "", &session))
        .await
        .map(|_| ());
    assert_eq!(third.expect_err("used").code, ErrorCode::Conflict);
}
