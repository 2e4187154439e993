//! Markdown as styled lines.
