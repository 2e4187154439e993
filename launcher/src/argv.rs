//! Wiping a secret argument from the process list, where the system lets a process do that to itself.
//! Linux shows a process's arguments from its own memory, which it may write through `/proc/self/mem`.

/// Overwrites every argument after the program's name with blanks; returns whether that was done.
/// The arguments must have been read before.
pub fn wipe() -> bool {
    wipe_memory().is_some()
}

#[cfg(target_os = "linux")]
fn wipe_memory() -> Option<()> {
    use std::os::unix::fs::FileExt;

    let shown = std::fs::read("/proc/self/cmdline").ok()?;
    let name = shown.iter().position(|byte| *byte == 0)? + 1;
    let length = shown.len().checked_sub(name)?;
    let start = start_of_arguments(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/mem")
        .ok()?;
    memory
        .write_all_at(&vec![0; length], start.checked_add(name as u64)?)
        .ok()
}

#[cfg(not(target_os = "linux"))]
fn wipe_memory() -> Option<()> {
    None
}

/// Returns `arg_start`, the 48th field; the second is the name in parentheses and may hold anything.
#[cfg(target_os = "linux")]
fn start_of_arguments(stat: &str) -> Option<u64> {
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(45)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_the_arguments_is_found_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c)) {}", fields.join(" "));
        assert_eq!(start_of_arguments(&stat), Some(48));
    }
}
