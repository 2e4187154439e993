//! Whole screens as text, for a person to read in a diff.

use super::world::*;
use insta::assert_snapshot;

#[test]
fn a_conversation_that_needs_someone_at_100_by_30() {
    let mut world = World::with(100, 30, waiting());
    world.text("also bump the changelog");
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                                            claude-sonnet · thinking low
      ~/src/shop · main                                                                     asks first


        you · 22:03
      ▌ The retry test fails about once in ten runs. Find out why and fix it.

        I'll run it until it fails, then read what it depends on.

        ✓ shell   cargo test retry -- --nocapture         12 runs, 1 failed                      8.4 s

        The jitter could be longer than the back-off itself, so two attempts met in one tick.

        It is bounded by half the base now. 200 runs pass.









     ┌─ needs you ────────────────────────────────────────────────────────────────────────────────────┐
     │ Run  git push origin main ?                                                                    │
     │ Alt-Q, then  y yes, once · a always exactly this · n no · e edit · w why                       │
     └────────────────────────────────────────────────────────────────────────────────────────────────┘

      ▌ also bump the changelog
        Alt-Q answers · Enter sends as follow-up · Tab steer now · Esc stops · / command    38 % ▰▰▱▱▱
    cursor 27,28
    "#);
}

#[test]
fn the_same_at_80_by_24() {
    let mut world = World::with(80, 24, waiting());
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first


        you · 22:03
      ▌ The retry test fails about once in ten runs. Find out why and fix it.

        I'll run it until it fails, then read what it depends on.

        ✓ shell   cargo test retry -- --nocap… 12 runs, 1 failed             8.4 s

        The jitter could be longer than the back-off itself, so two attempts met
        in one tick.

        It is bounded by half the base now. 200 runs pass.


     ┌─ needs you ────────────────────────────────────────────────────────────────┐
     │ Run  git push origin main ?                                                │
     │ Alt-Q, then  y yes, once · a always exactly this · n no · e edit · w why   │
     └────────────────────────────────────────────────────────────────────────────┘

      ▌ say what comes next
        Alt-Q answers · Enter sends as follow-up · Tab steer now        38 % ▰▰▱▱▱
    cursor 4,22
    "#);
}

#[test]
fn the_same_at_40_by_12() {
    let mut world = World::with(40, 12, waiting());
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test

        It is bounded by half the base
        now. 200 runs pass.
     ┌─ needs you ────────────────────────┐
     │ Run  git push origin main ?        │
     │ Alt-Q, then  y yes, once           │
     │ a always exactly this · n no       │
     │ e edit · w why                     │
     └────────────────────────────────────┘
      ▌ say what comes next
        Alt-Q answers                 38 %
    cursor 4,10
    "#);
}

#[test]
fn a_turn_that_works() {
    let mut world = World::with(80, 20, working());
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first


        you · 22:03
      ▌ The retry test fails about once in ten runs. Find out why and fix it.

        I'll run it until it fails, then read what it depends on.

        ✓ shell   cargo test retry -- --nocap… 12 runs, 1 failed             8.4 s

        The jitter could be longer than the back-off itself, so two attempts met
        in one tick.

        It is bounded by half the base now. 200 runs pass.

      ◐ waiting for claude-sonnet 0:07 · Esc stops

      ▌ say what comes next
        Enter sends as follow-up · Tab steer now · Esc stops            38 % ▰▰▱▱▱
    cursor 4,18
    "#);
}

#[test]
fn the_first_minute_with_the_stand_in() {
    let mut state = empty();
    state.info.practice = true;
    let mut world = World::with(80, 20, state);
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                             practice · thinking low
      ~/src/shop · main                                                 asks first

      Welcome. This session works in ~/src/shop on box.

      No model is configured, so you are talking to `practice`: a built-in
      stand-in that follows fixed rules and runs real tools.
      Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write models.toml (/models
      shows where), to talk to a model.

      Try:  list the files · read README.md · run ls -la
            make a file called hello.txt






      ▌ say what should be done
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
    cursor 4,18
    "#);
}

#[test]
fn home_at_100_by_24() {
    let mut world = World::with(100, 24, talked());
    world.keys(&["alt-h"]);
    assert_snapshot!(world.screen(), @r#"

      Porthole  box                                                          / search   n new   ? help

      box · ~/src/shop
      ▸ ● fix the flaky retry test                    needs you: run git push origin main?       22:09
        ◐ port the importer to streams                running cargo test                         22:08
        ○ why is checkout slow?                       answered                                •  21:40

      box · ~/src/site
        ✗ upgrade the build                           failed: the model refused the key            Mon

      archived 1 ▸  a shows them











      ↑↓ move · Enter open · n new · / search · p pin · r rename · e archive · Ctrl-K commands
    no cursor
    "#);
}

#[test]
fn home_at_40_by_12() {
    let mut world = World::with(40, 12, talked());
    world.keys(&["alt-h", "down"]);
    assert_snapshot!(world.screen(), @r#"
      Porthole   / search   n new   ? help

      box · ~/src/shop
        ● fix the flak…  needs you   22:09
      ▸ ◐ port the impor…  working   22:08
        ○ why is checko…  answered • 21:40

      box · ~/src/site
        ✗ upgrade the build   failed   Mon


      ↑↓ move · Enter open · n new
    no cursor
    "#);
}

#[test]
fn home_with_nothing_in_it_says_what_to_do() {
    let mut start = start(80, 16);
    start.place = None;
    let mut world = World::begin(start);
    world.connect(1);
    world.sessions(Vec::new());
    assert_snapshot!(world.screen(), @r#"

      Porthole  box                                      / search   n new   ? help

      No sessions yet.

      A session is one conversation with an agent that works in one directory.
      n makes the first one.








      ↑↓ move · Enter open · n new · / search · p pin · r rename · Ctrl-K commands
    no cursor
    "#);
}

#[test]
fn the_palette_finds_by_typing() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["ctrl-k"]);
    world.text("think");
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first
      ┌─ commands ───────────────────────────────────────────────────────────────┐
      │ think                                                                    │
      │                                                                          │
      │ ▸ choose how much the model thinks                                 Alt-T │
      │   make this model and thinking the default of new sessions      /default │
      │   show or fold what the model thinks                              Ctrl-T │
      └──────────────────────────────────────────────────────────────────────────┘
        ✓ shell   cargo test retry -- --nocap… 12 runs, 1 failed             8.4 s

        The jitter could be longer than the back-off itself, so two attempts met
        in one tick.

        It is bounded by half the base now. 200 runs pass.







      ▌ say what should be done
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
    cursor 9,3
    "#);
}

#[test]
fn commands_are_listed_while_one_is_typed() {
    let mut world = World::with(80, 24, talked());
    world.text("/t");
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first


        you · 22:03
      ▌ The retry test fails about once in ten runs. Find out why and fix it.

        I'll run it until it fails, then read what it depends on.

        ✓ shell   cargo test retry -- --nocap… 12 runs, 1 failed             8.4 s

        The jitter could be longer than the back-off itself, so two attempts met
        in one tick.

        It is bounded by half the base now. 200 runs pass.



      ┌──────────────────────────────────────────────────────────────┐
      │ ▸ /theme      choose the colours                             │
      │   /thinking   choose how much the model thinks               │
      └──────────────────────────────────────────────────────────────┘
      ▌ /t
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
    cursor 6,22
    "#);
}

#[test]
fn help_shows_every_key() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["f1"]);
    assert_snapshot!(world.screen(), @r#"
     ┌─ keys and commands · Esc closes ───────────────────────────────────────────┐
     │ Writing                                                                    │
     │   Enter                       send the message                             │
     │   Shift-Enter, Alt-Enter,     begin a new line                             │
     │   Ctrl-J                                                                   │
     │   Tab                         send as follow-up, or steer the running turn │
     │                               now                                          │
     │   Tab                         complete the command, while the list of      │
     │                               commands is open                             │
     │   ↑                           line above; in an empty message or at its    │
     │                               top, the message sent before                 │
     │   ↓                           line below; at the end, the message sent     │
     │                               after                                        │
     │   Ctrl-R                      search the messages sent before  /history    │
     │   Ctrl-G                      edit the message in your editor  /edit       │
     │   Alt-↑                       take the last queued message back into the   │
     │                               composer  /unqueue                           │
     │   Alt-A                       attach a file from this computer  /attach    │
     │   Alt-V                       attach what the clipboard holds  /paste      │
     │                               take the last attachment off; Backspace at   │
     │                               the start does it too  /detach               │
     │   Esc                         stop the turn; then clear the message  /stop │
     │   ! before a command runs it and the model sees it; !! keeps it from the   │
     └─────────────────────────────────────────────────────────────── ↓ 146 more ─┘
    no cursor
    "#);
}

#[test]
fn a_lost_connection_is_said_and_what_was_sent_is_marked() {
    let mut world = World::with(80, 20, talked());
    world.send(porthole_bridge::Event::LinkState(
        porthole_bridge::LinkState::Down { retry_in_ms: 500 },
    ));
    world.text("and bump the changelog");
    world.keys(&["enter"]);
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                            connection lost, trying again …

        you · 22:03
      ▌ The retry test fails about once in ten runs. Find out why and fix it.

        I'll run it until it fails, then read what it depends on.

        ✓ shell   cargo test retry -- --nocap… 12 runs, 1 failed             8.4 s

        The jitter could be longer than the back-off itself, so two attempts met
        in one tick.

        It is bounded by half the base now. 200 runs pass.

        not sure it arrived · asking again
      ▌ and bump the changelog

      ▌ say what should be done
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
    cursor 4,18
    "#);
}

#[test]
fn a_wide_terminal_keeps_the_text_narrow_and_in_the_middle() {
    let mut world = World::with(160, 18, talked());
    assert_snapshot!(world.screen(), @r#"
                                  fix the flaky retry test                                                claude-sonnet · thinking low
                                  ~/src/shop · main                                                                         asks first


                                    you · 22:03
                                  ▌ The retry test fails about once in ten runs. Find out why and fix it.

                                    I'll run it until it fails, then read what it depends on.

                                    ✓ shell   cargo test retry -- --nocapture          12 runs, 1 failed                       8.4 s

                                    The jitter could be longer than the back-off itself, so two attempts met in one tick.

                                    It is bounded by half the base now. 200 runs pass.


                                  ▌ say what should be done
                                    Enter sends · / command · ! shell · Ctrl-K commands                                     38 % ▰▰▱▱▱
    cursor 32,16
    "#);
}

#[test]
fn without_the_glyphs_every_sign_has_a_stand_in() {
    let mut start = start(80, 18);
    start.unicode = false;
    start.place = None;
    let mut world = World::begin(start);
    world.connect(1);
    world.sessions(rows_of_home());
    assert_snapshot!(world.screen(), @r#"

      Porthole  box                                      / search   n new   ? help

      box - ~/src/shop
      > ! fix the flaky retry test        needs you: run git push origin~    22:09
        ~ port the importer to streams    running cargo test                 22:08
        o why is checkout slow?           answered                        *  21:40

      box - ~/src/site
        x upgrade the build               failed: the model refused the ~      Mon

      archived 1 >  a shows them





      Up/Down move - Enter open - n new - / search - p pin - Ctrl-K commands
    no cursor
    "#);
}

/// Returns the characters of a screen that an ASCII terminal cannot show.
fn not_ascii(world: &mut World) -> String {
    world.screen().chars().filter(|c| !c.is_ascii()).collect()
}

#[test]
fn no_screen_shows_anything_but_ascii_where_the_glyphs_are_missing() {
    for (cols, rows) in [(100, 40), (50, 12)] {
        for state in [empty(), talked(), waiting(), working()] {
            for keys in [
                &[][..],
                &["f1"],
                &["ctrl-k"],
                &["ctrl-o"],
                &["/"],
                &["x", "enter"],
                &["alt-q"],
                &["pgup"],
                &["esc"],
            ] {
                let mut start = start(cols, rows);
                start.unicode = false;
                let mut world = World::begin(start);
                world.connect(1);
                world.sessions(rows_of_home());
                world.snapshot(&state);
                world.keys(keys);
                assert_eq!(not_ascii(&mut world), "", "{keys:?}\n{}", world.screen());
                world.send(porthole_bridge::Event::LinkState(
                    porthole_bridge::LinkState::Down { retry_in_ms: 500 },
                ));
                assert_eq!(not_ascii(&mut world), "", "{keys:?}\n{}", world.screen());
            }
        }
    }
}
