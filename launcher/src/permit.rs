//! The one table of local actions: what a UI may have at once, what the visitor is asked, what is refused.
//! It has no wildcard and no default; it performs nothing.

use porthole_bridge::{Action, UploadFrom};

/// A kind of local action, as far as the decision depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One line of visible text for the clipboard.
    CopyPlain,
    /// Text for the clipboard with line ends or characters that cannot be seen.
    CopyHidden,
    /// A URL for the visitor's browser.
    OpenUrl,
    /// Text for the visitor's editor.
    Edit,
    /// Job control.
    Suspend,
    /// Forgetting the credential.
    SignOut,
    /// Leaving.
    Quit,
    /// Opening the launcher's own file picker; what is chosen there is confirmed by itself.
    UploadPicker,
    /// Looking into the clipboard; files and images found there are confirmed by themselves.
    UploadClipboard,
    /// Saving a file on this computer.
    Download,
    /// Writing to the visitor's preferences.
    SavePreferences,
}

/// What the visitor has done towards an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing.
    None,
    /// A key or a selection's release just now, not used for anything else.
    Gesture,
    /// Said yes in the launcher's own dialog.
    Confirmed,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is done.
    Allow,
    /// The visitor is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// Returns what happens to an action.
pub const fn permit(kind: Kind, consent: Consent) -> Verdict {
    match (kind, consent) {
        (Kind::CopyPlain, Consent::None) => Verdict::Deny,
        (Kind::CopyPlain, Consent::Gesture) => Verdict::Allow,
        (Kind::CopyPlain, Consent::Confirmed) => Verdict::Allow,
        (Kind::CopyHidden, Consent::None) => Verdict::Deny,
        (Kind::CopyHidden, Consent::Gesture) => Verdict::Ask,
        (Kind::CopyHidden, Consent::Confirmed) => Verdict::Allow,
        (Kind::OpenUrl, Consent::None) => Verdict::Deny,
        (Kind::OpenUrl, Consent::Gesture) => Verdict::Ask,
        (Kind::OpenUrl, Consent::Confirmed) => Verdict::Allow,
        (Kind::Edit, Consent::None) => Verdict::Deny,
        (Kind::Edit, Consent::Gesture) => Verdict::Ask,
        (Kind::Edit, Consent::Confirmed) => Verdict::Allow,
        (Kind::Suspend, Consent::None) => Verdict::Deny,
        (Kind::Suspend, Consent::Gesture) => Verdict::Allow,
        (Kind::Suspend, Consent::Confirmed) => Verdict::Allow,
        (Kind::SignOut, Consent::None) => Verdict::Deny,
        (Kind::SignOut, Consent::Gesture) => Verdict::Ask,
        (Kind::SignOut, Consent::Confirmed) => Verdict::Allow,
        (Kind::Quit, Consent::None) => Verdict::Ask,
        (Kind::Quit, Consent::Gesture) => Verdict::Allow,
        (Kind::Quit, Consent::Confirmed) => Verdict::Allow,
        (Kind::UploadPicker, Consent::None) => Verdict::Deny,
        (Kind::UploadPicker, Consent::Gesture) => Verdict::Allow,
        (Kind::UploadPicker, Consent::Confirmed) => Verdict::Allow,
        (Kind::UploadClipboard, Consent::None) => Verdict::Deny,
        (Kind::UploadClipboard, Consent::Gesture) => Verdict::Allow,
        (Kind::UploadClipboard, Consent::Confirmed) => Verdict::Allow,
        (Kind::Download, Consent::None) => Verdict::Deny,
        (Kind::Download, Consent::Gesture) => Verdict::Ask,
        (Kind::Download, Consent::Confirmed) => Verdict::Allow,
        (Kind::SavePreferences, Consent::None) => Verdict::Deny,
        (Kind::SavePreferences, Consent::Gesture) => Verdict::Ask,
        (Kind::SavePreferences, Consent::Confirmed) => Verdict::Allow,
    }
}

/// Returns the kind of `action`.
pub fn kind_of(action: &Action) -> Kind {
    match action {
        Action::Copy(text) if is_plain(text) => Kind::CopyPlain,
        Action::Copy(_) => Kind::CopyHidden,
        Action::OpenUrl(_) => Kind::OpenUrl,
        Action::Edit(_) => Kind::Edit,
        Action::Suspend => Kind::Suspend,
        Action::SignOut => Kind::SignOut,
        Action::Quit => Kind::Quit,
        Action::Upload(UploadFrom::Picker) => Kind::UploadPicker,
        Action::Upload(UploadFrom::Clipboard) => Kind::UploadClipboard,
        Action::Download { .. } => Kind::Download,
        Action::SavePreferences(_) => Kind::SavePreferences,
    }
}

/// Plain text is what the escaper would show unchanged: what is copied is what can be seen.
fn is_plain(text: &str) -> bool {
    crate::escape::visible(text) == text && !text.contains(['\n', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 11] = [
        Kind::CopyPlain,
        Kind::CopyHidden,
        Kind::OpenUrl,
        Kind::Edit,
        Kind::Suspend,
        Kind::SignOut,
        Kind::Quit,
        Kind::UploadPicker,
        Kind::UploadClipboard,
        Kind::Download,
        Kind::SavePreferences,
    ];

    #[test]
    fn the_whole_table_reads_as_decided() {
        let mut table = String::new();
        for kind in KINDS {
            for consent in [Consent::None, Consent::Gesture, Consent::Confirmed] {
                let verdict = permit(kind, consent);
                table.push_str(&format!("{kind:?} {consent:?} {verdict:?}\n"));
            }
        }
        insta::assert_snapshot!(table, @r"
        CopyPlain None Deny
        CopyPlain Gesture Allow
        CopyPlain Confirmed Allow
        CopyHidden None Deny
        CopyHidden Gesture Ask
        CopyHidden Confirmed Allow
        OpenUrl None Deny
        OpenUrl Gesture Ask
        OpenUrl Confirmed Allow
        Edit None Deny
        Edit Gesture Ask
        Edit Confirmed Allow
        Suspend None Deny
        Suspend Gesture Allow
        Suspend Confirmed Allow
        SignOut None Deny
        SignOut Gesture Ask
        SignOut Confirmed Allow
        Quit None Ask
        Quit Gesture Allow
        Quit Confirmed Allow
        UploadPicker None Deny
        UploadPicker Gesture Allow
        UploadPicker Confirmed Allow
        UploadClipboard None Deny
        UploadClipboard Gesture Allow
        UploadClipboard Confirmed Allow
        Download None Deny
        Download Gesture Ask
        Download Confirmed Allow
        SavePreferences None Deny
        SavePreferences Gesture Ask
        SavePreferences Confirmed Allow
        ");
    }

    #[test]
    fn text_that_hides_something_is_not_plain() {
        for hidden in [
            "a\nb",
            "a\tb",
            "a\u{1b}[31mb",
            "a\u{202e}b",
            "a\u{200b}b",
            "a\rb",
        ] {
            assert_eq!(
                kind_of(&Action::Copy(hidden.into())),
                Kind::CopyHidden,
                "{hidden:?}"
            );
        }
        assert_eq!(
            kind_of(&Action::Copy("git push 漢字".into())),
            Kind::CopyPlain
        );
    }
}
