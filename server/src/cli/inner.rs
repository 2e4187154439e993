//! Commands that the server and other programs run: worker, environment, and the decoder of model streams.

use std::{
    fs::File,
    io::{self, Read as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
};

use super::{
    Api, DataArgs, Failure,
    lifecycle::print_json,
    out::{note, say},
};
use crate::redact::{self, Lines, Redaction};

/// Runs one session over the socket that standard input is.
pub(super) fn worker() -> Result<(), Failure> {
    let stdin = io::stdin();
    if rustix::net::sockopt::socket_type(stdin.as_fd()).is_err() {
        return Err(
            Failure::new("the server starts this, with a socket as standard input")
                .hint("`portholed start` starts a server"),
        );
    }
    let socket = UnixStream::from(stdin.as_fd().try_clone_to_owned()?);
    // No child of the worker gets the socket by inheriting standard input.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?).map_err(io::Error::from)?;
    porthole_worker::run(socket).map_err(|error| Failure::new(error.to_string()))
}

/// Serves this machine's files and commands over standard input and output.
pub(super) fn env() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(porthole_env::stdio::serve())?)
}

/// Decodes a model's stream.
pub(super) fn model_stream(api: Api) -> Result<(), Failure> {
    let api = match api {
        Api::Chat => "chat",
        Api::Responses => "responses",
        Api::Messages => "messages",
    };
    let decoded = porthole_worker::model::debug_stream(api, io::stdin().lock());
    print_json(&decoded.map_err(Failure::new)?)
}

/// Prints standard input as a log would keep it, line by line.
pub(super) fn redact(data: &DataArgs) -> Result<(), Failure> {
    let redaction = Redaction::default();
    let weak = redact::learn(&redaction, &data.folder()?, std::env::vars_os());
    for name in weak {
        note!("note: `{name}` is too short or plain to be looked for");
    }
    let (known, mut lines) = (redaction.known(), Lines::default());
    let mut chunk = vec![0; 64 << 10];
    let mut stdin = io::stdin().lock();
    loop {
        let read = stdin.read(&mut chunk)?;
        for line in lines.feed(&known, &chunk[..read]) {
            say!("{line}");
        }
        if read == 0 {
            break;
        }
    }
    if let Some(line) = lines.finish(&known) {
        say!("{line}");
    }
    Ok(())
}
