//! The child that runs a UI (`porthole ui-sandbox`): messages on stdin, posts on stdout, the compiled bundle in place of
//! stderr. It decodes no message, and by the time code of the bundle runs it can open and reach nothing.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufReader, Read},
    process::ExitCode,
    thread,
};

use porthole_bridge::limits::{MESSAGE_BYTES, THREAD_STACK};
use wasmtime::Module;

use super::{
    UiFault, engine, pipe,
    ticker::{Patience, Ticker},
    ui::Ui,
    walls::{self, Purpose, Walls},
};

/// Room for one ordinary message and its head, so that each costs one read.
const READ_AHEAD: usize = 64 << 10;

/// Runs the child until its stdin ends or the UI does.
pub fn main() -> ExitCode {
    let Ok(artifact) = take_artifact() else {
        return ExitCode::FAILURE;
    };
    let standing = walls::raise_first(Purpose::Run);
    // The wasm stack must fit the thread's: a smaller one would end the process, not the call.
    let worker = thread::Builder::new()
        .name("ui".into())
        .stack_size(THREAD_STACK)
        .spawn(move || run(artifact, standing));
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        Ok(Ok(Err(fault))) => {
            let _ = tell(&fault);
            ExitCode::FAILURE
        }
        _ => ExitCode::FAILURE,
    }
}

/// Takes the compiled bundle from the place of stderr, and puts nothing there: no word of this process reaches a screen.
fn take_artifact() -> io::Result<File> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    let artifact = rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(File::from(artifact))
}

fn run(artifact: File, standing: Walls) -> Result<(), UiFault> {
    let (mut ui, standing) = load(artifact, standing)?;
    let report = serde_json::to_vec(&standing).unwrap_or_default();
    let mut out = Vec::new();
    pipe::push(&mut out, pipe::READY, &report);
    if write(&out).is_err() {
        return Ok(());
    }
    let mut input = BufReader::with_capacity(READ_AHEAD, Stdin);
    let mut message = Vec::new();
    while let Some(patience) = read(&mut input, &mut message)? {
        let mut posts = ui.call(&message, patience)?;
        pipe::push(&mut posts, pipe::DONE, &[]);
        if write(&posts).is_err() {
            break;
        }
        ui.reuse(posts);
    }
    Ok(())
}

fn load(artifact: File, standing: Walls) -> Result<(Ui, Walls), UiFault> {
    let failed = |why: &str| UiFault::SandboxFailed(why.into());
    let engine = engine::engine().ok_or_else(|| failed("no engine here"))?;
    let module = deserialize(&engine, artifact).ok_or_else(|| failed(STALE))?;
    let ticker = Ticker::start(&engine).map_err(|_| failed("no ticker"))?;
    // The file of the code stays mapped; its descriptor goes now, and with it every other one. The module must never
    // close it again, since its number could be another's by then: one reference is kept for ever.
    std::mem::forget(module.clone());
    walls::close_all_but_pipes();
    let standing = walls::raise_last(Purpose::Run, standing);
    let ui = Ui::new(&engine, &module, ticker)?;
    Ok((ui, standing))
}

/// What a child says of a compiled bundle of another launcher; its parent throws the file away.
pub(super) const STALE: &str = "the compiled interface is not for here";

#[expect(
    unsafe_code,
    reason = "compiled code is mapped and run: that is this process's whole purpose"
)]
fn deserialize(engine: &wasmtime::Engine, artifact: File) -> Option<Module> {
    // SAFETY: the launcher opened this file in a folder that only its user can write, after its own compile child made
    // it. Where that does not hold, this process can do nothing that the bundle could not.
    unsafe { Module::deserialize_open_file(engine, artifact) }.ok()
}

/// Reads one message. `None`: the launcher is gone.
fn read(input: &mut impl Read, message: &mut Vec<u8>) -> Result<Option<Patience>, UiFault> {
    let mut head = [0; pipe::HEAD];
    if input.read_exact(&mut head).is_err() {
        return Ok(None);
    }
    let (length, kind) = pipe::head(&head);
    let patience = match kind {
        pipe::CALL => Patience::Short,
        pipe::LONG_CALL => Patience::Long,
        _ => return Err(UiFault::SandboxFailed("an unknown message".into())),
    };
    if length > MESSAGE_BYTES {
        return Err(UiFault::SandboxFailed("an oversized message".into()));
    }
    message.resize(length, 0);
    Ok(input.read_exact(message).is_ok().then_some(patience))
}

fn tell(fault: &UiFault) -> io::Result<()> {
    let (kind, detail) = fault.to_wire();
    let mut body = vec![kind];
    body.extend_from_slice(detail.as_bytes());
    let mut out = Vec::new();
    pipe::push(&mut out, pipe::FAULT, &body);
    write(&out)
}

/// Writes in as few system calls as the pipe allows: one for a call's posts together.
fn write(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The pipe itself: the standard library's stdin would add a second buffer and a lock.
struct Stdin;

impl Read for Stdin {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(rustix::stdio::stdin(), bytes)?)
    }
}
