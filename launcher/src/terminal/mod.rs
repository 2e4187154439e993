//! The visitor's terminal: taken over at the start, given back on every way out.
//! It draws nothing and decides nothing.

pub mod colors;
pub mod decoder;
pub mod event;
pub mod input;
mod sequence;

use std::{
    fs::File,
    io::{self, IsTerminal},
    os::fd::{AsFd, BorrowedFd},
    sync::Mutex,
    time::Duration,
};

use porthole_bridge::{Size, limits};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpgrp,
    termios::{
        OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcgetwinsize,
        tcsetattr,
    },
};

use crate::failure::Failure;

/// How long bytes that were already on their way are waited for and thrown away before the shell is back.
const DRAIN: Duration = Duration::from_millis(40);

/// The title kept aside, alternate screen, bracketed paste, focus events, mouse presses and drags; the cursor hidden until something is drawn.
const ENTER: &str =
    "\x1b[22;2t\x1b[?1049h\x1b[?25l\x1b[2J\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1002h\x1b[?1006h";
/// The same back, from whatever state a half-drawn frame left: end of update, styles, wrapping, cursor.
const LEAVE: &str = "\x1b[?2026l\x1b[0m\x1b[?7h\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[?1049l\x1b[23;2t";
/// Tells Ctrl-I from Tab and the like. Asking first would delay the start and its answer could be read as keys;
/// terminals that do not know it ignore it. The stack belongs to the alternate screen: pushed after entering it,
/// popped before leaving it.
const PUSH_KEYS: &str = "\x1b[>1u";
const POP_KEYS: &str = "\x1b[<1u";

/// What is to be given back; the panic hook and every other way out take it from here, once.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

/// The mode the terminal had at first. What a program that had the terminal in between left behind is never given back.
static FIRST: Mutex<Option<Termios>> = Mutex::new(None);

struct Taken {
    keys_pushed: bool,
}

/// Returns why this is no terminal to draw on, in one line.
///
/// # Errors
/// Where output is no terminal or a dumb one, or no keys can be read.
pub fn check(term: Option<&str>) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::new(
            "`porthole` needs a terminal to draw on, and its output is not one",
            "",
        ));
    }
    if term == Some("dumb") {
        return Err(Failure::new(
            "`porthole` needs a terminal that can place text, and `TERM` is `dumb`",
            "",
        ));
    }
    if !io::stdin().is_terminal() && keyboard().is_err() {
        return Err(Failure::new(
            "`porthole` needs a terminal to read keys from",
            "",
        ));
    }
    Ok(())
}

/// Takes the terminal over. A second call without [`leave`] between does nothing.
///
/// # Errors
/// Where the terminal's mode cannot be set.
pub fn enter(keys: Keyboard) -> io::Result<()> {
    let mut taken = lock();
    if taken.is_some() {
        return Ok(());
    }
    // The mode first: in the background this stops us before anything is written.
    raw()?;
    let keys_pushed = keys == Keyboard::Extended;
    *taken = Some(Taken { keys_pushed });
    drop(taken);
    write_all(ENTER.as_bytes())?;
    match keys {
        Keyboard::Extended => write_all(PUSH_KEYS.as_bytes()),
        Keyboard::Plain => Ok(()),
    }
}

/// Gives the terminal back, throwing away input that was on its way. Without [`enter`] before it does nothing.
pub fn leave() {
    let Some(taken) = lock().take() else {
        return;
    };
    // Errors have nowhere to go: the terminal may be gone, and then there is nothing to give back.
    if taken.keys_pushed {
        let _ = write_all(POP_KEYS.as_bytes());
    }
    let _ = write_all(LEAVE.as_bytes());
    drain();
    cooked();
}

/// Lets every key through unread by the terminal itself, until [`cooked`].
///
/// # Errors
/// Where there is no terminal.
pub(crate) fn raw() -> io::Result<()> {
    let keyboard = keyboard()?;
    let mut first = FIRST
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut mode = match &*first {
        Some(mode) => mode.clone(),
        None => first.insert(tcgetattr(&keyboard)?).clone(),
    };
    drop(first);
    mode.make_raw();
    Ok(tcsetattr(&keyboard, OptionalActions::Now, &mode)?)
}

/// Gives the terminal the mode that it had at first. Without [`raw`] before it does nothing.
pub(crate) fn cooked() {
    let first = FIRST
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let (Some(mode), Ok(keyboard)) = (&*first, keyboard()) {
        let _ = tcsetattr(&keyboard, OptionalActions::Now, mode);
    }
}

/// Returns whether we are in the terminal's foreground. A terminal that does not say is taken.
pub(crate) fn is_ours() -> bool {
    keyboard().map_or(true, |keyboard| {
        tcgetpgrp(&keyboard).map_or(true, |front| front == getpgrp())
    })
}

/// Gives the terminal back before a panic's message is printed.
pub fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        leave();
        before(info);
    }));
}

/// Which keyboard reports are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyboard {
    /// What every terminal sends.
    Plain,
    /// Keys told apart, where the terminal can.
    Extended,
}

impl Keyboard {
    /// Returns what to ask of a terminal of this name.
    pub fn of(term: Option<&str>) -> Self {
        match term {
            Some("linux") | None => Self::Plain,
            Some(_) => Self::Extended,
        }
    }
}

/// Returns the terminal's size, as far as it is drawn on; 80×24 where it does not say.
pub fn size() -> Size {
    match tcgetwinsize(io::stdout().as_fd()) {
        Ok(size) => drawn(size.ws_col, size.ws_row),
        Err(_) => drawn(0, 0),
    }
}

/// A UI's widest and highest screen and the launcher's own row: a window may claim any size, and all of it would be kept.
fn drawn(cols: u16, rows: u16) -> Size {
    match (cols, rows) {
        (0, _) | (_, 0) => Size { cols: 80, rows: 24 },
        (cols, rows) => Size {
            cols: cols.min(limits::COLS),
            rows: rows.min(limits::ROWS + 1),
        },
    }
}

/// Writes all of `bytes` to the terminal, in one write where the terminal takes it.
///
/// # Errors
/// Where the terminal is gone.
pub fn write_all(mut bytes: &[u8]) -> io::Result<()> {
    let out = io::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(&out, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => wait_writable(out.as_fd())?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn wait_writable(out: BorrowedFd<'_>) -> io::Result<()> {
    poll(&mut [PollFd::from_borrowed_fd(out, PollFlags::OUT)], None)?;
    Ok(())
}

/// Returns the file that keys are read from: standard input, or the terminal itself where input is something else.
pub(crate) fn keyboard() -> io::Result<File> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(File::from(rustix::io::fcntl_dupfd_cloexec(&stdin, 3)?));
    }
    File::open("/dev/tty")
}

/// Throws away what was typed and not read: keys meant for a program that had the terminal before us.
pub fn drop_typed() {
    if let Ok(keyboard) = keyboard() {
        let _ = tcflush(&keyboard, QueueSelector::IFlush);
    }
}

fn drain() {
    let wait = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(DRAIN.subsec_nanos()),
    };
    let _ = poll(&mut [], Some(&wait));
    drop_typed();
}

fn lock() -> std::sync::MutexGuard<'static, Option<Taken>> {
    TAKEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(text: &str, end: char) -> Vec<u32> {
        let mut found: Vec<u32> = text
            .split("\x1b[?")
            .skip(1)
            .filter_map(|part| {
                let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
                part[digits.len()..]
                    .starts_with(end)
                    .then(|| digits.parse().expect("digits"))
            })
            .collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn every_mode_that_is_set_is_reset() {
        let mut undone = modes(LEAVE, 'l');
        undone.extend(modes(LEAVE, 'h'));
        for mode in modes(ENTER, 'h').into_iter().chain(modes(ENTER, 'l')) {
            assert!(undone.contains(&mode), "{mode}");
        }
        assert_eq!(modes(LEAVE, 'h'), [7, 25], "these two are on in a shell");
    }

    #[test]
    fn a_console_is_not_asked_for_keys_it_does_not_know() {
        assert_eq!(Keyboard::of(Some("linux")), Keyboard::Plain);
        assert_eq!(Keyboard::of(Some("xterm-256color")), Keyboard::Extended);
    }
    #[test]
    fn a_window_of_any_size_is_drawn_on_within_bounds() {
        for ((cols, rows), wanted) in [
            ((0, 0), (80, 24)),
            ((80, 0), (80, 24)),
            ((1, 1), (1, 1)),
            ((65_535, 65_535), (limits::COLS, limits::ROWS + 1)),
        ] {
            let size = drawn(cols, rows);
            assert_eq!((size.cols, size.rows), wanted);
        }
    }
}
