//! The visitor's editor on a private temporary file that is gone afterwards.
//! The terminal has been handed over before it starts; whoever calls takes it back.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    process::Stdio,
};

use porthole_bridge::{Outcome, limits};

use crate::surroundings::{for_child, var};

/// The file's name tells nothing of what is edited, and no editor gives it a meaning.
const NAME: &str = "edit.txt";

/// Returns the editor's program and arguments, split at blanks outside quotes as people write them; no shell sees them.
pub fn command(visual: Option<String>, editor: Option<String>) -> Vec<String> {
    let chosen = [visual, editor]
        .into_iter()
        .flatten()
        .find(|value| !value.trim().is_empty());
    let words = split(&chosen.unwrap_or_default());
    match words.is_empty() {
        true => vec!["vi".to_owned()],
        false => words,
    }
}

/// Edits `text` with `command` and returns how it ended: the new text, or the old one left as it was.
pub async fn edit(text: &str, command: &[String]) -> Outcome {
    match try_edit(text, command).await {
        Ok(edited) => Outcome::Edited(edited),
        Err(why) => Outcome::Failed(format!("{why}; the text is as it was")),
    }
}

async fn try_edit(text: &str, command: &[String]) -> Result<String, String> {
    let folder = tempfile::Builder::new()
        .prefix("porthole-")
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| format!("no temporary folder: {error}"))?;
    let path = folder.path().join(NAME);
    write_private(&path, text).map_err(|error| format!("no temporary file: {error}"))?;
    let (program, arguments) = command.split_first().ok_or("no editor is set")?;
    let shown = crate::escape::visible_cut(program, 40);
    let status = tokio::process::Command::new(program)
        .args(arguments)
        .arg(&path)
        .env_clear()
        .envs(for_child(var))
        .stdin(Stdio::inherit())
        .kill_on_drop(true)
        .status()
        .await
        .map_err(|_| format!("the editor `{shown}` could not be started"))?;
    if !status.success() {
        return Err(format!("the editor `{shown}` ended with an error"));
    }
    read_back(&path)
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?
        .write_all(text.as_bytes())
}

fn read_back(path: &Path) -> Result<String, String> {
    let meta = fs::symlink_metadata(path).map_err(|_| "the file is gone".to_owned())?;
    if !meta.is_file() {
        return Err("what came back is no file".to_owned());
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .map_err(|error| format!("the file cannot be read: {error}"))?
        .take(limits::EDIT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("the file cannot be read: {error}"))?;
    if bytes.len() > limits::EDIT_BYTES {
        return Err(format!("the file is over {} bytes", limits::EDIT_BYTES));
    }
    String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())
}

fn split(text: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let (mut quote, mut escaped) = (None, false);
    for char in text.chars() {
        match (char, quote) {
            (_, _) if escaped => {
                word.get_or_insert_default().push(char);
                escaped = false;
            }
            ('\\', None | Some('"')) => escaped = true,
            (_, Some(open)) if char == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(char),
            ('\'' | '"', None) => {
                word.get_or_insert_default();
                quote = Some(char);
            }
            (blank, None) if blank.is_whitespace() => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        command(None, Some(text.to_owned()))
    }

    async fn by_shell(script: &str) -> Outcome {
        edit("old", &["sh".into(), "-c".into(), script.into()]).await
    }

    #[test]
    fn an_editor_is_split_like_people_write_it() {
        assert_eq!(of("vi -u NONE"), ["vi", "-u", "NONE"]);
        assert_eq!(
            of("'/opt/my editor/ed' --wait"),
            ["/opt/my editor/ed", "--wait"]
        );
        assert_eq!(
            of(r#"sh -c 'printf X >>"$0"'"#),
            ["sh", "-c", r#"printf X >>"$0""#]
        );
        assert_eq!(of(r#""a \" b" c\ d"#), [r#"a " b"#, "c d"]);
        assert_eq!(command(None, None), ["vi"]);
        assert_eq!(command(Some(" ".into()), Some("nano".into())), ["nano"]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_the_editor_writes_comes_back() {
        assert_eq!(
            by_shell(r#"printf X >>"$0""#).await,
            Outcome::Edited("oldX".into())
        );
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_failing_editor_leaves_the_text_as_it_was() {
        for script in [
            "exit 1",
            r#"rm "$0""#,
            r#"printf '\377' >"$0""#,
            r#"head -c 2000000 /dev/zero >"$0""#,
        ] {
            assert!(
                matches!(by_shell(script).await, Outcome::Failed(_)),
                "{script}"
            );
        }
        let gone = edit("old", &["/nonexistent".into()]).await;
        assert!(matches!(gone, Outcome::Failed(_)));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_file_is_private_nameless_and_gone_afterwards() {
        let script = r#"stat -c '%a %n' "$(dirname "$0")" "$0" >"$0".seen; cat "$0".seen >"$0""#;
        let Outcome::Edited(seen) = by_shell(script).await else {
            panic!("edits");
        };
        let lines: Vec<&str> = seen.lines().collect();
        assert!(lines[0].starts_with("700 "), "{seen}");
        assert!(
            lines[1].starts_with("600 ") && lines[1].ends_with("/edit.txt"),
            "{seen}"
        );
        let folder = lines[0].trim_start_matches("700 ");
        assert!(!Path::new(folder).exists());
    }
}
