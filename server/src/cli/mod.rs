//! The command line: what can be asked, and which module does it. It prints errors the same way for every command.

mod access;
mod client;
mod engine;
mod failure;
mod files;
mod follow;
mod inner;
mod lifecycle;
mod logs;
mod out;
mod plain;
mod search;
mod settings;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use failure::Failure;

use crate::data;

/// The server of Porthole: sessions of coding agents, reached from any terminal.
#[derive(Parser)]
#[command(
    name = "portholed",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(after_help = "Example:\n  portholed start && portholed link owner")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve in the foreground.
    #[command(after_help = "Example:\n  portholed serve --listen 127.0.0.1:0 --data /tmp/try")]
    Serve(ServeArgs),
    /// Serve in the background; goes on when the shell ends.
    #[command(after_help = "Example:\n  portholed start")]
    Start(ServeArgs),
    /// End the running server.
    #[command(after_help = "Example:\n  portholed stop")]
    Stop(DataArgs),
    /// Make the server a service of this user.
    #[command(
        subcommand,
        after_help = "Example:\n  portholed service install --listen 127.0.0.1:7420"
    )]
    Service(ServiceCommand),
    /// Say whether the server is up, and what it does.
    #[command(after_help = "Example:\n  portholed status --json")]
    Status(ListArgs),
    /// Make a link.
    #[command(
        subcommand,
        after_help = "Example:\n  portholed link owner\n  portholed link share --session k3v9x2abcdef --mode view"
    )]
    Link(LinkCommand),
    /// List share links, and who came by them.
    #[command(after_help = "Example:\n  portholed links --json")]
    Links(ListArgs),
    /// End a share link with all its guests, or one guest's access; at once.
    #[command(after_help = "Example:\n  portholed links\n  portholed revoke s-k3v9x2ab")]
    Revoke {
        /// The link or the guest, as `portholed links` names it.
        id: String,
        #[command(flatten)]
        data: DataArgs,
    },
    /// List the owner's devices.
    #[command(after_help = "Example:\n  portholed devices")]
    Devices(ListArgs),
    /// End a device's access at once.
    #[command(after_help = "Example:\n  portholed devices\n  portholed sign-out k3v9x2ab")]
    SignOut {
        /// The device, as `portholed devices` names it.
        device: String,
        #[command(flatten)]
        data: DataArgs,
    },
    /// List sessions.
    #[command(after_help = "Example:\n  portholed sessions --json")]
    Sessions(ListArgs),
    /// Make a session; prints its id.
    #[command(
        after_help = "Example:\n  portholed new ~/src/site --title 'New footer' --model anthropic/claude-sonnet-4-5"
    )]
    New(NewArgs),
    /// Send input to a session.
    #[command(
        after_help = "Example:\n  portholed send k3v9x2abcdef 'run the tests' --wait --answer yes"
    )]
    Send(SendArgs),
    /// Print what was said in a session.
    #[command(after_help = "Example:\n  portholed transcript k3v9x2abcdef --json")]
    Transcript {
        /// The session.
        id: String,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Find words in every session, archived ones included.
    #[command(after_help = "Example:\n  portholed search 'flaky test' --limit 5")]
    Search {
        /// The words; all of them, the last one as its beginning. Words in double quotes stand together.
        text: String,
        /// Show at most so many.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Write a session into one file.
    #[command(
        after_help = "Example:\n  portholed export k3v9x2abcdef --format html --out session.html"
    )]
    Export {
        /// The session.
        id: String,
        /// As what; JSON can be imported again.
        #[arg(long, default_value = "md")]
        format: Format,
        /// The file, which is not there yet [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Make a session of a file: one exported as JSON, or a pi session; prints its id.
    #[command(after_help = "Example:\n  portholed import session.json --title 'From my laptop'")]
    Import {
        /// The file.
        file: PathBuf,
        /// The title; without it, what the file says.
        #[arg(long)]
        title: Option<String>,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Delete a session; for ten minutes it can be restored.
    #[command(after_help = "Example:\n  portholed delete k3v9x2abcdef")]
    Delete {
        /// The session.
        id: String,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Bring a session back that was deleted a moment ago, or archived.
    #[command(after_help = "Example:\n  portholed restore k3v9x2abcdef")]
    Restore {
        /// The session.
        id: String,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Make a session that begins as another one is now; prints its id.
    #[command(after_help = "Example:\n  portholed clone k3v9x2abcdef --title 'Another way'")]
    Clone {
        /// The session that is copied.
        id: String,
        /// Its title; made from the other's where none is given.
        #[arg(long)]
        title: Option<String>,
        #[command(flatten)]
        data: DataArgs,
    },
    /// List the models that are configured, from where, and whether their keys are there.
    #[command(after_help = "Example:\n  portholed models")]
    Models(ListArgs),
    /// Show the settings, or change one.
    #[command(
        after_help = "Example:\n  portholed settings --json\n  portholed settings set policy read-only\n  portholed settings set tools.shell ask\n  portholed settings unset retry.tries"
    )]
    Settings(SettingsArgs),
    /// List the MCP servers that `mcp.toml` configures.
    #[command(after_help = "Example:\n  portholed mcp --json")]
    Mcp(ListArgs),
    /// Print the server's log.
    #[command(
        after_help = "Example:\n  portholed logs --follow\n  portholed logs --source k3v9x2abcdef"
    )]
    Logs(LogsArgs),
    /// Run one session; the server starts this with a socket as standard input.
    #[command(hide = true)]
    Worker,
    /// Serve files and commands of this machine over standard input and output.
    #[command(after_help = "Example:\n  ssh HOST portholed env")]
    Env,
    /// Look inside.
    #[command(
        subcommand,
        after_help = "Example:\n  portholed debug model-stream --api chat < body.sse"
    )]
    Debug(DebugCommand),
}

#[derive(Subcommand)]
enum ServiceCommand {
    /// Write a systemd unit of this user and say how to start it.
    #[command(after_help = "Example:\n  portholed service install")]
    Install(ServeArgs),
}

#[derive(Subcommand)]
enum LinkCommand {
    /// A link that makes one device the owner's.
    #[command(after_help = "Example:\n  portholed link owner")]
    Owner(DataArgs),
    /// A link that lets guests into one session; says what it allows.
    #[command(
        after_help = "Example:\n  portholed link share --session k3v9x2abcdef --mode view --name 'the team' --expires 2d"
    )]
    Share(ShareArgs),
}

#[derive(Args)]
struct ShareArgs {
    /// The session, as `portholed sessions` names it.
    #[arg(long, value_name = "ID")]
    session: String,
    /// How much guests may do: `view` reads and follows, `full` is a shell on this machine.
    #[arg(long)]
    mode: Mode,
    /// What you call the link, to know it again.
    #[arg(long)]
    name: Option<String>,
    /// When it ends, as `30m`, `12h` or `7d` [default: 7d]
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// Only the first person who uses it comes in.
    #[arg(long)]
    once: bool,
    /// Guests may also answer the agent's questions in your place.
    #[arg(long)]
    may_approve: bool,
    /// Print one JSON value.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// How much guests may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Read and follow.
    View,
    /// Also send, stop and run commands.
    Full,
}

#[derive(Subcommand)]
enum DebugCommand {
    /// Decode a model's stream from standard input and print the result as JSON.
    #[command(after_help = "Example:\n  portholed debug model-stream --api messages < body.sse")]
    ModelStream {
        /// What kind of stream it is.
        #[arg(long)]
        api: Api,
    },
    /// Print what a log would keep of the text on standard input.
    #[command(after_help = "Example:\n  portholed debug redact < build.log")]
    Redact(DataArgs),
}

/// The kinds of model streams.
#[derive(Clone, Copy, ValueEnum)]
enum Api {
    Chat,
    Responses,
    Messages,
}

#[derive(Args, Clone)]
struct DataArgs {
    /// The data folder [default: $XDG_DATA_HOME/portholed]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

impl DataArgs {
    fn folder(&self) -> Result<PathBuf, Failure> {
        self.data
            .clone()
            .or_else(data::default_folder)
            .ok_or_else(|| {
                Failure::new("no home directory is known")
                    .hint("name a data folder with `--data DIR`")
            })
    }
}

#[derive(Args)]
struct ListArgs {
    /// Print one JSON value.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
struct SettingsArgs {
    #[command(subcommand)]
    change: Option<SettingsChange>,
    /// Print one JSON value.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Subcommand)]
enum SettingsChange {
    /// Set one.
    #[command(after_help = "Example:\n  portholed settings set compaction.at_percent 70")]
    Set {
        /// Its name, as in the file, with dots: `retry.tries`.
        key: String,
        /// Its value as in the file; a bare word will do.
        value: String,
        #[command(flatten)]
        data: DataArgs,
    },
    /// Have the default of one again.
    #[command(after_help = "Example:\n  portholed settings unset owner_name")]
    Unset {
        /// Its name.
        key: String,
        #[command(flatten)]
        data: DataArgs,
    },
}

#[derive(Args)]
struct ServeArgs {
    #[command(flatten)]
    data: DataArgs,
    /// The address to listen on; port 0 picks one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7420")]
    listen: SocketAddr,
    /// The folder of the UI bundle [default: the one inside this program, or beside it]
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// The certificate with its issuers, in PEM: the server encrypts by itself, and may listen beyond this machine.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A name under which this server is reached with https, by itself or through a proxy; may be given several times.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// The https address that links name.
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The largest file that people may upload, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = porthole_door::UPLOAD_BYTES >> 20, value_parser = clap::value_parser!(u64).range(1..=2048))]
    max_upload: u64,
    /// Leave the terminal's session.
    #[arg(long, hide = true)]
    detached: bool,
}

#[derive(Args)]
struct NewArgs {
    /// The directory to work in.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// The title; without it, it is made from the first message.
    #[arg(long)]
    title: Option<String>,
    /// The model, as `PROVIDER/MODEL`.
    #[arg(long)]
    model: Option<String>,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
struct SendArgs {
    /// The session.
    id: String,
    /// The text.
    text: String,
    /// Wait until the turn has ended, and print the answer.
    #[arg(long)]
    wait: bool,
    /// Answer every question in this way.
    #[arg(long, requires = "wait")]
    answer: Option<YesNo>,
    #[command(flatten)]
    data: DataArgs,
}

/// As what a session is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Md,
    Json,
    Html,
}

impl From<Format> for porthole_protocol::ExportFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Md => Self::Markdown,
            Format::Json => Self::Json,
            Format::Html => Self::Html,
        }
    }
}

/// What every question is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

#[derive(Args)]
struct LogsArgs {
    /// Only what this part of the server, or this session's worker, had to say.
    #[arg(long, value_name = "S")]
    source: Option<String>,
    /// Go on as the log grows.
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    data: DataArgs,
}

/// Runs the command of this process; returns its exit status.
pub fn main() -> ExitCode {
    hide_memory();
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::FAILURE
        }
    }
}

/// Keys are in the environment of the server and of its workers: what a worker runs shall not read them out of `/proc`.
fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!("the memory of this process can be read by others: {error}");
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => lifecycle::serve(args),
        Command::Start(args) => lifecycle::start(&args),
        Command::Stop(data) => lifecycle::stop(&data),
        Command::Service(ServiceCommand::Install(args)) => lifecycle::install(&args),
        Command::Status(list) => lifecycle::status(&list),
        Command::Link(LinkCommand::Owner(data)) => access::link_owner(&data),
        Command::Link(LinkCommand::Share(args)) => access::link_share(&args),
        Command::Links(list) => access::links(&list),
        Command::Revoke { id, data } => access::revoke(&id, &data),
        Command::Devices(list) => access::devices(&list),
        Command::SignOut { device, data } => access::sign_out(&device, &data),
        Command::Sessions(list) => engine::sessions(&list),
        Command::New(args) => engine::new(&args),
        Command::Send(args) => engine::send(&args),
        Command::Transcript { id, list } => engine::transcript(&id, &list),
        Command::Search { text, limit, list } => search::search(&text, limit, &list),
        Command::Export {
            id,
            format,
            out,
            data,
        } => files::export(&id, format.into(), out.as_deref(), &data),
        Command::Import { file, title, data } => files::import(&file, title.as_deref(), &data),
        Command::Delete { id, data } => engine::delete(&id, &data),
        Command::Restore { id, data } => engine::restore(&id, &data),
        Command::Clone { id, title, data } => engine::clone(&id, title.as_deref(), &data),
        Command::Models(list) => engine::models(&list),
        Command::Settings(args) => settings::settings(&args),
        Command::Mcp(list) => engine::mcp(&list),
        Command::Logs(args) => logs::logs(&args),
        Command::Worker => inner::worker(),
        Command::Env => inner::env(),
        Command::Debug(DebugCommand::ModelStream { api }) => inner::model_stream(api),
        Command::Debug(DebugCommand::Redact(data)) => inner::redact(&data),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::process::{DumpableBehavior, dumpable_behavior};

    #[test]
    fn the_memory_of_the_program_is_hidden_from_other_processes() {
        super::hide_memory();
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
    }
}
