//! How a UI ends, in the launcher's own words. No text of a bundle is in them but one name, escaped and cut.

use crate::escape::visible_cut;

/// Columns of a bundle's own words that are ever shown.
const NAME_COLS: usize = 40;

/// Why a UI did not start or runs no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UiFault {
    /// The bytes are no module of the allowed kind.
    #[error("The server's interface is not a module this launcher can run.")]
    NotAModule,
    /// It imports something else than the one function; the name is escaped and cut.
    #[error("The interface asks for something this launcher does not offer. ({0})")]
    UnofferedImport(String),
    /// An export is missing or of the wrong type, or it speaks another version.
    #[error("The interface does not speak this launcher's protocol (missing or wrong export).")]
    WrongExports,
    /// Too large or too complex to compile.
    #[error("The interface is too large / too complex to load safely.")]
    TooLarge,
    /// Over its memory.
    #[error("The interface ran out of memory.")]
    OutOfMemory,
    /// Over its time.
    #[error("The interface stopped responding.")]
    Hung,
    /// It trapped, or its process died.
    #[error("The interface crashed.")]
    Crashed,
    /// It posted what it may not; which rule, in the launcher's words.
    #[error("The interface broke the message rules. ({0})")]
    BrokeRules(String),
    /// The launcher's own part failed.
    #[error("The sandbox of the interface could not be started. ({0})")]
    SandboxFailed(String),
}

impl UiFault {
    /// Returns the fault of an import that is not offered, by its foreign name.
    pub(crate) fn unoffered(module: &str, name: &str) -> Self {
        UiFault::UnofferedImport(visible_cut(&format!("{module}.{name}"), NAME_COLS))
    }

    /// Returns the byte and the detail by which a child tells its parent.
    pub(super) fn to_wire(&self) -> (u8, &str) {
        match self {
            UiFault::NotAModule => (1, ""),
            UiFault::UnofferedImport(name) => (2, name),
            UiFault::WrongExports => (3, ""),
            UiFault::TooLarge => (4, ""),
            UiFault::OutOfMemory => (5, ""),
            UiFault::Hung => (6, ""),
            UiFault::Crashed => (7, ""),
            UiFault::BrokeRules(rule) => (8, rule),
            UiFault::SandboxFailed(why) => (9, why),
        }
    }

    /// Returns the fault that a child told. The child may be in a bundle's hands: its words are escaped and cut again.
    pub(super) fn from_wire(kind: u8, detail: &[u8]) -> Self {
        let detail = || visible_cut(&String::from_utf8_lossy(detail), NAME_COLS);
        match kind {
            1 => UiFault::NotAModule,
            2 => UiFault::UnofferedImport(detail()),
            3 => UiFault::WrongExports,
            4 => UiFault::TooLarge,
            5 => UiFault::OutOfMemory,
            6 => UiFault::Hung,
            8 => UiFault::BrokeRules(detail()),
            9 => UiFault::SandboxFailed(detail()),
            _ => UiFault::Crashed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_survives_the_pipe() {
        let faults = [
            UiFault::NotAModule,
            UiFault::UnofferedImport("host.send".into()),
            UiFault::WrongExports,
            UiFault::TooLarge,
            UiFault::OutOfMemory,
            UiFault::Hung,
            UiFault::Crashed,
            UiFault::BrokeRules("a rule".into()),
            UiFault::SandboxFailed("why".into()),
        ];
        for fault in faults {
            let (kind, detail) = fault.to_wire();
            assert_eq!(UiFault::from_wire(kind, detail.as_bytes()), fault);
        }
    }

    #[test]
    fn a_name_from_a_bundle_cannot_act_or_fill_the_screen() {
        let name = format!("\x1b]0;pwn\x07{}", "x".repeat(99_999));
        let shown = UiFault::unoffered("m", &name).to_string();
        assert!(shown.contains("m.␛]0;pwn␇"), "{shown}");
        assert!(shown.chars().count() < 120, "{shown}");
    }
}
