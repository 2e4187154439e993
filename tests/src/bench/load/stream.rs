//! Many who watch one answer grow. Each piece of it is the time at which it was said.

use std::{net::SocketAddr, process::Stdio, time::Duration};

use anyhow::{Context, ensure};
use porthole_protocol::{ClientFrame, SessionId};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};

use super::{Load, Visitor, clock_us, conversation};
use crate::{
    World,
    bench::{Row, quantile},
    client::Client,
    process,
};

/// Pieces a second.
const RATE: u32 = 50;
/// How long a watcher waits for a piece, once there was one: then the stream is over.
const OVER: Duration = Duration::from_secs(3);

/// What one watcher saw.
#[derive(Default)]
struct Seen {
    frames: usize,
    gaps: usize,
    delays_ms: Vec<f64>,
}

/// Measures delays and what was dropped, beside a bare broadcast.
pub(super) async fn measure(load: &Load) -> anyhow::Result<Vec<Row>> {
    let ours = ours(load).await?;
    let reference = reference(load).await?;
    let name = |what: &str| format!("load, {what}, {} watchers", load.watchers);
    let (mut delays, mut bare) = (ours.delays, reference.delays);
    let mut row = |what: &str, part| {
        let value = quantile(&mut delays, part);
        Row::beside(&name(what), value, "ms", quantile(&mut bare, part))
    };
    Ok(vec![
        row("median delay", 0.5),
        row("99 % delay", 0.99),
        Row::alone(&name("frames dropped"), ours.gaps as f64, "frames"),
        Row::alone(
            &name("frames each"),
            ours.frames as f64 / load.watchers as f64,
            "frames",
        ),
        Row::beside(&name("CPU"), ours.cpu, "s", reference.cpu),
    ])
}

struct Run {
    delays: Vec<f64>,
    gaps: usize,
    frames: usize,
    cpu: f64,
}

impl Run {
    async fn of(
        mut watchers: JoinSet<anyhow::Result<Seen>>,
        root: u32,
        before: f64,
    ) -> anyhow::Result<Self> {
        let mut run = Self {
            delays: Vec::new(),
            gaps: 0,
            frames: 0,
            cpu: 0.0,
        };
        while let Some(seen) = watchers.join_next().await {
            let seen = seen??;
            ensure!(seen.frames > 0, "a watcher saw nothing");
            run.delays.extend(seen.delays_ms);
            run.gaps += seen.gaps;
            run.frames += seen.frames;
        }
        run.cpu = cpu(root) - before;
        Ok(run)
    }
}

async fn ours(load: &Load) -> anyhow::Result<Run> {
    let world = World::new()?;
    let begin = std::sync::Arc::new(Notify::new());
    let pieces = load.seconds * RATE;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let config = format!(
        "default = \"clock/clock\"\n\n[provider.clock]\napi = \"chat\"\nbase_url = \"http://{}/v1\"\n\
         models = [ {{ id = \"clock\", context = 128000 }} ]\n",
        listener.local_addr()?
    );
    std::fs::write(world.data().join("models.toml"), config)?;
    let model = tokio::spawn(speak(listener, begin.clone(), pieces));
    let server = world.serve()?;
    let session = world.session()?;
    let visitor = Visitor::of(&world, &server).await?;
    let id = SessionId::parse(&session).context("an id")?;
    let mut watchers = JoinSet::new();
    for _ in 0..load.watchers {
        let mut client = visitor.open().await?;
        let topic = conversation(&id);
        client.send(&ClientFrame::Watch { topic }).await?;
        while !client.text().await?.starts_with("{\"snapshot\"") {}
        watchers.spawn(watch(client));
    }
    let sent = tokio::task::spawn_blocking(move || {
        world.ask(&["send", &session, "tell the time"])?;
        anyhow::Ok(world)
    });
    let _world = sent.await??;
    let before = cpu(server.pid());
    begin.notify_one();
    let run = Run::of(watchers, server.pid(), before).await?;
    model.await??;
    Ok(run)
}

async fn reference(load: &Load) -> anyhow::Result<Run> {
    let world = World::new()?;
    let mut child = tokio::process::Command::new(world.program("bare-broadcast"))
        .args([
            load.watchers.to_string(),
            (load.seconds * RATE).to_string(),
            RATE.to_string(),
        ])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut line = String::new();
    let output = child.stdout.take().context("an output")?;
    BufReader::new(output).read_line(&mut line).await?;
    let address: SocketAddr = line.trim().parse()?;
    let mut watchers = JoinSet::new();
    for _ in 0..load.watchers {
        watchers.spawn(watch(Client::open(address, "none=none").await?));
    }
    let pid = child.id().context("it runs")?;
    let before = cpu(pid);
    Run::of(watchers, pid, before).await
}

/// Reads until nothing comes any more.
async fn watch(mut client: Client) -> anyhow::Result<Seen> {
    let mut seen = Seen::default();
    let mut last: Option<u64> = None;
    loop {
        let text = match seen.delays_ms.is_empty() {
            true => client.text().await,
            false => match tokio::time::timeout(OVER, client.text()).await {
                Ok(text) => text,
                Err(_) => return Ok(seen),
            },
        };
        // The reference ends by closing.
        let Ok(text) = text else { return Ok(seen) };
        let now = clock_us();
        if let Some(seq) = number_after(&text, "\"seq\":") {
            let expected = last.is_none_or(|last| seq == last + 1);
            seen.gaps += usize::from(!expected || text.starts_with("{\"snapshot\""));
            last = Some(seq);
        }
        if let Some(said) = number_after(&text, "said:") {
            seen.frames += 1;
            seen.delays_ms.push(now.saturating_sub(said) as f64 / 1e3);
        }
    }
}

fn number_after(text: &str, label: &str) -> Option<u64> {
    let rest = &text[text.find(label)? + label.len()..];
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn cpu(root: u32) -> f64 {
    let all = process::tree(root).into_iter();
    all.map(|pid| process::cpu(pid).as_secs_f64()).sum()
}

/// A model that tells the time, once it is asked and told to begin.
async fn speak(
    listener: TcpListener,
    begin: std::sync::Arc<Notify>,
    pieces: u32,
) -> anyhow::Result<()> {
    let (mut stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    let mut request = vec![0; 1 << 20];
    ensure!(stream.read(&mut request).await? > 0, "it was asked nothing");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    begin.notified().await;
    let mut tick = tokio::time::interval(Duration::from_secs(1) / RATE);
    for _ in 0..pieces {
        tick.tick().await;
        let piece = format!("said:{} ", clock_us());
        event(
            &mut stream,
            &format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{piece}"}}}}]}}"#),
        )
        .await?;
    }
    event(
        &mut stream,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    )
    .await?;
    event(&mut stream, "[DONE]").await?;
    Ok(stream.shutdown().await?)
}

async fn event(stream: &mut TcpStream, data: &str) -> anyhow::Result<()> {
    Ok(stream
        .write_all(format!("data: {data}\n\n").as_bytes())
        .await?)
}
