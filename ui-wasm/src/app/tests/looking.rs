//! Looks that come while the UI runs: the server's below the visitor's, wrong ones told, chosen ones kept on request.

use porthole_bridge::{Action, ColorDepth, Event, Looks, Preference, Request, ThemeText};
use ratatui_core::style::Color;
use serde_json::json;

use super::world::*;

fn world() -> World {
    let mut start = start(80, 24);
    start.colors = ColorDepth::True;
    let mut world = World::begin(start);
    world.connect(1);
    world.sessions(rows_of_home());
    world.snapshot(&talked());
    world
}

fn theme(name: &str, color: &str) -> ThemeText {
    ThemeText {
        name: name.into(),
        text: format!("[roles]\ntext = {{ fg = \"{color}\" }}\n"),
    }
}

fn server(world: &mut World, seq: u64, defaults: &str, color: &str) {
    let theme = theme("dusk", color);
    let themes = [json!({"name": theme.name, "text": theme.text})];
    world.frame(
        json!({"snapshot": {"topic": "looks", "epoch": 1, "seq": seq,
        "state": {"looks": {"defaults": defaults, "themes": themes}}}}),
    );
}

#[test]
fn the_servers_looks_hold_until_the_visitor_says_otherwise() {
    let mut world = world();
    server(
        &mut world,
        1,
        "theme = \"dusk\"\nreduced_motion = true\nlauncher_key = \"x\"\n",
        "#0000ff",
    );
    assert_eq!(world.app.look.theme.text.fg, Some(Color::Rgb(0, 0, 255)));
    assert!(!world.app.look.motion);
    assert!(
        world
            .screen()
            .contains("`ui.toml`, line 3: there is no preference"),
        "{}",
        world.screen()
    );
    let own = Looks {
        themes: vec![theme("dusk", "#ff0000")],
        ..Looks::default()
    };
    world.send(Event::Looks(Box::new(own.clone())));
    assert_eq!(world.app.look.theme.text.fg, Some(Color::Rgb(255, 0, 0)));
    let light = Looks {
        theme: "light".into(),
        ..own
    };
    world.send(Event::Looks(Box::new(light)));
    assert_eq!(world.app.look.theme_name, "light");
    server(&mut world, 2, "", "#00ff00");
    assert_eq!(world.app.look.theme_name, "light");
}

#[test]
fn a_theme_that_becomes_wrong_stays_as_it_was_and_the_line_is_told() {
    let mut world = world();
    let own = |text: ThemeText| Looks {
        theme: "dusk".into(),
        themes: vec![text],
        ..Looks::default()
    };
    world.send(Event::Looks(Box::new(own(theme("dusk", "#0000ff")))));
    world.send(Event::Looks(Box::new(own(theme("dusk", "blu")))));
    assert_eq!(world.app.look.theme.text.fg, Some(Color::Rgb(0, 0, 255)));
    assert!(
        world.screen().contains("theme `dusk`, line 2: `blu`"),
        "{}",
        world.screen()
    );
}

#[test]
fn a_chosen_theme_is_kept_only_on_request() {
    let mut world = world();
    world.text("/theme light");
    world.keys(&["enter"]);
    assert_eq!(world.app.look.theme_name, "light");
    let saves = |world: &mut World| {
        let asked = std::mem::take(&mut world.asked).into_iter();
        let saved = asked.filter_map(|request| match request {
            Request::Action {
                action: Action::SavePreferences(kept),
                ..
            } => Some(kept),
            _ => None,
        });
        saved.collect::<Vec<_>>()
    };
    assert!(saves(&mut world).is_empty());
    world.text("/keep");
    world.keys(&["enter"]);
    let theme = Preference {
        key: "theme".into(),
        value: Some("light".into()),
    };
    assert_eq!(saves(&mut world), [vec![theme]]);
}

#[test]
fn plain_is_without_borders_and_motion() {
    let mut world = world();
    let plain = Looks {
        preferences: "plain = true\n".into(),
        ..Looks::default()
    };
    world.send(Event::Looks(Box::new(plain)));
    world.keys(&["ctrl-k"]);
    let shown = world.screen();
    assert!(
        shown.contains("commands") && !shown.contains(['│', '─', '┌', '└']),
        "{shown}"
    );
    assert!(!world.app.look.motion);
}

#[test]
fn with_keys_of_vi_esc_leaves_the_message_and_i_comes_back() {
    let mut start = start(80, 24);
    start.preferences = "keys = \"vi\"\n".into();
    let mut world = World::begin(start);
    world.connect(1);
    world.sessions(rows_of_home());
    world.snapshot(&talked());
    world.text("dr");
    world.keys(&["esc", "j", "k", "ctrl-u", "ctrl-d", "G", "i"]);
    world.text("aft");
    assert_eq!(world.draft(), "draft");
}
