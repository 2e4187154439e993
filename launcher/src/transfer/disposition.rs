//! The file name in a `Content-Disposition` header, as HTTP has it: quoted text, or `filename*` in UTF-8. Not mail's.

use percent_encoding::percent_decode_str;

use super::name::NotAName;

/// Returns the name's bytes; nothing where the header names none.
///
/// # Errors
/// Where the header does not parse, or the name is in another encoding than UTF-8.
pub fn name_in(header: &str) -> Result<Option<Vec<u8>>, NotAName> {
    let (mut plain, mut extended) = (None, None);
    let mut rest = header.find(';').map_or("", |at| &header[at..]);
    while let Some(after) = rest.strip_prefix(';') {
        let after = after.trim_start();
        if after.is_empty() {
            break;
        }
        let (key, after) = after.split_once('=').ok_or(NotAName::Malformed)?;
        let (value, after) = value(after.trim_start())?;
        match key.trim().to_ascii_lowercase().as_str() {
            "filename" => once(&mut plain, value.into_bytes())?,
            "filename*" => once(&mut extended, decoded(&value)?)?,
            _ => {}
        }
        rest = after.trim_start();
    }
    match rest.is_empty() {
        true => Ok(extended.or(plain)),
        false => Err(NotAName::Malformed),
    }
}

/// Returns a parameter's value and what follows it.
fn value(text: &str) -> Result<(String, &str), NotAName> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return Ok((text[..end].trim_end().to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Ok((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next().ok_or(NotAName::Malformed)?.1),
            other => value.push(other),
        }
    }
    Err(NotAName::Malformed)
}

/// Decodes `UTF-8'language'percent-encoded` once.
fn decoded(value: &str) -> Result<Vec<u8>, NotAName> {
    let mut parts = value.splitn(3, '\'');
    let (charset, _language, text) = match (parts.next(), parts.next(), parts.next()) {
        (Some(charset), Some(language), Some(text)) => (charset, language, text),
        _ => return Err(NotAName::Malformed),
    };
    if !charset.eq_ignore_ascii_case("utf-8") {
        return Err(NotAName::Charset);
    }
    Ok(percent_decode_str(text).collect())
}

fn once(place: &mut Option<Vec<u8>>, value: Vec<u8>) -> Result<(), NotAName> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(NotAName::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_forms_are_read_and_the_extended_one_counts() {
        let both = "attachment; filename=\"a.txt\"; filename*=UTF-8'en'%C3%A4.txt";
        assert_eq!(name_in(both), Ok(Some("ä.txt".into())));
        assert_eq!(
            name_in("inline;filename=b ; x=\"y;z\""),
            Ok(Some("b".into()))
        );
        for bad in [
            "attachment; filename=\"a",
            "attachment; filename",
            "attachment; filename=\"a\"b",
            "attachment; filename=a; filename=b",
        ] {
            assert_eq!(name_in(bad), Err(NotAName::Malformed), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read_or_refused(header in any::<String>()) {
            let _ = name_in(&header);
        }
    }
}
