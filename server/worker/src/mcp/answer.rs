//! A server's answer to a call, as a tool's result: text within a bound, images as files of the session.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use porthole_protocol::{Attachment, AttachmentId, RunId, ToolOutcome};
use ring::digest;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::json;

use super::offer::plain;
use crate::{attachment, call::told, fit, tool::ToolResult};

/// Most of what the model is told.
const TEXT_BYTES: usize = 50 << 10;
/// Most images of one answer.
const MOST_IMAGES: usize = 8;
/// Largest image.
const IMAGE_BYTES: usize = 5 << 20;

/// Returns an answer as a result. Images are put into the session's folder, named after the run.
pub(super) fn result(answer: CallToolResult, blobs: &Path, run: &RunId) -> ToolResult {
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for block in &answer.content {
        texts.push(match block {
            ContentBlock::Text(text) => plain(&text.text),
            ContentBlock::Image(image) => {
                let kept = (files.len() < MOST_IMAGES)
                    .then(|| keep(&image.data, blobs, run, files.len() + 1))
                    .flatten();
                match kept {
                    Some(file) => {
                        let text = format!("(Image `{}`, shown below.)", file.name);
                        files.push(file);
                        text
                    }
                    None => "(An image that cannot be shown is left out.)".to_owned(),
                }
            }
            ContentBlock::Audio(_) => "(Sound is left out.)".to_owned(),
            ContentBlock::Resource(resource) => match &resource.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    format!("{}:\n{}", plain(uri), plain(text))
                }
                ResourceContents::BlobResourceContents { uri, .. } => {
                    format!("({}: not text, left out.)", plain(uri))
                }
                _ => "(Something unknown is left out.)".to_owned(),
            },
            ContentBlock::ResourceLink(link) => format!("(See {}.)", plain(&link.uri)),
            _ => "(Something unknown is left out.)".to_owned(),
        });
    }
    if answer.content.is_empty()
        && let Some(value) = &answer.structured_content
    {
        texts.push(plain(&value.to_string()));
    }
    let text = fit::ends(&texts.join("\n"), TEXT_BYTES);
    let failed = answer.is_error == Some(true);
    let outcome = if failed {
        ToolOutcome::Failed
    } else {
        ToolOutcome::Ok
    };
    let first = text.lines().find(|line| !line.trim().is_empty());
    let summary = fit::start(first.unwrap_or("nothing"), 120);
    ToolResult {
        attachments: files,
        ..told(outcome, &summary, text)
    }
}

/// Keeps an image as a file of the session; `None`: it is none that a model takes, or it cannot be kept.
fn keep(data: &str, blobs: &Path, run: &RunId, number: usize) -> Option<Attachment> {
    if data.len() > IMAGE_BYTES / 3 * 4 + 4 {
        return None;
    }
    let bytes = STANDARD.decode(data).ok()?;
    // What the bytes are decides, not what the server says of them.
    let (media_type, end) = attachment::image_type(&bytes)?;
    let id = AttachmentId::parse(&format!("{run}-{number}")).ok()?;
    let name = format!("image-{number}.{end}");
    let hash = digest::digest(&digest::SHA256, &bytes);
    let hash: String = hash.as_ref().iter().map(|b| format!("{b:02x}")).collect();
    let note = json!({
        "name": name,
        "bytes": bytes.len(),
        "media_type": media_type,
        "sha256": hash,
        "who": { "role": "owner", "id": "owner", "name": "" },
        "at_ms": crate::session::now_ms(),
    });
    std::fs::create_dir_all(blobs).ok()?;
    // The note comes last: a file without one is not whole.
    attachment::put(&blobs.join(id.as_str()), &bytes).ok()?;
    attachment::put(
        &blobs.join(format!("{id}.json")),
        note.to_string().as_bytes(),
    )
    .ok()?;
    Some(Attachment {
        id,
        name,
        bytes: bytes.len() as u64,
        media_type: media_type.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    fn run() -> RunId {
        RunId::parse("c3-1").expect("id")
    }

    #[test]
    fn texts_are_bounded_and_hold_no_control_characters() {
        let dir = tempfile::tempdir().expect("folder");
        let text = format!("first\u{1b}[2J\n{}", "x".repeat(10 << 20));
        let answer = CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = result(answer, dir.path(), &run());
        assert_eq!(result.outcome, ToolOutcome::Ok);
        assert!(result.text.len() < 60 << 10 && !result.text.contains('\u{1b}'));
        assert_eq!(result.summary, "first[2J");
        let answer = CallToolResult::error(vec![ContentBlock::text("no such issue")]);
        let result = super::result(answer, dir.path(), &run());
        assert_eq!(
            (result.outcome, result.text.as_str()),
            (ToolOutcome::Failed, "no such issue")
        );
    }

    #[test]
    fn an_image_becomes_a_file_of_the_session_and_what_is_none_does_not() {
        let dir = tempfile::tempdir().expect("folder");
        let blobs = dir.path().join("blobs");
        let image = |bytes: &[u8]| ContentBlock::image(STANDARD.encode(bytes), "image/png");
        let answer = CallToolResult::success(vec![
            image(PNG),
            image(b"<svg onload=x>"),
            ContentBlock::image("no base64 at all!", "image/png"),
        ]);
        let result = result(answer, &blobs, &run());
        let [file] = &result.attachments[..] else {
            panic!("{:?}", result.attachments);
        };
        assert_eq!(file.media_type, "image/png");
        assert_eq!(attachment::find(&blobs, &file.id).as_ref(), Some(file));
        assert_eq!(result.text.matches("left out").count(), 2);
    }

    #[test]
    fn so_many_images_are_kept_and_no_more() {
        let dir = tempfile::tempdir().expect("folder");
        let one = ContentBlock::image(STANDARD.encode(PNG), "image/png");
        let answer = CallToolResult::success(vec![one; 50]);
        assert_eq!(
            result(answer, dir.path(), &run()).attachments.len(),
            MOST_IMAGES
        );
    }
}
