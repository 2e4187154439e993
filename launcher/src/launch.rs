//! From a link, an origin, a host or nothing to a running launcher: find the credential, redeem if need be, open the UI.

use std::sync::Arc;

use porthole_bridge::Place;
use porthole_door::{Link, LinkError, LinkKind, Redeemer};
use ring::rand::{SecureRandom, SystemRandom};

use crate::{
    app::{App, Fixed},
    credential::{Known, Record, Store},
    door::{Door, DoorError, Tls},
    draw::Painter,
    driver::{self, Means},
    errand, escape,
    failure::Failure,
    folders::{self, Folders},
    invitation,
    preferences::Preferences,
    prompt, sandbox,
    surroundings::{Surroundings, var},
    terminal::{self, colors},
    timezone,
    tunnel::Tunnel,
};

/// A session's first conversation, as every server numbers it.
const FIRST_CONVERSATION: u64 = 1;

/// What to open.
pub enum Wish {
    /// A link, an origin, or the last server.
    Open {
        /// The link or origin.
        target: Option<String>,
        /// Straight at this session.
        session: Option<String>,
    },
    /// A share link, as a guest.
    Join {
        /// The link; asked for where there is none.
        link: Option<String>,
        /// The guest's name; asked for where there is none.
        name: Option<String>,
    },
    /// A server at the other end of the ssh program.
    Ssh {
        /// The host that the program is given.
        host: String,
        /// A session that works in this folder there.
        dir: Option<String>,
        /// Straight at this session.
        session: Option<String>,
    },
}

/// How to get to the server, and as whom.
enum Target {
    Link(Box<Link>, Option<String>),
    Known(Vec<Record>),
    Ssh(String, Option<String>),
}

/// A server that is reached and lets us in.
struct Opened {
    record: Record,
    door: Door,
    tls: Tls,
    tunnel: Option<Arc<Tunnel>>,
    session: Option<String>,
}

/// The launcher's folders and what is known.
struct Here {
    folders: Folders,
    store: Store,
    known: Known,
}

/// Opens a UI.
///
/// # Errors
/// Where there is no server to open, or it cannot be opened.
pub fn run(wish: Wish) -> Result<u8, Failure> {
    let folders = Folders::of_visitor()?;
    let store = Store::open(&folders.state)?;
    let known = store.known()?;
    known.warn();
    let here = Here {
        folders,
        store,
        known,
    };
    let (target, session) = find(&here.known, wish)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(open(here, target, session));
    // The clipboard's thread, or a look-up that hangs, must not keep us.
    runtime.shutdown_background();
    ended
}

fn find(known: &Known, wish: Wish) -> Result<(Target, Option<String>), Failure> {
    match wish {
        Wish::Open { target, session } => Ok((opened(known, target)?, session)),
        Wish::Join { link, name } => Ok((joined(link, name)?, None)),
        Wish::Ssh { host, dir, session } => Ok((Target::Ssh(host, dir), session)),
    }
}

fn opened(known: &Known, target: Option<String>) -> Result<Target, Failure> {
    let origin = match target {
        Some(text) if text.contains('#') => return Ok(Target::Link(parse(&text)?, None)),
        Some(text) => origin_of(&text)?,
        None => match known.records.first() {
            Some(record) => record.origin.clone(),
            None => return Ok(Target::Link(ask()?, None)),
        },
    };
    let records = known.of(&origin);
    match records.first() {
        // A forwarded port is nobody's while the ssh program does not run.
        Some(Record {
            ssh: Some(host), ..
        }) => Ok(Target::Ssh(host.clone(), None)),
        Some(_) => Ok(Target::Known(records)),
        None => Err(Failure::new(
            format!(
                "this computer has no access to `{}`",
                escape::visible(&origin)
            ),
            "make a link there with `portholed link owner` and run `porthole LINK`",
        )),
    }
}

fn joined(link: Option<String>, name: Option<String>) -> Result<Target, Failure> {
    let link = match link {
        Some(text) => parse(&text)?,
        None => ask()?,
    };
    match link.kind {
        LinkKind::Share => Ok(Target::Link(link, name)),
        LinkKind::Owner => Err(Failure::new(
            "this is an owner link: it makes this computer one of the owner's devices",
            "run `porthole` with it, if that is what you want",
        )),
    }
}

fn ask() -> Result<Box<Link>, Failure> {
    match prompt::hidden("Paste a link (it stays hidden):")? {
        Some(text) => parse(&text),
        None => Err(Failure::new(
            "no link was given",
            "make one on the server with `portholed link owner`",
        )),
    }
}

fn parse(text: &str) -> Result<Box<Link>, Failure> {
    let (error, hint) = match Link::parse(text) {
        Ok(link) => return Ok(Box::new(link)),
        Err(error @ LinkError::NoToken) => (error, "copy the whole link, from `http` to its end"),
        Err(error @ (LinkError::NotAUrl | LinkError::BadOrigin)) => {
            (error, "make one on the server with `portholed link owner`")
        }
    };
    Err(Failure::new(error.to_string(), hint))
}

/// Returns the origin in `text`, or why it is none that can be trusted.
pub(crate) fn origin_of(text: &str) -> Result<String, Failure> {
    let hint = "an origin looks like `http://127.0.0.1:7420` or `https://box.example`";
    let bad = |error: LinkError| match error {
        LinkError::BadOrigin => Failure::new(
            "this address is not one to trust: it must be https, or http to this machine",
            hint,
        ),
        LinkError::NotAUrl | LinkError::NoToken => Failure::usage("this is not an address", hint),
    };
    // The link parser owns the rule; a made-up fragment lends it the rest of a link.
    let (owner, key) = ("a".repeat(43), "a".repeat(43));
    let base = text.trim().trim_end_matches('/');
    Link::parse(&format!("{base}/#owner=pho_{owner}&key={key}"))
        .map(|link| link.origin)
        .map_err(bad)
}

async fn open(here: Here, target: Target, session: Option<String>) -> Result<u8, Failure> {
    let opened = match target {
        Target::Link(link, name) => by_link(&here, *link, name, session).await?,
        Target::Known(records) => as_known(&records, session).await?,
        Target::Ssh(host, dir) => through_ssh(&here, &host, dir, session).await?,
    };
    start(here, opened).await
}

fn door_to(origin: &str) -> Result<(Tls, Door), Failure> {
    let failed = |error: DoorError| error.to_failure(origin);
    let tls = Tls::for_origin(origin).map_err(failed)?;
    let door = Door::new(origin, &tls).map_err(failed)?;
    Ok((tls, door))
}

async fn by_link(
    here: &Here,
    link: Link,
    name: Option<String>,
    session: Option<String>,
) -> Result<Opened, Failure> {
    let (tls, door) = door_to(&link.origin)?;
    let failed = |error: DoorError| error.to_failure(&link.origin);
    let name = match link.kind {
        LinkKind::Owner => String::new(),
        LinkKind::Share => invitation::accept(&door, &link, name).await?,
    };
    let before = here.known.of(&link.origin);
    let mut same = before
        .iter()
        .filter(|record| record.fingerprint == link.fingerprint);
    let guest = same.clone().find(|record| record.session().is_some());
    let mut record = errand::redeem(&door, &link, &name, guest)
        .await
        .map_err(failed)?;
    record.bundle = same.find_map(|before| before.bundle.clone());
    here.store.save(&record)?;
    // A share link leads to its session, whoever one is there besides.
    let session = session.or_else(|| record.session().map(str::to_owned));
    Ok(Opened {
        record,
        door,
        tls,
        tunnel: None,
        session,
    })
}

async fn as_known(records: &[Record], session: Option<String>) -> Result<Opened, Failure> {
    let Some(first) = records.first() else {
        return Err(Failure::new("no server is known", "run `porthole LINK`"));
    };
    let (tls, door) = door_to(&first.origin)?;
    let one_key = records
        .iter()
        .all(|record| record.fingerprint == first.fingerprint);
    // Several servers have been behind this address; the key says which one is there now.
    let key = match one_key {
        true => first.fingerprint.clone(),
        false => {
            let there = door.fingerprint().await;
            there.map_err(|error| error.to_failure(&first.origin))?
        }
    };
    let record = choose(records, &key, session.as_deref())
        .ok_or_else(|| DoorError::ForeignKey.to_failure(&first.origin))?;
    Ok(Opened {
        record: record.clone(),
        door,
        tls,
        tunnel: None,
        session,
    })
}

/// Returns whom to be at the server with that key: the owner, else the guest of that session, else the guest one was last.
fn choose<'a>(records: &'a [Record], key: &str, session: Option<&str>) -> Option<&'a Record> {
    let there = || records.iter().filter(|record| record.fingerprint == key);
    let first = there().next()?;
    let invited = |record: &&Record| session.is_some() && record.session() == session;
    match first.who {
        Redeemer::Owner => Some(first),
        Redeemer::Guest { .. } => there().find(invited).or(Some(first)),
    }
}

async fn through_ssh(
    here: &Here,
    host: &str,
    dir: Option<String>,
    session: Option<String>,
) -> Result<Opened, Failure> {
    let ours = |record: &&Record| record.ssh.as_deref() == Some(host);
    let before: Vec<&Record> = here.known.records.iter().filter(ours).collect();
    let wanted = before.first().and_then(|record| record.port());
    let tunnel = Tunnel::open(host, wanted).await?;
    let origin = tunnel.origin();
    let (tls, door) = door_to(&origin)?;
    let key = door
        .fingerprint()
        .await
        .map_err(|error| error.to_failure(&origin))?;
    let same = before.into_iter().find(|record| record.fingerprint == key);
    let still = match same {
        Some(record) => still_admitted(here, &door, record, &origin).await?,
        None => None,
    };
    let record = match still {
        Some(record) => record,
        None => by_fetched_link(here, &door, &tunnel, &key).await?,
    };
    let session = match dir {
        Some(dir) => Some(tunnel.remote().await.session(&dir).await?),
        None => session,
    };
    tunnel.hush().await;
    Ok(Opened {
        record,
        door,
        tls,
        tunnel: Some(Arc::new(tunnel)),
        session,
    })
}

/// Returns the credential under the port that is forwarded now, where the server still takes it.
async fn still_admitted(
    here: &Here,
    door: &Door,
    record: &Record,
    origin: &str,
) -> Result<Option<Record>, Failure> {
    let failed = |error: DoorError| error.to_failure(origin);
    let moved = record.moved_to(origin);
    let proved = door.prove(&record.fingerprint).await.map_err(failed)?;
    match proved.admitted(&moved).await {
        Ok(_) => {}
        Err(DoorError::SignedOut) => {
            here.store.forget(record)?;
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    }
    if moved.origin != record.origin {
        here.store.save(&moved)?;
        here.store.forget(record)?;
    }
    Ok(Some(moved))
}

async fn by_fetched_link(
    here: &Here,
    door: &Door,
    tunnel: &Tunnel,
    key: &str,
) -> Result<Record, Failure> {
    let origin = tunnel.origin();
    let failed = |error: DoorError| error.to_failure(&origin);
    let mut link = tunnel.remote().await.owner_link().await?;
    // The server that answers through the port must be the one whose owner made the link.
    if link.fingerprint != key {
        return Err(failed(DoorError::ForeignKey));
    }
    link.origin.clone_from(&origin);
    let mut record = errand::redeem(door, &link, "", None)
        .await
        .map_err(failed)?;
    record.ssh = Some(tunnel.host().to_owned());
    here.store.save(&record)?;
    Ok(record)
}

async fn start(here: Here, opened: Opened) -> Result<u8, Failure> {
    folders::make_private(&here.folders.cache)?;
    let cached = cached(&here.folders, &opened.record).await;
    let transfer_bytes = Preferences::read(&here.folders.config)?.transfer_bytes();
    let app = app(&here.folders, &opened.record, opened.session)?;
    let painter = Painter::new(colors::depth(var));
    terminal::restore_on_panic();
    let means = Means {
        folders: here.folders,
        store: here.store,
        record: opened.record,
        door: opened.door,
        tls: opened.tls,
        tunnel: opened.tunnel,
        transfer_bytes,
    };
    driver::run(means, app, painter, cached).await
}

async fn cached(folders: &Folders, record: &Record) -> Option<String> {
    let sha256 = record.bundle.clone()?;
    sandbox::artifact(&folders.cache, &record.origin, &sha256)
        .await
        .map(|_| sha256)
}

fn app(folders: &Folders, record: &Record, session: Option<String>) -> Result<App, Failure> {
    let invited = match &record.who {
        Redeemer::Owner => None,
        Redeemer::Guest { session, .. } => Some(session.clone()),
    };
    let place = session.or(invited).map(|session| Place {
        session,
        conversation: FIRST_CONVERSATION,
    });
    let now = i64::try_from(driver::wall_ms() / 1000).unwrap_or(0);
    let fixed = Fixed {
        origin: record.origin.clone(),
        colors: colors::depth(var),
        background: colors::background(var),
        unicode: colors::unicode(var),
        desktop: Surroundings::from_env(var).has_desktop(),
        preferences: Preferences::read(&folders.config)?,
        folder: std::env::current_dir().unwrap_or_else(|_| "/".into()),
        utc_offset_minutes: timezone::offset_minutes(var("TZ").as_deref(), now),
    };
    let mut seed = [0; 8];
    // Without it the jitter is the same each time, which harms nobody.
    let _ = SystemRandom::new().fill(&mut seed);
    let seed = u64::from_le_bytes(seed);
    Ok(App::new(
        fixed,
        record.admission(),
        terminal::size(),
        place,
        seed,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: &str, session: Option<&str>) -> Record {
        Record {
            origin: "http://127.0.0.1:1".into(),
            fingerprint: key.into(),
            cookie_name: "porthole-device-1".into(),
            cookie_value: "v".into(),
            who: match session {
                None => Redeemer::Owner,
                Some(session) => Redeemer::Guest {
                    session: session.into(),
                    mode: "view".into(),
                    may_approve: false,
                    name: "mira".into(),
                    title: "t".into(),
                    expires_ms: 0,
                },
            },
            last_used: 1,
            bundle: None,
            ssh: None,
        }
    }

    #[test]
    fn the_owner_wins_then_the_guest_of_the_session_and_never_another_servers_credential() {
        let guests = [record("k", Some("s1")), record("k", Some("s2"))];
        let all = [&[record("k", None)], &guests[..]].concat();
        let chosen = |from: &[Record], key: &str, session: Option<&str>| {
            choose(from, key, session).map(|record| record.session().map(str::to_owned))
        };
        assert_eq!(chosen(&all, "k", Some("s2")), Some(None));
        assert_eq!(chosen(&guests, "k", Some("s2")), Some(Some("s2".into())));
        assert_eq!(chosen(&guests, "k", None), Some(Some("s1".into())));
        assert_eq!(chosen(&all, "other", None), None);
    }

    #[test]
    fn origins_are_taken_with_and_without_a_slash_and_nothing_else_is() {
        for text in ["http://127.0.0.1:7420", " http://127.0.0.1:7420/ "] {
            assert_eq!(origin_of(text).expect("an origin"), "http://127.0.0.1:7420");
        }
        assert_eq!(origin_of("http://example.com").expect_err("http").status, 1);
        assert_eq!(origin_of("serve").expect_err("a word").status, 2);
    }
}
