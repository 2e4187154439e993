//! The deadline of a call: a thread that ends it by an epoch when its time is up. It sleeps while nothing runs,
//! and costs a call no more than a lock and two clock reads.

use std::{
    sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use porthole_bridge::limits::{CALL_CPU, CALL_WALL, LONG_CALL_WALL};
use wasmtime::Engine;

/// How often a running call is looked at.
const STEP: Duration = Duration::from_millis(10);

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// An ordinary call.
    Short,
    /// The start, and taking a snapshot.
    Long,
}

pub(super) struct Ticker {
    engine: Engine,
    clock: CpuClock,
    beat: Mutex<Beat>,
    wake: Condvar,
}

#[derive(Default)]
struct Beat {
    call: Option<Call>,
    parked: bool,
}

struct Call {
    started: Instant,
    cpu: Duration,
    patience: Patience,
}

impl Ticker {
    /// Starts the ticker for calls that the calling thread will make.
    pub(super) fn start(engine: &Engine) -> std::io::Result<Arc<Self>> {
        let ticker = Arc::new(Ticker {
            engine: engine.clone(),
            clock: CpuClock::of_this_thread(),
            beat: Mutex::default(),
            wake: Condvar::new(),
        });
        let own = Arc::clone(&ticker);
        let begun = Arc::new(Barrier::new(2));
        let running = Arc::clone(&begun);
        thread::Builder::new()
            .name("ticker".into())
            .stack_size(64 << 10)
            .spawn(move || {
                running.wait();
                own.run();
            })?;
        // A thread begins with system calls that the last wall forbids.
        begun.wait();
        Ok(ticker)
    }

    /// A call begins.
    pub(super) fn begin(&self, patience: Patience) {
        let call = Call {
            started: Instant::now(),
            cpu: self.clock.read(),
            patience,
        };
        let mut beat = self.lock();
        beat.call = Some(call);
        if beat.parked {
            self.wake.notify_one();
        }
    }

    /// The call ended. From here on its time cannot end the next one: both sides hold the lock.
    pub(super) fn end(&self) {
        self.lock().call = None;
    }

    fn run(&self) {
        let mut beat = self.lock();
        loop {
            match &beat.call {
                None => {
                    beat.parked = true;
                    beat = self.wake.wait(beat).unwrap_or_else(PoisonError::into_inner);
                    beat.parked = false;
                }
                Some(call) => {
                    if self.is_over(call) {
                        self.engine.increment_epoch();
                    }
                    let (next, _) = self
                        .wake
                        .wait_timeout(beat, STEP)
                        .unwrap_or_else(PoisonError::into_inner);
                    beat = next;
                }
            }
        }
    }

    fn is_over(&self, call: &Call) -> bool {
        let wall = call.started.elapsed();
        match call.patience {
            Patience::Long => wall > LONG_CALL_WALL,
            Patience::Short => {
                wall > CALL_WALL || self.clock.read().saturating_sub(call.cpu) > CALL_CPU
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Beat> {
        self.beat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The CPU time of one thread, readable from another.
struct CpuClock {
    #[cfg(target_os = "linux")]
    id: libc::clockid_t,
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "the CPU clock of another thread has no safe wrapper"
)]
impl CpuClock {
    fn of_this_thread() -> Self {
        let mut id = libc::CLOCK_THREAD_CPUTIME_ID;
        // SAFETY: this thread is alive and `id` is a place for the answer. On failure the fallback stays: the clock
        // of the reader, by which no call is ever over; the wall clock still is.
        unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut id) };
        CpuClock { id }
    }

    fn read(&self) -> Duration {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a place for the answer; an unknown clock is refused and leaves it zero.
        unsafe { libc::clock_gettime(self.id, &raw mut time) };
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }
}

#[cfg(not(target_os = "linux"))]
impl CpuClock {
    fn of_this_thread() -> Self {
        CpuClock {}
    }

    /// The wall clock stands alone here.
    fn read(&self) -> Duration {
        Duration::ZERO
    }
}
