//! A real pty with a terminal emulator behind it. Tests wait for what the screen shows; they never sleep.

use std::{
    io::{Read, Write},
    num::NonZero,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// How long a condition may take to come true before the test fails. A ceiling, not a measure of speed.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// A program in a terminal.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// What the terminal has received.
pub struct State {
    /// The emulator.
    pub parser: vt100::Parser,
    /// Every byte that the program wrote.
    pub bytes: Vec<u8>,
    /// Whether the program's side is closed.
    pub closed: bool,
}

impl State {
    /// Returns the screen as text, rows joined by line ends.
    pub fn text(&self) -> String {
        self.parser.screen().contents()
    }

    /// Returns one row as text, from 0.
    pub fn row(&self, row: u16) -> String {
        let (_, cols) = self.parser.screen().size();
        self.parser
            .screen()
            .rows(0, cols.get())
            .nth(usize::from(row))
            .unwrap_or_default()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Terminal {
    /// Starts `command` in a terminal of that size.
    pub fn start(command: CommandBuilder, cols: u16, rows: u16) -> anyhow::Result<Self> {
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size)?;
        let child = pair.slave.spawn_command(command)?;
        drop(pair.slave);
        let state = State {
            parser: emulator(cols, rows),
            bytes: Vec::new(),
            closed: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let mut reader = pair.master.try_clone_reader()?;
        let for_reader = shared.clone();
        thread::Builder::new()
            .name("terminal".into())
            .spawn(move || read_all(&mut reader, &for_reader))?;
        let writer = pair.master.take_writer()?;
        Ok(Self {
            child,
            master: pair.master,
            writer,
            shared,
        })
    }

    /// Waits until the terminal is as `holds` says; panics with the screen where it never is.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&State) -> bool) {
        if let Err(screen) = self.wait_at_most(PATIENCE, &holds) {
            panic!("waited for {what}; the screen is\n{screen}");
        }
    }

    /// Waits until the screen shows `text`.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("`{text}` on the screen"), |state| {
            state.text().contains(text)
        });
    }

    /// Waits until the screen does not show `text`.
    pub fn wait_gone(&self, text: &str) {
        self.wait_until(&format!("`{text}` gone from the screen"), |state| {
            !state.text().contains(text)
        });
    }

    /// Waits until a dialog of the launcher listens: its answers are bright then, and dim before.
    pub fn wait_listening(&self) {
        self.wait_until("a dialog that listens", |state| {
            let screen = state.parser.screen();
            let (_, cols) = screen.size();
            let row = screen
                .rows(0, cols.get())
                .position(|row| row.contains("[ No ]") && row.contains("(Ctrl-Y)"));
            let Some(row) = row.and_then(|row| u16::try_from(row).ok()) else {
                return false;
            };
            let cell = |col| screen.cell(row, col).filter(|cell| cell.contents() == "[");
            (0..cols.get())
                .find_map(cell)
                .is_some_and(|cell| cell.bold())
        });
    }

    /// Waits until it holds, at most so long; the screen as text where it does not.
    pub fn wait_at_most(
        &self,
        at_most: Duration,
        holds: impl Fn(&State) -> bool,
    ) -> Result<(), String> {
        let end = Instant::now() + at_most;
        let mut state = self.shared.lock();
        while !holds(&state) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(state.text());
            }
            state = self
                .shared
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Ok(())
    }

    /// Waits until nothing was written for so long. For pictures and measures; tests wait for conditions.
    pub fn settle(&self, quiet: Duration) {
        let mut state = self.shared.lock();
        loop {
            let before = state.bytes.len();
            let waited = self.shared.changed.wait_timeout(state, quiet);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.bytes.len() == before {
                return;
            }
        }
    }

    /// Returns what `read` makes of the terminal now.
    pub fn look<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.shared.lock())
    }

    /// Returns the screen as text.
    pub fn text(&self) -> String {
        self.look(State::text)
    }

    /// Sends text as typed keys.
    pub fn send(&mut self, text: &str) {
        self.writer
            .write_all(text.as_bytes())
            .expect("the terminal takes keys");
        self.writer.flush().expect("the terminal takes keys");
    }

    /// Types text and waits until the screen shows it.
    pub fn type_and_see(&mut self, text: &str) {
        self.send(text);
        self.wait_for(text);
    }

    /// Changes the size.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        let (to_rows, to_cols) = (nonzero(rows), nonzero(cols));
        self.shared
            .lock()
            .parser
            .screen_mut()
            .set_size(to_rows, to_cols);
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master.resize(size).expect("the terminal resizes");
    }

    /// Returns the process id of the program.
    pub fn pid(&self) -> u32 {
        self.child
            .process_id()
            .expect("the program has a process id")
    }

    /// Waits until the program has ended; returns its exit code. Panics where it does not end.
    pub fn wait_exit(&mut self) -> u32 {
        let end = Instant::now() + PATIENCE;
        self.wait_until("the program to end", |state| state.closed);
        loop {
            if let Some(status) = self
                .child
                .try_wait()
                .expect("the program can be waited for")
            {
                return status.exit_code();
            }
            assert!(
                Instant::now() < end,
                "the terminal is closed and the program goes on"
            );
            thread::yield_now();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

fn read_all(reader: &mut dyn Read, shared: &Shared) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        let mut state = shared.lock();
        state.parser.process(&buffer[..count]);
        state.bytes.extend_from_slice(&buffer[..count]);
        drop(state);
        shared.changed.notify_all();
    }
    shared.lock().closed = true;
    shared.changed.notify_all();
}

fn nonzero(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).expect("a terminal has cells")
}

fn emulator(cols: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(nonzero(rows), nonzero(cols), 0)
}
