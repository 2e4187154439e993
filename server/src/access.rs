//! Who gets in, and how that ends: links are made, redeemed, listed and revoked here. Every end is written first and then
//! told to the switchboard, so that whoever connects in between finds the door shut.

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use porthole_door::{
    AccessCause, Link, LinkKind, PREFIX_DEVICE, PREFIX_GUEST, PREFIX_OWNER_LINK, PREFIX_SHARE_LINK,
};
use porthole_protocol::{
    AccessId, CallError, DeviceRow, ErrorCode, Guest, GuestMode, RequestId, Role, SessionId, Share,
    Who,
    limits::{SHARE_SECONDS, SHARE_SECONDS_MAX},
    replies,
};

use crate::{
    catalog::{Device, Grant, NewGuest, RedeemError, ShareError, ShareLink},
    name,
    pass::{Pass, Whose},
    server::{Server, locked, now_ms},
    switchboard::{Input, unknown_session},
    token::{Token, TokenHash, random_id},
};

/// How long an owner link can be used.
pub const OWNER_LINK_SECONDS: u64 = 10 * 60;

/// What a share link is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewShare {
    /// The session.
    pub session: SessionId,
    /// The client's id of it.
    pub request: RequestId,
    /// How much its guests may do.
    pub mode: GuestMode,
    /// Whether they may answer questions.
    pub may_approve: bool,
    /// Whether only the first who uses it comes in.
    pub once: bool,
    /// What the owner calls it; may be empty.
    pub name: String,
    /// For how many seconds; `None`: the default.
    pub seconds: Option<u64>,
}

impl Server {
    /// Makes an owner link. The result is a secret.
    ///
    /// # Errors
    /// Where the catalog fails.
    pub fn owner_link(&self) -> rusqlite::Result<String> {
        let token = Token::new(PREFIX_OWNER_LINK);
        let now = now_ms();
        self.catalog()
            .add_owner_link(&token.hash(), now, now + OWNER_LINK_SECONDS * 1000)?;
        Ok(self.link_text(LinkKind::Owner, &token))
    }

    /// Makes a share link.
    ///
    /// # Errors
    /// Where the session or the wishes make no sense, or the catalog fails.
    pub fn share(&self, new: NewShare) -> Result<replies::Shared, CallError> {
        let kept = self
            .kept_session(&new.session)
            .ok_or_else(unknown_session)?;
        if kept.archived {
            return Err(
                CallError::new(ErrorCode::Conflict, "this session is archived")
                    .hint("restore it first"),
            );
        }
        let link = checked(&new, now_ms())?;
        let token = Token::new(PREFIX_SHARE_LINK);
        self.catalog()
            .add_share(&link, &new.request, &token.hash())
            .map_err(share_failed)?;
        tracing::info!(share = %link.id, session = %link.session, "a share link was made");
        Ok(replies::Shared {
            link: self.link_text(LinkKind::Share, &token),
            share: row(link, Vec::new()),
            only_here: self.reaches_only_here(),
        })
    }

    /// Returns the share links with everyone who came by them.
    ///
    /// # Errors
    /// Where the catalog fails.
    pub fn shares(&self, of: Option<&SessionId>) -> rusqlite::Result<Vec<Share>> {
        let now = now_ms();
        let (links, grants) = {
            let catalog = self.catalog();
            (catalog.shares(now)?, catalog.grants(now)?)
        };
        let here = self.passes();
        let wanted = |link: &ShareLink| of.is_none_or(|session| link.session == *session);
        let rows = links.into_iter().filter(wanted).map(|link| {
            let guests = grants
                .iter()
                .filter(|grant| grant.share.id == link.id)
                .map(|grant| guest(grant, &here))
                .collect();
            row(link, guests)
        });
        Ok(rows.collect())
    }

    /// Ends a share link with all its guests, or one guest's access; returns whether there was one.
    ///
    /// # Errors
    /// Where the catalog fails.
    pub fn revoke(self: &Arc<Self>, id: &AccessId) -> rusqlite::Result<bool> {
        if self.catalog().remove_share(id)? {
            self.end(
                Whose::Share(id.clone()),
                AccessCause::Revoked,
                "the owner revoked this link",
            );
            return Ok(true);
        }
        let removed = self.catalog().remove_grant(id)?;
        if removed {
            self.end(
                Whose::Grant(id.clone()),
                AccessCause::Revoked,
                "the owner ended your access",
            );
        }
        Ok(removed)
    }

    /// Ends the access of every guest of a session that is put away.
    ///
    /// # Errors
    /// Where the catalog fails.
    pub fn end_guests_of(self: &Arc<Self>, session: &SessionId) -> rusqlite::Result<()> {
        self.catalog().remove_shares_of(session)?;
        self.end(
            Whose::GuestsOf(session.clone()),
            AccessCause::SessionGone,
            "the owner put this session away",
        );
        Ok(())
    }

    /// Returns the devices of the owner as someone who came by `pass` sees them.
    ///
    /// # Errors
    /// Where the catalog fails.
    pub fn device_rows(&self, pass: &Pass) -> rusqlite::Result<Vec<DeviceRow>> {
        let devices = self.catalog().devices()?;
        let here = self.passes();
        let rows = devices.into_iter().map(|device| DeviceRow {
            here: here.contains(&device.id),
            this: *pass == Pass::Device(device.id.clone()),
            id: device.id,
            name: device.name,
            created_ms: device.created_ms,
            seen_ms: device.used_ms,
            from: device.from,
        });
        Ok(rows.collect())
    }

    /// Forgets a device and closes its connections; returns whether there was one.
    ///
    /// # Errors
    /// Where the catalog fails.
    pub fn sign_out(self: &Arc<Self>, device: &AccessId) -> rusqlite::Result<bool> {
        let removed = self.catalog().remove_device(device)?;
        self.end(
            Whose::Device(device.clone()),
            AccessCause::SignedOut,
            "this device was signed out",
        );
        Ok(removed)
    }

    /// Forgets every device of the owner and closes their connections.
    ///
    /// # Errors
    /// Where the catalog fails; those before it are signed out then.
    pub fn sign_out_all(self: &Arc<Self>) -> rusqlite::Result<()> {
        let devices = self.catalog().devices()?;
        for device in devices {
            self.sign_out(&device.id)?;
        }
        Ok(())
    }

    /// Forgets a guest who leaves; returns whether there was one.
    ///
    /// # Errors
    /// Where the catalog fails.
    pub fn leave(self: &Arc<Self>, grant: &AccessId) -> rusqlite::Result<bool> {
        let removed = self.catalog().remove_grant(grant)?;
        self.end(
            Whose::Grant(grant.clone()),
            AccessCause::SignedOut,
            "you signed out",
        );
        Ok(removed)
    }

    /// Ends one connection whose time is over.
    pub fn expire(self: &Arc<Self>, connection: porthole_worker::wire::ConnectionId) {
        self.end(
            Whose::Connection(connection),
            AccessCause::Expired,
            "the link by which you came has expired",
        );
    }

    fn end(self: &Arc<Self>, whose: Whose, cause: AccessCause, reason: &str) {
        self.handle(Input::AccessEnded {
            whose,
            cause,
            reason: reason.to_owned(),
        });
        self.access_changed();
    }

    /// Takes one from the allowance of redeems of an address.
    ///
    /// # Errors
    /// How long to wait.
    pub fn may_redeem(&self, address: IpAddr) -> Result<(), Duration> {
        locked(&self.limiter).take(address, Instant::now())
    }

    /// Uses an owner link up; returns the cookie of the new device.
    ///
    /// # Errors
    /// [`RedeemError`]
    pub fn redeem(&self, link: &Token, name: &str, from: &str) -> Result<Token, RedeemError> {
        let cookie = Token::new(PREFIX_DEVICE);
        let now = now_ms();
        let device = Device {
            id: access_id(""),
            name: name.to_owned(),
            created_ms: now,
            used_ms: now,
            from: from.to_owned(),
        };
        self.catalog()
            .redeem(&link.hash(), &device, &cookie.hash())?;
        tracing::info!(device = %device.id, "a device of the owner was let in");
        Ok(cookie)
    }

    /// Lets a guest in by a share link; returns what they may, and the cookie where they need another than the one they
    /// sent.
    ///
    /// # Errors
    /// [`RedeemError`]
    pub fn redeem_share(
        &self,
        link: &Token,
        name: &str,
        had: Option<&TokenHash>,
    ) -> Result<(Grant, Option<Token>), RedeemError> {
        let cookie = Token::new(PREFIX_GUEST);
        let guest = NewGuest {
            id: access_id("g-"),
            name,
            cookie: &cookie.hash(),
            had,
            now_ms: now_ms(),
        };
        let (grant, is_new) = self.catalog().redeem_share(&link.hash(), &guest)?;
        if is_new {
            tracing::info!(guest = %grant.id, share = %grant.share.id, "a guest was let in");
        }
        Ok((grant, is_new.then_some(cookie)))
    }

    /// Returns what a share link allows, without using it up.
    ///
    /// # Errors
    /// [`RedeemError`]
    pub fn look(&self, link: &Token) -> Result<ShareLink, RedeemError> {
        self.catalog().look(&link.hash(), now_ms())
    }

    /// Notes that someone is here, or was until now; returns whether they still may.
    pub fn seen(&self, pass: &Pass, from: &str) -> bool {
        let now = now_ms();
        admits(match pass {
            Pass::Command => Ok(true),
            Pass::Device(device) => self.catalog().touch_device(device, from, now),
            Pass::Guest { grant, .. } => self.catalog().touch_grant(grant, now),
        })
    }

    /// Returns once someone may no longer: what takes long on their behalf ends with this.
    pub async fn until_ended(&self, pass: &Pass) {
        let mut changes = self.access_changes();
        let left = pass.expires_ms().map(|at| at.saturating_sub(now_ms()));
        let expired = async {
            match left {
                Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                None => std::future::pending().await,
            }
        };
        let revoked = async {
            while admits(self.catalog().admits(pass, now_ms())) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::select! { () = expired => {} () = revoked => {} }
    }

    fn reaches_only_here(&self) -> bool {
        self.origin().starts_with("http://")
    }

    fn link_text(&self, kind: LinkKind, token: &Token) -> String {
        let link = Link {
            origin: self.origin().to_owned(),
            kind,
            token: token.reveal().to_owned(),
            fingerprint: self.key().fingerprint(),
        };
        link.to_text()
    }
}

/// A catalog that fails lets nobody in.
fn admits(answer: rusqlite::Result<bool>) -> bool {
    answer.unwrap_or_else(|error| {
        tracing::error!("the catalog failed: {error}");
        false
    })
}

/// Returns a guest, as everyone sees them.
pub fn guest_who(grant: &Grant) -> Who {
    Who {
        role: Role::Guest {
            session: grant.share.session.clone(),
            mode: grant.share.mode,
            may_approve: grant.share.may_approve,
        },
        id: grant.id.to_string(),
        name: grant.name.clone(),
    }
}

fn checked(new: &NewShare, now_ms: u64) -> Result<ShareLink, CallError> {
    let name = name::visible(&new.name)
        .map_err(|error| CallError::new(ErrorCode::TooLarge, error.to_string()))?;
    let seconds = new.seconds.unwrap_or(SHARE_SECONDS);
    if !(1..=SHARE_SECONDS_MAX).contains(&seconds) {
        return Err(CallError::new(
            ErrorCode::Invalid,
            "a share link lives from one second to a year",
        )
        .hint("seven days is the default"));
    }
    Ok(ShareLink {
        id: access_id("s-"),
        session: new.session.clone(),
        name,
        mode: new.mode,
        may_approve: new.may_approve,
        once: new.once,
        used: false,
        created_ms: now_ms,
        expires_ms: now_ms + seconds * 1000,
    })
}

fn share_failed(error: ShareError) -> CallError {
    match error {
        ShareError::Used => CallError::new(ErrorCode::Conflict, error.to_string())
            .hint("`portholed links` lists it; make another with a new request"),
        ShareError::TooMany => CallError::new(ErrorCode::Busy, error.to_string())
            .hint("`portholed links` lists them; `portholed revoke ID` ends one"),
        ShareError::Catalog(error) => CallError::new(
            ErrorCode::Unavailable,
            format!("the catalog failed: {error}"),
        )
        .hint("is the disk full?"),
    }
}

fn access_id(prefix: &str) -> AccessId {
    AccessId::parse(&format!("{prefix}{}", random_id::<8>()))
        .expect("random letters and digits are an id")
}

fn row(link: ShareLink, guests: Vec<Guest>) -> Share {
    Share {
        id: link.id,
        session: link.session,
        name: link.name,
        mode: link.mode,
        may_approve: link.may_approve,
        once: link.once,
        used: link.used,
        created_ms: link.created_ms,
        expires_ms: link.expires_ms,
        guests,
    }
}

fn guest(grant: &Grant, here: &BTreeSet<AccessId>) -> Guest {
    Guest {
        here: here.contains(&grant.id),
        id: grant.id.clone(),
        name: grant.name.clone(),
        created_ms: grant.created_ms,
        seen_ms: grant.used_ms,
    }
}
