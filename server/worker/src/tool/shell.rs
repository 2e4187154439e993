//! Running a command for a model or a person: its output goes to a file first, then the row learns of it. How processes
//! are started and ended is the environment's.

use std::{io, path::PathBuf, time::Duration};

use porthole_env::{Command, Ended, EnvError, Exit};
use porthole_protocol::{RunOutput, ToolDetail, ToolOutcome};
use tokio::{
    fs::{self, File},
    io::AsyncWriteExt,
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
    let path = kept.path.clone();
    let (output, cut) = kept.close().await;
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
    path: PathBuf,
    file: File,
    output: RunOutput,
    tail: Tail,
    progress: mpsc::UnboundedSender<RunOutput>,
}

impl Kept {
    async fn open(context: &ToolContext) -> io::Result<Self> {
        fs::create_dir_all(&context.runs).await?;
        let path = context.runs.join(context.run.as_str());
        let file = File::create(&path).await?;
        Ok(Self {
            path,
            file,
            output: RunOutput {
                run: context.run.clone(),
                bytes: 0,
                generation: 0,
                complete: false,
                source_incomplete: false,
            },
            tail: Tail::default(),
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
                    Some(piece) => self.take(&piece).await,
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

    /// Returns the whole output, where there was any, and its end.
    async fn close(mut self) -> (Option<RunOutput>, Cut) {
        let cut = self.tail.cut();
        if self.output.bytes == 0 && !self.output.source_incomplete {
            let _ = fs::remove_file(&self.path).await;
            return (None, cut);
        }
        self.output.complete = true;
        let _ = self.progress.send(self.output.clone());
        (Some(self.output), cut)
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
