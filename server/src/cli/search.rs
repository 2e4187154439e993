//! `portholed search`: the same call as a UI makes.

use std::time::{Duration, SystemTime};

use porthole_protocol::{Call, Hit, replies::Found};

use super::{
    Failure, ListArgs, client::Link, lifecycle::print_json, out::note, out::say, plain::one_line,
};

pub(super) fn search(text: &str, limit: u32, list: &ListArgs) -> Result<(), Failure> {
    let found: Found = Link::open(&list.data)?.call(Call::Search {
        session: None,
        text: text.to_owned(),
        limit,
        before: None,
    })?;
    if list.json {
        return print_json(&found);
    }
    for hit in &found.hits {
        print(hit);
    }
    if found.behind {
        note!("some sessions are still being looked through: search again in a moment");
    }
    if found.hits.is_empty() {
        note!("nothing found");
    } else if found.next.is_some() {
        note!("there is more: `--limit` shows up to 100, more words find less");
    }
    Ok(())
}

fn print(hit: &Hit) {
    let archived = if hit.archived { " (archived)" } else { "" };
    say!("{}  {}{archived}", hit.session, one_line(&hit.title));
    if hit.entry.is_some() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(hit.at_ms.min(1 << 47));
        say!(
            "    {}, {}: {}",
            one_line(&hit.author),
            httpdate::fmt_http_date(at),
            one_line(&hit.snippet)
        );
    }
}
