//! The core as tables: inputs in, effects out, and what the screen then says.

use porthole_bridge::{Action, Key, KeyCode, Modifiers};
use porthole_door::LinkControl;
use ratatui::layout::Rect;

mod successor;

use super::*;
use crate::link::LinkHappening;

const HASH: &str = "3f9a21c04d7e0000000000000000000000000000000000000000000000000000";
const OTHER: &str = "aaaa21c04d7e0000000000000000000000000000000000000000000000000000";

struct World {
    app: App,
    now: Instant,
    effects: Vec<Effect>,
}

impl World {
    /// A launcher of 80×24 whose UI runs from the cache; the link is being made.
    fn new() -> Self {
        Self::sized(80, 24, Some(HASH.to_owned()))
    }

    fn sized(cols: u16, rows: u16, cached: Option<String>) -> Self {
        let fixed = Fixed {
            origin: "http://127.0.0.1:7420".into(),
            fingerprint: "k".repeat(43),
            colors: ColorDepth::True,
            background: Background::Dark,
            unicode: true,
            preferences: crate::preferences::Preferences::default(),
            utc_offset_minutes: 0,
        };
        let size = Size { cols, rows };
        let mut app = App::new(fixed, Redeemer::Owner, size, None, 7);
        let now = Instant::now();
        let effects = app.begin(cached, now);
        Self { app, now, effects }
    }

    fn give(&mut self, input: Input) -> &mut Self {
        self.effects = self.app.handle(input, self.now);
        self
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    fn key(&mut self, code: KeyCode) -> &mut Self {
        self.press(code, false)
    }

    fn control(&mut self, char: char) -> &mut Self {
        self.press(KeyCode::Char(char), true)
    }

    fn press(&mut self, code: KeyCode, control: bool) -> &mut Self {
        let modifiers = Modifiers {
            control,
            ..Modifiers::default()
        };
        let key = Key { code, modifiers };
        let press = Press::First;
        self.give(Input::Terminal(TerminalEvent::Key { key, press }))
    }

    fn action(&mut self, request: u64, action: Action) -> &mut Self {
        let instance = self.app.ui.instance();
        self.give(Input::Posted(instance, Request::Action { request, action }))
    }

    fn frame(&mut self, text: &str) -> &mut Self {
        let instance = self.app.ui.instance();
        self.give(Input::Posted(instance, Request::Frame(text.into())))
    }

    fn link(&mut self, what: LinkHappening) -> &mut Self {
        let epoch = self.app.link.epoch;
        self.give(Input::Link(LinkEvent { epoch, what }))
    }

    fn crash(&mut self) -> &mut Self {
        let instance = self.app.ui.instance();
        self.give(Input::UiEnded(instance, "it trapped".into()))
    }

    fn did(&self, wanted: &Effect) -> bool {
        self.effects.contains(wanted)
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::ToUi(Event::Outcome { outcome, .. }) => Some(outcome),
            _ => None,
        })
    }

    fn refused(&self) -> bool {
        matches!(self.outcome(), Some(Outcome::Refused(_)))
    }

    fn started(&self) -> Option<&Start> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartUi { start, .. } => Some(start.as_ref()),
            _ => None,
        })
    }

    fn screen(&mut self) -> String {
        let size = self.app.size();
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.cols, size.rows));
        self.app.view(&mut buffer);
        let rows = buffer.content.chunks(usize::from(size.cols)).map(|row| {
            let text: String = row.iter().map(|cell| cell.symbol()).collect();
            text.trim_end().to_owned()
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    fn last_row(&mut self) -> String {
        self.screen().lines().last().unwrap_or_default().to_owned()
    }
}

fn url() -> Action {
    Action::OpenUrl("https://example.com/a".into())
}

#[test]
fn with_a_cached_bundle_the_ui_the_link_and_the_manifest_start_at_once() {
    let world = World::new();
    assert!(world.started().is_some());
    assert!(world.did(&Effect::Connect(1)));
    assert!(world.did(&Effect::Prepare(Some(HASH.into()))));
}

#[test]
fn the_first_change_is_drawn_at_once_and_the_next_is_spaced() {
    let mut world = World::new();
    world.wait(100).frame("a");
    assert!(world.did(&Effect::Draw));
    world.wait(1).frame("b");
    assert!(!world.did(&Effect::Draw));
    assert!(matches!(
        world.effects[..],
        [Effect::Alarm(Alarm::Draw, Some(_))]
    ));
    world.wait(1).frame("c");
    assert!(world.effects.is_empty(), "one alarm is enough");
    world.wait(10).give(Input::Alarm(Alarm::Draw));
    assert!(world.did(&Effect::Draw));
    assert!(world.screen().starts_with('c'), "the newest frame wins");
}

#[test]
fn the_echo_of_a_key_does_not_wait_and_one_key_buys_one_frame() {
    let mut world = World::new();
    world.wait(100).frame("a");
    world.wait(1).key(KeyCode::Char('x'));
    world.frame("b");
    assert!(world.did(&Effect::Draw));
    assert!(world.screen().starts_with('b'));
    world.wait(1).frame("c");
    assert!(!world.did(&Effect::Draw));
}

#[test]
fn at_rest_nothing_is_asked_for() {
    let mut world = World::new();
    world.wait(100).give(Input::Alarm(Alarm::Draw));
    world.wait(100).give(Input::Alarm(Alarm::Draw));
    assert!(world.effects.is_empty(), "{:?}", world.effects);
}

#[test]
fn a_copy_needs_a_gesture_and_uses_it_up() {
    let mut world = World::new();
    world.action(1, Action::Copy("text".into()));
    assert!(world.refused());
    world
        .key(KeyCode::Char('y'))
        .action(2, Action::Copy("text".into()));
    let asked = Some((world.app.ui.instance(), 2));
    assert!(world.did(&Effect::Copy(asked, "text".into())));
    world.action(3, Action::Copy("text".into()));
    assert!(world.refused());
}

#[test]
fn a_repeating_key_a_paste_and_a_launcher_key_are_no_gesture() {
    let mut world = World::new();
    let key = Key {
        code: KeyCode::Char('a'),
        modifiers: Modifiers::default(),
    };
    world.give(Input::Terminal(TerminalEvent::Key {
        key,
        press: Press::Repeat,
    }));
    world.give(Input::Terminal(TerminalEvent::Paste("x".into())));
    world.control(']').control(']');
    world.action(1, Action::Copy("text".into()));
    assert!(world.refused());
}

#[test]
fn a_dialog_says_the_exact_value_and_yes_does_that() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    let screen = world.screen();
    assert!(screen.contains("porthole asks"), "{screen}");
    assert!(screen.contains("https://example.com/a"), "{screen}");
    assert!(screen.contains("[ No ]    Open (Ctrl-Y)"), "{screen}");
    assert!(world.last_row().contains("waiting for you"));
    world.wait(501).control('y');
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
    world.key(KeyCode::Enter);
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
fn one_dialog_at_a_time_and_none_after_three_refusals() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    world.action(2, Action::Quit);
    assert!(world.refused());
    for request in 3..6 {
        world.wait(600).key(KeyCode::Escape);
        world.key(KeyCode::Enter).action(request, url());
    }
    assert!(world.refused());
    assert!(!world.screen().contains("porthole asks"));
}

#[test]
fn a_dialog_dies_with_whoever_asked() {
    for end in ["moved", "link", "crash"] {
        let mut world = World::new();
        world.key(KeyCode::Enter).action(1, url());
        let instance = world.app.ui.instance();
        let place = Place {
            session: "other".into(),
            conversation: 1,
        };
        match end {
            "moved" => world.give(Input::Posted(instance, Request::Place(Some(place)))),
            "link" => world.link(LinkHappening::Down(DoorError::Unreachable)),
            _ => world.crash(),
        };
        assert!(!world.screen().contains("porthole asks"), "{end}");
    }
}

#[test]
fn addresses_that_are_not_for_a_browser_are_refused_without_asking() {
    for bad in [
        "file:///etc/passwd",
        "http://example.com/",
        "https://bank@evil.example/",
        "javascript:alert(1)",
        "-h",
        "https://example.com/a b",
        "x-man-page://1/ls",
        "smb://host/share",
    ] {
        let mut world = World::new();
        world
            .key(KeyCode::Enter)
            .action(1, Action::OpenUrl(bad.into()));
        assert!(world.refused(), "{bad}");
    }
}

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
        cause: porthole_door::AccessCause::Revoked,
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
fn a_ui_that_ends_leaves_a_page_and_comes_back_with_its_state() {
    let mut world = World::new();
    let instance = world.app.ui.instance();
    world.give(Input::Posted(
        instance,
        Request::Snapshot(b"draft".to_vec()),
    ));
    world.crash();
    let screen = world.screen();
    assert!(
        screen.contains("The UI stopped.") && screen.contains("it trapped"),
        "{screen}"
    );
    world.key(KeyCode::Char('r'));
    assert_eq!(
        world.started().expect("starts").snapshot.as_deref(),
        Some(&b"draft"[..])
    );
    world.crash().key(KeyCode::Char('r'));
    assert_eq!(
        world.started().expect("starts").snapshot,
        None,
        "the state may be what breaks it"
    );
    world.crash();
    assert!(
        world.screen().contains("3 times in a row"),
        "{}",
        world.screen()
    );
}

#[test]
fn a_ui_that_comes_after_the_links_first_words_hears_them() {
    let mut world = World::sized(80, 24, None);
    world
        .link(LinkHappening::Up)
        .link(LinkHappening::Text(b"hello".to_vec()));
    world.give(Input::Door(DoorInput::Prepared(HASH.into())));
    assert!(world.did(&Effect::ToUi(Event::Link(b"hello".to_vec()))));
    world.crash().key(KeyCode::Char('r'));
    world.give(Input::Door(DoorInput::Prepared(HASH.into())));
    assert!(
        world.did(&Effect::Connect(2)),
        "a successor needs a first word of its own"
    );
}

#[test]
fn the_launchers_key_works_whatever_the_ui_does() {
    let mut world = World::new();
    world.control(']');
    assert!(
        world
            .effects
            .iter()
            .all(|effect| !matches!(effect, Effect::ToUi(_)))
    );
    assert!(world.screen().contains("reload the UI"));
    world.key(KeyCode::Char('q'));
    assert!(world.did(&Effect::Quit(0, None)));
}

#[test]
fn signing_out_from_the_menu_asks_first() {
    let mut world = World::new();
    world.control(']').key(KeyCode::Char('s'));
    assert!(
        world
            .screen()
            .contains("Sign out of http://127.0.0.1:7420?")
    );
    world.wait(600).control('y');
    assert!(world.did(&Effect::SignOut));
}

#[test]
fn while_an_editor_owns_the_terminal_nothing_is_drawn_and_no_key_is_heard() {
    let mut world = World::new();
    world
        .key(KeyCode::Char('e'))
        .action(1, Action::Edit("draft".into()));
    assert!(!world.did(&Effect::Draw));
    world.wait(100).frame("streamed");
    assert!(world.effects.is_empty());
    world.key(KeyCode::Char('x'));
    assert!(world.effects.is_empty());
    world.give(Input::Back(Size {
        cols: 100,
        rows: 30,
    }));
    assert!(world.did(&Effect::Draw) && world.did(&Effect::Forget));
    assert!(world.screen().starts_with("streamed"));
}

#[test]
fn the_trust_line_says_who_and_what_and_shortens_from_the_least_needed() {
    let mut world = World::sized(100, 10, Some(HASH.into()));
    world.link(LinkHappening::Up);
    insta::assert_snapshot!(world.last_row(), @" porthole │ 127.0.0.1:7420 │ owner │ UI 3f9a21c04d7e │ connected                    Ctrl-] launcher");
    let mut narrow = World::sized(40, 12, Some(HASH.into()));
    narrow.link(LinkHappening::Up);
    insta::assert_snapshot!(narrow.last_row(), @" 127.0.0.1:7420 │ connected      Ctrl-]");
    for cols in 1..40 {
        let mut tiny = World::sized(cols, 2, Some(HASH.into()));
        assert!(tiny.last_row().trim().len() <= usize::from(cols));
    }
}

#[test]
fn a_ui_draws_neither_the_last_row_nor_over_a_dialog() {
    let mut world = World::new();
    let row = world.last_row();
    world.frame("\x1b[24;1HSPOOF\x1b[99;1HSPOOF");
    assert_eq!(world.last_row(), row);
}

#[test]
fn a_ui_is_told_of_as_many_cells_as_plain_text_fits_into_a_frame() {
    for ((cols, rows), told) in [
        ((80, 24), (80, 23)),
        ((300, 201), (300, 200)),
        ((500, 200), (500, 120)),
        ((9_999, 9_999), (500, 120)),
        ((301, 300), (301, 199)),
        ((1, 1), (1, 1)),
        ((0, 0), (1, 1)),
    ] {
        let size = ui_size(Size { cols, rows });
        assert_eq!((size.cols, size.rows), told, "{cols}x{rows}");
        let cells = u32::from(size.cols) * u32::from(size.rows);
        assert!(cells <= porthole_bridge::limits::CELLS);
    }
}

#[test]
fn after_access_ended_the_dead_cookie_is_not_tried_and_a_pasted_link_stays() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    let reason = "signed out".to_owned();
    let cause = porthole_door::AccessCause::SignedOut;
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
fn a_server_that_comes_back_is_asked_for_its_ui_and_so_it_is_on_reloading() {
    let mut world = World::new();
    let ask = Effect::Prepare(Some(HASH.into()));
    world.link(LinkHappening::Up);
    assert!(!world.did(&ask), "it was asked at the start");
    world.link(LinkHappening::Down(DoorError::Unreachable));
    world.give(Input::Alarm(Alarm::Reconnect));
    world.link(LinkHappening::Up);
    assert!(world.did(&ask));
    world.control(']').key(KeyCode::Char('r'));
    assert!(world.did(&ask));
}

#[test]
fn a_dialog_that_a_resize_leaves_unseen_is_refused() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.control(']').key(KeyCode::Char('s'));
    assert!(world.screen().contains("Sign out (Ctrl-Y)"));
    world.give(Input::Resized(Size { cols: 20, rows: 5 }));
    world.wait(600).control('y');
    assert!(!world.did(&Effect::SignOut));
    world.give(Input::Resized(Size { cols: 80, rows: 24 }));
    world.key(KeyCode::Enter).action(1, url());
    world.give(Input::Resized(Size { cols: 20, rows: 5 }));
    assert!(world.refused());
}

#[test]
fn every_dialog_that_opens_shows_both_answers() {
    for cols in 10..90 {
        for rows in 3..26 {
            let mut world = World::sized(cols, rows, Some(HASH.to_owned()));
            world.key(KeyCode::Enter).action(1, url());
            let screen = world.screen();
            let shown = screen.contains("[ No ]    Open (Ctrl-Y)");
            assert_eq!(shown, !world.refused(), "{cols}x{rows}\n{screen}");
        }
    }
}

#[test]
fn a_line_of_the_menu_that_is_not_seen_does_not_act() {
    for rows in 1..14 {
        let mut world = World::sized(40, rows, Some(HASH.to_owned()));
        world.control(']');
        let seen = world.screen().contains("quit");
        world.key(KeyCode::Char('q'));
        assert_eq!(world.did(&Effect::Quit(0, None)), seen, "{rows} rows");
    }
}

#[test]
fn long_feedback_is_cut_and_the_rest_of_the_trust_line_stays() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    let outcome = Outcome::Done("x".repeat(200));
    world.give(Input::Local(LocalDone {
        asked: None,
        outcome,
    }));
    let row = world.last_row();
    assert!(row.contains("127.0.0.1:7420 │ owner"), "{row}");
    assert!(row.contains("xxxxxxxx") && row.contains('…'), "{row}");
    assert!(row.contains("Ctrl-]"), "{row}");
}

#[test]
fn an_edited_text_whose_asker_is_gone_is_pasted_into_the_next_ui() {
    let paste = Effect::ToUi(Event::Paste("mine".into()));
    let edited = |asked| {
        Input::Local(LocalDone {
            asked: Some((asked, 1)),
            outcome: Outcome::Edited("mine".into()),
        })
    };
    let mut world = World::new();
    let first = world.app.ui.instance();
    world.crash().give(edited(first));
    assert!(!world.did(&paste));
    world.key(KeyCode::Char('r'));
    assert!(world.did(&paste), "kept until there is one");
    world.give(edited(first));
    assert!(world.did(&paste), "one runs already");
    world.give(edited(world.app.ui.instance()));
    assert!(!world.did(&paste) && world.outcome().is_some());
}

#[test]
fn a_sentence_of_a_page_ends_with_one_full_stop() {
    let mut world = World::sized(80, 24, None);
    let trouble = Trouble::Bundle("it is broken.".into());
    world.give(Input::Door(DoorInput::NotPrepared(trouble)));
    let screen = world.screen();
    assert!(
        screen.contains("broken.") && !screen.contains(".."),
        "{screen}"
    );
}
