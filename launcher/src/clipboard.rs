//! Putting text into the visitor's clipboard: by the desktop, by tmux, or by the terminal.
//! Whether it may be done is decided elsewhere; what is written is exactly what was decided on.

use std::{path::PathBuf, process::Stdio, sync::mpsc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use porthole_bridge::Outcome;
use tokio::{io::AsyncWriteExt, process::Command, runtime::Handle, time::timeout};

use crate::{
    surroundings::{Surroundings, for_child, var},
    terminal::event::plain_paste,
    transfer::{FILES, is_hidden},
};

/// Largest text that goes through the terminal, in bytes: its base64 stays under 100,000 characters, which terminals take.
pub const TERMINAL_BYTES: usize = 74_994;
/// Bytes that GNU screen takes in one of its strings.
const SCREEN_BYTES: usize = 240;
/// How long the desktop may take to accept a text.
const DESKTOP_WAIT: Duration = Duration::from_secs(2);

/// How long tmux may take.
const TMUX_WAIT: Duration = Duration::from_secs(2);

/// A way to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The desktop's clipboard.
    Desktop,
    /// tmux's buffer, handed on to the terminal.
    Tmux,
    /// A sequence for the terminal, handed through GNU screen in pieces.
    Screen,
    /// A sequence written to the terminal, which never answers.
    Terminal,
}

/// What remains to be done by whoever owns the terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum Copied {
    /// Nothing.
    Ended(Outcome),
    /// Write this, between frames.
    Write(Vec<u8>, Outcome),
}

/// What the clipboard holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Held {
    /// Files, by their paths; none of them hidden.
    Files(Vec<PathBuf>),
    /// Text, made plain.
    Text(String),
    /// Nothing that can be had, and why.
    Nothing(&'static str),
}

/// Returns what the desktop's clipboard holds. Blocks while the desktop is asked, for a little while.
pub fn read(here: Surroundings) -> Held {
    if !here.has_desktop() {
        return Held::Nothing(
            "there is no clipboard to look into here: paste with your terminal's own key",
        );
    }
    let (said, hear) = mpsc::channel();
    let asked = std::thread::Builder::new()
        .name("clipboard".into())
        .spawn(move || {
            // The listener may have given up.
            let _ = said.send(by_desktop_read());
        });
    match asked.map(|_| hear.recv_timeout(DESKTOP_WAIT)) {
        Ok(Ok(held)) => held,
        Ok(Err(_)) | Err(_) => Held::Nothing("the desktop's clipboard does not answer"),
    }
}

fn by_desktop_read() -> Held {
    let Ok(mut clipboard) = arboard::Clipboard::new() else {
        return Held::Nothing("the desktop's clipboard does not answer");
    };
    match clipboard.get().file_list() {
        Ok(files) if files.len() > FILES => Held::Nothing("more than ten files are copied"),
        Ok(files) if files.iter().any(|file| is_hidden(file)) => {
            Held::Nothing("a hidden file is among those copied: choose it in the picker")
        }
        Ok(files) if !files.is_empty() => Held::Files(files),
        Ok(_) | Err(_) => match clipboard.get_text() {
            Ok(text) if !text.is_empty() => Held::Text(plain_paste(&text)),
            Ok(_) | Err(_) => Held::Nothing("the clipboard holds no files and no text"),
        },
    }
}

/// Returns the ways to try, best first.
pub fn ways(here: Surroundings) -> Vec<Way> {
    let mut ways = Vec::new();
    if here.has_desktop() {
        ways.push(Way::Desktop);
    }
    if here.tmux {
        ways.push(Way::Tmux);
    }
    ways.push(match here.screen {
        true => Way::Screen,
        false => Way::Terminal,
    });
    ways
}

/// Tries the ways in turn. Blocks while the desktop or tmux is asked: to be called on
/// a thread of the runtime that may block.
pub fn copy(text: &str, ways: &[Way]) -> Copied {
    for way in ways {
        let done = match way {
            Way::Desktop => by_desktop(text),
            Way::Tmux => by_tmux(text),
            Way::Screen => return by_terminal(text, wrapped, "through screen"),
            Way::Terminal => return by_terminal(text, plain, "to the terminal"),
        };
        if let Some(outcome) = done {
            return Copied::Ended(outcome);
        }
    }
    Copied::Ended(Outcome::Failed("there is no way to a clipboard".to_owned()))
}

/// A display that does not answer may block for long, so it is asked from a thread that may be left behind.
fn by_desktop(text: &str) -> Option<Outcome> {
    let (said, hear) = mpsc::channel();
    let text = text.to_owned();
    let count = text.chars().count();
    std::thread::Builder::new()
        .name("clipboard".into())
        .spawn(move || {
            let set = arboard::Clipboard::new().and_then(|mut clipboard| {
                clipboard.set_text(text)?;
                Ok(clipboard)
            });
            let ok = set.is_ok();
            // The listener may have given up.
            let _ = said.send(ok);
            // On X11 the text is served by its owner: it is kept until a manager has taken it or a minute is over.
            if let Ok(clipboard) = set {
                std::thread::sleep(Duration::from_secs(60));
                drop(clipboard);
            }
        })
        .ok()?;
    match hear.recv_timeout(DESKTOP_WAIT) {
        Ok(true) => Some(Outcome::Done(format!("copied {count} characters"))),
        Ok(false) | Err(_) => None,
    }
}

/// A tmux that does not answer is ended, and the next way is tried.
fn by_tmux(text: &str) -> Option<Outcome> {
    let loaded = async { timeout(TMUX_WAIT, load_buffer(text)).await };
    let loaded = Handle::try_current().ok()?.block_on(loaded);
    matches!(loaded, Ok(Some(()))).then(|| sent(text, "to tmux"))
}

async fn load_buffer(text: &str) -> Option<()> {
    let mut child = Command::new("tmux")
        .args(["load-buffer", "-w", "-"])
        .env_clear()
        .envs(for_child(var))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    input.write_all(text.as_bytes()).await.ok()?;
    drop(input);
    child.wait().await.ok()?.success().then_some(())
}

fn by_terminal(text: &str, sequence: fn(&str) -> String, how: &str) -> Copied {
    if text.len() > TERMINAL_BYTES {
        return Copied::Ended(Outcome::Failed(format!(
            "{} bytes are too many to copy {how} (at most {TERMINAL_BYTES}); nothing was sent",
            text.len()
        )));
    }
    let bytes = sequence(&STANDARD.encode(text)).into_bytes();
    Copied::Write(bytes, sent(text, how))
}

fn plain(encoded: &str) -> String {
    format!("\x1b]52;c;{encoded}\x1b\\")
}

/// GNU screen hands on what is in its own strings, and keeps no more than a few hundred bytes of each.
fn wrapped(encoded: &str) -> String {
    // Everything here is ASCII, and no piece holds the end of a string.
    let whole = format!("\x1b]52;c;{encoded}\x07");
    let piece = |at: usize| &whole[at..whole.len().min(at + SCREEN_BYTES)];
    (0..whole.len())
        .step_by(SCREEN_BYTES)
        .map(|at| format!("\x1bP{}\x1b\\", piece(at)))
        .collect()
}

fn sent(text: &str, how: &str) -> Outcome {
    Outcome::Done(format!("sent {} characters {how}", text.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_text_is_sent_whole_and_one_byte_more_is_told() {
        let Copied::Write(bytes, _) =
            by_terminal(&"x".repeat(TERMINAL_BYTES), plain, "to the terminal")
        else {
            panic!("it fits");
        };
        assert_eq!(bytes.len(), 7 + 99_992 + 2);
        let over = by_terminal(&"x".repeat(TERMINAL_BYTES + 1), plain, "to the terminal");
        let Copied::Ended(Outcome::Failed(why)) = over else {
            panic!("{over:?}");
        };
        assert!(why.contains("74995 bytes"), "{why}");
    }

    #[test]
    fn the_sequence_holds_the_exact_bytes() {
        let Copied::Write(bytes, outcome) = by_terminal("é\r\n\0", plain, "to the terminal")
        else {
            panic!("it fits");
        };
        assert_eq!(bytes, b"\x1b]52;c;w6kNCgA=\x1b\\");
        assert_eq!(
            outcome,
            Outcome::Done("sent 4 characters to the terminal".into())
        );
    }

    #[test]
    fn over_ssh_the_hosts_own_tools_are_not_used() {
        let here = |ssh, tmux, display| Surroundings {
            ssh,
            tmux,
            screen: false,
            display,
        };
        assert_eq!(ways(here(true, false, true)), [Way::Terminal]);
        assert_eq!(ways(here(true, true, false)), [Way::Tmux, Way::Terminal]);
        assert_eq!(
            ways(here(false, false, true)),
            [Way::Desktop, Way::Terminal]
        );
    }
    #[test]
    fn through_screen_the_pieces_are_short_and_make_the_whole() {
        let text = "é\n".repeat(9_000);
        let Copied::Write(bytes, _) = by_terminal(&text, wrapped, "through screen") else {
            panic!("it fits");
        };
        let sent = String::from_utf8(bytes).expect("ASCII");
        let pieces: Vec<&str> = sent.split_terminator("\x1b\\").collect();
        assert!(pieces.iter().all(|piece| piece.len() <= 256));
        let whole: String = pieces
            .iter()
            .map(|piece| piece.strip_prefix("\x1bP").expect("begun"))
            .collect();
        assert_eq!(whole, format!("\x1b]52;c;{}\x07", STANDARD.encode(&text)));
    }
}
