//! The words of the trust line and their shortening; what is always true about whom one talks to.

use porthole_door::Redeemer;

use super::{Admission, App, connection::Standing};
use crate::{escape, screen::width};

/// Digits of a bundle's hash that are shown.
const HASH_DIGITS: usize = 12;
/// So many forms of the line are tried before its words are cut.
const UNCUT: usize = 3;
/// Fewest columns of cut words that still mean something.
const SAID_COLUMNS: usize = 16;
const TITLE_COLUMNS: usize = 60;
/// Characters of a session's id that a question shows.
const ID_CHARS: usize = 32;
/// What stands between the parts of the line, and what passes for it.
const BARS: [char; 11] = ['│', '┃', '║', '｜', 'ǀ', '∣', '❘', '⎢', '┆', '┊', '╎'];

/// Returns the trust line for `cols` columns: the left part and the right part, which fit together with a gap.
pub(super) fn line(app: &App, cols: u16) -> (String, String) {
    let host = host(&app.fixed.origin);
    let who = who(&app.admission.who);
    let ui = ui(app.ui.sha256());
    let state = state(app);
    // A server's or a UI's words may be in it: they must not look like parts of the line.
    let said = app.feedback.clone().unwrap_or(state).replace(BARS, "|");
    let key = app.fixed.preferences.launcher_key;
    let (long, short) = (format!("{key} launcher "), format!("{key} "));
    let candidates = [
        (format!(" porthole │ {host} │ {who} │ {ui} │ {said}"), long),
        (
            format!(" porthole │ {host} │ {who} │ {ui} │ {said}"),
            short.clone(),
        ),
        (
            format!(" porthole │ {host} │ {who} │ {said}"),
            short.clone(),
        ),
        (format!(" porthole │ {host} │ {said}"), short.clone()),
        (format!(" {host} │ {said}"), short.clone()),
        (format!(" {host} │ {said}"), String::new()),
    ];
    let room = usize::from(cols);
    let needs = |left: &str, right: &str| width(left) + 2 + width(right);
    let fits = |(left, right): &&(String, String)| needs(left, right) <= room;
    if let Some(whole) = candidates[..UNCUT].iter().find(fits) {
        return whole.clone();
    }
    // Long words are cut before who one talks to is.
    for (left, right) in &candidates {
        let kept = (width(&said) + room).saturating_sub(needs(left, right));
        if kept >= SAID_COLUMNS && kept < width(&said) {
            let start = left.strip_suffix(said.as_str()).unwrap_or_default();
            return (
                format!("{start}{}", escape::visible_cut(&said, kept)),
                right.clone(),
            );
        }
    }
    if let Some(whole) = candidates.iter().find(fits) {
        return whole.clone();
    }
    // The end of the host is what tells two servers apart.
    (tail(&format!(" {host}"), room), String::new())
}

/// Returns the host and port of an origin, in ASCII.
pub(super) fn host(origin: &str) -> String {
    let bare = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    escape::visible(bare)
}

/// Returns a session's id as a question names it: a UI says what it is, and it must not read as a part of the question.
pub(super) fn session(id: &str) -> String {
    let plain = |char: char| match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => char,
        _ => '?',
    };
    let shown: String = id.chars().take(ID_CHARS).map(plain).collect();
    match id.chars().nth(ID_CHARS) {
        Some(_) => format!("{shown}…"),
        None => shown,
    }
}

/// Returns whether a URL is of the server itself.
pub(super) fn is_server(url: &str, origin: &str) -> bool {
    let of = |text: &str| url::Url::parse(text).ok().map(|url| url.origin());
    of(url).is_some_and(|found| found.is_tuple() && Some(found) == of(origin))
}

/// Returns the words for who one is.
pub(super) fn who(who: &Redeemer) -> String {
    match who {
        Redeemer::Owner => "owner".to_owned(),
        Redeemer::Guest { mode, .. } => format!("guest ({})", escape::visible_cut(mode, 8)),
    }
}

fn ui(sha256: Option<&str>) -> String {
    let digits = sha256.and_then(|hash| hash.get(..HASH_DIGITS));
    format!("UI {}", digits.unwrap_or("none"))
}

fn state(app: &App) -> String {
    if app.dialog.is_some() || app.picker.is_some() {
        return "waiting for you".to_owned();
    }
    if let Some(moving) = &app.moving {
        return moving.clone();
    }
    match &app.link.standing {
        Standing::Connecting => "connecting".to_owned(),
        Standing::Up => "connected".to_owned(),
        Standing::Down(why) => match app.link.left {
            Some(left) => format!("again in {left} s: {why}"),
            None => format!("reconnecting: {why}"),
        },
        Standing::Ended => "not connected".to_owned(),
    }
}

/// Returns the window's title: the UI's wish, with the launcher's own words before it.
pub(super) fn title(wish: &str, origin: &str) -> String {
    let wish = escape::visible_cut(wish, TITLE_COLUMNS);
    format!("porthole {} · {wish}", host(origin))
}

/// Returns what there is to know about whom one talks to, to copy.
pub(super) fn info(origin: &str, admission: &Admission, sha256: Option<&str>) -> String {
    format!(
        "server {} key {} you {} UI {}",
        escape::visible(origin),
        escape::visible(&admission.fingerprint),
        who(&admission.who),
        sha256.unwrap_or("none"),
    )
}

fn tail(text: &str, cols: usize) -> String {
    let skip = text.chars().count().saturating_sub(cols);
    text.chars().skip(skip).collect()
}
