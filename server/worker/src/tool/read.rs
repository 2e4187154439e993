//! Reading a text file, a part at a time. It reads no images.

use porthole_env::READ_BYTES;
use porthole_protocol::{ToolDetail, ToolOutcome, limits};

use super::{
    ToolContext, ToolResult, action,
    failure::{Failure, failed},
    location::{not_done, resolve, shown},
    quantity::{count, grouped},
};

/// Most lines of one read.
pub(super) const LINES: usize = limits::TAIL_LINES;
/// Most bytes of one read.
pub(super) const BYTES: usize = limits::TAIL_BYTES;
/// Bytes at the start of a file in which a NUL makes it binary.
const SNIFFED: usize = 8 << 10;

pub(super) async fn run(read: &action::Read, context: &ToolContext) -> Result<ToolResult, Failure> {
    let path = resolve(&context.cwd, &read.path);
    let name = shown(&context.cwd, &path);
    let content = context
        .environment
        .read(&path, 0, READ_BYTES)
        .await
        .map_err(|error| not_done(&name, &error))?;
    if let Some(kind) = kind(&content.bytes) {
        let size = count(content.stat.size, "byte", "bytes");
        return Err(failed(
            kind,
            format!("`{name}` is {kind} ({size}); it cannot be read as text."),
        ));
    }
    if content.stat.size > READ_BYTES {
        let size = count(content.stat.size, "byte", "bytes");
        let hint = "use `grep`, or `shell` with `sed -n` or `tail`";
        return Err(failed(
            "too large",
            format!("`{name}` has {size}, which is too large to read; {hint}."),
        ));
    }
    if let Ok(mut seen) = context.seen.lock() {
        seen.remember(&content.stat.real, &content.bytes);
    }
    let part = Part::of(&content.bytes, read)?;
    Ok(part.result(name))
}

/// Returns what a file is, where it is no text.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    let known: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF87a", "a GIF image"),
        (b"GIF89a", "a GIF image"),
        (b"%PDF-", "a PDF document"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("a WebP image");
    }
    let named = known.iter().find(|(start, _)| bytes.starts_with(start));
    let is_binary = bytes[..bytes.len().min(SNIFFED)].contains(&0);
    named
        .map(|(_, kind)| *kind)
        .or(is_binary.then_some("a binary file"))
}

/// A part of a file.
struct Part {
    first: u64,
    last: u64,
    total: u64,
    text: String,
    /// Bytes of the first line that were left out, where it alone is too long.
    cut: Option<u64>,
    lossy: bool,
}

impl Part {
    fn of(bytes: &[u8], read: &action::Read) -> Result<Self, Failure> {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let total = lines.len() as u64;
        let first = read.offset.unwrap_or(1).max(1);
        if first > total.max(1) {
            let text = format!("The file has only {}.", count(total, "line", "lines"));
            return Err(failed("past the end", text));
        }
        let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
        let limit = read
            .limit
            .map_or(LINES, |limit| usize::try_from(limit).unwrap_or(LINES));
        let mut part = Self {
            first,
            last: first - 1,
            total,
            text: String::new(),
            cut: None,
            lossy: false,
        };
        for line in lines.iter().skip(skip).take(limit.min(LINES)) {
            if !part.take(line) {
                break;
            }
        }
        Ok(part)
    }

    fn take(&mut self, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        self.lossy |= matches!(text, std::borrow::Cow::Owned(_));
        if self.text.len() + text.len() <= BYTES {
            self.text.push_str(&text);
            self.last += 1;
            return true;
        }
        if self.text.is_empty() {
            let end = text.floor_char_boundary(BYTES);
            self.text.push_str(&text[..end]);
            self.cut = Some((text.len() - end) as u64);
            self.last += 1;
        }
        false
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(bytes) = self.cut {
            let bytes = count(bytes, "byte", "bytes");
            notes.push(format!(
                "line {} is cut: {bytes} of it left out, use `grep` to look into it",
                self.first
            ));
        }
        if self.lossy {
            notes.push("the file is not UTF-8; what does not fit is shown as U+FFFD".to_owned());
        }
        if self.last < self.total {
            let (first, last, total) = (self.first, self.last, grouped(self.total));
            notes.push(format!(
                "lines {first}–{last} of {total}; go on with offset {}",
                last + 1
            ));
        }
        notes
    }

    fn result(self, path: String) -> ToolResult {
        let mut text = self.text.clone();
        if self.total == 0 {
            text.push_str("(the file is empty)");
        }
        let notes = self.notes();
        if !notes.is_empty() {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("\n[{}]", notes.join(". ")));
        }
        ToolResult {
            attachments: Vec::new(),
            outcome: ToolOutcome::Ok,
            summary: self.summary(),
            text,
            detail: ToolDetail::File {
                path,
                first_line: self.first,
                text: self.text,
                total_lines: self.total,
            },
        }
    }

    fn summary(&self) -> String {
        match (self.total, self.last.saturating_sub(self.first)) {
            (0, _) => "empty".to_owned(),
            (_, 0) => format!("line {}", self.first),
            _ => format!("lines {}–{}", self.first, self.last),
        }
    }
}
