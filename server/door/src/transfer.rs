//! Transfers: uploads in chunks, downloads in ranges. Names, bodies, sizes and the one form of a download's address.
//!
//! Upload: `POST /door/upload` opens; `PUT /door/upload/ID/N` brings chunk N, in order; `GET /door/upload/ID` says which
//! comes next; `POST /door/upload/ID/finish` names the hash of the whole and makes it an attachment; `DELETE /door/upload/ID`
//! takes it back. Download: `GET /door/download?…` answers one range; the headers name total size and content version.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use serde::{Deserialize, Serialize};

/// `POST`: an upload begins. Also the prefix of everything that concerns it.
pub const PATH_UPLOAD: &str = "/door/upload";
/// `GET`: one range of something of a session.
pub const PATH_DOWNLOAD: &str = "/door/download";

/// Bytes of every chunk of an upload but the last.
pub const UPLOAD_CHUNK: usize = 1 << 20;
/// Most chunks of one upload.
pub const UPLOAD_CHUNKS: u64 = 2_048;
/// Largest upload where the owner set nothing else.
pub const UPLOAD_BYTES: u64 = 25 << 20;
/// Largest range of a download.
pub const DOWNLOAD_RANGE: u64 = 4 << 20;
/// Largest download where nothing else was set.
pub const DOWNLOAD_BYTES: u64 = 25 << 20;

/// Header of a range: the content version, an opaque text. Another one than before means that the file changed.
pub const HEADER_VERSION: &str = "x-porthole-version";
/// Header of a range: bytes in the whole.
pub const HEADER_TOTAL: &str = "x-porthole-total";
/// Header of a range: the media type of the whole; the answer itself is always `application/octet-stream`.
pub const HEADER_TYPE: &str = "x-porthole-type";
/// Header of a range: the server's name of the file, as `Content-Disposition`.
pub const HEADER_NAME: &str = "content-disposition";

/// Begins an upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadOpen {
    /// The session it is for.
    pub session: String,
    /// The file's name: a single component.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its media type, as the sender sees it.
    pub media_type: String,
}

/// Where an upload is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadState {
    /// Its id.
    pub upload: String,
    /// The chunk that comes next; as many as there are: nothing is missing.
    pub next: u64,
    /// How many chunks there are.
    pub chunks: u64,
}

/// Ends an upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadFinish {
    /// SHA-256 of the whole, 64 lower-case hex digits.
    pub sha256: String,
}

/// A finished upload: an attachment of its session, on disk before this is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The attachment's id.
    pub id: String,
    /// The name as it is kept: a single component without control characters.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its media type as it is kept.
    pub media_type: String,
}

/// Asks for one range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// The session; empty: the one that has an attachment or an output of this id.
    pub session: String,
    /// What of it.
    pub source: Source,
    /// The first byte.
    pub from: u64,
    /// How many bytes, at most [`DOWNLOAD_RANGE`]; fewer come at the end.
    pub bytes: u64,
}

/// What can be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An attachment, by its id.
    Attachment(String),
    /// A file in the session's working directory: its path, as bytes.
    File(Vec<u8>),
    /// The whole output of a command, by the id of its run.
    Output(String),
    /// A session written into a file, by the id that its export named.
    Export(String),
}

/// An address that asks for no range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of the download does not parse")]
pub struct Confusion;

/// Everything but what stands for itself in a query.
const QUERY: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'+')
    .add(b'<')
    .add(b'=')
    .add(b'>')
    .add(b'?');

/// Returns how many chunks `bytes` are; none for nothing.
pub fn chunks(bytes: u64) -> u64 {
    bytes.div_ceil(UPLOAD_CHUNK as u64)
}

/// Returns the path of an upload.
pub fn upload_path(upload: &str) -> String {
    format!("{PATH_UPLOAD}/{upload}")
}

/// Returns the path of a chunk.
pub fn chunk_path(upload: &str, chunk: u64) -> String {
    format!("{PATH_UPLOAD}/{upload}/{chunk}")
}

/// Returns the path that ends an upload.
pub fn finish_path(upload: &str) -> String {
    format!("{PATH_UPLOAD}/{upload}/finish")
}

impl Download {
    /// Returns the path with its query.
    pub fn to_path(&self) -> String {
        let (kind, value) = match &self.source {
            Source::Attachment(id) => ("attachment", id.as_bytes()),
            Source::File(path) => ("file", path.as_slice()),
            Source::Output(run) => ("output", run.as_bytes()),
            Source::Export(id) => ("export", id.as_bytes()),
        };
        format!(
            "{PATH_DOWNLOAD}?session={}&{kind}={}&from={}&bytes={}",
            percent_encode(self.session.as_bytes(), QUERY),
            percent_encode(value, QUERY),
            self.from,
            self.bytes
        )
    }

    /// Returns what a query asks for.
    ///
    /// # Errors
    /// Where a part is missing, there twice or unknown.
    pub fn from_query(query: &str) -> Result<Self, Confusion> {
        let (mut session, mut source, mut from, mut bytes) = (None, None, None, None);
        for pair in query.split('&') {
            let (key, value) = pair.split_once('=').ok_or(Confusion)?;
            match key {
                "session" => once(&mut session, text(value)?)?,
                "attachment" => once(&mut source, Source::Attachment(text(value)?))?,
                "file" => once(
                    &mut source,
                    Source::File(percent_decode_str(value).collect()),
                )?,
                "output" => once(&mut source, Source::Output(text(value)?))?,
                "export" => once(&mut source, Source::Export(text(value)?))?,
                "from" => once(&mut from, number(value)?)?,
                "bytes" => once(&mut bytes, number(value)?)?,
                _ => return Err(Confusion),
            }
        }
        match (session, source, from, bytes) {
            (Some(session), Some(source), Some(from), Some(bytes)) => Ok(Self {
                session,
                source,
                from,
                bytes,
            }),
            _ => Err(Confusion),
        }
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), Confusion> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Confusion),
    }
}

fn text(value: &str) -> Result<String, Confusion> {
    String::from_utf8(percent_decode_str(value).collect()).map_err(|_| Confusion)
}

fn number(value: &str) -> Result<u64, Confusion> {
    match value.bytes().all(|byte| byte.is_ascii_digit()) {
        true => value.parse().map_err(|_| Confusion),
        false => Err(Confusion),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_with_something_twice_or_strange_is_refused() {
        for bad in [
            "",
            "session=a",
            "session=a&file=b&from=0",
            "session=a&file=b&output=c&from=0&bytes=1",
            "session=a&session=b&file=c&from=0&bytes=1",
            "session=a&file=b&from=+0&bytes=1",
            "session=a&file=b&from=0&bytes=1&x=1",
            "session=%ff&file=b&from=0&bytes=1",
        ] {
            assert_eq!(Download::from_query(bad), Err(Confusion), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_asked_for_is_what_is_read(
            session in ".*", path in proptest::collection::vec(any::<u8>(), 0..64), from: u64, bytes: u64
        ) {
            let asked = Download { session, source: Source::File(path), from, bytes };
            let path = asked.to_path();
            let query = path.strip_prefix(PATH_DOWNLOAD).and_then(|rest| rest.strip_prefix('?'));
            prop_assert_eq!(Download::from_query(query.expect("a query")), Ok(asked));
        }

        #[test]
        fn any_query_is_read_or_refused(query in ".*") {
            let _ = Download::from_query(&query);
        }
    }
}
