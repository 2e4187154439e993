//! Wiping a secret argument from the process list, where the system lets a process do that to itself.
//! Linux shows a process's arguments from its own memory, which it may write through `/proc/self/mem`.

/// Overwrites every argument after the program's name with blanks; returns whether that was done.
/// The arguments must have been read before.
pub fn wipe() -> bool {
    wipe_memory().is_some()
}

/// Overwrites the value of a variable where the system shows this process's environment; returns whether that was done, or there was none.
/// The variable must have been read before; afterwards it is empty.
pub fn wipe_variable(name: &str) -> bool {
    match std::env::var_os(name) {
        Some(_) => wipe_environment(name).is_some(),
        None => true,
    }
}

#[cfg(target_os = "linux")]
fn wipe_memory() -> Option<()> {
    let shown = std::fs::read("/proc/self/cmdline").ok()?;
    let name = shown.iter().position(|byte| *byte == 0)? + 1;
    blank(ARGUMENTS, name, shown.len().checked_sub(name)?)
}

#[cfg(target_os = "linux")]
fn wipe_environment(name: &str) -> Option<()> {
    let shown = std::fs::read("/proc/self/environ").ok()?;
    let (from, length) = place_of(&shown, name)?;
    blank(ENVIRONMENT, from, length)
}

#[cfg(not(target_os = "linux"))]
fn wipe_memory() -> Option<()> {
    None
}

#[cfg(not(target_os = "linux"))]
fn wipe_environment(_: &str) -> Option<()> {
    None
}

/// The 48th and the 50th field of `/proc/self/stat`, counted from the third.
#[cfg(target_os = "linux")]
const ARGUMENTS: usize = 45;
#[cfg(target_os = "linux")]
const ENVIRONMENT: usize = 47;

/// Writes zeros over `length` bytes, `from` bytes after the address in that field.
#[cfg(target_os = "linux")]
fn blank(field: usize, from: usize, length: usize) -> Option<()> {
    use std::os::unix::fs::FileExt;

    let start = address(&std::fs::read_to_string("/proc/self/stat").ok()?, field)?;
    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/mem")
        .ok()?;
    memory
        .write_all_at(&vec![0; length], start.checked_add(from as u64)?)
        .ok()
}

/// Returns where the value of a variable begins, and its length.
#[cfg(target_os = "linux")]
fn place_of(environment: &[u8], name: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    for entry in environment.split(|byte| *byte == 0) {
        let value = entry.strip_prefix(name.as_bytes());
        if let Some(value) = value.and_then(|rest| rest.strip_prefix(b"=")) {
            return Some((from + name.len() + 1, value.len()));
        }
        from += entry.len() + 1;
    }
    None
}

/// Returns an address; the second field is the name in parentheses and may hold anything.
#[cfg(target_os = "linux")]
fn address(stat: &str, field: usize) -> Option<u64> {
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(field)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_variable_is_found_whole_and_no_other() {
        let shown = b"A=1\0PORTHOLE_LINKS=no\0PORTHOLE_LINK=secret\0B=PORTHOLE_LINK=x\0";
        let (from, length) = place_of(shown, "PORTHOLE_LINK").expect("there");
        assert_eq!(&shown[from..from + length], b"secret");
        assert_eq!(place_of(shown, "C"), None);
    }

    #[test]
    fn the_start_of_the_arguments_is_found_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c)) {}", fields.join(" "));
        assert_eq!(address(&stat, ARGUMENTS), Some(48));
        assert_eq!(address(&stat, ENVIRONMENT), Some(50));
    }
}
