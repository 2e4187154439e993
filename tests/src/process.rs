//! Processes from outside: who descends from whom, what they used, ending them.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// Sends a signal.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).ok();
    }
}

/// Returns whether a process is there and no zombie.
pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| {
        fields
            .first()
            .is_some_and(|state| state != "Z" && state != "X")
    })
}

/// Waits until a process is gone; returns whether it is within the time.
pub fn wait_gone(pid: u32, at_most: Duration) -> bool {
    let end = Instant::now() + at_most;
    while is_alive(pid) {
        if Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Returns the process ids of `root` and all that descend from it.
pub fn tree(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all() {
        if let Some(parent) = stat(pid).and_then(|fields| fields.get(1)?.parse().ok()) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children.get(&pid).into_iter().flatten());
        next += 1;
    }
    found
}

/// Returns the descendants of `root` whose command line has the word.
pub fn descendants_with(root: u32, word: &str) -> Vec<u32> {
    let has_word = |pid: &u32| command_line(*pid).iter().any(|argument| argument == word);
    tree(root).into_iter().skip(1).filter(has_word).collect()
}

/// Returns the arguments of a process.
pub fn command_line(pid: u32) -> Vec<String> {
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    raw.split(|byte| *byte == 0)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}

/// Returns the CPU time used so far.
pub fn cpu(pid: u32) -> Duration {
    let Some(fields) = stat(pid) else {
        return Duration::ZERO;
    };
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|f| f.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let per_second = rustix::param::clock_ticks_per_second();
    Duration::from_secs_f64((ticks(11) + ticks(12)) as f64 / per_second as f64)
}

/// Returns the proportional share of memory in bytes.
pub fn pss(pid: u32) -> u64 {
    number_after(&format!("/proc/{pid}/smaps_rollup"), "Pss:").unwrap_or(0) * 1024
}

/// Returns the memory that it holds, in bytes.
pub fn resident(pid: u32) -> u64 {
    number_after(&format!("/proc/{pid}/status"), "VmRSS:").unwrap_or(0) * 1024
}

/// Returns the most memory that it ever held, in bytes.
pub fn resident_peak(pid: u32) -> u64 {
    number_after(&format!("/proc/{pid}/status"), "VmHWM:").unwrap_or(0) * 1024
}

/// Returns how often its threads went to sleep and were woken.
pub fn wake_ups(pid: u32) -> u64 {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return 0;
    };
    let status = |thread: fs::DirEntry| thread.path().join("status").display().to_string();
    threads
        .flatten()
        .filter_map(|t| number_after(&status(t), "voluntary_ctxt_switches:"))
        .sum()
}

fn number_after(path: &str, label: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the fields of `/proc/PID/stat` that follow the name: the state is the first.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}
