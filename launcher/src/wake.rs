//! Notices that the computer was asleep, so that a dead link is not waited for.
//! On Linux the kernel tells, at no cost while nothing happens; elsewhere two clocks are compared now and then.

/// Tells of each time the computer woke up, or its clock was set.
pub struct Wake(imp::Wake);

impl Wake {
    /// Begins to listen. Where the system does not tell, nothing ever comes.
    pub fn new() -> Self {
        Self(imp::Wake::new())
    }

    /// Waits for the next time.
    pub async fn next(&mut self) {
        self.0.next().await;
    }
}

impl Default for Wake {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::os::fd::OwnedFd;

    use rustix::{
        io::Errno,
        time::{
            Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
            timerfd_settime,
        },
    };
    use tokio::io::unix::AsyncFd;

    /// A time that does not come: what is waited for is that the clock jumps before it.
    const FAR: i64 = 9_000_000_000;

    pub(super) struct Wake(Option<AsyncFd<OwnedFd>>);

    impl Wake {
        pub(super) fn new() -> Self {
            Self(timer().and_then(|timer| AsyncFd::new(timer).ok()))
        }

        pub(super) async fn next(&mut self) {
            let Some(timer) = &self.0 else {
                return std::future::pending().await;
            };
            loop {
                let Ok(mut ready) = timer.readable().await else {
                    return std::future::pending().await;
                };
                let read = rustix::io::read(timer, &mut [0; 8]);
                ready.clear_ready();
                if read == Err(Errno::CANCELED) {
                    return;
                }
            }
        }
    }

    fn timer() -> Option<OwnedFd> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags).ok()?;
        let at = |tv_sec| Timespec { tv_sec, tv_nsec: 0 };
        let far = Itimerspec {
            it_interval: at(0),
            it_value: at(FAR),
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        timerfd_settime(&timer, flags, &far).ok()?;
        Some(timer)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::time::{Duration, Instant, SystemTime};

    const LOOK: Duration = Duration::from_secs(10);

    pub(super) struct Wake;

    impl Wake {
        pub(super) fn new() -> Self {
            Self
        }

        pub(super) async fn next(&mut self) {
            loop {
                let before = (Instant::now(), SystemTime::now());
                tokio::time::sleep(LOOK).await;
                if super::slept(before.0.elapsed(), before.1.elapsed().unwrap_or_default()) {
                    return;
                }
            }
        }
    }
}

/// Returns whether the wall clock went so far ahead of the monotonic one, which stands still meanwhile, that there was a sleep between.
#[cfg(any(test, not(target_os = "linux")))]
fn slept(monotonic: std::time::Duration, wall: std::time::Duration) -> bool {
    wall.saturating_sub(monotonic) > std::time::Duration::from_secs(5)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_sleep_is_where_the_wall_clock_is_far_ahead() {
        for (monotonic, wall, expected) in [
            (10, 10, false),
            (10, 14, false),
            (10, 16, true),
            (10, 3600, true),
            (10, 2, false),
        ] {
            let [monotonic, wall] = [monotonic, wall].map(Duration::from_secs);
            assert_eq!(slept(monotonic, wall), expected, "{monotonic:?} {wall:?}");
        }
    }

    #[tokio::test]
    async fn a_computer_that_is_awake_tells_nothing() {
        let mut wake = Wake::new();
        let told = tokio::time::timeout(Duration::from_millis(50), wake.next()).await;
        assert!(told.is_err());
    }
}
