//! The link: tried again, ended, admitted again.

use porthole_bridge::{KeyCode, Outcome};
use porthole_door::{AccessCause, LinkControl};

use super::world::*;
use crate::{
    app::*,
    door::DoorError,
    link::{LinkEvent, LinkHappening},
};

#[test]
fn a_lost_link_is_tried_again_and_says_so() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    assert!(world.last_row().contains("│ connected"));
    world.link(LinkHappening::Down(DoorError::Refused));
    let down = world.effects.iter().any(|effect| {
        matches!(effect, Effect::ToUi(Event::LinkState(LinkState::Down { retry_in_ms })) if (200..=250).contains(retry_in_ms))
    });
    assert!(down, "{:?}", world.effects);
    assert!(
        world.last_row().contains("reconnecting"),
        "{}",
        world.last_row()
    );
    world.wait(250).give(Input::Alarm(Alarm::Reconnect));
    assert!(world.did(&Effect::Connect(2)));
}

#[test]
fn who_answers_for_a_server_that_was_there_is_no_last_word() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.link(LinkHappening::Text(b"{}".to_vec()));
    world.link(LinkHappening::Down(DoorError::NotPorthole));
    assert!(!world.screen().contains("not a Porthole server."));
    world.wait(250).give(Input::Alarm(Alarm::Reconnect));
    assert!(world.did(&Effect::Connect(2)));

    let mut world = World::new();
    world.link(LinkHappening::Down(DoorError::NotPorthole));
    assert!(world.screen().contains("not a Porthole server."));
}

#[test]
fn what_an_old_connection_still_says_is_dropped() {
    let mut world = World::new();
    world.give(Input::Link(LinkEvent {
        epoch: 0,
        what: LinkHappening::Text(b"old".to_vec()),
    }));
    assert!(world.effects.is_empty());
}

#[test]
fn frames_for_the_server_go_out_only_while_the_link_is_up() {
    let mut world = World::new();
    let instance = world.app.ui.instance();
    world.give(Input::Posted(instance, Request::Link(b"x".to_vec())));
    assert!(world.effects.is_empty());
    world.link(LinkHappening::Up);
    world.give(Input::Posted(instance, Request::Link(b"x".to_vec())));
    assert!(world.did(&Effect::SendLink(b"x".to_vec())));
}

#[test]
fn an_ended_access_forgets_the_credential_and_asks_for_a_link_in_the_same_place() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.link(LinkHappening::Down(DoorError::SignedOut));
    assert!(world.did(&Effect::ForgetCredential));
    assert!(
        !world
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Alarm(Alarm::Reconnect, Some(_))))
    );
    assert!(
        world.screen().contains("portholed link owner"),
        "{}",
        world.screen()
    );
    world.give(Input::Terminal(TerminalEvent::Paste(
        " secret-link\n".into(),
    )));
    assert!(!world.screen().contains("secret"), "{}", world.screen());
    world.key(KeyCode::Enter);
    assert!(world.did(&Effect::Redeem(Secret("secret-link".into()))));
    world.give(Input::Door(DoorInput::Redeemed(owner('k'))));
    assert!(world.did(&Effect::Connect(2)));
}

#[test]
fn what_is_trusted_after_a_fresh_link_is_the_key_of_that_link() {
    let mut world = World::new();
    let copied = |world: &mut World| {
        world.control(']').key(KeyCode::Char('c'));
        let mut effects = world.effects.iter();
        let text = effects.find_map(|effect| match effect {
            Effect::Copy(_, text) => Some(text.clone()),
            _ => None,
        });
        text.expect("it is copied")
    };
    assert!(copied(&mut world).contains(&"k".repeat(43)));
    world.link(LinkHappening::Down(DoorError::SignedOut));
    world.give(Input::Door(DoorInput::Redeemed(owner('n'))));
    let text = copied(&mut world);
    assert!(text.contains(&"n".repeat(43)), "{text}");
    assert!(!text.contains(&"k".repeat(43)), "{text}");
}

#[test]
fn a_guest_whose_session_is_missing_enters_a_fresh_link_and_the_record_stays() {
    let mut world = World::new();
    world.app.admission.who = Redeemer::Guest {
        session: "s".into(),
        mode: "view".into(),
        may_approve: false,
        name: "Ada".into(),
        title: String::new(),
        expires_ms: 0,
    };
    world.link(LinkHappening::Up);
    world.link(LinkHappening::Down(DoorError::Missing));
    assert!(
        world.screen().contains("is not there any more"),
        "{}",
        world.screen()
    );
    assert!(world.screen().contains("Ask the owner of the session"));
    assert!(!world.did(&Effect::ForgetCredential), "nobody said so");
    world.give(Input::Terminal(TerminalEvent::Paste("fresh".into())));
    world.key(KeyCode::Enter);
    assert!(world.did(&Effect::Redeem(Secret("fresh".into()))));
}

#[test]
fn declining_a_fresh_link_ends_with_a_failure() {
    let mut world = World::new();
    world.link(LinkHappening::Control(LinkControl::AccessEnded {
        reason: "revoked by the owner".into(),
        cause: AccessCause::Revoked,
    }));
    world.key(KeyCode::Escape);
    assert!(
        matches!(&world.effects[..], [Effect::Quit(1, Some(said)), ..] if said.message.contains("revoked"))
    );
}

#[test]
fn a_foreign_key_ends_the_attempts() {
    let mut world = World::new();
    world.link(LinkHappening::Down(DoorError::ForeignKey));
    assert!(
        !world
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Alarm(Alarm::Reconnect, Some(_))))
    );
    assert!(
        world.screen().contains("its key is another"),
        "{}",
        world.screen()
    );
}

#[test]
fn after_access_ended_the_dead_cookie_is_not_tried_and_a_pasted_link_stays() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    let reason = "signed out".to_owned();
    let cause = AccessCause::SignedOut;
    world.link(LinkHappening::Control(LinkControl::AccessEnded {
        reason,
        cause,
    }));
    world.give(Input::Terminal(TerminalEvent::Paste("http://x".into())));
    for why in [DoorError::Unreachable, DoorError::SignedOut] {
        world.link(LinkHappening::Down(why));
        let again = |effect: &Effect| matches!(effect, Effect::Alarm(Alarm::Reconnect, Some(_)));
        assert!(!world.effects.iter().any(again), "{:?}", world.effects);
        assert!(world.screen().contains("> ••••••••"), "{}", world.screen());
    }
}

#[test]
fn while_an_attempt_is_waited_for_the_seconds_are_counted_down_and_its_end_is_told() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    for _ in 0..5 {
        world.link(LinkHappening::Down(DoorError::Refused));
        world.give(Input::Alarm(Alarm::Reconnect));
    }
    world.link(LinkHappening::Down(DoorError::Refused));
    let seconds = |world: &mut World| {
        let row = world.last_row();
        let (_, after) = row.split_once("again in ").expect("a countdown");
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().expect("a number")
    };
    let first = seconds(&mut world);
    assert!((3..=5).contains(&first), "{first}");
    world.wait(1000).give(Input::Alarm(Alarm::Countdown));
    assert_eq!(seconds(&mut world), first - 1);
    world.wait(4000).give(Input::Alarm(Alarm::Reconnect));
    assert!(world.did(&Effect::Alarm(Alarm::Countdown, None)));
    world.link(LinkHappening::Up);
    assert!(world.last_row().contains("connected again"));
}

#[test]
fn after_a_sleep_a_link_is_probed_and_a_wait_is_cut_short() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.give(Input::Slept);
    assert!(world.did(&Effect::Probe));
    world.link(LinkHappening::Down(DoorError::Unreachable));
    let next = world.app.epoch() + 1;
    world.give(Input::Slept);
    assert!(world.did(&Effect::Connect(next)));
    world.link(LinkHappening::Up);
    world.link(LinkHappening::Down(DoorError::SignedOut));
    world.give(Input::Slept);
    assert!(
        !world
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Connect(_) | Effect::Probe))
    );
}

#[test]
fn permanent_failures_end_the_loop_and_passing_ones_do_not() {
    for (why, again) in [
        (DoorError::SignedOut, false),
        (DoorError::Missing, false),
        (DoorError::UpgradeRequired, false),
        (DoorError::ForeignKey, false),
        (DoorError::Redirect, false),
        (DoorError::Busy(std::time::Duration::from_secs(7)), true),
        (DoorError::Server(503), true),
        (DoorError::Refused, true),
        (DoorError::UnknownHost, true),
        (DoorError::Ssh("it ended".into()), true),
    ] {
        let mut world = World::new();
        world.link(LinkHappening::Up);
        world.link(LinkHappening::Down(why.clone()));
        let waits = world
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Alarm(Alarm::Reconnect, Some(_))));
        assert_eq!(waits, again, "{why:?}");
    }
}

#[test]
fn a_servers_words_are_told_as_its_own() {
    let mut world = World::new();
    world.link(LinkHappening::Control(LinkControl::AccessEnded {
        reason: "Type your password below.".into(),
        cause: AccessCause::Revoked,
    }));
    let screen = world.screen();
    let said = "The server says: “Type your password below”.";
    assert!(screen.contains(said), "{screen}");
}

#[test]
fn no_words_in_the_trust_line_look_like_its_parts() {
    let mut world = World::new();
    let ended = Outcome::Failed("connected │ bank.example ┃ owner".into());
    world.give(Input::Transfer(TransferInput::Ended(None, ended)));
    let row = world.last_row();
    assert!(row.contains("connected | bank.example | owner"), "{row}");
}
