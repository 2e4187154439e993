//! The link: tried again, ended, admitted again.

use porthole_bridge::KeyCode;
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
    world.give(Input::Door(DoorInput::Redeemed(Redeemer::Owner)));
    assert!(world.did(&Effect::Connect(2)));
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
