//! Wiping a secret argument or variable from the process list, where the system lets a process do that to itself.
//! Linux shows both from the process's own memory, which it may write through `/proc/self/mem`.

use std::sync::OnceLock;

/// Overwrites every argument after the program's name with blanks; returns whether that was done.
/// The arguments must have been read before. It is done once.
pub fn wipe() -> bool {
    static DONE: OnceLock<bool> = OnceLock::new();
    *DONE.get_or_init(|| wipe_memory().is_some())
}

/// Overwrites a variable's value as the process list shows it; returns whether that was done. The value must have been
/// read before.
pub fn wipe_variable(name: &str) -> bool {
    wipe_value(name).is_some()
}

#[cfg(target_os = "linux")]
fn wipe_memory() -> Option<()> {
    let shown = std::fs::read("/proc/self/cmdline").ok()?;
    let name = shown.iter().position(|byte| *byte == 0)? + 1;
    let length = shown.len().checked_sub(name)?;
    write_zeros(field(ARGUMENTS)?.checked_add(name as u64)?, length)
}

#[cfg(target_os = "linux")]
fn wipe_value(name: &str) -> Option<()> {
    let shown = std::fs::read("/proc/self/environ").ok()?;
    let start = field(ENVIRONMENT)?;
    let (at, length) = value_in(&shown, name)?;
    write_zeros(start.checked_add(at as u64)?, length)
}

/// Returns where the value of `name` is, and how long it is.
#[cfg(target_os = "linux")]
fn value_in(environment: &[u8], name: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for variable in environment.split(|byte| *byte == 0) {
        let value = variable.strip_prefix(name.as_bytes());
        if let Some(value) = value.and_then(|value| value.strip_prefix(b"=")) {
            return Some((at + name.len() + 1, value.len()));
        }
        at += variable.len() + 1;
    }
    None
}

#[cfg(target_os = "linux")]
fn write_zeros(at: u64, length: usize) -> Option<()> {
    use std::os::unix::fs::FileExt;

    let memory = std::fs::OpenOptions::new()
        .write(true)
        .open("/proc/self/mem")
        .ok()?;
    memory.write_all_at(&vec![0; length], at).ok()
}

#[cfg(not(target_os = "linux"))]
fn wipe_memory() -> Option<()> {
    None
}

#[cfg(not(target_os = "linux"))]
fn wipe_value(_: &str) -> Option<()> {
    None
}

/// `arg_start` and `env_start`, the 48th and 50th field, counted from the third.
#[cfg(target_os = "linux")]
const ARGUMENTS: usize = 45;
#[cfg(target_os = "linux")]
const ENVIRONMENT: usize = 47;

#[cfg(target_os = "linux")]
fn field(number: usize) -> Option<u64> {
    field_of(&std::fs::read_to_string("/proc/self/stat").ok()?, number)
}

/// Returns a number behind the second field, which is the name in parentheses and may hold anything.
#[cfg(target_os = "linux")]
fn field_of(stat: &str, number: usize) -> Option<u64> {
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(number)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c)) {}", fields.join(" "));
        assert_eq!(field_of(&stat, ARGUMENTS), Some(48));
        assert_eq!(field_of(&stat, ENVIRONMENT), Some(50));
    }

    #[test]
    fn the_value_of_a_variable_is_found_among_others() {
        let environment = b"A=1\0LINKS=no\0LINK=secret\0Z=\0";
        let (at, length) = value_in(environment, "LINK").expect("there");
        assert_eq!(&environment[at..at + length], b"secret");
        assert_eq!(value_in(environment, "LIN"), None);
    }
}
