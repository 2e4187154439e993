//! Measures the built programs of its own profile beside references taken in the same run. It judges nothing.

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use porthole_tests::bench::{self, Row};

/// Measures release builds beside references taken in the same run.
#[derive(Parser)]
struct Options {
    /// One of start, key, hop, stream, idle, filter, transfers, load, engine, ui; without it, all.
    name: Option<String>,
    /// Also writes the rows as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Seconds of the idle measure.
    #[arg(long, default_value_t = 60)]
    idle_seconds: u64,
    /// Takes few of everything: tries the measure itself, on any build.
    #[arg(long)]
    small: bool,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let wanted = |name: &str| options.name.as_deref().is_none_or(|n| n == name);
    let mut rows = Vec::new();
    if wanted("start") {
        rows.extend(bench::start::measure()?);
    }
    if wanted("key") {
        rows.extend(bench::key::measure()?);
    }
    if wanted("hop") {
        rows.extend(bench::hop::measure()?);
    }
    if wanted("stream") {
        rows.extend(bench::stream::measure()?);
    }
    if wanted("idle") {
        rows.extend(bench::idle::measure(options.idle_seconds)?);
    }
    if wanted("filter") {
        rows.extend(bench::filter::measure());
    }
    if wanted("transfers") {
        rows.extend(bench::transfers::measure()?);
    }
    if wanted("load") {
        let load = match options.small {
            true => &bench::load::SMALL,
            false => &bench::load::FULL,
        };
        rows.extend(bench::load::measure(load)?);
    }
    if wanted("engine") {
        let size = match options.small {
            true => &bench::engine::SMALL,
            false => &bench::engine::FULL,
        };
        rows.extend(bench::engine::measure(size)?);
    }
    if wanted("ui") {
        let size = match options.small {
            true => &bench::ui::SMALL,
            false => &bench::ui::FULL,
        };
        rows.extend(bench::ui::measure(size)?);
    }
    anyhow::ensure!(
        !rows.is_empty(),
        "there is no such measure; there are start, key, hop, stream, idle, filter, transfers, load, engine, ui"
    );
    print!("{}", table(&rows));
    if let Some(path) = &options.json {
        let text = serde_json::to_string_pretty(&rows)?;
        std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

fn table(rows: &[Row]) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.3}"));
    let mut out = format!(
        "{:<34}{:>12} {:<8}{:>12}{:>9}\n",
        "name", "value", "unit", "reference", "ratio"
    );
    for row in rows {
        out.push_str(&format!(
            "{:<34}{:>12.3} {:<8}{:>12}{:>9}\n",
            row.name,
            row.value,
            row.unit,
            number(row.reference),
            number(row.ratio)
        ));
    }
    out
}
