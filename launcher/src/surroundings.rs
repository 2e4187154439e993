//! What the environment says about where we run: over ssh, in tmux, with a display; and what children may know of it.
//! Pure: variables come in as a function.

/// Where we run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The terminal is at the other end of an ssh connection.
    pub ssh: bool,
    /// Inside tmux.
    pub tmux: bool,
    /// Inside GNU screen.
    pub screen: bool,
    /// There is a desktop to talk to.
    pub display: bool,
}

impl Surroundings {
    /// Returns what `var` says.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| var(name).is_some_and(|value| !value.is_empty());
        Self {
            ssh: set("SSH_CONNECTION") || set("SSH_TTY"),
            tmux: set("TMUX"),
            screen: set("STY") && !set("TMUX"),
            display: cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY"),
        }
    }

    /// Returns whether programs on this visitor's desktop can be reached.
    pub fn has_desktop(self) -> bool {
        self.display && !self.ssh
    }
}

/// The variables that an editor or opener may have. All others stay here: any of them may be a secret.
const FOR_CHILDREN: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "COLORTERM",
    "COLORFGBG",
    "NO_COLOR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TZ",
    "TMPDIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CURRENT_DESKTOP",
    "DBUS_SESSION_BUS_ADDRESS",
    "BROWSER",
    "TMUX",
    "TERM_PROGRAM",
];

/// Returns the environment of a child.
pub fn for_child(var: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    FOR_CHILDREN
        .iter()
        .filter_map(|name| Some((*name, var(name)?)))
        .collect()
}

/// What the ssh program needs beyond that: where its agent is, and how it asks.
const FOR_SSH: [&str; 5] = [
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "KRB5CCNAME",
    "GPG_TTY",
];

/// Returns the environment of the ssh program.
pub fn for_ssh(var: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let more = FOR_SSH.iter().filter_map(|name| Some((*name, var(name)?)));
    let mut all: Vec<_> = more.collect();
    all.extend(for_child(&var));
    all
}

/// Returns a variable of this process, where it is text.
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_ssh_a_forwarded_display_is_no_desktop() {
        let here = |vars: &'static [&'static str]| {
            Surroundings::from_env(|name| vars.contains(&name).then(|| "x".to_owned()))
        };
        assert!(here(&["DISPLAY"]).has_desktop());
        assert!(!here(&["DISPLAY", "SSH_CONNECTION"]).has_desktop());
        assert!(!here(&[]).has_desktop() || cfg!(target_os = "macos"));
    }

    #[test]
    fn a_childs_environment_holds_no_key() {
        let child = for_child(|name| Some(format!("value of {name}")));
        assert!(child.iter().any(|(name, _)| *name == "PATH"));
        assert!(
            child
                .iter()
                .all(|(name, _)| !name.contains("KEY") && *name != "PORTHOLE_LINK")
        );
    }
}
