//! What a person should know of a host's name before trusting it: that it is written in other letters than it seems.
//! Names are shown in ASCII everywhere; this says what the ASCII stands for.

use unicode_security::MixedScript;

use crate::escape;

/// Longest decoded name that is shown, in columns.
const SHOWN: usize = 60;

/// Returns a sentence about `host` (in ASCII, as a URL carries it), where there is something to say.
pub fn warning(host: &str) -> Option<String> {
    let international = host.split('.').any(|label| label.starts_with("xn--"));
    if !international {
        return None;
    }
    let (decoded, sound) = idna::domain_to_unicode(host);
    let shown = escape::visible_cut(&decoded, SHOWN);
    let mixed = decoded.split('.').any(|label| !label.is_single_script());
    Some(if sound.is_err() {
        "Careful: this host's name does not decode to a sound one.".to_owned()
    } else if mixed {
        format!("Careful: this host's name mixes alphabets, as look-alikes do. It reads “{shown}”.")
    } else {
        format!("This host's name is not in Latin letters. It reads “{shown}”.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Option<String> {
        let url = url::Url::parse(url).expect("a URL");
        warning(url.host_str().expect("a host"))
    }

    #[test]
    fn a_mixed_host_is_flagged_a_foreign_one_is_read_out_and_ascii_needs_no_word() {
        assert_eq!(of("https://example.com/"), None);
        assert_eq!(of("https://127.0.0.1/"), None);
        // The second letter is Cyrillic.
        let mixed = of("https://e\u{445}ample.com/").expect("flagged");
        assert!(mixed.contains("mixes alphabets"), "{mixed}");
        // All letters of the first label are Cyrillic.
        let whole = of("https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com/").expect("said");
        assert!(whole.contains("not in Latin letters"), "{whole}");
        let honest = of("https://пример.рф/").expect("said");
        assert!(honest.contains("“пример.рф”"), "{honest}");
        assert!(of("https://bücher.example/").is_some());
    }

    #[test]
    fn a_name_that_only_pretends_to_be_encoded_is_told() {
        assert!(warning("xn--a.example").is_some());
    }
}
