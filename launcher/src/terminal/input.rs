//! The thread that reads the terminal: it sleeps until there is something, and stands aside while an editor owns the keys.
//! It interprets nothing beyond turning bytes into events.

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter, Read, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::mpsc;

use super::event::{TerminalEvent, from_crossterm};

/// Terminal events that wait for the loop; the terminal is not read while they do.
pub const EVENTS: usize = 1024;

/// A running reader. Dropping it leaves the thread to end with the process.
pub struct Reader {
    wake: PipeWriter,
    aside: Arc<AtomicBool>,
    /// Held by the thread while it reads, so that standing aside is known to be done.
    reading: Arc<Mutex<()>>,
}

impl Reader {
    /// Starts reading and sends what it reads to `events`.
    ///
    /// # Errors
    /// Where there is no keyboard or no thread.
    pub fn start(events: mpsc::Sender<TerminalEvent>) -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let keyboard = super::keyboard()?;
        let aside = Arc::new(AtomicBool::new(false));
        let reading = Arc::new(Mutex::new(()));
        let (flag, lock) = (Arc::clone(&aside), Arc::clone(&reading));
        thread::Builder::new()
            .name("keys".into())
            .spawn(move || read(&keyboard, woken, &flag, &lock, &events))?;
        Ok(Self {
            wake,
            aside,
            reading,
        })
    }

    /// Stops reading; when this returns, no byte of the keyboard is taken any more.
    pub fn stand_aside(&mut self) {
        self.aside.store(true, Ordering::SeqCst);
        self.knock();
        drop(self.reading.lock());
    }

    /// Reads again.
    pub fn resume(&mut self) {
        self.aside.store(false, Ordering::SeqCst);
        self.knock();
    }

    fn knock(&mut self) {
        // The thread is gone only with its terminal; then there is nobody to wake.
        let _ = self.wake.write_all(b"!");
    }
}

fn read(
    keyboard: &File,
    mut woken: PipeReader,
    aside: &AtomicBool,
    lock: &Mutex<()>,
    events: &mpsc::Sender<TerminalEvent>,
) {
    loop {
        let reading = !aside.load(Ordering::SeqCst);
        let Ok(ready) = wait(keyboard, &woken, reading) else {
            return;
        };
        if ready.woken && woken.read(&mut [0; 16]).is_err() {
            return;
        }
        if ready.keys {
            let Ok(_held) = lock.lock() else { return };
            if !aside.load(Ordering::SeqCst) && forward(events).is_err() {
                return;
            }
        }
    }
}

struct Ready {
    keys: bool,
    woken: bool,
}

fn wait(keyboard: &File, woken: &PipeReader, reading: bool) -> io::Result<Ready> {
    let mut fds = vec![PollFd::new(woken, PollFlags::IN)];
    if reading {
        fds.push(PollFd::new(keyboard, PollFlags::IN));
    }
    loop {
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => break,
        }
    }
    let gone = |fd: &PollFd<'_>| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR);
    let keys = fds.get(1);
    if keys.is_some_and(|fd| gone(fd) && !fd.revents().contains(PollFlags::IN)) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Ready {
        woken: !fds[0].revents().is_empty(),
        keys: keys.is_some_and(|fd| fd.revents().contains(PollFlags::IN)),
    })
}

/// Hands over everything that can be read now.
fn forward(events: &mpsc::Sender<TerminalEvent>) -> io::Result<()> {
    while crossterm::event::poll(Duration::ZERO)? {
        let Some(event) = from_crossterm(crossterm::event::read()?) else {
            continue;
        };
        if events.blocking_send(event).is_err() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
    }
    Ok(())
}
