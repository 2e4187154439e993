//! From a link, an origin or nothing to a running launcher: find the credential, redeem if need be, open the UI.

use porthole_bridge::Place;
use porthole_door::{Link, LinkError, Redeemer};
use ring::rand::{SecureRandom, SystemRandom};

use crate::{
    app::{App, Fixed},
    credential::{Record, Store},
    door::{Door, Tls},
    draw::Painter,
    driver::{self, Means},
    errand, escape,
    failure::Failure,
    folders::{self, Folders},
    preferences::Preferences,
    prompt, sandbox,
    surroundings::{Surroundings, var},
    terminal::{self, colors},
    timezone,
};

/// A session's first conversation, as every server numbers it.
const FIRST_CONVERSATION: u64 = 1;

/// What to open.
enum Target {
    Link(Box<Link>),
    Known(Box<Record>),
}

/// Opens the UI of `target` at `session`; without a target the last server's.
///
/// # Errors
/// Where there is no server to open, or it cannot be opened.
pub fn run(target: Option<String>, session: Option<String>) -> Result<u8, Failure> {
    let folders = Folders::from_env(var).map_err(|error| Failure::new(error.to_string(), ""))?;
    let store = Store::open(&folders.state).map_err(|error| Failure::new(error.to_string(), ""))?;
    let target = find(&store, target)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(open(folders, store, target, session));
    // The clipboard's thread, or a look-up that hangs, must not keep us.
    runtime.shutdown_background();
    ended
}

fn find(store: &Store, target: Option<String>) -> Result<Target, Failure> {
    let failed = |error: folders::FolderError| Failure::new(error.to_string(), "");
    match target {
        Some(text) if text.contains('#') => parse(&text),
        Some(text) => {
            let origin = origin_of(&text)?;
            match store.find(&origin).map_err(failed)? {
                Some(record) => Ok(Target::Known(Box::new(record))),
                None => Err(Failure::new(
                    format!(
                        "this computer has no access to `{}`",
                        escape::visible(&origin)
                    ),
                    "make a link there with `portholed link owner` and run `porthole LINK`",
                )),
            }
        }
        None => match store.all().map_err(failed)?.into_iter().next() {
            Some(record) => Ok(Target::Known(Box::new(record))),
            None => ask(),
        },
    }
}

fn ask() -> Result<Target, Failure> {
    let words = "No server is known yet. Paste a link (it stays hidden):";
    match prompt::hidden(words)? {
        Some(text) => parse(&text),
        None => Err(Failure::new(
            "no link was given",
            "make one on the server with `portholed link owner`",
        )),
    }
}

fn parse(text: &str) -> Result<Target, Failure> {
    let hint = match Link::parse(text) {
        Ok(link) => return Ok(Target::Link(Box::new(link))),
        Err(error @ LinkError::NoToken) => (error, "copy the whole link, from `http` to its end"),
        Err(error @ (LinkError::NotAUrl | LinkError::BadOrigin)) => {
            (error, "make one on the server with `portholed link owner`")
        }
    };
    Err(Failure::new(hint.0.to_string(), hint.1))
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

async fn open(
    folders: Folders,
    store: Store,
    target: Target,
    session: Option<String>,
) -> Result<u8, Failure> {
    let origin = match &target {
        Target::Link(link) => link.origin.clone(),
        Target::Known(record) => record.origin.clone(),
    };
    let failed = |error: crate::door::DoorError| error.to_failure(&origin);
    let tls = Tls::for_origin(&origin).map_err(failed)?;
    let door = Door::new(&origin, &tls).map_err(failed)?;
    let record = match target {
        Target::Known(record) => *record,
        Target::Link(link) => {
            let mut record = errand::redeem(&door, &link).await.map_err(failed)?;
            let before = store.find(&origin).ok().flatten();
            record.bundle = before.and_then(|before| before.bundle);
            store
                .save(&record)
                .map_err(|error| Failure::new(error.to_string(), ""))?;
            record
        }
    };
    folders::make_private(&folders.cache).map_err(|error| Failure::new(error.to_string(), ""))?;
    let cached = cached(&folders, &record).await;
    let app = app(&folders, &record, session)?;
    let painter = Painter::new(colors::depth(var));
    terminal::restore_on_panic();
    let means = Means {
        folders,
        store,
        record,
        door,
        tls,
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
        fingerprint: record.fingerprint.clone(),
        colors: colors::depth(var),
        background: colors::background(var),
        unicode: colors::unicode(var),
        desktop: Surroundings::from_env(var).has_desktop(),
        preferences: Preferences::read(&folders.config)?,
        utc_offset_minutes: timezone::offset_minutes(var("TZ").as_deref(), now),
    };
    let mut seed = [0; 8];
    // Without it the jitter is the same each time, which harms nobody.
    let _ = SystemRandom::new().fill(&mut seed);
    let seed = u64::from_le_bytes(seed);
    Ok(App::new(
        fixed,
        record.who.clone(),
        terminal::size(),
        place,
        seed,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_taken_with_and_without_a_slash_and_nothing_else_is() {
        for text in ["http://127.0.0.1:7420", " http://127.0.0.1:7420/ "] {
            assert_eq!(origin_of(text).expect("an origin"), "http://127.0.0.1:7420");
        }
        assert_eq!(origin_of("http://example.com").expect_err("http").status, 1);
        assert_eq!(origin_of("serve").expect_err("a word").status, 2);
    }
}
