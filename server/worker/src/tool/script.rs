//! The `script` tool: a small program of the model's that calls the other tools. It can do nothing else: it has no files,
//! no clock, no network, no modules, and every call goes through the engine, which decides about it.
//!
//! It runs on a thread of its own, within bounds of operations, time, memory and output; what it holds is bounded by the
//! sizes of its values and their number. A bound that is met ends it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use porthole_protocol::ToolOutcome;
use rhai::{Dynamic, Engine, EvalAltResult, ImmutableString, Map, NativeCallContext, Position};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{ToolContext, ToolResult, action};
use crate::{call::told, fit};

/// Most operations of a script.
pub(super) const OPERATIONS: u64 = 2_000_000;
/// How long a script may compute; waiting for its calls does not count.
pub(super) const TIME: Duration = Duration::from_secs(20);
/// Longest text, and all texts of one value together.
const STRING_BYTES: usize = 256 << 10;
/// Most items of one value.
const ITEMS: usize = 4_000;
/// Most variables of a function, and how deep functions call each other.
const VARIABLES: usize = 40;
const LEVELS: usize = 12;
/// Most of what it prints and returns.
const OUTPUT_BYTES: usize = 50 << 10;
/// Its stack: values and calls nest within the bounds above.
const STACK_BYTES: usize = 64 << 20;
/// How much the process may grow while it runs: sizes are not checked where an item of a value is replaced.
const GROWTH_BYTES: u64 = 192 << 20;
/// So many operations go by between two looks at the clock and the memory.
const LOOK: u64 = 64;

/// Told where nobody wants the result any more.
const STOPPED: &str = "stopped";

type Failed = Box<EvalAltResult>;

/// Runs a script to its end.
pub(super) async fn run(script: &action::Script, context: ToolContext) -> ToolResult {
    let (tell, told_by) = oneshot::channel();
    let gone = Arc::<AtomicBool>::default();
    let (code, flag) = (script.code.clone(), Arc::clone(&gone));
    // Whoever drops this work ends the thread too.
    let _end = EndOnDrop(gone);
    let thread = std::thread::Builder::new()
        .name("script".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nobody listens where the work was dropped.
            let _ = tell.send(evaluate(&code, context, flag));
        });
    if let Err(error) = thread {
        let text = format!("The script was not run: {error}.");
        return told(ToolOutcome::Failed, "not run", text);
    }
    told_by.await.unwrap_or_else(|_| {
        let text = "The script ended in a fault of Porthole. Its calls may have had their effect.";
        told(ToolOutcome::Failed, "a fault of Porthole", text.to_owned())
    })
}

struct EndOnDrop(Arc<AtomicBool>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a script's engine and its calls share.
struct Run {
    context: ToolContext,
    gone: Arc<AtomicBool>,
    began: Instant,
    /// Bytes of the process when it began; `None` where the system does not tell.
    memory: Option<u64>,
    /// Time that its calls took.
    waited: Mutex<Duration>,
    printed: Mutex<String>,
    calls: Mutex<u64>,
}

impl Run {
    fn is_stopped(&self) -> bool {
        *self.context.stop.borrow() || self.gone.load(Ordering::Relaxed)
    }

    /// Returns why it has to end now.
    fn ends(&self, operations: u64) -> Option<Dynamic> {
        if !operations.is_multiple_of(LOOK) {
            return None;
        }
        if self.is_stopped() {
            return Some(STOPPED.into());
        }
        let waited = *self.waited.lock().unwrap_or_else(PoisonError::into_inner);
        let computed = self.began.elapsed().saturating_sub(waited);
        let over = || format!("it computed for more than {} s", TIME.as_secs());
        if computed > TIME {
            return Some(over().into());
        }
        let grown = resident()?.saturating_sub(self.memory?);
        let large = || format!("it holds more than {} MiB", GROWTH_BYTES >> 20);
        (grown > GROWTH_BYTES).then(|| large().into())
    }

    fn print(&self, line: &str) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        // What is over the bound is cut at the end; twice that is never held.
        if printed.len() < 2 * OUTPUT_BYTES {
            printed.push_str(&fit::start(line, 2 * OUTPUT_BYTES));
            printed.push('\n');
        }
    }

    /// Makes a call and waits for what it comes to.
    fn call(&self, tool: &str, arguments: Map) -> Result<String, String> {
        let arguments = serde_json::to_value(Dynamic::from_map(arguments))
            .map_err(|_| "the arguments are no plain values".to_owned())?;
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let (answer, answered) = oneshot::channel();
        let ask = super::types::NestedAsk {
            parent: self.context.run.clone(),
            tool: tool.to_owned(),
            arguments,
            answer,
        };
        let before = Instant::now();
        let sent = self.context.nest.send(ask).is_ok();
        let result = sent.then(|| answered.blocking_recv().ok()).flatten();
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += before.elapsed();
        let result = result.ok_or_else(|| STOPPED.to_owned())?;
        match result.outcome {
            ToolOutcome::Ok => Ok(fit::ends(&result.text, STRING_BYTES / 2)),
            _ => Err(fit::start(&result.text, STRING_BYTES / 2)),
        }
    }
}

fn evaluate(code: &str, context: ToolContext, gone: Arc<AtomicBool>) -> ToolResult {
    let run = Arc::new(Run {
        context,
        gone,
        began: Instant::now(),
        memory: resident(),
        waited: Mutex::default(),
        printed: Mutex::default(),
        calls: Mutex::default(),
    });
    let ended = engine(&run).eval::<Dynamic>(code);
    let calls = *run.calls.lock().unwrap_or_else(PoisonError::into_inner);
    let calls = super::quantity::count(calls, "call", "calls");
    let printed = run.printed.lock().unwrap_or_else(PoisonError::into_inner);
    match ended {
        Ok(value) => {
            let text = format!("{printed}{}", shown(&value));
            let text = match text.trim_end() {
                "" => "(It returned nothing and printed nothing.)".to_owned(),
                text => fit::ends(text, OUTPUT_BYTES),
            };
            told(ToolOutcome::Ok, &calls, text)
        }
        Err(_) if run.is_stopped() => {
            let text =
                "A person stopped the script before it was done. Calls that it had made are done.";
            told(ToolOutcome::Stopped, "stopped", text.to_owned())
        }
        Err(error) => {
            let why = fit::start(&words(&error), OUTPUT_BYTES / 2);
            let text = match printed.trim_end() {
                "" => String::new(),
                printed => format!(
                    "\nIt had printed:\n{}",
                    fit::ends(printed, OUTPUT_BYTES / 2)
                ),
            };
            let text = format!("The script failed: {why}. Calls that it had made are done.{text}");
            told(ToolOutcome::Failed, &format!("failed after {calls}"), text)
        }
    }
}

/// Returns an engine in which a script can compute and call tools, and nothing else.
fn engine(run: &Arc<Run>) -> Engine {
    let mut engine = Engine::new();
    engine
        .set_max_operations(OPERATIONS)
        .set_max_string_size(STRING_BYTES)
        .set_max_array_size(ITEMS)
        .set_max_map_size(ITEMS)
        .set_max_variables(VARIABLES)
        .set_max_functions(64)
        .set_max_call_levels(LEVELS)
        .set_max_expr_depths(64, 32)
        .set_max_strings_interned(64)
        .disable_symbol("eval");
    engine.register_fn("sleep", |_: i64| refused());
    engine.register_fn("sleep", |_: f64| refused());
    let looks = Arc::clone(run);
    engine.on_progress(move |operations| looks.ends(operations));
    let prints = Arc::clone(run);
    engine.on_print(move |line| prints.print(line));
    let prints = Arc::clone(run);
    engine.on_debug(move |line, _, _| prints.print(line));
    let calls = Arc::clone(run);
    let tool = move |context: NativeCallContext, name: ImmutableString, arguments: Map| {
        let called = calls.call(&name, arguments);
        called.map_err(|why| failed(&why, context.call_position()))
    };
    engine.register_fn("tool", tool);
    let calls = Arc::clone(run);
    let bare = move |context: NativeCallContext, name: ImmutableString| {
        let called = calls.call(&name, Map::new());
        called.map_err(|why| failed(&why, context.call_position()))
    };
    engine.register_fn("tool", bare);
    engine
}

/// Returns the bytes of the process that are in memory, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn refused() -> Result<(), Failed> {
    Err(failed("a script cannot wait", Position::NONE))
}

/// Returns an error that a script can catch, but for a stop.
fn failed(why: &str, at: Position) -> Failed {
    match why {
        STOPPED => Box::new(EvalAltResult::ErrorTerminated(STOPPED.into(), at)),
        _ => Box::new(EvalAltResult::ErrorRuntime(why.to_owned().into(), at)),
    }
}

/// Returns an error in words, with its place.
fn words(error: &EvalAltResult) -> String {
    let bound = |what: &str| format!("a bound was met: {what}");
    match error {
        EvalAltResult::ErrorTerminated(why, _) => bound(&why.to_string()),
        EvalAltResult::ErrorTooManyOperations(_) => {
            bound(&format!("at most {OPERATIONS} operations"))
        }
        EvalAltResult::ErrorStackOverflow(_) => {
            bound(&format!("functions call each other at most {LEVELS} deep"))
        }
        EvalAltResult::ErrorDataTooLarge(what, at) => bound(&format!("{what} too large ({at})")),
        error => error.to_string(),
    }
}

/// Returns a value as the model is told it: texts as they are, the rest as JSON.
fn shown(value: &Dynamic) -> String {
    if value.is_unit() {
        return String::new();
    }
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(value) => value.to_string(),
        Err(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
