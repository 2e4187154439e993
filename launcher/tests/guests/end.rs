//! How a bundle ends, and rows of bundles that are run to their ends. What a row ends in is what a person is told.

use porthole_bridge::Request;
use porthole_launcher::sandbox::UiFault;

use crate::{sandboxed::outcome, text::Text};

/// How a bundle ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It draws.
    Draws,
    NoModule,
    Unoffered,
    Exports,
    Large,
    Memory,
    Hung,
    Crashed,
    Rules,
}

fn end_of(outcome: &Result<Request, UiFault>) -> End {
    match outcome {
        Ok(Request::Frame(_)) => End::Draws,
        Ok(other) => panic!("{other:?}"),
        Err(UiFault::NotAModule) => End::NoModule,
        Err(UiFault::UnofferedImport(_)) => End::Unoffered,
        Err(UiFault::WrongExports) => End::Exports,
        Err(UiFault::TooLarge) => End::Large,
        Err(UiFault::OutOfMemory) => End::Memory,
        Err(UiFault::Hung) => End::Hung,
        Err(UiFault::Crashed) => End::Crashed,
        Err(UiFault::BrokeRules(_)) => End::Rules,
        Err(other @ UiFault::SandboxFailed(_)) => panic!("{other}"),
    }
}

pub(crate) type Row = (&'static str, Vec<u8>, End);

/// Runs each row and checks its end, and that no word of it is dangerous or long.
pub(crate) async fn run(rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for (what, bytes, wanted) in rows {
        let outcome = outcome(bytes).await;
        if let Err(fault) = &outcome {
            let shown = fault.to_string();
            assert!(!shown.chars().any(char::is_control), "{what}: {shown:?}");
            assert!(shown.chars().count() < 130, "{what}: {shown:?}");
        }
        if end_of(&outcome) != wanted {
            wrong.push((what, wanted, outcome));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Does this before it posts its frame.
pub(crate) fn sound(body: &str) -> Vec<u8> {
    Text::first(body).build()
}

/// A loop without an end.
pub(crate) const FOREVER: &str = "(loop $l (br $l))";
