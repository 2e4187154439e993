//! Commands about who may: links, guests and devices.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use porthole_protocol::{
    AccessId, Call, GuestMode, Share, Standing, limits::SHARE_SECONDS, replies, share_words,
};

use super::out::{note, say};
use super::{
    DataArgs, Failure, ListArgs, Mode, ShareArgs,
    client::{Link, ask, strange},
    engine::{request, session},
    lifecycle::print_json,
    plain::one_line,
};
use crate::local::{Ask, Tell};

const ONLY_HERE: &str = "The link reaches only this machine. From another one, forward the port with `ssh -L`, or serve with `--public-url URL`.";

pub(super) fn link_owner(data: &DataArgs) -> Result<(), Failure> {
    let Tell::OwnerLink { link, seconds } = ask(data, &Ask::OwnerLink)? else {
        return Err(strange());
    };
    note!(
        "Whoever uses this link first has everything that you have here. It works once, for {} minutes.",
        seconds / 60
    );
    note!("Run `porthole` and paste it there.");
    if link.starts_with("http://") {
        note!("{ONLY_HERE}");
    }
    note!("");
    say!("{link}");
    Ok(())
}

pub(super) fn link_share(args: &ShareArgs) -> Result<(), Failure> {
    let mode = match args.mode {
        Mode::View => GuestMode::View,
        Mode::Full => GuestMode::Full,
    };
    let session = session(&args.session)?;
    let seconds = args.expires.as_deref().map(seconds_of).transpose()?;
    let mut link = Link::open(&args.data)?;
    // Told first: a link that is printed can be copied at once.
    for words in share_words(mode, args.may_approve, args.once) {
        note!("{words}");
    }
    let shared: replies::Shared = link.call(Call::ShareCreate {
        session,
        request: request()?,
        mode,
        may_approve: args.may_approve,
        once: args.once,
        name: args.name.clone().unwrap_or_default(),
        seconds,
    })?;
    note!(
        "It ends in {}; `portholed revoke {}` ends it at once.",
        span(seconds.unwrap_or(SHARE_SECONDS)),
        shared.share.id
    );
    if shared.only_here {
        note!("{ONLY_HERE}");
    }
    note!("");
    match args.json {
        true => print_json(&shared),
        false => {
            say!("{}", shared.link);
            Ok(())
        }
    }
}

pub(super) fn links(list: &ListArgs) -> Result<(), Failure> {
    let replies::Shares { shares } =
        Link::open(&list.data)?.call(Call::ShareList { session: None })?;
    if list.json {
        return print_json(&shares);
    }
    if shares.is_empty() {
        say!("No share links. `portholed link share --session ID --mode view` makes one.");
    }
    let now = now_ms();
    for share in &shares {
        print_share(share, now);
    }
    Ok(())
}

fn print_share(share: &Share, now_ms: u64) {
    let standing = Standing::Guest {
        mode: share.mode,
        may_approve: share.may_approve,
    };
    let name = match share.name.as_str() {
        "" => String::new(),
        name => format!("  \"{}\"", one_line(name)),
    };
    let once = match (share.once, share.used) {
        (false, _) => "",
        (true, false) => "  once",
        (true, true) => "  once, used",
    };
    let left = share.expires_ms.saturating_sub(now_ms) / 1000;
    say!(
        "{}{name}  session {}  {}{once}  ends in {}",
        share.id,
        share.session,
        standing.label(),
        remaining(left)
    );
    for guest in &share.guests {
        let seen = match guest.here {
            true => "here now".to_owned(),
            false => format!("last here {} ago", since(now_ms, guest.seen_ms)),
        };
        say!(
            "  {}  {} (unverified)  {seen}",
            guest.id,
            one_line(&guest.name)
        );
    }
}

pub(super) fn revoke(id: &str, data: &DataArgs) -> Result<(), Failure> {
    let id = AccessId::parse(id).map_err(|_| {
        Failure::new("that is no id of a link or guest").hint("`portholed links` lists them")
    })?;
    let _: replies::Done = Link::open(data)?.call(Call::ShareRevoke { id: id.clone() })?;
    say!("Revoked {id}");
    Ok(())
}

pub(super) fn devices(list: &ListArgs) -> Result<(), Failure> {
    let replies::Devices { devices } = Link::open(&list.data)?.call(Call::DeviceList {})?;
    if list.json {
        return print_json(&devices);
    }
    if devices.is_empty() {
        say!("No devices yet; `portholed link owner` makes a link for one.");
    }
    let now = now_ms();
    for device in devices {
        let seen = match device.here {
            true => "here now".to_owned(),
            false => format!("last here {} ago", since(now, device.seen_ms)),
        };
        let from = match device.from.as_str() {
            "" => String::new(),
            from => format!(", from {}", one_line(from)),
        };
        say!(
            "{}  {}  made {} ago, {seen}{from}",
            device.id,
            one_line(&device.name),
            since(now, device.created_ms)
        );
    }
    Ok(())
}

pub(super) fn sign_out(device: &str, data: &DataArgs) -> Result<(), Failure> {
    let device = AccessId::parse(device).map_err(|_| {
        Failure::new("there is no such device").hint("`portholed devices` lists them")
    })?;
    let _: replies::Done = Link::open(data)?.call(Call::DeviceSignOut {
        device: device.clone(),
    })?;
    say!("Signed out {device}");
    Ok(())
}

/// Returns the seconds of a time as people write it: `45s`, `30m`, `12h`, `7d`, `2w`.
fn seconds_of(text: &str) -> Result<u64, Failure> {
    let wrong = || {
        Failure::new(format!("`{}` is no length of time", one_line(text)))
            .hint("write it as `30m`, `12h` or `7d`")
    };
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let each = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - unit.len_utf8()]
        .parse()
        .map_err(|_| wrong())?;
    number.checked_mul(each).ok_or_else(wrong)
}

/// Returns a time in its largest whole unit.
fn span(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

/// What was given seven days a moment ago has seven days left.
fn remaining(seconds: u64) -> String {
    let half = match seconds {
        0..3_600 => 30,
        3_600..172_800 => 1_800,
        _ => 43_200,
    };
    span(seconds + half.min(seconds))
}

fn since(now_ms: u64, then_ms: u64) -> String {
    span(now_ms.saturating_sub(then_ms) / 1000)
}

fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("45s", 45),
            ("30m", 1_800),
            ("12h", 43_200),
            ("7d", 604_800),
            ("2w", 1_209_600),
        ] {
            assert_eq!(seconds_of(text), Ok(seconds), "{text}");
        }
        for wrong in [
            "",
            "7",
            "d",
            "7 days",
            "-1d",
            "1.5h",
            "99999999999999999999d",
            "18446744073709551615w",
            "7é",
        ] {
            assert!(seconds_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_told_in_their_largest_unit() {
        for (seconds, told) in [
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (7_199, "1 hour"),
            (172_800, "2 days"),
            (604_800, "7 days"),
        ] {
            assert_eq!(span(seconds), told);
        }
    }

    #[test]
    fn what_remains_is_told_to_the_nearest_unit() {
        for (seconds, told) in [
            (0, "0 seconds"),
            (604_799, "7 days"),
            (561_599, "6 days"),
            (86_399, "24 hours"),
            (119, "2 minutes"),
        ] {
            assert_eq!(remaining(seconds), told, "{seconds}");
        }
    }
}
