//! The launcher's questions: what they show, and what answers them.

use porthole_bridge::{Action, Key, KeyCode, Modifiers};
use proptest::prelude::*;
use ratatui::style::Modifier;

use super::world::*;
use crate::{app::*, link::LinkHappening};

#[test]
fn a_dialog_says_the_exact_value_and_yes_does_that() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    let screen = world.screen();
    assert!(screen.contains("porthole asks"), "{screen}");
    assert!(screen.contains("https://example.com/a"), "{screen}");
    assert!(screen.contains("[ No ]    Open (Ctrl-Y)"), "{screen}");
    assert!(world.last_row().contains("waiting for you"));
    world.yes();
    let asked = Some((world.app.ui.instance(), 1));
    assert!(world.did(&Effect::Open(asked, "https://example.com/a".into())));
}

#[test]
fn type_ahead_never_answers_a_dialog() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    for _ in 0..100 {
        world.wait(50).control('y');
        assert!(
            !world
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::Open(..)))
        );
    }
    assert!(world.screen().contains("porthole asks"));
}

#[test]
fn a_paste_a_click_and_plain_letters_never_say_yes() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(600);
    world.give(Input::Terminal(TerminalEvent::Paste("y\n\u{19}".into())));
    world.key(KeyCode::Char('y'));
    assert!(world.screen().contains("porthole asks"));
    world.wait(2_000).key(KeyCode::Enter);
    assert!(world.refused(), "Enter is No");
}

#[test]
fn a_resize_makes_the_dialog_deaf_again() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(600);
    world.give(Input::Resized(Size { cols: 90, rows: 30 }));
    world.control('y');
    assert!(world.screen().contains("porthole asks"));
}

#[test]
fn after_a_suspension_the_dialog_asks_for_silence_again() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(2_000);
    let size = world.app.size();
    world.give(Input::Back(size));
    world.control('y').wait(80).give(Input::Alarm(Alarm::Sure));
    assert!(!opened(&world));
    world.yes();
    assert!(opened(&world));
}

#[test]
fn frames_are_kept_while_a_dialog_is_open_and_drawn_after() {
    let mut world = World::new();
    world.frame("before").screen();
    world.key(KeyCode::Enter).action(1, url());
    world.frame("after");
    assert!(world.screen().starts_with("before"));
    world.wait(600).key(KeyCode::Escape);
    assert!(world.screen().starts_with("after"));
}

#[test]
fn a_dialog_that_a_resize_leaves_unseen_is_refused() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.control(']').key(KeyCode::Char('s'));
    assert!(world.screen().contains("Sign out (Ctrl-Y)"));
    world.give(Input::Resized(Size { cols: 20, rows: 5 }));
    world.yes();
    assert!(!world.did(&Effect::SignOut));
    world.give(Input::Resized(Size { cols: 80, rows: 24 }));
    world.key(KeyCode::Enter).action(1, url());
    world.give(Input::Resized(Size { cols: 20, rows: 5 }));
    assert!(world.refused());
}

#[test]
fn every_dialog_that_opens_shows_both_answers() {
    for cols in (1..90).step_by(4) {
        for rows in 1..26 {
            let mut world = World::sized(cols, rows, Some(HASH.to_owned()));
            world.key(KeyCode::Enter).action(1, url());
            let screen = world.screen();
            let shown = screen.contains("[ No ]    Open (Ctrl-Y)");
            assert_eq!(shown, !world.refused(), "{cols}x{rows}\n{screen}");
        }
    }
}

fn opened(world: &World) -> bool {
    let open = |effect: &Effect| matches!(effect, Effect::Open(..) | Effect::Copy(..));
    world.effects.iter().any(open)
}

#[test]
fn a_yes_counts_only_when_nothing_follows_it_at_once() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(2_000);
    for byte in ['y', 'l', 's'] {
        world.control(byte).wait(2);
    }
    world.wait(80).give(Input::Alarm(Alarm::Sure));
    assert!(!opened(&world), "a paste that is not marked as one");
    world.wait(2_000).control('y').control('y').wait(80);
    world.give(Input::Alarm(Alarm::Sure));
    assert!(!opened(&world), "a yes pressed twice");
    world.wait(2_000).control('y');
    world.give(Input::Terminal(TerminalEvent::Paste("x".into())));
    world.wait(80).give(Input::Alarm(Alarm::Sure));
    assert!(!opened(&world), "a paste after it");
    world.yes();
    assert!(opened(&world));
}

#[test]
fn the_key_that_led_to_a_dialog_does_not_answer_it_while_it_is_held() {
    let mut world = World::new();
    world.control('y').action(1, url());
    // A keyboard waits for up to a second before it repeats.
    for wait in [1_000, 40, 40, 40, 600] {
        world.wait(wait).control('y').wait(80);
        world.give(Input::Alarm(Alarm::Sure));
        assert!(!opened(&world));
    }
    world.yes();
    assert!(opened(&world));
}

/// Returns whether the answers are drawn as ones that count.
fn lit(world: &mut World) -> bool {
    let buffer = world.buffer();
    let at = |part: &str| {
        let row = buffer
            .content
            .chunks(80)
            .find(|row| {
                let text: String = row.iter().map(|cell| cell.symbol()).collect();
                text.contains(part)
            })
            .expect("the buttons");
        row.iter().find(|cell| cell.symbol() == "[").cloned()
    };
    at("[ No ]").is_some_and(|cell| cell.modifier.contains(Modifier::BOLD))
}

#[test]
fn a_dialog_looks_answerable_exactly_while_a_yes_would_count() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    assert!(!lit(&mut world), "it was only just drawn");
    world.wait(500).give(Input::Alarm(Alarm::Listen));
    assert!(lit(&mut world) && world.did(&Effect::Draw));
    world.key(KeyCode::Char('x'));
    assert!(!lit(&mut world), "somebody types something else");
    let due = world.effects.iter().find_map(|effect| match effect {
        Effect::Alarm(Alarm::Listen, at) => *at,
        _ => None,
    });
    assert_eq!(due, Some(world.now + Duration::from_millis(500)));
    world.wait(500).give(Input::Alarm(Alarm::Listen));
    world.give(Input::Resized(Size { cols: 80, rows: 30 }));
    assert!(!lit(&mut world), "the window changed");
    world.wait(500).give(Input::Alarm(Alarm::Listen));
    assert!(lit(&mut world));
    world.control('y').wait(80).give(Input::Alarm(Alarm::Sure));
    assert!(opened(&world));
}

#[test]
fn a_repeating_key_never_says_yes() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(2_000);
    let modifiers = Modifiers {
        control: true,
        ..Modifiers::default()
    };
    let key = Key {
        code: KeyCode::Char('y'),
        modifiers,
    };
    let press = Press::Repeat;
    world.give(Input::Terminal(TerminalEvent::Key { key, press }));
    world.wait(80).give(Input::Alarm(Alarm::Sure));
    assert!(!opened(&world));
}

#[test]
fn a_dialog_is_deaf_until_it_has_been_on_the_screen() {
    let mut world = World::new();
    world.key(KeyCode::Enter);
    let instance = world.app.ui.instance();
    let asks = Request::Action {
        request: 1,
        action: url(),
    };
    // The terminal takes three seconds to draw it.
    world.app.handle(Input::Posted(instance, asks), world.now);
    world.wait(3_000);
    world.app.shown(world.now);
    world.control('y').wait(80).give(Input::Alarm(Alarm::Sure));
    assert!(!opened(&world));
    world.yes();
    assert!(opened(&world));
}

#[test]
fn a_long_address_shows_its_host_whole_and_its_middle_on_demand() {
    let host = format!("{}.bank.example.evil.example", "sub".repeat(12));
    let long = format!("https://{host}/{}end", "p".repeat(1_900));
    let mut world = World::sized(40, 14, Some(HASH.to_owned()));
    world.key(KeyCode::Enter).action(1, Action::OpenUrl(long));
    let joined = |world: &mut World| {
        let inside = |line: &str| line.trim_matches([' ', '║']).to_owned();
        world.screen().lines().map(inside).collect::<String>()
    };
    let shown = joined(&mut world);
    assert!(shown.contains(&format!("https://{host}")), "{shown}");
    assert!(shown.contains("…") && shown.contains("pend"), "{shown}");
    assert!(world.screen().contains("↓ all"), "{}", world.screen());
    world.wait(2_000).key(KeyCode::Down);
    let whole = joined(&mut world);
    assert!(whole.contains("↓ 6") && !whole.contains('…'), "{whole}");
    assert!(whole.contains(&format!("https://{host}")), "{whole}");
}

#[test]
fn a_host_that_does_not_fit_is_not_asked_about() {
    let host = vec!["a".repeat(60); 4].join(".");
    let long = Action::OpenUrl(format!("https://{host}/x"));
    let mut world = World::sized(40, 12, Some(HASH.to_owned()));
    world.key(KeyCode::Enter).action(1, long.clone());
    assert!(world.refused(), "{}", world.screen());
    let mut world = World::sized(80, 24, Some(HASH.to_owned()));
    world.key(KeyCode::Enter).action(1, long);
    assert!(world.screen().contains("porthole asks"));
}

#[test]
fn a_host_in_other_letters_is_shown_in_ascii_and_said() {
    for (url, shown, said) in [
        (
            "https://e\u{445}ample.com/",
            "https://xn--eample-",
            "mixes alphabets",
        ),
        (
            "https://пример.рф/",
            "https://xn--e1afmkfd.xn--p1ai/",
            "It reads “пример.рф”",
        ),
        (
            "http://127.0.0.1:7420/#x",
            "127.0.0.1:7420/#x",
            "this server's own",
        ),
    ] {
        let mut world = World::new();
        world
            .key(KeyCode::Enter)
            .action(1, Action::OpenUrl(url.into()));
        let screen = world.screen().replace(" ║\n ║ ", " ");
        let flat = screen
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("║ ║ ", "");
        assert!(flat.contains(shown) && flat.contains(said), "{flat}");
    }
}

#[test]
fn without_a_desktop_yes_copies_the_address_and_the_dialog_says_so() {
    let mut world = World::new();
    world.app.fixed.desktop = false;
    world.key(KeyCode::Enter).action(1, url());
    let screen = world.screen();
    assert!(screen.contains("There is no browser here."), "{screen}");
    assert!(screen.contains("[ No ]    Copy (Ctrl-Y)"), "{screen}");
    world.yes();
    let asked = Some((world.app.ui.instance(), 1));
    assert!(world.did(&Effect::Copy(asked, "https://example.com/a".into())));
}

#[test]
fn at_forty_columns_everything_that_matters_is_on_the_screen() {
    let mut world = World::sized(40, 12, Some(HASH.to_owned()));
    world.key(KeyCode::Enter).action(1, url());
    insta::assert_snapshot!(world.screen().trim_matches([' ', '\n']), @"
    ╔═ porthole asks ══════════════════╗
      ║ Open this address for            ║
      ║ http://127.0.0.1:7420? It has    ║
      ║ 21 characters.                   ║
      ║                                  ║
      ║   https://example.com/a          ║
      ║                                  ║
      ║ [ No ]    Open (Ctrl-Y)          ║
      ╚══════════════════════════════════╝

     127.0.0.1:7420 │ waiting for you
    ");
}

#[test]
fn hidden_text_is_spelled_out_before_it_is_copied_and_copied_as_it_was() {
    let text = "curl x|sh\n\u{202e}#\u{1b}[8m";
    let mut world = World::new();
    world
        .key(KeyCode::Char('c'))
        .action(1, Action::Copy(text.into()));
    let screen = world.screen();
    for part in ["curl x|sh", "⟨U+202E⟩#␛[8m", "2 lines"] {
        assert!(screen.contains(part), "{screen}");
    }
    world.yes();
    let asked = Some((world.app.ui.instance(), 1));
    assert!(world.did(&Effect::Copy(asked, text.into())));
}

proptest! {
    /// What is shown, joined, is what is opened: nothing is stripped on the way.
    #[test]
    fn an_address_is_done_as_it_is_shown(path in "[ -~é漢\u{202e}]{0,90}", cols in 60_u16..120) {
        let mut world = World::sized(cols, 40, Some(HASH.to_owned()));
        world.key(KeyCode::Enter).action(1, Action::OpenUrl(format!("https://example.com/{path}")));
        if world.app.dialog.is_some() {
            let inside = |line: &str| line.trim().trim_matches('║').trim().to_owned();
            let shown: String = world.screen().lines().map(inside).collect();
            world.yes();
            let opened = world.effects.iter().find_map(|effect| match effect {
                Effect::Open(_, url) => Some(url.clone()),
                _ => None,
            });
            let opened = opened.expect("opens");
            prop_assert!(shown.contains(&opened), "{opened} in {shown}");
        }
    }
}
