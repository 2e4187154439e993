//! Running a command for a model or a person: its output goes to a file first, then the row learns of it. How processes
//! are started and ended is the environment's.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use porthole_env::{Command, Ended, EnvError, Exit};
use porthole_protocol::{RunId, RunOutput, ToolDetail, ToolOutcome};
use tokio::{
    fs::{self, File},
    io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt},
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    ToolContext, ToolResult, action,
    failure::failed,
    quantity::{count, grouped},
    tail::{Cut, Tail},
};

/// How long a model's command may run where the model does not say.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a model's command may run at most.
pub(super) const MOST_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a person's command may run.
pub(super) const PERSON_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// Most bytes kept of one command's output.
const OUTPUT_BYTES: u64 = 1 << 30;
/// Pieces of output that may wait for the disk.
const QUEUE: usize = 8;
/// Bytes of pieces that go to the disk together.
const TOGETHER: usize = 1 << 20;
/// Most bytes of a command's end that what was kept is compared with.
const COMPARED_BYTES: usize = 1 << 20;
/// Most generations of one output: the one that grew, and the one that replaced it.
pub(crate) const MOST_GENERATIONS: u32 = 1;

/// Returns the file of a generation of a run's output.
pub(crate) fn run_file(runs: &Path, run: &RunId, generation: u32) -> PathBuf {
    match generation {
        0 => runs.join(run.as_str()),
        // No name of a run has a dot in it.
        generation => runs.join(format!("{run}.{generation}")),
    }
}

pub(super) fn preview(command: &str) -> ToolDetail {
    ToolDetail::Command {
        command: command.to_owned(),
        exit: None,
        signal: None,
        timed_out: false,
        tail: String::new(),
        left_out: 0,
        output: None,
        still_running: Vec::new(),
    }
}

pub(super) async fn run(shell: &action::Shell, context: ToolContext) -> ToolResult {
    let mut kept = match Kept::open(&context).await {
        Ok(kept) => kept,
        Err(error) => {
            let text = format!("The command was not run: its output cannot be kept ({error}).");
            return failed("not run", text).into();
        }
    };
    let command = Command {
        line: shell.command.clone(),
        cwd: context.cwd.clone(),
        variables: context.variables.to_vec(),
        timeout: shell.timeout,
    };
    let (output, pieces) = mpsc::channel(QUEUE);
    let running = context
        .environment
        .exec(command, output, context.stop.clone());
    let (exit, ()) = tokio::join!(running, kept.take_all(pieces));
    let (path, output, cut) = kept.close().await;
    match exit {
        Ok(exit) => Outcome {
            shell,
            exit,
            output,
            cut,
            path,
        }
        .result(),
        Err(error) => not_run(&error),
    }
}

fn not_run(error: &EnvError) -> ToolResult {
    failed(
        "not run",
        format!("The command was not run: {}.", error.message),
    )
    .into()
}

/// The kept output of a command that runs.
struct Kept {
    runs: PathBuf,
    file: File,
    output: RunOutput,
    tail: Tail,
    /// The end of the output as it came, whatever becomes of the file.
    end: VecDeque<u8>,
    /// Bytes that came.
    total: u64,
    progress: mpsc::UnboundedSender<RunOutput>,
}

impl Kept {
    async fn open(context: &ToolContext) -> io::Result<Self> {
        fs::create_dir_all(&context.runs).await?;
        let path = run_file(&context.runs, &context.run, 0);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(path).await?;
        Ok(Self {
            runs: context.runs.clone(),
            file,
            output: RunOutput {
                run: context.run.clone(),
                bytes: 0,
                generation: 0,
                complete: false,
                source_incomplete: false,
            },
            tail: Tail::default(),
            end: VecDeque::new(),
            total: 0,
            progress: context.progress.clone(),
        })
    }

    /// Keeps every piece, and reports at most as often as people can see.
    async fn take_all(&mut self, mut pieces: mpsc::Receiver<Vec<u8>>) {
        let mut due = Instant::now();
        let mut told = 0;
        loop {
            tokio::select! {
                piece = pieces.recv() => match piece {
                    Some(mut piece) => {
                        while piece.len() < TOGETHER && let Ok(more) = pieces.try_recv() {
                            piece.extend(more);
                        }
                        self.take(&piece).await;
                    }
                    None => return,
                },
                () = sleep_until(due), if self.output.bytes > told => {
                    told = self.output.bytes;
                    due = Instant::now() + REPORT_EVERY;
                    let _ = self.progress.send(self.output.clone());
                }
            }
        }
    }

    async fn take(&mut self, piece: &[u8]) {
        self.tail.push(piece);
        self.total += piece.len() as u64;
        self.end.extend(piece);
        let over = self.end.len().saturating_sub(COMPARED_BYTES);
        self.end.drain(..over);
        if self.output.source_incomplete {
            return;
        }
        let fits = self.output.bytes + piece.len() as u64 <= OUTPUT_BYTES;
        if fits && self.append(piece).await.is_ok() {
            self.output.bytes += piece.len() as u64;
        } else {
            self.output.source_incomplete = true;
        }
    }

    async fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece).await?;
        // Only what is in the file may be told to viewers.
        self.file.flush().await
    }

    /// Returns the file of the whole output, what can be told of it where there was any, and its end.
    async fn close(mut self) -> (PathBuf, Option<RunOutput>, Cut) {
        let cut = self.tail.cut();
        let path = run_file(&self.runs, &self.output.run, 0);
        if self.total == 0 {
            let _ = fs::remove_file(&path).await;
            return (path, None, cut);
        }
        let path = match self.is_as_it_came(&path).await {
            Ok(true) => path,
            Ok(false) | Err(_) => self.replace(path).await,
        };
        self.output.complete = true;
        let _ = self.progress.send(self.output.clone());
        (path, Some(self.output), cut)
    }

    /// Compares what is in the file with what came, as far as that is remembered.
    async fn is_as_it_came(&self, path: &Path) -> io::Result<bool> {
        let mut file = File::open(path).await?;
        if file.metadata().await?.len() != self.output.bytes {
            return Ok(false);
        }
        if self.output.bytes < self.total {
            // No more than the beginning could be kept, and what came then was told.
            return Ok(true);
        }
        let end = self.end.len() as u64;
        file.seek(io::SeekFrom::Start(self.total - end)).await?;
        let mut bytes = Vec::with_capacity(self.end.len());
        file.take(end).read_to_end(&mut bytes).await?;
        let (first, second) = self.end.as_slices();
        Ok(bytes.len() == self.end.len()
            && bytes.starts_with(first)
            && bytes[first.len()..] == *second)
    }

    /// Puts what is remembered in the place of a file that someone changed, as the next generation.
    async fn replace(&mut self, path: PathBuf) -> PathBuf {
        let next = run_file(&self.runs, &self.output.run, MOST_GENERATIONS);
        let end: Vec<u8> = std::mem::take(&mut self.end).into();
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = async {
            let mut file = options.open(&next).await?;
            file.write_all(&end).await?;
            file.sync_all().await
        };
        self.output.source_incomplete = true;
        if written.await.is_err() {
            let _ = fs::remove_file(&next).await;
            return path;
        }
        // A reader of the old one is told of the new one from here on.
        let _ = fs::remove_file(&path).await;
        self.output.generation = MOST_GENERATIONS;
        self.output.bytes = end.len() as u64;
        self.output.source_incomplete = self.output.bytes < self.total;
        next
    }
}

/// A command that ended.
struct Outcome<'a> {
    shell: &'a action::Shell,
    exit: Exit,
    output: Option<RunOutput>,
    cut: Cut,
    path: PathBuf,
}

impl Outcome<'_> {
    fn result(self) -> ToolResult {
        let summary = self.summary();
        ToolResult {
            attachments: Vec::new(),
            outcome: self.outcome(),
            text: self.text(&summary),
            summary,
            detail: ToolDetail::Command {
                command: self.shell.command.clone(),
                exit: self.exit.status,
                signal: self.exit.signal,
                timed_out: self.exit.ended == Ended::TimedOut,
                tail: self.cut.text,
                left_out: self.cut.left_out,
                output: self.output,
                still_running: self.exit.left,
            },
        }
    }

    fn outcome(&self) -> ToolOutcome {
        match (self.exit.ended, self.exit.status) {
            (Ended::Stopped, _) => ToolOutcome::Stopped,
            (Ended::Itself, Some(0)) => ToolOutcome::Ok,
            _ => ToolOutcome::Failed,
        }
    }

    fn summary(&self) -> String {
        match (self.exit.ended, self.exit.status, self.exit.signal) {
            (Ended::TimedOut, ..) => {
                format!("timed out after {} s", self.shell.timeout.as_secs_f64())
            }
            (Ended::Stopped, ..) => "stopped".to_owned(),
            (Ended::Itself, Some(status), _) => format!("exit {status}"),
            (Ended::Itself, None, Some(signal)) => format!("ended by signal {signal}"),
            (Ended::Itself, None, None) => "ended".to_owned(),
        }
    }

    fn text(&self, summary: &str) -> String {
        let mut text = String::new();
        if self.cut.left_out > 0 {
            let bytes = count(self.cut.left_out, "byte", "bytes");
            text.push_str(&format!(
                "… {bytes} left out, full output: `{}`\n",
                self.path.display()
            ));
        }
        match self.cut.text.trim_end_matches('\n') {
            "" => text.push_str("(no output)"),
            tail => text.push_str(tail),
        }
        text.push_str(&format!(
            "\n[{summary}{}{}]",
            self.incomplete(),
            self.left()
        ));
        text
    }

    fn incomplete(&self) -> String {
        match &self.output {
            Some(output) if output.source_incomplete => {
                format!(
                    ". Only the first {} bytes of output could be kept",
                    grouped(output.bytes)
                )
            }
            _ => String::new(),
        }
    }

    fn left(&self) -> String {
        let pids: Vec<_> = self.exit.left.iter().map(u32::to_string).collect();
        match pids.as_slice() {
            [] => String::new(),
            [one] => format!(". Process {one} is still running; its further output is not kept"),
            several => format!(
                ". Processes {} are still running; their further output is not kept",
                several.join(", ")
            ),
        }
    }
}
