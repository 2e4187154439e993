//! Listing one folder. It walks no tree.

use porthole_env::{Kind, Name};
use porthole_protocol::{ToolDetail, ToolOutcome};

use super::{
    ToolContext, ToolResult, action,
    failure::Failure,
    location::{not_done, printable, resolve, shown},
    quantity::{count, grouped},
};

/// Most names of one listing.
pub(super) const NAMES: usize = 1_000;

pub(super) async fn run(ls: &action::Ls, context: &ToolContext) -> Result<ToolResult, Failure> {
    let path = resolve(&context.cwd, ls.path.as_deref().unwrap_or_default());
    let listing = context
        .environment
        .list(&path, NAMES)
        .await
        .map_err(|error| not_done(&shown(&context.cwd, &path), &error))?;
    let names: Vec<_> = listing.names.iter().map(marked).collect();
    let mut text = names.join("\n");
    let more = listing.total.saturating_sub(names.len() as u64);
    if names.is_empty() {
        text.push_str("(the folder is empty)");
    } else if more > 0 {
        text.push_str(&format!(
            "\n[{} more not shown; use `find` to narrow]",
            grouped(more)
        ));
    }
    Ok(ToolResult {
        attachments: Vec::new(),
        outcome: ToolOutcome::Ok,
        summary: count(listing.total, "name", "names"),
        text,
        detail: ToolDetail::Names {
            names,
            total: listing.total,
        },
    })
}

fn marked(name: &Name) -> String {
    let mark = match name.kind {
        Kind::Folder => "/",
        Kind::Link => "@",
        Kind::File | Kind::Other => "",
    };
    format!("{}{mark}", printable(&name.name.to_string_lossy()))
}
