//! Who a request is from. Every route is guarded by its row of the table, which is asked before the handler; a handler
//! that takes a [`Caller`] or an [`Owner`] cannot be reached without one.

use std::{net::IpAddr, sync::Arc};

use axum::{
    body::Body,
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, Response, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::IntoResponse as _,
    routing::MethodRouter,
};
use porthole_door::{PREFIX_DEVICE, PREFIX_GUEST};
use porthole_protocol::{AccessId, Role, Who};

use crate::{
    access::guest_who,
    answer::Failed,
    catalog::Grant,
    gate::{Peer, Place},
    pass::Pass,
    permit::{Access, Act, Asker, Route, permit},
    server::{Server, now_ms},
    token::Token,
};

/// Anyone who is let in.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who.
    pub who: Who,
    /// By what.
    pub pass: Pass,
    /// For a guest, what they were let in with.
    pub grant: Option<Grant>,
}

/// The owner.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The device by which they came.
    pub device: AccessId,
}

/// Puts a route behind its row of the table: the one way by which a handler becomes reachable.
pub fn guarded(
    server: &Arc<Server>,
    route: Route,
    handlers: MethodRouter<Arc<Server>>,
) -> MethodRouter<Arc<Server>> {
    handlers.route_layer(middleware::from_fn_with_state(
        (server.clone(), route),
        guard,
    ))
}

async fn guard(
    State((server, route)): State<(Arc<Server>, Route)>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    if permit(Act::Route(route), Asker::Nobody) == Access::Yes {
        return next.run(request).await;
    }
    let caller = match identify(&server, &request) {
        Ok(Some(caller)) => caller,
        Ok(None) => return Failed::not_admitted().into_response(),
        Err(failed) => return failed.into_response(),
    };
    match permit(Act::Route(route), Asker::Admitted(&caller.who.role)) {
        Access::Yes => {
            let pass = caller.pass.clone();
            request.extensions_mut().insert(caller);
            // What takes long, as an upload does, ends with the access.
            tokio::select! {
                biased;
                response = next.run(request) => response,
                () = server.until_ended(&pass) => Failed::not_admitted().into_response(),
            }
        }
        Access::No | Access::Unknown => not_theirs().into_response(),
    }
}

/// Returns who a request is from. The owner's device comes first: it may do all that a guest may.
fn identify(server: &Server, request: &Request) -> Result<Option<Caller>, Failed> {
    let place = request.extensions().get::<Place>();
    let place = place.ok_or_else(Failed::internal)?;
    let failed = |error: rusqlite::Error| {
        tracing::error!("cannot read the catalog: {error}");
        Failed::internal()
    };
    if let Some(token) = cookie(request.headers(), &place.device_cookie(), PREFIX_DEVICE)
        && let Some(device) = server.catalog().device_of(&token.hash()).map_err(failed)?
    {
        return Ok(Some(Caller {
            who: server.owner(),
            pass: Pass::Device(device.id),
            grant: None,
        }));
    }
    let Some(token) = guest_cookie(request.headers(), place) else {
        return Ok(None);
    };
    let grant = server.catalog().grant_of(&token.hash(), now_ms());
    let grant = grant.map_err(failed)?;
    Ok(grant.map(|grant| Caller {
        who: guest_who(&grant),
        pass: Pass::Guest {
            grant: grant.id.clone(),
            share: grant.share.id.clone(),
            expires_ms: grant.share.expires_ms,
        },
        grant: Some(grant),
    }))
}

/// Returns the guest's cookie that a request brings. A secret.
pub fn guest_cookie(headers: &HeaderMap, place: &Place) -> Option<Token> {
    cookie(headers, &place.guest_cookie(), PREFIX_GUEST)
}

/// Returns the address that a request is counted under: behind a configured proxy on this machine the one that the
/// proxy saw, which is the last of those it tells of.
pub fn address(parts: &Parts) -> Option<IpAddr> {
    let Peer(peer) = parts.extensions.get::<Peer>()?;
    let behind_proxy = peer.is_loopback()
        && parts
            .extensions
            .get::<Place>()
            .is_some_and(|p| p.scheme == "https");
    let told = || {
        let last = parts
            .headers
            .get_all("x-forwarded-for")
            .iter()
            .next_back()?;
        last.to_str().ok()?.rsplit(',').next()?.trim().parse().ok()
    };
    let told = if behind_proxy { told() } else { None };
    Some(told.unwrap_or(*peer))
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failed> {
        let caller = parts.extensions.get::<Self>();
        caller.cloned().ok_or_else(Failed::internal)
    }
}

impl<S: Sync> FromRequestParts<S> for Owner {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        let caller = Caller::from_request_parts(parts, state).await?;
        match (caller.who.role, caller.pass) {
            (Role::Owner, Pass::Device(device)) => Ok(Self { device }),
            _ => Err(not_theirs()),
        }
    }
}

fn not_theirs() -> Failed {
    Failed::new(
        StatusCode::FORBIDDEN,
        "this is the owner's to do",
        "ask the owner for another link",
    )
}

/// Returns the token of a cookie. One that is there twice was set by someone else as well, so neither counts.
fn cookie(headers: &HeaderMap, name: &str, prefix: &str) -> Option<Token> {
    let mut values = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| cookie::Cookie::split_parse(value.to_owned()))
        .filter_map(Result::ok)
        .filter(|cookie| cookie.name() == name)
        .map(|cookie| cookie.value().to_owned());
    let first = values.next()?;
    if values.next().is_some() {
        return None;
    }
    Token::parse(prefix, &first)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn parts(peer: &str, scheme: &'static str, forwarded: &[&str]) -> Parts {
        let (mut parts, ()) = axum::http::Request::new(()).into_parts();
        parts
            .extensions
            .insert(Peer(peer.parse().expect("an address")));
        parts.extensions.insert(Place {
            scheme,
            host: "h".to_owned(),
            port: 1,
        });
        for value in forwarded {
            parts.headers.append(
                HeaderName::from_static("x-forwarded-for"),
                HeaderValue::from_str(value).expect("a value"),
            );
        }
        parts
    }

    #[test]
    fn only_what_a_configured_proxy_on_this_machine_saw_itself_counts() {
        for (peer, scheme, forwarded, counted) in [
            ("127.0.0.1", "http", &["9.9.9.9"][..], "127.0.0.1"),
            ("127.0.0.1", "https", &["9.9.9.9"], "9.9.9.9"),
            ("127.0.0.1", "https", &["6.6.6.6, 9.9.9.9"], "9.9.9.9"),
            ("127.0.0.1", "https", &["9.9.9.9", "8.8.8.8"], "8.8.8.8"),
            ("127.0.0.1", "https", &["junk"], "127.0.0.1"),
            ("10.0.0.5", "https", &["9.9.9.9"], "10.0.0.5"),
        ] {
            let found = address(&parts(peer, scheme, forwarded));
            assert_eq!(found, counted.parse().ok(), "{peer} {scheme} {forwarded:?}");
        }
    }
}
