//! `porthole debug`: what the filter makes of a frame, and whether a bundle would be accepted. For people and checks;
//! the launcher itself never comes here.

use std::{fmt::Write as _, io::Read, path::Path};

use anyhow::Context as _;
use porthole_bridge::limits::{COLS, FRAME_BYTES, MODULE_BYTES, ROWS};
use porthole_door::Manifest;
use ratatui::{
    buffer::{Buffer, CellWidth as _},
    style::{Color, Modifier},
};
use serde_json::{Value, json};

use crate::{
    bundle::{self, BundleError, VerifiedBundle, sha256_hex},
    sandbox::{self, Effort, Sandbox, UiFault},
    screen::Screen,
    transfer::{self, NotAName},
};

/// Longest name that is read, in bytes.
const NAME_INPUT: u64 = 64 << 10;

/// Prints the screen that a frame makes: its rows as lines, or all of it as JSON.
///
/// # Errors
/// Where the size is not `COLSxROWS`, or the frame is refused.
pub fn screen(size: &str, as_json: bool, input: impl Read) -> anyhow::Result<()> {
    let (cols, rows) = parse_size(size).with_context(|| {
        format!(
            "`{}` is not a size\nhint: write `80x24`",
            crate::escape::visible_cut(size, 20)
        )
    })?;
    let mut frame = Vec::new();
    input
        .take(FRAME_BYTES as u64 + 1)
        .read_to_end(&mut frame)
        .context("the frame cannot be read")?;
    let mut screen = Screen::new(cols, rows);
    screen.paint(&frame).context(format!(
        "the frame is refused\nhint: a frame has at most {FRAME_BYTES} bytes"
    ))?;
    let text = if as_json {
        format!("{}\n", report(&screen))
    } else {
        lines(screen.buffer())
            .iter()
            .fold(String::new(), |mut all, line| {
                let _ = writeln!(all, "{line}");
                all
            })
    };
    print(&text)
}

/// Prints the local name that a file of this name, or with this header, would get; or why it gets none.
///
/// # Errors
/// Where the input cannot be read.
pub fn safe_name(is_header: bool, input: impl Read) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    input
        .take(NAME_INPUT)
        .read_to_end(&mut bytes)
        .context("the name cannot be read")?;
    let name = match is_header {
        true => String::from_utf8(bytes)
            .map_err(|_| NotAName::NotUtf8)
            .and_then(|header| transfer::name_in(header.trim_end_matches(['\r', '\n'])))
            .and_then(|name| transfer::safe_name(&name.unwrap_or_default())),
        false => transfer::safe_name(&bytes),
    };
    print(&match name {
        Ok(name) => format!("{name}\n"),
        Err(why) => format!("refuse: {why}\n"),
    })
}

/// Prints whether a bundle would be accepted, why not, its imports, exports and size. What only shows when it is compiled
/// and loaded is found out by doing that, behind the walls.
///
/// # Errors
/// Where the file cannot be read or the bundle would be refused.
pub fn bundle(path: &Path) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MODULE_BYTES as u64 + 1).read_to_end(&mut bytes))
        .context("the bundle cannot be read")?;
    let (surface, checked) = bundle::survey(&bytes);
    let size = bytes.len();
    let sha256 = sha256_hex(&bytes);
    let outcome = checked.and_then(|()| loaded(bytes, &sha256));
    let verdict = match &outcome {
        Ok(()) => "accepted",
        Err(_) => "refused",
    };
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    print(&format!(
        "{verdict}\nsize       {size} bytes\nsha256     {sha256}\nfunctions  {}\nimports    {}\nexports    {}\n",
        surface.functions,
        list(&surface.imports),
        list(&surface.exports),
    ))?;
    outcome.context("the bundle would be refused")
}

/// Compiles and loads a bundle as the launcher would, and forgets it.
fn loaded(bytes: Vec<u8>, sha256: &str) -> Result<(), UiFault> {
    let failed = |what: &str| UiFault::SandboxFailed(what.to_owned());
    let manifest = Manifest {
        name: String::new(),
        version: String::new(),
        abi: porthole_bridge::ABI,
        sha256: sha256.to_owned(),
        bytes: bytes.len() as u64,
    };
    let bundle = VerifiedBundle::verify(&manifest, bytes).map_err(|error| match error {
        BundleError::Refused(fault) => fault,
        BundleError::Size { .. } => UiFault::TooLarge,
        other => UiFault::SandboxFailed(other.to_string()),
    })?;
    let cache = tempfile::tempdir().map_err(|_| failed("no temporary folder"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|_| failed("no runtime"))?;
    runtime.block_on(async {
        let artifact =
            sandbox::compile(&bundle, Effort::Quick, cache.path(), "porthole:debug").await?;
        Sandbox::spawn(artifact)?.loaded().await.map(drop)
    })
}

fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    std::io::stdout()
        .write_all(text.as_bytes())
        .context("the output is closed")
}

fn parse_size(size: &str) -> Option<(u16, u16)> {
    let (cols, rows) = size.split_once('x')?;
    let (cols, rows) = (cols.parse().ok()?, rows.parse().ok()?);
    let fits = (1..=COLS).contains(&cols) && (1..=ROWS).contains(&rows);
    fits.then_some((cols, rows))
}

/// Returns the rows of a screen as text, without what a wide symbol covers and without blanks at the end.
fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    buffer.content.chunks(width).map(line).collect()
}

fn line(row: &[ratatui::buffer::Cell]) -> String {
    let mut text = String::new();
    let mut covered = 0;
    for cell in row {
        if covered == 0 {
            text.push_str(cell.symbol());
            covered = cell.cell_width().max(1);
        }
        covered -= 1;
    }
    text.trim_end_matches(' ').to_owned()
}

fn report(screen: &Screen) -> Value {
    let cursor = screen
        .cursor()
        .map(|at| json!({ "row": at.y, "col": at.x }));
    json!({
        "lines": lines(screen.buffer()),
        "cursor": cursor,
        "styles": styles(screen.buffer()),
        "dropped": screen.dropped(),
    })
}

/// Returns the runs of cells that are not in the default style.
fn styles(buffer: &Buffer) -> Vec<Value> {
    let mut runs: Vec<(usize, usize, ratatui::style::Style)> = Vec::new();
    let width = usize::from(buffer.area.width).max(1);
    for (at, cell) in buffer.content.iter().enumerate() {
        let style = cell.style();
        if style == ratatui::buffer::Cell::EMPTY.style() {
            continue;
        }
        match runs.last_mut() {
            Some((start, length, last))
                if *start + *length == at && *last == style && at % width != 0 =>
            {
                *length += 1;
            }
            _ => runs.push((at, 1, style)),
        }
    }
    runs.iter()
        .map(|(at, length, style)| {
            json!({
                "row": at / width, "col": at % width, "cells": length,
                "fg": color(style.fg), "bg": color(style.bg), "modifiers": modifiers(style.add_modifier),
            })
        })
        .collect()
}

fn color(color: Option<Color>) -> String {
    match color.unwrap_or(Color::Reset) {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Indexed(index) => format!("idx:{index}"),
        named => format!("{named:?}").to_lowercase(),
    }
}

fn modifiers(modifier: Modifier) -> Vec<String> {
    modifier
        .iter_names()
        .map(|(name, _)| name.to_lowercase())
        .collect()
}
