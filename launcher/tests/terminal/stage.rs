//! A terminal with the launcher in it: what it was sent, what it shows, its keys and its mode.

use std::{
    io::{Read, Write},
    num::NonZeroU16,
    path::Path,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::{
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
    termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr},
};

use crate::server::{Honest, Server};

const PATIENCE: Duration = Duration::from_secs(30);

/// The launcher in a terminal of 80×24.
pub(crate) struct Terminal {
    pub(crate) master: Box<dyn MasterPty + Send>,
    pub(crate) child: Box<dyn Child + Send + Sync>,
    pub(crate) keys: Box<dyn Write + Send>,
    pub(crate) seen: Arc<(Mutex<Seen>, Condvar)>,
}

pub(crate) struct Seen {
    pub(crate) bytes: Vec<u8>,
    pub(crate) screen: vt100::Parser,
}

impl Terminal {
    pub(crate) fn run(home: &Path, link: &str) -> Self {
        Self::run_with(home, link, &[])
    }

    /// Runs it with more variables in its environment.
    pub(crate) fn run_with(home: &Path, link: &str, more: &[(&str, &str)]) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_porthole"));
        command.env_clear();
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        if !link.is_empty() {
            command.env("PORTHOLE_LINK", link);
        }
        for (name, value) in more {
            command.env(name, value);
        }
        Self::spawn(command)
    }

    /// Runs a program in a terminal of its own.
    pub(crate) fn spawn(command: CommandBuilder) -> Self {
        let size = PtySize {
            rows: 24,
            cols: 80,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let child = pair.slave.spawn_command(command).expect("starts");
        let mut output = pair.master.try_clone_reader().expect("a reader");
        let keys = pair.master.take_writer().expect("a writer");
        let cells = |count| NonZeroU16::new(count).expect("not zero");
        let seen = Seen {
            bytes: Vec::new(),
            screen: vt100::Parser::new(cells(24), cells(80), 0),
        };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut chunk) {
                let mut seen = shared.0.lock().expect("not poisoned");
                seen.bytes.extend_from_slice(&chunk[..read]);
                seen.screen.process(&chunk[..read]);
                shared.1.notify_all();
            }
        });
        // The slave stays open here, so that the terminal's mode can be looked at after the launcher has left.
        std::mem::forget(pair.slave);
        Self {
            master: pair.master,
            child,
            keys,
            seen,
        }
    }

    pub(crate) fn wait_until(&self, what: &str, ok: impl Fn(&Seen) -> bool) {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("not poisoned");
        while !ok(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "{what}:\n{}",
                seen.screen.screen().contents()
            );
            seen = self
                .seen
                .1
                .wait_timeout(seen, left)
                .expect("not poisoned")
                .0;
        }
    }

    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |seen| seen.screen.screen().contents().contains(text));
    }

    /// Waits until a dialog listens: its answers are bright then, and dim before.
    pub(crate) fn wait_listening(&self) {
        self.wait_until("a dialog that listens", |seen| answers(seen) == Some(true));
    }

    /// Waits until a dialog has gone deaf because of a key, and listens again.
    pub(crate) fn wait_deaf(&self) {
        self.wait_until("a dialog that is deaf", |seen| answers(seen) == Some(false));
    }

    /// Says yes to the dialog, once it listens.
    pub(crate) fn yes(&mut self) {
        self.wait_listening();
        self.press("\x19");
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("typed");
    }

    pub(crate) fn resize(&self, cols: u16, rows: u16) {
        let cells = |count| NonZeroU16::new(count).expect("not zero");
        let mut seen = self.seen.0.lock().expect("not poisoned");
        seen.screen.screen_mut().set_size(cells(rows), cells(cols));
        drop(seen);
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master.resize(size).expect("resizes");
    }

    /// Returns the processor time of the thread that reads keys, in ticks.
    pub(crate) fn keys_ticks(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.child.process_id().expect("runs"));
        let stat = std::fs::read_dir(tasks)
            .expect("threads")
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok())
            .find(|stat| stat.contains("(keys)"))
            .expect("the thread");
        let after = stat.rsplit(')').next().expect("a name");
        let ticks = after.split(' ').skip(12).take(2);
        ticks.map(|text| text.parse::<u64>().expect("ticks")).sum()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.child.process_id().expect("runs") as i32;
        kill_process(Pid::from_raw(id).expect("a process"), signal).expect("sent");
    }

    /// Waits as a shell does, until the launcher has stopped.
    pub(crate) fn wait_stopped(&self) {
        let id = self.child.process_id().expect("runs") as i32;
        let (_, status) = waitpid(Pid::from_raw(id), WaitOptions::UNTRACED)
            .expect("our child")
            .expect("waited for");
        assert!(status.stopped());
    }

    /// Leaves the terminal as a program that died in the middle leaves it.
    pub(crate) fn make_raw(&self) {
        self.with_terminal(|fd| {
            let mut mode = tcgetattr(fd).expect("a mode");
            mode.make_raw();
            tcsetattr(fd, OptionalActions::Now, &mode).expect("set");
        });
    }

    pub(crate) fn raw(&self) -> bool {
        self.with_terminal(|fd| {
            let modes = tcgetattr(fd).expect("a mode").local_modes;
            !modes.contains(LocalModes::ICANON | LocalModes::ECHO)
        })
    }

    pub(crate) fn with_terminal<T>(&self, use_it: impl Fn(std::os::fd::BorrowedFd<'_>) -> T) -> T {
        let fd = self.master.as_raw_fd().expect("a terminal");
        // The descriptor is the master's and outlives this call.
        #[expect(
            unsafe_code,
            reason = "portable-pty lends the master's descriptor only as a number"
        )]
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        use_it(fd)
    }

    /// Waits for the end and checks that everything is as it was; returns the status.
    pub(crate) fn ended(mut self) -> u32 {
        let status = self.child.wait().expect("ends").exit_code();
        self.wait_until("the shell's screen", |seen| {
            !seen.screen.screen().alternate_screen()
        });
        assert!(!self.raw(), "the terminal's mode is back");
        let seen = self.seen.0.lock().expect("not poisoned");
        let text = String::from_utf8_lossy(&seen.bytes);
        for mode in [1000, 1002, 1004, 1006, 1049, 2004, 2026] {
            let (on, off) = (format!("\x1b[?{mode}h"), format!("\x1b[?{mode}l"));
            assert!(
                text.rfind(&on) < text.rfind(&off),
                "mode {mode} is off again"
            );
        }
        assert!(
            text.rfind("\x1b[?25l") < text.rfind("\x1b[?25h"),
            "the cursor is back"
        );
        let count = |part: &str| text.matches(part).count();
        assert_eq!(
            count("\x1b[>1u"),
            count("\x1b[<1u"),
            "keyboard pushes and pops"
        );
        status
    }
}

/// Returns whether the answers of the open dialog count.
fn answers(seen: &Seen) -> Option<bool> {
    let screen = seen.screen.screen();
    let (rows, cols) = screen.size();
    let row = screen
        .rows(0, cols.get())
        .position(|row| row.contains("[ No ]") && row.contains("(Ctrl-Y)"))?;
    let row = u16::try_from(row).expect("a row").min(rows.get());
    let first = (0..cols.get())
        .find_map(|col| screen.cell(row, col).filter(|cell| cell.contents() == "["))?;
    Some(first.bold())
}

pub(crate) fn open(bundle: Vec<u8>) -> (tempfile::TempDir, Terminal) {
    let server = Server::start(bundle, Honest::Yes);
    let home = tempfile::tempdir().expect("a home");
    let terminal = Terminal::run(home.path(), &server.link);
    (home, terminal)
}

impl Terminal {
    /// Returns how many bytes the terminal was sent.
    pub(crate) fn sent(&self) -> usize {
        self.seen.0.lock().expect("not poisoned").bytes.len()
    }

    /// Returns what the terminal was sent from byte `from` on.
    pub(crate) fn bytes_from(&self, from: usize) -> Vec<u8> {
        self.seen.0.lock().expect("not poisoned").bytes[from..].to_vec()
    }

    /// Returns the last row of what is on the screen.
    pub(crate) fn last_row(&self) -> String {
        let seen = self.seen.0.lock().expect("not poisoned");
        let screen = seen.screen.screen();
        let (rows, cols) = screen.size();
        let (rows, cols) = (rows.get(), cols.get());
        screen.contents_between(rows - 1, 0, rows - 1, cols)
    }
}
