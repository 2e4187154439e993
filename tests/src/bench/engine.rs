//! What large stores, commits, output and search cost.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use porthole_examples::model_server::Step;
use porthole_protocol::{
    Call, ClientFrame, ConversationId, RequestId, SendMode, ServerFrame, SessionId, Topic, replies,
};
use rusqlite::Connection;

use super::{Row, large, milliseconds, quantile};
use crate::{
    Server, World,
    client::{self, Client},
    process,
};

/// How much of everything there is.
pub struct Engine {
    /// Entries of the one large conversation.
    pub entries: u64,
    /// Submissions that are timed.
    pub commits: u64,
    /// Bytes of a command's output.
    pub output: u64,
    /// Sessions that are searched.
    pub sessions: u64,
    /// Entries of each of them.
    pub entries_each: u64,
}

/// As it has to hold.
pub const FULL: Engine = Engine {
    entries: 100_000,
    commits: 300,
    output: 1 << 30,
    sessions: 200,
    entries_each: 5_000,
};
/// To try the measure.
pub const SMALL: Engine = Engine {
    entries: 2_000,
    commits: 20,
    output: 8 << 20,
    sessions: 5,
    entries_each: 200,
};

/// Times that a store is opened, and that output is written.
const RUNS: usize = 5;
/// Longest time to wait for the index.
const INDEXED: Duration = Duration::from_secs(1_200);

/// Measures all of it.
///
/// # Errors
/// Where a program does not do what is asked.
pub fn measure(size: &Engine) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut rows = opening(size).await?;
        rows.push(commits(size).await?);
        rows.extend(output(size)?);
        rows.extend(search(size).await?);
        Ok(rows)
    })
}

/// From asking for a conversation whose worker does not run to its first page; the reference is an empty conversation.
async fn opening(size: &Engine) -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let _model = world.model(Vec::new())?;
    let mut server = world.serve()?;
    let full = session_id(&large::session(&world, size.entries, 1)?)?;
    let empty = session_id(&world.session()?)?;
    let (mut ours, mut reference, mut resident) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        // A new server has no worker yet.
        ensure!(server.stop() == Some(0), "the server did not stop well");
        server = world.serve()?;
        let visitor = Visitor::of(&world, &server).await?;
        reference.push(visitor.first_page(&empty).await?);
        let others = server.workers();
        ours.push(visitor.first_page(&full).await?);
        let worker = server
            .workers()
            .into_iter()
            .find(|pid| !others.contains(pid));
        resident.push(mib(process::resident(worker.context("a worker")?)));
    }
    let name = format!("engine, first page of {} entries", size.entries);
    Ok(vec![
        Row::beside(
            &name,
            quantile(&mut ours, 0.5),
            "ms",
            quantile(&mut reference, 0.5),
        ),
        Row::alone(
            &format!("engine, RSS of its worker with {} entries", size.entries),
            quantile(&mut resident, 0.5),
            "MiB",
        ),
    ])
}

/// From sending a message that waits behind a running turn to its receipt, over the link; the reference is a row of the same text
/// in a SQLite file with the same settings, in turn.
async fn commits(size: &Engine) -> anyhow::Result<Row> {
    let world = World::new()?;
    let _model = world.model(vec![Step::Hold {
        before: vec!["one ".to_owned()],
        after: vec!["two".to_owned()],
    }])?;
    let server = world.serve()?;
    let id = session_id(&world.session()?)?;
    let visitor = Visitor::of(&world, &server).await?;
    let mut client = visitor.open().await?;
    let bare = bare_store(&world.data().join("bare.sqlite"))?;
    submit(&mut client, &id, 0, "begin").await?;
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for n in 1..=size.commits {
        // It is taken back, so that the queue stays as short as it is in use.
        let text = format!("message number {n} that is about as long as people write them");
        let begun = Instant::now();
        let submission = submit(&mut client, &id, n, &text).await?;
        ours.push(milliseconds(begun.elapsed()));
        let begun = Instant::now();
        bare.execute("INSERT INTO kept (text) VALUES (?1)", [&text])?;
        reference.push(milliseconds(begun.elapsed()));
        let call = Call::Withdraw {
            session: id.clone(),
            conversation: ConversationId::ROOT,
            submission,
            request: None,
        };
        ask(&mut client, 1_000_000 + n, call).await?;
    }
    Ok(Row::beside(
        "engine, receipt of a submission",
        quantile(&mut ours, 0.5),
        "ms",
        quantile(&mut reference, 0.5),
    ))
}

fn bare_store(path: &Path) -> anyhow::Result<Connection> {
    let bare = Connection::open(path)?;
    bare.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    bare.pragma_update(None, "journal_mode", "WAL")?;
    bare.pragma_update(None, "synchronous", "FULL")?;
    bare.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, text TEXT)", [])?;
    Ok(bare)
}

/// A command that prints much, run by the agent; the reference is the shell writing the same into a file.
fn output(size: &Engine) -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let server = world.serve()?;
    let command = format!("seq 1 1000000000 | head -c {}", size.output);
    let (mut ours, mut reference, mut peak) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let id = world.session()?;
        let others = server.workers();
        world.ask(&["send", &id, "read nothing", "--wait", "--answer", "yes"])?;
        let worker = server
            .workers()
            .into_iter()
            .find(|pid| !others.contains(pid));
        let worker = worker.context("a worker")?;
        let begun = Instant::now();
        let say = format!("run {command}");
        world.ask(&["send", &id, &say, "--wait", "--answer", "yes"])?;
        ours.push(begun.elapsed().as_secs_f64());
        peak.push(mib(process::resident_peak(worker)));
        world.ask(&["delete", &id])?;
        let begun = Instant::now();
        let file = world.project().join("reference.out");
        let status = std::process::Command::new("sh")
            .args(["-c", &format!("{command} >'{}'", file.display())])
            .status()?;
        reference.push(begun.elapsed().as_secs_f64());
        ensure!(
            status.success() && fs::metadata(&file)?.len() == size.output,
            "the reference wrote less"
        );
        fs::remove_file(file)?;
    }
    let name = format!("engine, {} MiB of output", size.output >> 20);
    Ok(vec![
        Row::beside(
            &name,
            quantile(&mut ours, 0.5),
            "s",
            quantile(&mut reference, 0.5),
        ),
        Row::alone(
            "engine, largest RSS of its worker",
            quantile(&mut peak, 0.5),
            "MiB",
        ),
    ])
}

/// Searches over all sessions, for words of every frequency.
async fn search(size: &Engine) -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let _model = world.model(Vec::new())?;
    let server = world.serve()?;
    for seed in 0..size.sessions {
        large::session(&world, size.entries_each, seed + 2)?;
    }
    let visitor = Visitor::of(&world, &server).await?;
    let mut client = visitor.open().await?;
    let begun = Instant::now();
    while find(&mut client, "end").await?.behind {
        ensure!(begun.elapsed() < INDEXED, "the index is not made");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let mut times = Vec::new();
    for question in questions() {
        let begun = Instant::now();
        let found = find(&mut client, &question).await?;
        times.push(milliseconds(begun.elapsed()));
        ensure!(!found.hits.is_empty(), "`{question}` is found nowhere");
    }
    let entries = size.sessions * size.entries_each;
    let row = |what: &str, part: f64, times: &mut [f64]| {
        let name = format!("engine, search of {entries} entries, {what}");
        Row::alone(&name, quantile(times, part), "ms")
    };
    Ok(vec![
        row("median", 0.5, &mut times),
        row("longest", 1.0, &mut times),
    ])
}

/// Frequent words, rare words, two words, phrases, beginnings.
fn questions() -> Vec<String> {
    let mut questions = Vec::new();
    for at in 0..10 {
        questions.push(large::word(at));
        questions.push(large::word(40 + at * 200));
        questions.push(format!("{} {}", large::word(at), large::word(at + 90)));
        questions.push(large::word(200 + at * 31).chars().take(4).collect());
    }
    questions
}

/// Someone with the owner's cookie.
struct Visitor {
    address: SocketAddr,
    cookie: String,
}

impl Visitor {
    async fn of(world: &World, server: &Server) -> anyhow::Result<Self> {
        let address = server.address.parse().context("an address")?;
        let cookie = client::redeem(address, &world.owner_link()?).await?;
        Ok(Self { address, cookie })
    }

    async fn open(&self) -> anyhow::Result<Client> {
        Client::open(self.address, &self.cookie).await
    }

    /// Returns the milliseconds from asking for a conversation to its first page.
    async fn first_page(&self, session: &SessionId) -> anyhow::Result<f64> {
        let mut client = self.open().await?;
        let topic = Topic::Conversation {
            session: session.clone(),
            conversation: ConversationId::ROOT,
        };
        let begun = Instant::now();
        client.send(&ClientFrame::Watch { topic }).await?;
        while !client.text().await?.starts_with("{\"snapshot\"") {}
        Ok(milliseconds(begun.elapsed()))
    }
}

async fn submit(
    client: &mut Client,
    session: &SessionId,
    id: u64,
    text: &str,
) -> anyhow::Result<porthole_protocol::SubmissionId> {
    let call = Call::Submit {
        session: session.clone(),
        conversation: ConversationId::ROOT,
        request: RequestId::parse(&format!("r{id}")).context("an id")?,
        mode: SendMode::FollowUp,
        text: text.to_owned(),
        attachments: Vec::new(),
    };
    let reply = ask(client, id, call).await?;
    Ok(serde_json::from_str::<replies::Submitted>(&reply)?.submission)
}

async fn find(client: &mut Client, text: &str) -> anyhow::Result<replies::Found> {
    let call = Call::Search {
        session: None,
        text: text.to_owned(),
        limit: 20,
        before: None,
    };
    Ok(serde_json::from_str(&ask(client, 1, call).await?)?)
}

async fn ask(client: &mut Client, id: u64, call: Call) -> anyhow::Result<String> {
    client.send(&ClientFrame::Call { id, call }).await?;
    let mine =
        |frame: &ServerFrame| matches!(frame, ServerFrame::Reply { id: of, .. } if *of == id);
    match client.until(mine).await? {
        ServerFrame::Reply { result, .. } => Ok(result.get().to_owned()),
        other => anyhow::bail!("no reply: {other:?}"),
    }
}

fn session_id(text: &str) -> anyhow::Result<SessionId> {
    SessionId::parse(text).context("an id of a session")
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
