//! The thread that reads the terminal: it sleeps until there is something, and stands aside while an editor owns the keys.
//! What the bytes mean is the decoder's to say. The terminal's size is not looked at here: its signal goes elsewhere.

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

use crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::mpsc;

use super::{
    decoder::Decoder,
    event::{TerminalEvent, from_crossterm},
};

/// Bytes that are read at once.
const BUFFER: usize = 4096;

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
    let mut decoder = Decoder::default();
    let mut found = Vec::new();
    loop {
        let reading = !aside.load(Ordering::SeqCst);
        let Ok(ready) = wait(keyboard, &woken, reading, decoder.patience()) else {
            return;
        };
        if ready.woken && woken.read(&mut [0; 16]).is_err() {
            return;
        }
        if ready.keys {
            let Ok(_held) = lock.lock() else { return };
            if !aside.load(Ordering::SeqCst) && take(keyboard, &mut decoder, &mut found).is_err() {
                return;
            }
        } else if !ready.woken || !reading {
            decoder.silence(&mut found);
        }
        if forward(&mut found, events).is_err() {
            return;
        }
    }
}

struct Ready {
    keys: bool,
    woken: bool,
}

fn wait(
    keyboard: &File,
    woken: &PipeReader,
    reading: bool,
    patience: Option<Duration>,
) -> io::Result<Ready> {
    let mut fds = vec![PollFd::new(woken, PollFlags::IN)];
    if reading {
        fds.push(PollFd::new(keyboard, PollFlags::IN));
    }
    let patience = patience.map(timespec);
    loop {
        match poll(&mut fds, patience.as_ref()) {
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

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

/// Takes what can be read now, at most a buffer of it; what is left keeps the terminal readable.
pub(crate) fn take(
    keyboard: &File,
    decoder: &mut Decoder,
    found: &mut Vec<Event>,
) -> io::Result<()> {
    // Somebody may have emptied the terminal since it was found readable; reading must not wait.
    let mut fds = [PollFd::new(keyboard, PollFlags::IN)];
    if poll(&mut fds, Some(&timespec(Duration::ZERO))) == Ok(0) {
        return Ok(());
    }
    let mut bytes = [0; BUFFER];
    match rustix::io::read(keyboard, &mut bytes) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(read) => {
            decoder.feed(&bytes[..read], found);
            Ok(())
        }
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits for keys until there are some, and adds them to `found`.
///
/// # Errors
/// Where the terminal is gone.
pub(crate) fn next(
    keyboard: &File,
    decoder: &mut Decoder,
    found: &mut Vec<Event>,
) -> io::Result<()> {
    while found.is_empty() {
        let mut fds = [PollFd::new(keyboard, PollFlags::IN)];
        match poll(&mut fds, decoder.patience().map(timespec).as_ref()) {
            Ok(0) => decoder.silence(found),
            Ok(_) => take(keyboard, decoder, found)?,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn forward(found: &mut Vec<Event>, events: &mpsc::Sender<TerminalEvent>) -> io::Result<()> {
    for event in found.drain(..).filter_map(from_crossterm) {
        if events.blocking_send(event).is_err() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
    }
    Ok(())
}
