//! The child that compiles (`porthole ui-compile`): a bundle on stdin, one byte and code (or words) on stdout, then it is gone.
//! It runs nothing of the bundle.

use std::{
    io::{self, Read as _, Write as _},
    process::ExitCode,
};

use porthole_bridge::limits::{CODE_BYTES, MODULE_BYTES};

use super::{
    Effort, UiFault, engine,
    walls::{self, Purpose},
};

/// The argument for a quick compilation; without it, it is thorough and gives way to everything else on the machine.
pub(super) const QUICK: &str = "quick";
/// How far a thorough compilation stands back: nobody waits for it.
const NICE: i32 = 10;

/// Runs the child.
pub fn main() -> ExitCode {
    let effort = match std::env::args_os().nth(2) {
        Some(word) if word == QUICK => Effort::Quick,
        _ => Effort::Thorough,
    };
    if effort == Effort::Thorough {
        // Where it cannot stand back it is only less polite.
        let _ = rustix::process::nice(NICE);
    }
    walls::close_all_but_pipes();
    let standing = walls::raise_first(Purpose::Compile);
    let mut bundle = Vec::new();
    let bound = MODULE_BYTES as u64 + 1;
    let read = io::stdin().lock().take(bound).read_to_end(&mut bundle);
    walls::raise_last(Purpose::Compile, standing);
    let answer = match read {
        Ok(_) => compile(&bundle, effort),
        Err(_) => Err(UiFault::SandboxFailed("its pipe".into())),
    };
    match write(&answer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn compile(bundle: &[u8], effort: Effort) -> Result<Vec<u8>, UiFault> {
    // Once more, on this side of the wall: this process believes nobody about the counts.
    crate::bundle::inspect(bundle)?;
    let engine =
        engine::compiler(effort).ok_or_else(|| UiFault::SandboxFailed("no engine here".into()))?;
    // The text of the error carries the module's own bytes; it goes nowhere.
    let code = engine
        .precompile_module(bundle)
        .map_err(|_| UiFault::NotAModule)?;
    if code.len() > CODE_BYTES {
        return Err(UiFault::TooLarge);
    }
    Ok(code)
}

fn write(answer: &Result<Vec<u8>, UiFault>) -> io::Result<()> {
    let (kind, rest) = match answer {
        Ok(code) => (0, code.as_slice()),
        Err(fault) => {
            let (kind, detail) = fault.to_wire();
            (kind, detail.as_bytes())
        }
    };
    let mut out = io::stdout().lock();
    out.write_all(&[kind])?;
    out.write_all(rest)?;
    out.flush()
}
