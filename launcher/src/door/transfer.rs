//! The door's requests of transfers: an upload's five and a download's one. Trying again is not decided here.

use std::time::Duration;

use porthole_door::{
    Attached, Download, Failure as Told, HEADER_NAME, HEADER_TOTAL, HEADER_VERSION, PATH_UPLOAD,
    UploadFinish, UploadOpen, UploadState, chunk_path, finish_path, upload_path,
};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::DeserializeOwned;

use super::{DoorError, Proved, error, post_json, read_bounded, read_json};
use crate::{credential::Record, escape};

/// How long a chunk or a range may stand still.
pub(crate) const STALL: Duration = Duration::from_secs(60);
/// Columns of a server's own sentence that are shown.
const TOLD_COLUMNS: usize = 200;

/// Why a request of a transfer was not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// At the door, as with any request.
    Door(DoorError),
    /// The server said no, in its own words, escaped.
    Told {
        /// The status.
        status: u16,
        /// What it said.
        message: String,
        /// What to do next; may be empty.
        hint: String,
    },
}

/// One range of a download.
pub struct Range {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Bytes in the whole.
    pub total: u64,
    /// The content version.
    pub version: String,
    /// `Content-Disposition`, where there is one.
    pub disposition: Option<String>,
}

impl From<DoorError> for Answered {
    fn from(error: DoorError) -> Self {
        Self::Door(error)
    }
}

impl Proved<'_> {
    /// Begins an upload.
    ///
    /// # Errors
    /// [`Answered`]
    pub async fn upload_open(
        &self,
        record: &Record,
        open: &UploadOpen,
    ) -> Result<UploadState, Answered> {
        let request = post_json(self.with_cookie(Method::POST, PATH_UPLOAD, record), open);
        self.json(request).await
    }

    /// Asks which chunk comes next.
    ///
    /// # Errors
    /// [`Answered`]
    pub async fn upload_state(
        &self,
        record: &Record,
        upload: &str,
    ) -> Result<UploadState, Answered> {
        self.json(self.with_cookie(Method::GET, &upload_path(upload), record))
            .await
    }

    /// Sends a chunk.
    ///
    /// # Errors
    /// [`Answered`]
    pub async fn upload_chunk(
        &self,
        record: &Record,
        upload: &str,
        chunk: u64,
        bytes: Vec<u8>,
    ) -> Result<UploadState, Answered> {
        let request = self
            .with_cookie(Method::PUT, &chunk_path(upload, chunk), record)
            .header("content-type", "application/octet-stream")
            .timeout(STALL)
            .body(bytes);
        self.json(request).await
    }

    /// Ends an upload.
    ///
    /// # Errors
    /// [`Answered`]
    pub async fn upload_finish(
        &self,
        record: &Record,
        upload: &str,
        finish: &UploadFinish,
    ) -> Result<Attached, Answered> {
        let request = self
            .with_cookie(Method::POST, &finish_path(upload), record)
            .timeout(STALL);
        self.json(post_json(request, finish)).await
    }

    /// Takes an upload back.
    ///
    /// # Errors
    /// [`Answered`]
    pub async fn upload_discard(&self, record: &Record, upload: &str) -> Result<(), Answered> {
        let request = self.with_cookie(Method::DELETE, &upload_path(upload), record);
        told(self.0.send(request).await?).await.map(|_| ())
    }

    /// Reads one range of a download.
    ///
    /// # Errors
    /// [`Answered`]
    pub async fn range(&self, record: &Record, asked: &Download) -> Result<Range, Answered> {
        let request = self
            .with_cookie(Method::GET, &asked.to_path(), record)
            .timeout(STALL);
        let response = told(self.0.send(request).await?).await?;
        let text = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let (Some(total), Some(version)) = (
            text(HEADER_TOTAL).and_then(|text| text.parse().ok()),
            text(HEADER_VERSION).filter(|version| version.len() <= 128),
        ) else {
            return Err(DoorError::NotPorthole.into());
        };
        let disposition = text(HEADER_NAME);
        let most = usize::try_from(asked.bytes).unwrap_or(usize::MAX);
        let bytes = read_bounded(response, most, |_| ()).await?;
        Ok(Range {
            bytes,
            total,
            version,
            disposition,
        })
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Answered> {
        Ok(read_json(told(self.0.send(request).await?).await?).await?)
    }
}

/// Returns the answer, or what the server said in place of one. Only 401 says that the credential is worth nothing.
async fn told(response: Response) -> Result<Response, Answered> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let in_words = matches!(
        status,
        StatusCode::BAD_REQUEST
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::CONFLICT
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::INSUFFICIENT_STORAGE
    );
    if !in_words {
        return Err(error::from_response(response).await.into());
    }
    let told: Told = read_json(response).await?;
    let shown = |text: &str| escape::visible_cut(text.trim_end_matches('.'), TOLD_COLUMNS);
    Err(Answered::Told {
        status: status.as_u16(),
        message: shown(&told.message),
        hint: shown(&told.hint),
    })
}
