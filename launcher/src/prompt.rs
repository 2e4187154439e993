//! Where a link comes from when it is no argument: the environment, a pipe, or a hidden prompt.
//! It only reads; parsing and redeeming are done elsewhere.

use std::{
    io::{self, BufRead, IsTerminal, Read, Write},
    ops::ControlFlow,
};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::{
    failure::Failure,
    signals,
    terminal::{self, decoder::Decoder, input},
};

/// Longest link that is read, in bytes.
const LINK_BYTES: u64 = 1024;

/// The environment variable that may hold a link.
pub const VARIABLE: &str = "PORTHOLE_LINK";

/// Returns a link from standard input where that is no terminal and holds one.
///
/// # Errors
/// Where it cannot be read.
pub fn from_stdin() -> Result<Option<String>, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut line = String::new();
    let read = stdin.lock().take(LINK_BYTES).read_line(&mut line);
    match read {
        Ok(_) => Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty())),
        Err(_) => Err(Failure::new("standard input holds no link", "")),
    }
}

/// Asks for a link on the terminal without showing it; `None` where the visitor declines.
///
/// # Errors
/// Where the terminal cannot be read.
pub fn hidden(words: &str) -> Result<Option<String>, Failure> {
    let mut err = io::stderr();
    write!(err, "{words} ")?;
    err.flush()?;
    signals::end_with(terminal::cooked)?;
    terminal::raw()?;
    let typed = read_hidden();
    terminal::cooked();
    writeln!(err)?;
    Ok(typed?.filter(|text| !text.is_empty()))
}

fn read_hidden() -> io::Result<Option<String>> {
    let keyboard = terminal::keyboard()?;
    let (mut decoder, mut found) = (Decoder::default(), Vec::new());
    let mut text = String::new();
    loop {
        input::next(&keyboard, &mut decoder, &mut found)?;
        for event in found.drain(..) {
            if let ControlFlow::Break(answer) = type_hidden(event, &mut text) {
                return Ok(answer);
            }
        }
    }
}
fn type_hidden(event: Event, text: &mut String) -> ControlFlow<Option<String>> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => match key.code {
            KeyCode::Enter => return ControlFlow::Break(Some(std::mem::take(text))),
            KeyCode::Esc => return ControlFlow::Break(None),
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return ControlFlow::Break(None);
            }
            KeyCode::Char('j' | 'm') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return ControlFlow::Break(Some(std::mem::take(text)));
            }
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(char) if (text.len() as u64) < LINK_BYTES => text.push(char),
            _ => {}
        },
        Event::Paste(pasted) => text.push_str(pasted.trim()),
        _ => {}
    }
    ControlFlow::Continue(())
}

/// Asks for a line on the terminal, which is shown as it is typed.
///
/// # Errors
/// Where it cannot be read.
pub fn line(words: &str) -> Result<String, Failure> {
    let mut err = io::stderr();
    write!(err, "{words} ")?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().lock().take(LINK_BYTES).read_line(&mut line)?;
    Ok(line)
}

/// Asks a yes-or-no question on the terminal; anything but `y` is no.
///
/// # Errors
/// Where the answer cannot be read.
pub fn confirm(question: &str) -> Result<bool, Failure> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(Failure::new(
            "this needs a confirmation, and there is no terminal to ask on",
            "run it in a terminal, or pass `--yes`",
        ));
    }
    let mut err = io::stderr();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
