//! A command's way to the running server: its socket in the data folder. Blocking; it starts no server.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

use porthole_protocol::{
    Call, ClientFrame, PROTOCOL_VERSION, ServerFrame, decode, encode,
    limits::{CLIENT_FRAME_BYTES, SERVER_FRAME_BYTES},
};
use serde::de::DeserializeOwned;

use super::{DataArgs, Failure};
use crate::{
    data::Holder,
    local::{Ask, SocketPath, Tell},
};

/// How long a server may take to say its first word.
const ANSWER_BOUND: Duration = Duration::from_secs(5);

/// Asks the running server one thing.
pub(super) fn ask(data: &DataArgs, ask: &Ask) -> Result<Tell, Failure> {
    let folder = data.folder()?;
    try_ask(&folder, ask)?.ok_or_else(|| not_running(&folder))
}

/// Asks the running server one thing; `None` where none runs.
pub(super) fn try_ask(folder: &Path, ask: &Ask) -> Result<Option<Tell>, Failure> {
    let Some(mut stream) = connect(folder)? else {
        return Ok(None);
    };
    write_line(&mut stream, ask)?;
    let line = read_answer(folder, &mut BufReader::new(stream))?;
    told(&line).map(Some)
}

/// Asks the running server one thing that may take its time.
pub(super) fn ask_for_long(data: &DataArgs, ask: &Ask) -> Result<Tell, Failure> {
    let folder = data.folder()?;
    let mut stream = connect(&folder)?.ok_or_else(|| not_running(&folder))?;
    stream.set_read_timeout(None)?;
    write_line(&mut stream, ask)?;
    told(&read_line(&mut BufReader::new(stream))?)
}

fn told(line: &str) -> Result<Tell, Failure> {
    match serde_json::from_str(line).map_err(|_| strange())? {
        Tell::Failed { message, hint } => Err(Failure::new(message).hint(hint)),
        tell => Ok(tell),
    }
}

/// What is said where the answer is another than the question's.
pub(super) fn strange() -> Failure {
    Failure::new("the server's answer does not parse")
        .hint("it may be of another version: `portholed stop`, then `portholed start`")
}

/// A link to the running server, as the owner.
pub(super) struct Link {
    reader: BufReader<UnixStream>,
    next_id: u64,
    /// Frames that came while a reply was waited for.
    kept: std::collections::VecDeque<ServerFrame>,
}

impl Link {
    /// Opens a link.
    pub(super) fn open(data: &DataArgs) -> Result<Self, Failure> {
        let folder = data.folder()?;
        let mut stream = connect(&folder)?.ok_or_else(|| not_running(&folder))?;
        write_line(&mut stream, &Ask::Link)?;
        let mut link = Self {
            reader: BufReader::new(stream),
            next_id: 1,
            kept: Default::default(),
        };
        let line = read_answer(&folder, &mut link.reader)?;
        match decode(&line, SERVER_FRAME_BYTES) {
            Ok(ServerFrame::Hello { protocol, .. }) if protocol == PROTOCOL_VERSION => {}
            Ok(ServerFrame::Hello { protocol, .. }) => {
                return Err(Failure::new(format!(
                    "the running server speaks protocol {protocol}, this command {PROTOCOL_VERSION}"
                ))
                .hint(
                    "`portholed stop`, then `portholed start`, runs the version of the command",
                ));
            }
            _ => return Err(strange()),
        }
        // From here on it may be silent for as long as it works.
        link.reader.get_ref().set_read_timeout(None)?;
        Ok(link)
    }

    /// Sends a frame.
    pub(super) fn send(&mut self, frame: &ClientFrame) -> Result<(), Failure> {
        let mut text = encode(frame, CLIENT_FRAME_BYTES).map_err(|_| {
            Failure::new("the text is too long").hint("put it into a file and name that")
        })?;
        text.push('\n');
        Ok(self.reader.get_mut().write_all(text.as_bytes())?)
    }

    /// Returns the next frame; waits for it.
    pub(super) fn next(&mut self) -> Result<ServerFrame, Failure> {
        match self.kept.pop_front() {
            Some(frame) => Ok(frame),
            None => self.read(),
        }
    }

    /// Calls and waits for the reply.
    pub(super) fn call<T: DeserializeOwned>(&mut self, call: Call) -> Result<T, Failure> {
        let id = self.post(call)?;
        loop {
            match self.read()? {
                ServerFrame::Reply { id: of, result } if of == id => {
                    return serde_json::from_str(result.get()).map_err(|_| strange());
                }
                ServerFrame::Error { id: of, error } if of.is_none_or(|of| of == id) => {
                    return Err(error.into());
                }
                frame => self.kept.push_back(frame),
            }
        }
    }

    /// Calls without waiting; the reply comes as a frame.
    pub(super) fn post(&mut self, call: Call) -> Result<u64, Failure> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&ClientFrame::Call { id, call })?;
        Ok(id)
    }

    fn read(&mut self) -> Result<ServerFrame, Failure> {
        let line = read_line(&mut self.reader)?;
        decode(&line, SERVER_FRAME_BYTES).map_err(|_| strange())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let _ = self.reader.get_ref().shutdown(Shutdown::Both);
    }
}

fn connect(folder: &Path) -> Result<Option<UnixStream>, Failure> {
    let stream = SocketPath::of(folder).and_then(|socket| UnixStream::connect(socket.path()));
    match stream {
        Ok(stream) => {
            stream.set_read_timeout(Some(ANSWER_BOUND))?;
            Ok(Some(stream))
        }
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(Failure::new(format!("cannot reach the server: {error}"))
                .hint("the data folder belongs to the user who started the server")),
        },
    }
}

/// Returns the first line that the server says. One that hangs is named: it cannot be asked to end.
fn read_answer(folder: &Path, reader: &mut BufReader<UnixStream>) -> Result<String, Failure> {
    match reader.fill_buf() {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(hangs(folder)),
        _ => read_line(reader),
    }
}

fn hangs(folder: &Path) -> Failure {
    let holder = Holder::of(folder).unwrap_or_default();
    let failure = Failure::new(format!("the server does not answer: it is {holder}"));
    match holder.pid() {
        Some(pid) => failure.hint(format!(
            "`portholed logs` may say why; `kill -9 {pid}` ends it, and nothing that was acknowledged is lost"
        )),
        None => failure.hint("`portholed logs` may say why"),
    }
}

fn not_running(folder: &Path) -> Failure {
    if let Some(holder) = Holder::of(folder) {
        return Failure::new(format!(
            "the data folder `{}` is in use by {holder}, which cannot be reached",
            folder.display()
        ))
        .hint("it may be starting or ending: try again");
    }
    Failure::new(format!(
        "no server is running with the data folder `{}`",
        folder.display()
    ))
    .hint("start one with `portholed start`")
}

fn write_line(stream: &mut UnixStream, ask: &Ask) -> Result<(), Failure> {
    let mut line = serde_json::to_vec(ask).map_err(|error| Failure::new(error.to_string()))?;
    line.push(b'\n');
    Ok(stream.write_all(&line)?)
}

fn read_line(reader: &mut BufReader<UnixStream>) -> Result<String, Failure> {
    let mut line = String::new();
    reader
        .take(SERVER_FRAME_BYTES as u64 + 1)
        .read_line(&mut line)?;
    if line.pop() != Some('\n') {
        return Err(
            Failure::new("the server closed the connection").hint("look at `portholed logs`")
        );
    }
    Ok(line)
}
