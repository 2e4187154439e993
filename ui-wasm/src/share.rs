//! Sharing from the UI: which links there are and who came by them, what a new one exposes, and taking it back.
//! It makes lists to choose from; the server makes links and words.

use porthole_protocol::{
    AccessId, Call, GuestMode, SessionId, Share, limits, replies::Shared, share_words,
};

use crate::{
    clock,
    effects::Effects,
    look::Look,
    picker::{Choice, Item, Picker},
    text,
};

/// What can be chosen about links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShareChoice {
    /// Says what a new link of this kind would expose, before it is made.
    New(Wish),
    /// Makes it.
    Make(Wish),
    /// Shows a link with its guests.
    Look(AccessId),
    /// Ends a link with all its guests, or one guest's access.
    Revoke(AccessId),
    /// Copies the link that was made last.
    Copy,
    /// Shows all links.
    All,
}

/// What a link is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// How much its guests may do.
    pub(crate) mode: GuestMode,
    /// Whether they may answer questions.
    pub(crate) may_approve: bool,
    /// Whether only the first who uses it comes in.
    pub(crate) once: bool,
    /// How long it lives, as a place in [`LIVES`].
    pub(crate) life: usize,
}

/// How long a link may live: seconds, and in words.
const LIVES: [(u64, &str); 4] = [
    (limits::SHARE_SECONDS, "7 days"),
    (60 * 60, "an hour"),
    (24 * 60 * 60, "a day"),
    (30 * 24 * 60 * 60, "30 days"),
];

/// Cells of a line of words in a list.
const WORDS_COLS: usize = 66;

/// What is known of the links of the session that is open.
#[derive(Default)]
pub(crate) struct Sharing {
    shares: Vec<Share>,
    /// The link that was made last. A secret, so it is in no `Debug` and no snapshot.
    link: Option<String>,
}

impl std::fmt::Debug for Sharing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sharing")
            .field("shares", &self.shares.len())
            .finish_non_exhaustive()
    }
}

impl Wish {
    fn of(mode: GuestMode) -> Self {
        Self {
            mode,
            may_approve: false,
            once: false,
            life: 0,
        }
    }

    /// Whether nothing but the mode was chosen yet.
    pub(crate) fn is_plain(self) -> bool {
        self == Self::of(self.mode)
    }

    /// Returns the call that makes the link.
    pub(crate) fn call(self, session: SessionId, fx: &mut Effects) -> Call {
        Call::ShareCreate {
            session,
            request: fx.ids.request(),
            mode: self.mode,
            may_approve: self.may_approve,
            once: self.once,
            name: String::new(),
            seconds: Some(LIVES[self.life % LIVES.len()].0),
        }
    }
}

impl Sharing {
    /// Takes the links as they are.
    pub(crate) fn take(&mut self, shares: Vec<Share>) {
        self.shares = shares;
    }

    /// Returns the link that was made last.
    pub(crate) fn link(&self) -> Option<&str> {
        self.link.as_deref()
    }

    /// Returns the list of links of a session, and what else can be done.
    pub(crate) fn all(&self, session: &SessionId, look: &Look, now_ms: u64) -> Picker {
        let mut items = vec![
            Item::new(
                Choice::Share(ShareChoice::New(Wish::of(GuestMode::View))),
                "new link: guests read and follow",
                "view",
            ),
            Item::new(
                Choice::Share(ShareChoice::New(Wish::of(GuestMode::Full))),
                "new link: guests work here too",
                "full",
            ),
        ];
        let own = self.shares.iter().filter(|s| s.session == *session);
        items.extend(own.map(|share| {
            let label = format!("{}: {}", link_name(share), guests_words(share));
            let until = clock::until(share.expires_ms, now_ms, look.utc_offset_minutes);
            Item::new(
                Choice::Share(ShareChoice::Look(share.id.clone())),
                label,
                format!("until {until}"),
            )
        }));
        Picker::new(
            "share this session",
            items,
            "a link says what it allows before it is made",
        )
    }

    /// Returns what a new link would expose, with its choices.
    pub(crate) fn new_link(wish: Wish) -> Picker {
        let choice = |wish| Choice::Share(ShareChoice::New(wish));
        let yes = |yes| if yes { "yes" } else { "no" };
        let life = LIVES[wish.life % LIVES.len()].1;
        let mut items = vec![
            Item::new(Choice::Share(ShareChoice::Make(wish)), "make the link", ""),
            Item::new(
                choice(Wish {
                    life: (wish.life + 1) % LIVES.len(),
                    ..wish
                }),
                "works for",
                life,
            ),
            Item::new(
                choice(Wish {
                    may_approve: !wish.may_approve,
                    ..wish
                }),
                "guests may answer questions in your place",
                yes(wish.may_approve),
            ),
            Item::new(
                choice(Wish {
                    once: !wish.once,
                    ..wish
                }),
                "only the first who uses it comes in",
                yes(wish.once),
            ),
        ];
        let words = share_words(wish.mode, wish.may_approve, wish.once);
        items.push(Item::words(""));
        items.extend(words.iter().flat_map(|words| sentence(words)));
        Picker::new(
            "what the link allows",
            items,
            "Enter changes a line; Esc makes nothing",
        )
    }

    /// Takes a link that was made; returns the list that shows it.
    pub(crate) fn made(&mut self, shared: Shared) -> Picker {
        let mut items = vec![Item::new(
            Choice::Share(ShareChoice::Copy),
            "copy the link",
            "",
        )];
        let pieces = text::wrap(&shared.link, WORDS_COLS);
        items.extend(pieces.into_iter().map(Item::words));
        items.push(Item::words(""));
        items.extend(sentence(
            "Whoever has it can use it. It is shown this once.",
        ));
        if shared.only_here {
            let words = "It reaches only this machine; others forward a port to it with `ssh -L`.";
            items.extend(sentence(words));
        }
        self.link = Some(shared.link);
        self.shares.insert(0, shared.share);
        Picker::new("the link is made", items, "")
    }

    /// Returns what is asked back before a link or a guest is out: the question, and the yes.
    pub(crate) fn revoking(&self, id: &AccessId) -> (String, String) {
        let guests = self.shares.iter().flat_map(|share| &share.guests);
        if let Some(guest) = guests.into_iter().find(|guest| guest.id == *id) {
            let name = text::visible(&guest.name);
            return (
                format!("send “{name}” away?"),
                format!("yes, “{name}” is out now"),
            );
        }
        let share = self.shares.iter().find(|share| share.id == *id);
        let guests = share.map_or(0, |share| share.guests.len());
        let yes = match guests {
            0 => "yes, nobody comes in by it".to_owned(),
            1 => "yes, with the one guest who came by it".to_owned(),
            all => format!("yes, with the {all} guests who came by it"),
        };
        ("revoke this link?".to_owned(), yes)
    }

    /// Returns a link with its guests; `None`: it is gone.
    pub(crate) fn one(&self, id: &AccessId, look: &Look, now_ms: u64) -> Option<Picker> {
        let share = self.shares.iter().find(|share| share.id == *id)?;
        let mut items = vec![Item::new(
            Choice::Share(ShareChoice::Revoke(share.id.clone())),
            "revoke the link, and all who came by it",
            "",
        )];
        items.extend(share.guests.iter().map(|guest| {
            let seen = clock::when(guest.seen_ms, now_ms, look.utc_offset_minutes);
            let here = match guest.here {
                true => "here now".to_owned(),
                false => format!("last here {seen}"),
            };
            Item::new(
                Choice::Share(ShareChoice::Revoke(guest.id.clone())),
                format!("revoke “{}” (name not checked)", guest.name),
                here,
            )
        }));
        items.push(Item::new(
            Choice::Share(ShareChoice::All),
            "back to all links",
            "",
        ));
        items.push(Item::words(""));
        let words = share_words(share.mode, share.may_approve, share.once);
        items.extend(words.iter().flat_map(|words| sentence(words)));
        Some(Picker::new(link_name(share), items, ""))
    }
}

fn sentence(words: &str) -> Vec<Item> {
    text::wrap(words, WORDS_COLS)
        .into_iter()
        .map(Item::words)
        .collect()
}

fn link_name(share: &Share) -> String {
    let mode = match share.mode {
        GuestMode::View => "view link",
        GuestMode::Full => "full link",
    };
    match share.name.as_str() {
        "" => mode.to_owned(),
        name => format!("{mode} “{name}”"),
    }
}

/// Names shown of those who are on a link now.
const NAMES: usize = 3;

/// Returns who came by a link, those who are here now by name.
fn guests_words(share: &Share) -> String {
    let (here, away): (Vec<_>, Vec<_>) = share.guests.iter().partition(|guest| guest.here);
    if here.is_empty() {
        return match away.len() {
            0 if share.used => "used".to_owned(),
            0 => "nobody came yet".to_owned(),
            1 => "1 guest, not here".to_owned(),
            all => format!("{all} guests, nobody here"),
        };
    }
    let names: Vec<&str> = here.iter().take(NAMES).map(|g| g.name.as_str()).collect();
    let mut words = format!("here now: {}", names.join(", "));
    let more = here.len() - names.len();
    if more > 0 {
        words.push_str(&format!(" and {more} more"));
    }
    words
}
