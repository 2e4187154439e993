//! The server's socket for commands of the same user: one line of JSON asks, one line answers; or it becomes a link of the
//! owner, with the same frames as the WebSocket, one a line. Only this user can reach it: 0600 in a 0700 folder.

use std::{
    fs::{File, OpenOptions, Permissions},
    io,
    os::{
        fd::AsRawFd as _,
        unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use porthole_protocol::{SessionId, limits::CLIENT_FRAME_BYTES};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader,
    },
    net::{UnixListener, UnixStream},
};

use crate::{
    access::OWNER_LINK_SECONDS,
    data::make_private,
    outbox::{Next, Out},
    pass::Pass,
    server::Server,
    switchboard::{Counts, Input},
};

/// What a command asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// How it is.
    Status,
    /// To end.
    Stop,
    /// For an owner link.
    OwnerLink,
    /// To become a link.
    Link,
    /// To make a session of a file.
    Import {
        /// The file, as an absolute path.
        path: String,
        /// A title; `None`: what the file says.
        title: Option<String>,
    },
}

/// What it is told. A link is in it as plain text, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub enum Tell {
    /// How it is.
    Status(Status),
    /// It ends.
    Done,
    /// An owner link.
    OwnerLink {
        /// The link. A secret.
        link: String,
        /// For how many seconds it can be used.
        seconds: u64,
    },
    /// A file became a session.
    Imported {
        /// Which.
        session: SessionId,
        /// How many entries it has.
        entries: usize,
        /// How many parts of the file have no place in it.
        skipped: usize,
    },
    /// It could not.
    Failed {
        /// Why, for a person.
        message: String,
        /// What to do next; may be empty.
        #[serde(default)]
        hint: String,
    },
}

/// How the server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Where it listens.
    pub address: String,
    /// For how many seconds it has been up.
    pub up_seconds: u64,
    /// Its data folder.
    pub data: String,
    /// The UI that it hands out: name, version and the first digits of the hash.
    pub bundle: String,
    /// How many of everything there are.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A path by which a socket can be reached, however deep its folder lies; good while it lives.
pub struct SocketPath {
    path: PathBuf,
    _folder: File,
}

impl SocketPath {
    /// Returns the path of a data folder's socket. A socket address holds about a hundred bytes, so it goes by the open folder.
    ///
    /// # Errors
    /// Where the folder cannot be opened.
    pub fn of(data: &Path) -> io::Result<Self> {
        let folder = data.join("run");
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::DIRECTORY.bits().cast_signed())
            .open(&folder)?;
        let path = match folder.as_os_str().len() < 90 {
            true => folder.join("socket"),
            false => PathBuf::from(format!("/proc/self/fd/{}/socket", opened.as_raw_fd())),
        };
        Ok(Self {
            path,
            _folder: opened,
        })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Listens on the socket of a data folder that this process has for itself.
///
/// # Errors
/// Where that fails.
pub fn listen(data: &Path) -> io::Result<UnixListener> {
    make_private(&data.join("run"))?;
    let socket = SocketPath::of(data)?;
    // The folder is locked by this process: whoever made this file is gone.
    match std::fs::remove_file(socket.path()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket.path())?;
    std::fs::set_permissions(socket.path(), Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves until it is dropped.
pub async fn serve(
    server: Arc<Server>,
    listener: UnixListener,
    status: impl Fn() -> Status + Clone + Send + 'static,
) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (server, status) = (server.clone(), status.clone());
                tokio::spawn(async move {
                    if let Err(error) = talk(&server, stream, status).await {
                        tracing::debug!("a command's connection ended: {error}");
                    }
                });
            }
            Err(error) => {
                tracing::warn!("cannot accept a command: {error}");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

async fn talk(
    server: &Arc<Server>,
    stream: UnixStream,
    status: impl Fn() -> Status,
) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let Some(line) = read_line(&mut reader).await? else {
        return Ok(());
    };
    let ask: Ask = serde_json::from_slice(&line)?;
    if ask == Ask::Link {
        return link(server, reader, writer).await;
    }
    let told = match ask {
        Ask::Import { path, title } => import(server, path.into(), title).await,
        ask => answer(server, &ask, status),
    };
    let mut line = serde_json::to_vec(&told)?;
    line.push(b'\n');
    writer.write_all(&line).await
}

fn answer(server: &Arc<Server>, ask: &Ask, status: impl Fn() -> Status) -> Tell {
    let told = match ask {
        Ask::Status => Ok(Tell::Status(status())),
        Ask::Stop => {
            server.shut_down();
            Ok(Tell::Done)
        }
        Ask::OwnerLink => server.owner_link().map(|link| Tell::OwnerLink {
            link,
            seconds: OWNER_LINK_SECONDS,
        }),
        // They were answered before.
        Ask::Link | Ask::Import { .. } => Ok(Tell::Done),
    };
    told.unwrap_or_else(|error| Tell::Failed {
        message: format!("the catalog failed: {error}"),
        hint: String::new(),
    })
}

async fn import(server: &Arc<Server>, path: PathBuf, title: Option<String>) -> Tell {
    match server.import(path, title).await {
        Ok(made) => Tell::Imported {
            session: made.session,
            entries: made.entries,
            skipped: made.skipped,
        },
        Err(error) => Tell::Failed {
            message: error.message,
            hint: error.hint,
        },
    }
}

async fn link(
    server: &Arc<Server>,
    mut reader: impl AsyncBufRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (connection, outlet) = server.connect(server.owner(), Pass::Command);
    let read = async {
        while let Some(line) = read_line(&mut reader).await? {
            let text = std::str::from_utf8(&line).unwrap_or("");
            server.handle(Input::of_text(connection, text));
        }
        Ok(())
    };
    let write = async {
        loop {
            match outlet.next().await {
                Next::Send(batch) => write_batch(&mut writer, &batch).await?,
                Next::Refresh(topic) => server.handle(Input::Refresh { connection, topic }),
                Next::Wait => {}
                Next::End => return Ok(()),
            }
        }
    };
    let ended = tokio::select! {
        ended = read => ended,
        ended = write => ended,
        () = outlet.until_overfull() => Ok(()),
    };
    server.disconnect(connection);
    ended
}

async fn write_batch(writer: &mut (impl AsyncWrite + Unpin), batch: &[Out]) -> io::Result<()> {
    for out in batch {
        match out {
            Out::Text(text) => {
                writer.write_all(text.as_bytes()).await?;
                writer.write_all(b"\n").await?;
            }
            // What concerns a launcher concerns no command.
            Out::Control(_) => {}
        }
    }
    writer.flush().await
}

/// Returns the next line without its end, `None` at the end; a line is at most one frame long.
async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = CLIENT_FRAME_BYTES as u64 + 1;
    let read = (&mut *reader)
        .take(limit)
        .read_until(b'\n', &mut line)
        .await?;
    if read == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a line without an end",
        ));
    }
    Ok(Some(line))
}
