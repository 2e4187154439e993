//! What is sent and saved, and only after which question.

use std::sync::Arc;

use porthole_bridge::{Action, Attached, KeyCode, Outcome, Place, Source, UploadFrom};

use super::world::*;
use crate::{
    app::*,
    transfer::{Entry, EntryKind, LocalFile},
};

/// A launcher whose UI is in a session.
fn in_session() -> World {
    let mut world = World::new();
    let instance = world.app.ui.instance();
    world.give(Input::Posted(instance, Request::Place(Some(place()))));
    world
}

fn place() -> Place {
    Place {
        session: "s1".into(),
        conversation: 1,
    }
}

fn file(folder: &tempfile::TempDir, name: &str) -> Arc<LocalFile> {
    let path = folder.path().join(name);
    std::fs::write(&path, "text").expect("written");
    Arc::new(LocalFile::open(&path, 100).expect("opens"))
}

fn paste(world: &mut World, text: &str) {
    world.give(Input::Terminal(TerminalEvent::Paste(text.into())));
}

fn pasted(world: &World, text: &str) -> bool {
    world.did(&Effect::ToUi(Event::Paste(text.into())))
}

#[test]
fn an_upload_goes_through_the_picker_a_question_and_a_yes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut world = in_session();
    world.action(1, Action::Upload(UploadFrom::Picker));
    assert!(world.refused(), "no key before it");
    world.key(KeyCode::Enter);
    world.action(2, Action::Upload(UploadFrom::Picker));
    assert!(world.did(&Effect::List("/home/ada".into())));
    let entry = |name: &str, kind| Entry {
        name: name.into(),
        path: format!("/home/ada/{name}").into(),
        kind,
        bytes: 5,
    };
    let entries = vec![
        entry("src", EntryKind::Folder),
        entry(".secret", EntryKind::File),
        entry("in\u{202e}gpj.exe", EntryKind::File),
        entry("report.pdf", EntryKind::File),
    ];
    let listed = TransferInput::Listed("/home/ada".into(), Ok(entries));
    world.give(Input::Transfer(listed));
    let screen = world.screen();
    assert!(
        screen.contains("src/") && screen.contains("report.pdf"),
        "{screen}"
    );
    assert!(
        !screen.contains(".secret") && !screen.contains('\u{202e}'),
        "{screen}"
    );
    for letter in "rpdf".chars() {
        world.key(KeyCode::Char(letter));
    }
    assert!(!world.screen().contains("src/"));
    world.key(KeyCode::Enter);
    let asked = Some((world.app.ui.instance(), 2));
    assert!(world.did(&Effect::OpenFiles {
        asked,
        paths: vec!["/home/ada/report.pdf".into()],
        otherwise: None,
    }));
    let report = file(&folder, "report.pdf");
    world.give(Input::Transfer(TransferInput::Opened {
        asked,
        files: Ok(vec![report.clone()]),
        otherwise: None,
    }));
    let screen = world.screen();
    for said in [
        "report.pdf",
        "4 bytes",
        "127.0.0.1:7420",
        "session s1",
        "[ No ]",
    ] {
        assert!(screen.contains(said), "{said}: {screen}");
    }
    world.yes();
    let files = vec![report];
    let place = place();
    assert!(world.did(&Effect::Transfer(asked, Transfer::Send { place, files })));
    world.give(Input::Transfer(TransferInput::Progress(
        "uploading report.pdf 40 %".into(),
    )));
    assert!(world.last_row().contains("uploading report.pdf 40 %"));
    world.key(KeyCode::Enter);
    world.action(3, Action::Upload(UploadFrom::Picker));
    assert!(world.refused(), "one at a time");
    world.control(']').key(KeyCode::Char('x'));
    assert!(world.did(&Effect::CancelTransfer));
    let ended = Outcome::Refused("cancelled".into());
    world.give(Input::Transfer(TransferInput::Ended(asked, ended)));
    assert!(world.refused() && world.last_row().contains("cancelled"));
}

#[test]
fn a_picker_dies_with_whoever_asked_and_with_escape() {
    for end in ["moved", "crash", "escape"] {
        let mut world = in_session();
        world.key(KeyCode::Enter);
        world.action(1, Action::Upload(UploadFrom::Picker));
        assert!(world.screen().contains("choose a file"), "{end}");
        let instance = world.app.ui.instance();
        match end {
            "moved" => world.give(Input::Posted(instance, Request::Place(None))),
            "crash" => world.crash(),
            _ => world.key(KeyCode::Escape),
        };
        assert!(!world.screen().contains("choose a file"), "{end}");
    }
}

#[test]
fn a_large_paste_is_offered_as_a_file_and_no_pastes_it() {
    let mut world = in_session();
    let large = "x\n".repeat(201);
    paste(&mut world, &large);
    assert!(!pasted(&world, &large));
    assert!(
        world.screen().contains("402 characters in 201 lines"),
        "{}",
        world.screen()
    );
    world.wait(2_000).key(KeyCode::Escape);
    assert!(pasted(&world, &large));
    paste(&mut world, &large);
    world.yes();
    let send = Transfer::SendText {
        place: place(),
        text: large,
    };
    assert!(world.did(&Effect::Transfer(None, send)));
    paste(&mut world, "small");
    assert!(pasted(&world, "small"), "also while something moves");
}

#[test]
fn dropped_paths_are_offered_and_what_is_no_file_is_pasted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut world = in_session();
    paste(&mut world, "/home/ada/a.txt");
    let otherwise = Some("/home/ada/a.txt".to_owned());
    assert!(world.did(&Effect::OpenFiles {
        asked: None,
        paths: vec!["/home/ada/a.txt".into()],
        otherwise: otherwise.clone(),
    }));
    let text = "/home/ada/a.txt".to_owned();
    world.give(Input::Transfer(TransferInput::NoFiles(text.clone())));
    assert!(pasted(&world, &text));
    world.give(Input::Transfer(TransferInput::Opened {
        asked: None,
        files: Ok(vec![file(&folder, ".hidden")]),
        otherwise,
    }));
    assert!(world.screen().contains(", hidden"), "{}", world.screen());
    world.wait(2_000).key(KeyCode::Escape);
    assert!(pasted(&world, &text), "no pastes what was dropped");
}

#[test]
fn a_download_names_where_it_lands_and_waits_for_a_yes() {
    let mut world = in_session();
    let what = Source::File(b"a/report.pdf".to_vec());
    let download = Action::Download {
        what: what.clone(),
        name: "../re\u{202e}port.pdf".into(),
    };
    world.action(1, download.clone());
    assert!(world.refused(), "no key before it");
    world.key(KeyCode::Enter).action(2, download);
    let asked = Some((world.app.ui.instance(), 2));
    let (session, name) = ("s1".to_owned(), "report.pdf".to_owned());
    assert!(world.did(&Effect::Landing {
        asked,
        session: session.clone(),
        what: what.clone(),
        name: name.clone(),
    }));
    let save = Transfer::Save {
        session,
        what,
        name,
        folder: "/home/ada/Downloads".into(),
    };
    world.give(Input::Transfer(TransferInput::Landing {
        asked,
        save: save.clone(),
        path: "/home/ada/Downloads/report (2).pdf".into(),
        taken: true,
    }));
    let screen = world.screen();
    assert!(
        screen.contains("report (2).pdf") && screen.contains("is kept"),
        "{screen}"
    );
    world.yes();
    assert!(world.did(&Effect::Transfer(asked, save)));
    let done = Outcome::Done("saved as x".into());
    world.give(Input::Transfer(TransferInput::Ended(asked, done.clone())));
    assert_eq!(world.outcome(), Some(&done));
}

#[test]
fn an_attachment_is_told_to_the_ui_with_the_place_it_belongs_to() {
    let mut world = in_session();
    let attached = Attached {
        place: place(),
        id: "a1".into(),
        name: "a.txt".into(),
        bytes: 4,
        media_type: "text/plain".into(),
    };
    world.give(Input::Transfer(TransferInput::Attached(attached.clone())));
    assert!(world.did(&Effect::ToUi(Event::Attached(attached))));
}

#[test]
fn the_text_of_the_clipboard_is_shown_and_waits_for_a_yes() {
    let mut world = in_session();
    world
        .key(KeyCode::Char('a'))
        .action(1, Action::Upload(UploadFrom::Clipboard));
    let asked = Some((world.app.ui.instance(), 1));
    assert!(world.did(&Effect::Clipboard(asked)));
    let text = "hunter2".to_owned();
    let held = || Input::Transfer(TransferInput::ClipboardText(asked, text.clone()));
    world.give(held());
    assert!(!pasted(&world, "hunter2"), "{:?}", world.effects);
    assert!(world.screen().contains("hunter2"), "{}", world.screen());
    world.wait(600).key(KeyCode::Escape);
    assert!(world.refused() && !pasted(&world, "hunter2"));
    world.give(held()).yes();
    assert!(pasted(&world, "hunter2"), "{:?}", world.effects);
}

#[test]
fn a_session_that_a_ui_made_up_does_not_read_as_a_part_of_the_question() {
    let mut world = in_session();
    let instance = world.app.ui.instance();
    let place = Place {
        session: "s1? Nothing is sent. (Ctrl-Y".into(),
        conversation: 1,
    };
    world.give(Input::Posted(instance, Request::Place(Some(place))));
    let folder = tempfile::tempdir().expect("a folder");
    let files = Ok(vec![file(&folder, "a.txt")]);
    world.give(Input::Transfer(TransferInput::Opened {
        asked: None,
        files,
        otherwise: Some(String::new()),
    }));
    let screen = world.screen();
    assert!(screen.contains("s1??Nothing?is?sent???Ctrl-Y?"), "{screen}");
}
