//! The lines between `---` at the head of a file: names and texts. Of YAML it knows what templates and skills use: plain,
//! quoted, and blocks that go on in indented lines. Pure.

use std::collections::BTreeMap;

/// A file in two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) fields: BTreeMap<String, String>,
    pub(super) body: &'a str,
}

/// Returns the fields and the rest of a text.
///
/// # Errors
/// The line, from 1, and why it makes no sense.
pub(super) fn split(text: &str) -> Result<Parts<'_>, (u32, &'static str)> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let mut fields = BTreeMap::new();
    if first.trim_end() != "---" {
        return Ok(Parts { fields, body: text });
    }
    let (mut at, mut number, mut open) = (first.len(), 1, None::<String>);
    for line in lines {
        (at, number) = (at + line.len(), number + 1);
        let bare = line.trim_end();
        if bare == "---" {
            return Ok(Parts {
                fields,
                body: text[at..].trim_start_matches(['\r', '\n']),
            });
        }
        match (&open, bare.trim_start()) {
            (_, "") => {}
            (_, comment) if comment.starts_with('#') => {}
            (Some(name), more) if bare.starts_with([' ', '\t']) => {
                let text: &mut String = fields.entry(name.clone()).or_default();
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(more);
            }
            _ => {
                let (name, value) = bare
                    .split_once(':')
                    .filter(|(name, _)| !name.is_empty() && !bare.starts_with(['-', ' ', '\t']))
                    .ok_or((number, "it is no `name: text`"))?;
                let value = match value.trim() {
                    "|" | ">" | "|-" | ">-" => "",
                    value => unquoted(value),
                };
                fields.insert(name.trim().to_owned(), value.to_owned());
                open = Some(name.trim().to_owned());
            }
        }
    }
    Err((1, "the lines that begin with `---` do not end with one"))
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_before_the_body_where_there_are_any() {
        let text = "---\nname: pdf # x\ndescription: >\n  Reads\n  PDF files.\nhint: \"<a> [b]\"\n---\n\nBody\n---\n";
        let parts = split(text).expect("splits");
        assert_eq!(parts.fields["description"], "Reads PDF files.");
        assert_eq!(parts.fields["hint"], "<a> [b]");
        assert_eq!(parts.body, "Body\n---\n");
        assert_eq!(split("plain\n").expect("splits").body, "plain\n");
        assert_eq!(
            split("---\nno colon\n---\n"),
            Err((2, "it is no `name: text`"))
        );
        assert!(split("---\na: b\n").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split_or_refused(text in "(---\n|[a-z: \"'#>|-]{0,12}\r?\n){0,12}") {
            let _ = split(&text).is_ok();
        }
    }
}
