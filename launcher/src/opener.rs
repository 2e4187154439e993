//! Opening a URL in the visitor's browser: one program, one argument, a small environment, no shell.
//! The URL was parsed, shown and confirmed before it gets here.

use std::process::{Command, Stdio};

use porthole_bridge::Outcome;

use crate::surroundings::{Surroundings, for_child, var};

const PROGRAM: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens `url`. Where there is no desktop the URL is given back to be copied. Blocks while the opener starts.
pub fn open(url: &str, here: Surroundings) -> Result<Outcome, NoDesktop> {
    if !here.has_desktop() {
        return Err(NoDesktop);
    }
    let ended = Command::new(PROGRAM)
        .arg(url)
        .env_clear()
        .envs(for_child(var))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    Ok(match ended {
        Ok(status) if status.success() => Outcome::Done("opened in the browser".to_owned()),
        Ok(_) => Outcome::Failed(format!("`{PROGRAM}` could not open it")),
        Err(_) => Outcome::Failed(format!("`{PROGRAM}` is not installed")),
    })
}

/// There is no desktop here to open anything on.
#[derive(Debug, PartialEq, Eq)]
pub struct NoDesktop;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_desktop_nothing_is_started() {
        let here = Surroundings {
            ssh: true,
            tmux: false,
            display: true,
        };
        assert_eq!(open("https://example.com/", here), Err(NoDesktop));
    }
}
