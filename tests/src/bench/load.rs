//! What many cost: watchers of one stream, sessions in the list, workers alive, visits. The stream's reference is a bare
//! broadcast over the same library of WebSockets, in a process of its own.

mod stream;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::Context;
use porthole_protocol::{
    Call, ClientFrame, ConversationId, RequestId, ServerFrame, SessionId, Topic, replies,
};

use super::{Row, milliseconds, quantile};
use crate::{
    World,
    client::{self, Client},
    process,
    world::Server,
};

/// How much of everything there is.
pub struct Load {
    /// Watchers of the stream.
    pub watchers: usize,
    /// Seconds of the stream.
    pub seconds: u32,
    /// Sessions in the catalog.
    pub sessions: usize,
    /// Workers alive.
    pub workers: usize,
    /// Visits: connect, look, leave.
    pub visits: usize,
}

/// As it has to hold.
pub const FULL: Load = Load {
    watchers: 500,
    seconds: 20,
    sessions: 1_000,
    workers: 50,
    visits: 10_000,
};
/// To try the measure.
pub const SMALL: Load = Load {
    watchers: 20,
    seconds: 2,
    sessions: 30,
    workers: 3,
    visits: 100,
};

/// Samples of the list.
const LISTS: usize = 21;
/// Snapshots that one who reads nothing asks for.
const UNREAD: usize = 200;

/// Measures all of it.
pub fn measure(load: &Load) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut rows = stream::measure(load).await?;
        rows.extend(sessions(load).await?);
        Ok(rows)
    })
}

async fn sessions(load: &Load) -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let _model = world.model(Vec::new())?;
    let server = world.serve()?;
    let visitor = Visitor::of(&world, &server).await?;
    let mut client = visitor.open().await?;
    let ids = visitor.create(&mut client, &world, load.sessions).await?;
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        let mut client = visitor.open().await?;
        lists.push(visitor.watch(&mut client, Topic::Sessions).await?);
    }
    let mut rows = vec![Row::alone(
        &format!("load, list of {} sessions", ids.len()),
        quantile(&mut lists, 0.5),
        "ms",
    )];
    rows.push(unread(&visitor, &server).await?);
    rows.extend(workers(&visitor, &server, &ids, load).await?);
    rows.push(visits(&visitor, &server, load).await?);
    Ok(rows)
}

/// One who asks for snapshot after snapshot and reads none.
async fn unread(visitor: &Visitor, server: &Server) -> anyhow::Result<Row> {
    let mut stuck = visitor.open().await?;
    let before = process::resident(server.pid());
    for _ in 0..UNREAD {
        let topic = Topic::Sessions;
        stuck.send(&ClientFrame::Watch { topic }).await?;
    }
    // Everything before was taken once another one is answered.
    let mut other = visitor.open().await?;
    visitor.watch(&mut other, Topic::Sessions).await?;
    let grown = process::resident(server.pid()).saturating_sub(before);
    Ok(Row::alone(
        "load, memory for one who reads nothing",
        mib(grown),
        "MiB",
    ))
}

async fn workers(
    visitor: &Visitor,
    server: &Server,
    ids: &[SessionId],
    load: &Load,
) -> anyhow::Result<Vec<Row>> {
    let (mut starts, mut watching) = (Vec::new(), Vec::new());
    for id in ids.iter().take(load.workers) {
        let mut client = visitor.open().await?;
        starts.push(visitor.watch(&mut client, conversation(id)).await?);
        watching.push(client);
    }
    let alive = server.workers();
    anyhow::ensure!(
        alive.len() == watching.len(),
        "{} workers live",
        alive.len()
    );
    let mut memory: Vec<f64> = alive.iter().map(|pid| mib(process::pss(*pid))).collect();
    let name = |what: &str| format!("load, {what} of {} workers", alive.len());
    Ok(vec![
        Row::alone(
            &name("start to snapshot, median"),
            quantile(&mut starts, 0.5),
            "ms",
        ),
        Row::alone(
            &name("start to snapshot, longest"),
            quantile(&mut starts, 1.0),
            "ms",
        ),
        Row::alone(
            &name("memory each, median"),
            quantile(&mut memory, 0.5),
            "MiB",
        ),
        Row::alone(
            &name("memory each, largest"),
            quantile(&mut memory, 1.0),
            "MiB",
        ),
    ])
}

async fn visits(visitor: &Visitor, server: &Server, load: &Load) -> anyhow::Result<Row> {
    let visit = async |count: usize| -> anyhow::Result<()> {
        for _ in 0..count {
            let mut client = visitor.open().await?;
            visitor.watch(&mut client, Topic::Sessions).await?;
        }
        Ok(())
    };
    // The first ones fill what is kept for the next.
    visit(load.visits / 20).await?;
    let before = process::resident(server.pid());
    visit(load.visits).await?;
    let after = process::resident(server.pid());
    let kept = mib(after) - mib(before);
    Ok(Row::alone(
        &format!("load, memory kept after {} visits", load.visits),
        kept,
        "MiB",
    ))
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

    /// Watches; returns the milliseconds until the snapshot was there.
    async fn watch(&self, client: &mut Client, topic: Topic) -> anyhow::Result<f64> {
        let begun = Instant::now();
        client.send(&ClientFrame::Watch { topic }).await?;
        while !client.text().await?.starts_with("{\"snapshot\"") {}
        Ok(milliseconds(begun.elapsed()))
    }

    async fn create(
        &self,
        client: &mut Client,
        world: &World,
        count: usize,
    ) -> anyhow::Result<Vec<SessionId>> {
        let mut ids = Vec::with_capacity(count);
        for number in 0..count {
            let id = number as u64;
            let call = Call::SessionCreate {
                request: RequestId::parse(&format!("r{number}")).context("an id")?,
                dir: Some(world.project().display().to_string()),
                title: Some(format!("session number {number}")),
                model: None,
            };
            client.send(&ClientFrame::Call { id, call }).await?;
            let mine = |frame: &ServerFrame| matches!(frame, ServerFrame::Reply { id: of, .. } if *of == id);
            if let ServerFrame::Reply { result, .. } = client.until(mine).await? {
                let made: replies::Created = serde_json::from_str(result.get())?;
                ids.push(made.session);
            }
        }
        Ok(ids)
    }
}

fn conversation(id: &SessionId) -> Topic {
    Topic::Conversation {
        session: id.clone(),
        conversation: ConversationId::ROOT,
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns microseconds of the machine's clock, the same in every process.
pub fn clock_us() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since: Duration| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}
