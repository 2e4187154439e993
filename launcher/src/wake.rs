//! Tells at once when the computer wakes up or its clock is set, at no cost while nothing happens.
//! It does not judge which of the two it was, and elsewhere than on Linux it tells nothing.

use std::sync::Arc;

use tokio::sync::Notify;

/// Tells of each time the computer may have been asleep.
pub struct Wake(Arc<Notify>);

impl Wake {
    /// Begins to listen. Where the system does not tell, nothing ever comes.
    pub fn start() -> Self {
        let told = Arc::new(Notify::new());
        let tell = Arc::clone(&told);
        let listen = move || listen(|| tell.notify_one());
        // Without it a dead link is found a little later.
        let _ = std::thread::Builder::new()
            .name("wake".into())
            .spawn(listen);
        Self(told)
    }

    /// Waits for the next time.
    pub async fn next(&self) {
        self.0.notified().await;
    }
}

/// The kernel ends a wait for a time of day when that clock jumps, as it does on waking up.
#[cfg(target_os = "linux")]
fn listen(tell: impl Fn()) {
    use rustix::{
        io::Errno,
        time::{
            Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
            timerfd_settime,
        },
    };

    /// A time that does not come.
    const FAR: i64 = 9_000_000_000;
    let Ok(timer) = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC) else {
        return;
    };
    let at = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
    let far = Itimerspec {
        it_interval: at(0),
        it_value: at(FAR),
    };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    if timerfd_settime(&timer, flags, &far).is_err() {
        return;
    }
    loop {
        match rustix::io::read(&timer, &mut [0; 8]) {
            Err(Errno::CANCELED) => tell(),
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn listen(_: impl Fn()) {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_computer_that_is_awake_tells_nothing() {
        let wake = Wake::start();
        let told = tokio::time::timeout(Duration::from_millis(50), wake.next()).await;
        assert!(told.is_err());
    }
}
