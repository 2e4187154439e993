//! What a share link allows, told before it is redeemed, and the name under which one comes. It redeems nothing.

use std::io::IsTerminal;

use porthole_door::{Link, Offer};

use crate::{
    door::{Door, DoorError},
    driver::wall_ms,
    escape,
    failure::Failure,
    name, prompt,
    surroundings::var,
};

const TITLE_COLUMNS: usize = 60;

/// Shows what `link` allows and returns the name to come under; asks for one where `given` is none.
///
/// # Errors
/// Where the link is not good, the name is none, or there is nobody to ask.
pub async fn accept(door: &Door, link: &Link, given: Option<String>) -> Result<String, Failure> {
    let failed = |error: DoorError| error.to_failure(&link.origin);
    let proved = door.prove(&link.fingerprint).await.map_err(failed)?;
    match proved.look(link).await {
        Ok(offer) => crate::note(&words(&offer, wall_ms())),
        // An older server; what the link allows is seen inside.
        Err(DoorError::Missing) => {}
        Err(error) => return Err(failed(error)),
    }
    match given {
        Some(given) => name::clean(&given).ok_or_else(no_name),
        None => asked(),
    }
}

fn no_name() -> Failure {
    Failure::usage(
        "this is no name",
        "a name has letters that can be seen, for example `--name Mira`",
    )
}

fn asked() -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask for your name on",
            "give it with `--name NAME`",
        ));
    }
    let suggested = name::suggested(var);
    let typed = prompt::line(&format!(
        "Your name, as the others will see it [{suggested}]:"
    ))?;
    match typed.trim() {
        "" => Ok(suggested),
        typed => name::clean(typed).ok_or_else(no_name),
    }
}

fn words(offer: &Offer, now_ms: u64) -> String {
    let title = match offer.title.as_str() {
        "" => "a session without a title".to_owned(),
        title => format!("“{}”", escape::visible_cut(title, TITLE_COLUMNS)),
    };
    let may = match (offer.mode.as_str(), offer.may_approve) {
        ("view", _) => "to read and follow it",
        ("full", false) => "to work in it: send, steer, stop, upload and run commands",
        ("full", true) => {
            "to work in it: send, steer, stop, upload, run commands, and answer what needs approval"
        }
        _ => "to take part in it",
    };
    let until = until(offer.expires_ms, now_ms);
    format!("You are invited to {title}, {may}{until}.")
}

fn until(expires_ms: u64, now_ms: u64) -> String {
    let left = expires_ms.saturating_sub(now_ms) / 60_000;
    match (expires_ms, left) {
        (0, _) => String::new(),
        (_, 0..=119) => format!(", for another {left} min"),
        (_, 120..=2849) => format!(", for another {} h", (left + 30) / 60),
        _ => format!(", for another {} days", (left + 720) / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_link_allows_is_said_in_words_and_a_title_cannot_act() {
        let offer = |mode: &str, may_approve, expires_ms| Offer {
            title: "fix \u{1b}[31mit".into(),
            mode: mode.into(),
            may_approve,
            expires_ms,
            once: false,
        };
        let day = 24 * 60 * 60_000;
        for (offer, expected) in [
            (
                offer("view", false, 0),
                "You are invited to “fix ␛[31mit”, to read and follow it.",
            ),
            (
                offer("full", false, 3 * day),
                "You are invited to “fix ␛[31mit”, to work in it: send, steer, stop, upload and run commands, for another 3 days.",
            ),
            (
                offer("view", false, 7 * day - 1_000),
                "You are invited to “fix ␛[31mit”, to read and follow it, for another 7 days.",
            ),
            (
                offer("full", true, day),
                "You are invited to “fix ␛[31mit”, to work in it: send, steer, stop, upload, run commands, and answer what needs approval, for another 24 h.",
            ),
        ] {
            assert_eq!(words(&offer, 0), expected);
        }
    }
}
