//! The processes of a command: who they are, how they are ended. It starts none.
//!
//! A command leads its own session. What belongs to it is found by process group, by session, and by a variable that
//! every descendant inherits, so that a child which made itself a session of its own is found too.

use std::{
    fs,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::process::{Pid, Signal};
use tokio::time::{Instant, sleep};

/// The variable that marks a command's descendants.
const MARK: &str = "PORTHOLE_COMMAND";
/// How long processes may take to end after TERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long what finished commands left may take to end after TERM: shorter than a worker has to stop.
const LEFT_GRACE: Duration = Duration::from_millis(1_000);
/// How long processes that were killed may take to be gone.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// How often a dying group is looked at; never while nothing dies.
const LOOK: Duration = Duration::from_millis(20);

/// The processes of one command.
#[derive(Clone, Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
    mark: String,
}

impl Group {
    /// Returns the group of a command that is about to start.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let mark = format!(
            "{}-{:x}-{}",
            std::process::id(),
            since.unwrap_or_default().as_nanos(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        Self { leader: None, mark }
    }

    /// Returns the variable that a command has to be started with.
    pub(super) fn variable(&self) -> (&'static str, &str) {
        (MARK, &self.mark)
    }

    /// Tells the group its leader, once it runs.
    pub(super) fn led_by(&mut self, pid: u32) {
        self.leader = i32::try_from(pid).ok().and_then(Pid::from_raw);
    }

    /// Returns who is alive of it.
    pub(super) fn alive(&self) -> Vec<Pid> {
        let Some(leader) = self.leader else {
            return Vec::new();
        };
        if cfg!(not(target_os = "linux")) {
            // Without `/proc` only the group itself can be asked for.
            let alive = rustix::process::test_kill_process_group(leader).is_ok();
            return alive.then_some(leader).into_iter().collect();
        }
        let mark = format!("{MARK}={}", self.mark);
        processes()
            .filter(|pid| belongs(*pid, leader, mark.as_bytes()))
            .collect()
    }

    /// Ends all of it: TERM, then KILL.
    pub(super) async fn end(&self) {
        end_all(std::slice::from_ref(self), TERM_GRACE).await;
    }

    /// Kills all of it, now.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) -> usize {
        let alive = self.alive();
        if let (Some(leader), false) = (self.leader, alive.is_empty()) {
            // The whole group at once first: a process that forks meanwhile cannot slip through.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
        for pid in &alive {
            let _ = rustix::process::kill_process(*pid, signal);
        }
        alive.len()
    }
}

/// Ends groups together: TERM, then KILL. Returns how many processes there were.
async fn end_all(groups: &[Group], grace: Duration) -> usize {
    let signal = |signal| groups.iter().map(|group| group.signal(signal)).sum();
    let alive = || groups.iter().map(|group| group.alive().len()).sum();
    let count = signal(Signal::TERM);
    if !none_within(grace, alive).await {
        // Sent at every look: what is born meanwhile is killed too.
        none_within(KILL_GRACE, || signal(Signal::KILL)).await;
    }
    count
}

/// Waits until the count is zero. Returns whether it became so in time.
async fn none_within(time: Duration, count: impl Fn() -> usize) -> bool {
    let end = Instant::now() + time;
    while count() > 0 {
        if Instant::now() >= end {
            return false;
        }
        sleep(LOOK).await;
    }
    true
}

/// What finished commands left running. Killed when dropped.
#[derive(Default)]
pub(super) struct Left(Mutex<Vec<Group>>);

impl Left {
    /// Keeps a group with someone alive; forgets those where nobody is any more.
    pub(super) fn keep(&self, group: Group) {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|group| !group.alive().is_empty());
        groups.push(group);
    }

    /// Ends them all. Returns how many processes there were.
    pub(super) async fn end(&self) -> usize {
        let groups = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // Whoever has no time to wait for the end of this kills what is left by dropping it.
        let ending = Ending(groups);
        end_all(&ending.0, LEFT_GRACE).await
    }
}

/// Groups that are being ended. Killed when dropped.
struct Ending(Vec<Group>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.iter().for_each(Group::kill);
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        let groups = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        groups.iter().for_each(Group::kill);
    }
}

/// Kills everything that the commands of a process left, which itself is gone. Blocks until nothing is left, for a
/// second at most. Returns how many processes there were.
pub fn kill_commands_of(starter: u32) -> usize {
    let start = format!("{MARK}={starter}-");
    let kill = || {
        let theirs = processes().filter(|pid| is_started_by(*pid, start.as_bytes()));
        theirs
            .filter(|pid| rustix::process::kill_process(*pid, Signal::KILL).is_ok())
            .count()
    };
    let (count, begun) = (kill(), std::time::Instant::now());
    let mut left = count;
    // What was born while it was looked for is found the next time.
    while left > 0 && begun.elapsed() < KILL_GRACE {
        std::thread::sleep(LOOK / 4);
        left = kill();
    }
    count
}

fn is_started_by(pid: Pid, start: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|bytes| {
        bytes
            .split(|byte| *byte == 0)
            .any(|pair| pair.starts_with(start))
    })
}

fn processes() -> impl Iterator<Item = Pid> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
}

fn belongs(pid: Pid, leader: Pid, mark: &[u8]) -> bool {
    let Some(stat) = fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|text| Stat::parse(&text))
    else {
        return false;
    };
    let leader = leader.as_raw_nonzero().get();
    !stat.dead && (stat.group == leader || stat.session == leader || is_marked(pid, mark))
}

fn is_marked(pid: Pid, mark: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|pair| pair == mark))
}

/// What a line of `/proc/PID/stat` says.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    dead: bool,
    group: i32,
    session: i32,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name in parentheses may itself hold blanks and parentheses.
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
        let state = fields.next()?;
        let mut numbers = fields.skip(1).map(str::parse);
        Some(Self {
            dead: matches!(state, "Z" | "X"),
            group: numbers.next()?.ok()?,
            session: numbers.next()?.ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_is_no_field() {
        assert_eq!(
            Stat::parse("42 (a) Z 9 (b) S 1 7 8 0"),
            Some(Stat {
                dead: false,
                group: 7,
                session: 8
            })
        );
        assert!(Stat::parse("42 (zombie) Z 1 7 8 0").is_some_and(|stat| stat.dead));
        assert_eq!(Stat::parse("42 (cut) S 1"), None);
    }
}
