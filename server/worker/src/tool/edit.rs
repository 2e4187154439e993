//! Editing a part of a file. Where the text is and what replaces it is decided in `replace`.

use std::path::Path;

use porthole_protocol::{ToolDetail, ToolOutcome};

use super::{
    ToolContext, ToolResult, action,
    diff::Diff,
    failure::{Failure, failed},
    quantity::count,
    replace::{Miss, Replaced, replace},
    write::Before,
};

/// Line numbers named of several matches.
const LINES_NAMED: usize = 10;
/// Bytes quoted of a text that is nearly the one looked for.
const QUOTED: usize = 2_000;

pub(super) async fn preview(edit: &action::Edit, context: &ToolContext) -> ToolDetail {
    match changed(edit, context).await {
        Ok((before, replaced)) => Diff::of(before.bytes(), &replaced.bytes).detail(before.name),
        Err(_) => ToolDetail::Text,
    }
}

pub(super) async fn run(
    edit: &action::Edit,
    agreed: Option<&Path>,
    context: &ToolContext,
) -> ToolResult {
    try_run(edit, agreed, context)
        .await
        .unwrap_or_else(ToolResult::from)
}

async fn try_run(
    edit: &action::Edit,
    agreed: Option<&Path>,
    context: &ToolContext,
) -> Result<ToolResult, Failure> {
    let (before, replaced) = changed(edit, context).await?;
    before.refuse_other(agreed)?;
    let diff = Diff::of(before.bytes(), &replaced.bytes);
    before.write(replaced.bytes, context).await?;
    let times = count(replaced.count as u64, "place", "places");
    Ok(ToolResult {
        attachments: Vec::new(),
        outcome: ToolOutcome::Ok,
        summary: diff.summary(),
        text: format!(
            "Replaced {times} in `{}` ({}).",
            before.name,
            diff.summary()
        ),
        detail: diff.detail(before.name),
    })
}

async fn changed(
    edit: &action::Edit,
    context: &ToolContext,
) -> Result<(Before, Replaced), Failure> {
    let before = Before::look(&edit.path, context).await?;
    if before.content.is_none() {
        let text = format!("`{}`: no such file. Use `write` to make it.", before.name);
        return Err(failed("not found", text));
    }
    before.refuse_stale(context)?;
    let replaced = replace(before.bytes(), &edit.old, &edit.new, edit.all)
        .map_err(|miss| not_replaced(&before.name, &miss))?;
    Ok((before, replaced))
}

fn not_replaced(name: &str, miss: &Miss) -> Failure {
    match miss {
        Miss::Absent(None) => failed(
            "text not found",
            format!(
                "`old` is not in `{name}`. Nothing was changed; read the file and copy the text exactly."
            ),
        ),
        Miss::Absent(Some((line, text))) => {
            let quoted = &text[..text.floor_char_boundary(QUOTED)];
            failed(
                "text not found",
                format!(
                    "`old` is not in `{name}`. Nothing was changed. Line {line} differs from it only in \
                     blanks, indentation, quotes or dashes; it is exactly:\n{quoted}"
                ),
            )
        }
        Miss::Several(lines) => several(name, lines),
    }
}

fn several(name: &str, lines: &[usize]) -> Failure {
    let named: Vec<_> = lines
        .iter()
        .take(LINES_NAMED)
        .map(ToString::to_string)
        .collect();
    let more = match lines.len().checked_sub(LINES_NAMED) {
        Some(more) if more > 0 => format!(" and {more} more"),
        _ => String::new(),
    };
    failed(
        format!("{} matches", lines.len()),
        format!(
            "`old` is in `{name}` {} times, on lines {}{more}. Nothing was changed. Give more of the text around \
             the one that is meant, or set `all` to replace every one.",
            lines.len(),
            named.join(", ")
        ),
    )
}
