//! What is kept of commands' output: ranges of it for viewers, and what a worker that died left behind. Writing it is
//! the tool's.
//!
//! The name of a file tells its generation, so that a read of one that was replaced is told so.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use porthole_protocol::{CallError, ErrorCode, RunId, RunOutput, replies};

use crate::{
    call::Phase,
    calls::OutputRange,
    conversation::Conversation,
    tool::{MOST_GENERATIONS, run_file},
};

/// Reads a range. `running`: whether more may come.
pub(super) fn read(
    runs: &Path,
    range: &OutputRange,
    running: bool,
) -> Result<replies::Output, CallError> {
    let held = held(runs, &range.run).ok_or_else(missing)?;
    if held.0 != range.generation {
        let message = "that output was replaced by another";
        return Err(CallError::new(ErrorCode::Conflict, message).hint("read it again from the row"));
    }
    let (bytes, total) = part(&held.1, range).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(),
        _ => CallError::new(
            ErrorCode::Unavailable,
            format!("the output cannot be read: {error}"),
        ),
    })?;
    Ok(replies::Output {
        base64: STANDARD.encode(&bytes),
        from: range.from,
        total,
        generation: range.generation,
        complete: !running,
    })
}

fn missing() -> CallError {
    CallError::new(ErrorCode::NotFound, "there is no output of that run")
}

fn part(path: &Path, range: &OutputRange) -> io::Result<(Vec<u8>, u64)> {
    let mut file = File::open(path)?;
    let total = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(range.from))?;
    file.take(u64::from(range.bytes)).read_to_end(&mut bytes)?;
    Ok((bytes, total))
}

/// Returns the generation of a run's output that is held, and its file.
fn held(runs: &Path, run: &RunId) -> Option<(u32, PathBuf)> {
    let newest_first = (0..=MOST_GENERATIONS).rev();
    let mut files = newest_first.map(|generation| (generation, run_file(runs, run, generation)));
    // A link, a folder or a pipe was not made by us.
    files.find(|(_, path)| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file()))
}

/// Finds what a worker that died had kept of the commands that ran.
pub(super) fn find(runs: &Path, conversation: &mut Conversation) {
    for shell in &mut conversation.shells {
        shell.output = left(runs, &shell.row.run);
    }
    for call in conversation
        .turn
        .iter_mut()
        .flat_map(|turn| &mut turn.calls)
    {
        if call.phase == Phase::Running
            && let Ok(run) = RunId::parse(call.row.call.as_str())
        {
            call.output = left(runs, &run);
        }
    }
}

fn left(runs: &Path, run: &RunId) -> Option<RunOutput> {
    let (generation, path) = held(runs, run)?;
    let bytes = fs::metadata(path).ok()?.len();
    (bytes > 0).then(|| RunOutput {
        run: run.clone(),
        bytes,
        generation,
        complete: true,
        // What came after the worker died is not in it.
        source_incomplete: true,
    })
}
