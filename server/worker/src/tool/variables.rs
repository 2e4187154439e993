//! The variables that commands get: those of the server without any secret, and settings with which no program waits
//! for a person. It reads no variable itself.

use std::ffi::{OsStr, OsString};

/// Ends of names that hold secrets.
const SECRET_ENDS: &[&str] = &[
    "_KEY",
    "_APIKEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_PASSWD",
    "_PASSPHRASE",
    "_CREDENTIALS",
];
/// Starts of names that are the server's own.
const OWN_START: &str = "PORTHOLE";
/// What is set for every command: there is no terminal, no pager, no editor and nobody to ask.
const SET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];
/// What would open a window, or names a terminal that commands do not have.
const UNSET: &[&str] = &[
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "GIT_SEQUENCE_EDITOR",
    "COLUMNS",
    "LINES",
    "COLORTERM",
    "CLICOLOR_FORCE",
    "FORCE_COLOR",
];

/// Returns the variables for commands, from the server's own and the names of further variables that hold secrets.
pub fn tool_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    secret_names: &[String],
) -> Vec<(OsString, OsString)> {
    let kept = variables.into_iter().filter(|(name, _)| {
        !is_secret_name(name)
            && !is_replaced(name)
            && !secret_names.iter().any(|secret| name == secret.as_str())
    });
    let set = SET.iter().map(|(name, value)| (name.into(), value.into()));
    kept.chain(set).collect()
}

/// Returns whether a variable is one that holds a secret, judged by its name. An address with a password in it
/// (`DATABASE_URL`) is a setting that programs under work need: it stays.
pub fn is_secret_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.starts_with(OWN_START)
        || SECRET_ENDS
            .iter()
            .any(|end| name.ends_with(end) || name == end[1..])
}

fn is_replaced(name: &OsStr) -> bool {
    UNSET.iter().any(|unset| name == *unset) || SET.iter().any(|(set, _)| name == *set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variables: &[&str], secrets: &[&str]) -> Vec<String> {
        let variables = variables
            .iter()
            .map(|name| (OsString::from(name), OsString::from("v")));
        let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
        tool_environment(variables, &secrets)
            .into_iter()
            .filter(|(_, value)| value == "v")
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn secrets_go_by_name_and_the_rest_stays() {
        let all = [
            "PATH",
            "HOME",
            "OPENAI_API_KEY",
            "GH_TOKEN",
            "TOKEN",
            "MY_CLIENT_SECRET",
            "aws_secret_access_key",
            "PORTHOLE_DATA",
            "PORTHOLED_X",
            "DB_PASSWORD",
            "AZURE_KEY",
            "SSH_PRIVATE_KEY",
            "WORK_LLM",
            "DATABASE_URL",
            "KEYBOARD",
            "TOKENIZERS_PARALLELISM",
        ];
        assert_eq!(
            names(&all, &["WORK_LLM"]),
            [
                "PATH",
                "HOME",
                "DATABASE_URL",
                "KEYBOARD",
                "TOKENIZERS_PARALLELISM"
            ]
        );
    }

    #[test]
    fn what_would_wait_for_a_person_is_replaced_once() {
        let variables = [("TERM", "xterm"), ("EDITOR", "vim"), ("GIT_ASKPASS", "x")]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let made = tool_environment(variables, &[]);
        for (name, value) in [
            ("TERM", "dumb"),
            ("EDITOR", "false"),
            ("GIT_TERMINAL_PROMPT", "0"),
        ] {
            let values: Vec<_> = made.iter().filter(|(n, _)| n == name).collect();
            assert_eq!(values, [&(name.into(), value.into())], "{name}");
        }
        assert!(made.iter().all(|(name, _)| name != "GIT_ASKPASS"));
    }
}
