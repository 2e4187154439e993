//! Opening a URL in the visitor's browser: one program, one argument, a small environment, no shell.
//! The URL was parsed, shown and confirmed before it gets here.

use std::process::{Command, Stdio};

use porthole_bridge::Outcome;

use crate::surroundings::{for_child, var};

const PROGRAM: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Opens `url` on the desktop. Blocks while the opener starts.
pub fn open(url: &str) -> Outcome {
    open_with(PROGRAM, url)
}

fn open_with(program: &str, url: &str) -> Outcome {
    let ended = Command::new(program)
        .arg(url)
        .env_clear()
        .envs(for_child(var))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match ended {
        Ok(status) if status.success() => Outcome::Done("opened in the browser".to_owned()),
        Ok(_) => Outcome::Failed(format!("`{program}` could not open it")),
        Err(_) => Outcome::Failed(format!("`{program}` is not installed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opener_gets_the_address_as_its_only_argument_and_its_end_is_told() {
        let opened = |program| open_with(program, "https://example.com/?a=$(id)&b=%20");
        assert!(matches!(opened("true"), Outcome::Done(_)));
        assert_eq!(
            opened("false"),
            Outcome::Failed("`false` could not open it".into())
        );
        let gone = opened("/nonexistent/opener");
        assert!(matches!(gone, Outcome::Failed(why) if why.contains("not installed")));
    }
}
