//! What the launcher keeps from the rest of this computer about itself: its memory and a link in its environment. Cookies
//! and links are in there. What its sandbox processes may do is in `sandbox/walls.rs`.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::argv;

/// Hides this process: no memory image when it crashes, and no look into its memory by the user's other programs.
/// Wiping arguments has to come first, since it needs that look. Where the system has no such wish, nothing changes.
pub fn hide() {
    let limit = Rlimit {
        current: Some(0),
        // An editor that is started later may want its own.
        maximum: getrlimit(Resource::Core).maximum,
    };
    let _ = setrlimit(Resource::Core, limit);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Takes a variable out of the environment, and out of what the system shows of it. Before any thread starts.
#[expect(
    unsafe_code,
    reason = "a variable that holds a secret is taken out while there is one thread"
)]
pub fn take_variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    if value.is_some() {
        argv::wipe_variable(name);
        // SAFETY: called first in `main`, where no other thread can be reading the environment.
        unsafe { std::env::remove_var(name) };
    }
    value.filter(|value| !value.is_empty())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_an_image_of_our_memory() {
        hide();
        assert_eq!(getrlimit(Resource::Core).current, Some(0));
        assert_eq!(
            rustix::process::dumpable_behavior().expect("linux"),
            rustix::process::DumpableBehavior::NotDumpable
        );
    }
}
