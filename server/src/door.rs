//! The routes: the whole HTTP surface of the server on one screen.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Extension, Path, Request, State},
    http::{HeaderValue, Response, StatusCode, header},
    response::{Html, IntoResponse as _},
    routing::{MethodRouter, delete, get, post, put},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porthole_door::{
    Admitted, Look, Offer, PREFIX_OWNER_LINK, PREFIX_SHARE_LINK, ProofRequest, Redeem, Redeemed,
    Redeemer, TIMEOUT_SECONDS,
};
use porthole_protocol::GuestMode;
use serde::de::DeserializeOwned;

use crate::{
    answer::{Failed, json},
    caller::{Caller, address, guarded, guest_cookie},
    catalog::{Grant, RedeemError},
    gate::Place,
    link, name,
    pass::Pass,
    permit::Route,
    server::{Server, now_ms},
    token::{Token, random},
    transfer::{download, upload},
};

/// Largest body of a door request.
const BODY_BYTES: usize = 4 << 10;
/// How long a browser or launcher keeps the cookie of a device: a year.
const COOKIE_SECONDS: u64 = 365 * 24 * 60 * 60;
const OWNERS_HINT: &str = "make a new one with `portholed link owner`";
const GUESTS_HINT: &str = "ask whoever sent it for a new one";
/// The page; `{nonce}` is put in.
const PAGE: &str = include_str!("page.html");

/// Returns the routes. Each is put behind its row of the table; there is no other way in.
pub fn routes(server: Arc<Server>) -> Router {
    let mut router = Router::new();
    for route in Route::ALL {
        router = router.route(&route.path(), guarded(&server, *route, handler(*route)));
    }
    router
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .with_state(server)
}

fn handler(route: Route) -> MethodRouter<Arc<Server>> {
    match route {
        Route::Page => get(page),
        Route::Health => get(health),
        Route::Prove => post(prove),
        Route::Look => post(look),
        Route::Redeem => post(redeem),
        Route::Admitted => get(admitted),
        Route::Manifest => get(manifest),
        Route::Bundle => get(wasm),
        Route::SignOut => post(sign_out),
        Route::SignOutAll => post(sign_out_all),
        Route::Link => get(link::upgrade),
        Route::UploadOpen => post(upload::open),
        Route::UploadState => get(upload::state),
        Route::UploadChunk => put(upload::chunk),
        Route::UploadFinish => post(upload::finish),
        Route::UploadDiscard => delete(upload::discard),
        Route::Download => get(download::range),
    }
}

/// What a person sees who opens a link in a browser. It uses nothing up, and what stands behind the `#` never comes here.
async fn page() -> Response<Body> {
    let nonce = URL_SAFE_NO_PAD.encode(random::<16>());
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let page = PAGE.replace("{nonce}", &nonce);
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page)).into_response()
}

async fn health() -> Response<Body> {
    json(StatusCode::OK, &serde_json::json!({ "ok": true }))
}

async fn nothing_here() -> Failed {
    Failed::new(StatusCode::NOT_FOUND, "there is nothing here", "")
}

async fn wrong_method() -> Failed {
    Failed::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this is not asked for in that way",
        "",
    )
}

async fn prove(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response<Body>, Failed> {
    let asked: ProofRequest = body(request).await?;
    let proof = server.key().prove(&asked.nonce).ok_or_else(malformed)?;
    Ok(json(StatusCode::OK, &proof))
}

async fn redeem(
    State(server): State<Arc<Server>>,
    Extension(place): Extension<Place>,
    request: Request,
) -> Result<Response<Body>, Failed> {
    let (parts, rest) = request.into_parts();
    let from = address(&parts).ok_or_else(Failed::internal)?;
    server.may_redeem(from).map_err(too_often)?;
    let had = guest_cookie(&parts.headers, &place);
    let asked: Redeem = body(Request::from_parts(parts, rest)).await?;
    let name = name::visible(&asked.name).map_err(|error| {
        Failed::new(
            StatusCode::BAD_REQUEST,
            error.to_string(),
            "use a shorter one",
        )
    })?;
    if let Some(token) = Token::parse(PREFIX_SHARE_LINK, &asked.token) {
        let name = if name.is_empty() { "a guest" } else { &name };
        return redeem_share(&server, &place, &token, name, had);
    }
    let token = Token::parse(PREFIX_OWNER_LINK, &asked.token)
        .ok_or_else(|| redeem_failed(&RedeemError::Unknown, OWNERS_HINT))?;
    let name = if name.is_empty() { "a device" } else { &name };
    let cookie = server
        .redeem(&token, name, &from.to_string())
        .map_err(|error| redeem_failed(&error, OWNERS_HINT))?;
    let cookie = set_cookie(
        &place,
        place.device_cookie(),
        cookie.reveal(),
        COOKIE_SECONDS,
    )?;
    Ok(redeemed(Redeemer::Owner, cookie))
}

/// Guessing is as limited here as where links are redeemed.
async fn look(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response<Body>, Failed> {
    let (parts, rest) = request.into_parts();
    let from = address(&parts).ok_or_else(Failed::internal)?;
    server.may_redeem(from).map_err(too_often)?;
    let asked: Look = body(Request::from_parts(parts, rest)).await?;
    let token = Token::parse(PREFIX_SHARE_LINK, &asked.token);
    let share = token
        .ok_or(RedeemError::Unknown)
        .and_then(|token| server.look(&token))
        .map_err(|error| match error {
            // "Not found" would say that this server does not tell.
            RedeemError::Unknown => Failed::new(StatusCode::GONE, error.to_string(), GUESTS_HINT),
            error => redeem_failed(&error, GUESTS_HINT),
        })?;
    let kept = server.kept_session(&share.session);
    let offer = Offer {
        title: kept.map_or_else(String::new, |session| session.title),
        mode: mode_word(share.mode).to_owned(),
        may_approve: share.may_approve,
        expires_ms: share.expires_ms,
        once: share.once,
    };
    Ok(json(StatusCode::OK, &offer))
}

fn mode_word(mode: GuestMode) -> &'static str {
    match mode {
        GuestMode::View => "view",
        GuestMode::Full => "full",
    }
}

fn redeem_share(
    server: &Server,
    place: &Place,
    token: &Token,
    name: &str,
    had: Option<Token>,
) -> Result<Response<Body>, Failed> {
    let hash = had.as_ref().map(Token::hash);
    let (grant, fresh) = server
        .redeem_share(token, name, hash.as_ref())
        .map_err(|error| redeem_failed(&error, GUESTS_HINT))?;
    let cookie = fresh.or(had).ok_or_else(Failed::internal)?;
    let seconds = grant.share.expires_ms.saturating_sub(now_ms()) / 1000;
    let cookie = set_cookie(place, place.guest_cookie(), cookie.reveal(), seconds)?;
    Ok(redeemed(guest(server, &grant), cookie))
}

fn redeemed(who: Redeemer, cookie: HeaderValue) -> Response<Body> {
    let mut response = json(StatusCode::OK, &Redeemed { who });
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

fn guest(server: &Server, grant: &Grant) -> Redeemer {
    let share = &grant.share;
    let kept = server.kept_session(&share.session);
    Redeemer::Guest {
        session: share.session.to_string(),
        mode: mode_word(share.mode).to_owned(),
        may_approve: share.may_approve,
        name: grant.name.clone(),
        title: kept.map_or_else(String::new, |session| session.title),
        expires_ms: share.expires_ms,
    }
}

async fn admitted(caller: Caller, State(server): State<Arc<Server>>) -> Response<Body> {
    let who = match &caller.grant {
        None => Redeemer::Owner,
        Some(grant) => guest(&server, grant),
    };
    json(StatusCode::OK, &Admitted { who })
}

async fn manifest(State(server): State<Arc<Server>>) -> Response<Body> {
    json(StatusCode::OK, &server.bundle().manifest)
}

async fn wasm(
    State(server): State<Arc<Server>>,
    Path(sha256): Path<String>,
) -> Result<Response<Body>, Failed> {
    let bundle = server.bundle();
    if bundle.manifest.sha256 != sha256 {
        return Err(Failed::new(
            StatusCode::NOT_FOUND,
            "this server has another UI now",
            "ask for its manifest again",
        ));
    }
    Ok(([(header::CONTENT_TYPE, "application/wasm")], bundle.wasm).into_response())
}

async fn sign_out(
    caller: Caller,
    State(server): State<Arc<Server>>,
    Extension(place): Extension<Place>,
) -> Result<Response<Body>, Failed> {
    let (ended, cookie) = match &caller.pass {
        Pass::Device(device) => (server.sign_out(device), place.device_cookie()),
        Pass::Guest { grant, .. } => (server.leave(grant), place.guest_cookie()),
        Pass::Command => return Err(Failed::internal()),
    };
    ended.map_err(|_| Failed::internal())?;
    let mut response = json(StatusCode::OK, &serde_json::json!({}));
    response
        .headers_mut()
        .append(header::SET_COOKIE, set_cookie(&place, cookie, "", 0)?);
    Ok(response)
}

async fn sign_out_all(
    State(server): State<Arc<Server>>,
    Extension(place): Extension<Place>,
) -> Result<Response<Body>, Failed> {
    server.sign_out_all().map_err(|_| Failed::internal())?;
    let mut response = json(StatusCode::OK, &serde_json::json!({}));
    let cookie = set_cookie(&place, place.device_cookie(), "", 0)?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

/// A form of another site cannot send this type, so that it alone already refuses one.
pub(crate) async fn body<T: DeserializeOwned>(request: Request) -> Result<T, Failed> {
    let is_json = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(';').next().unwrap_or("").trim() == "application/json");
    if !is_json {
        return Err(Failed::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "this is asked for in JSON",
            "",
        ));
    }
    let bytes = to_bytes(request.into_body(), BODY_BYTES);
    let bytes = tokio::time::timeout(Duration::from_secs(TIMEOUT_SECONDS), bytes)
        .await
        .map_err(|_| {
            Failed::new(
                StatusCode::REQUEST_TIMEOUT,
                "the request came too slowly",
                "",
            )
        })?
        .map_err(|_| malformed())?;
    serde_json::from_slice(&bytes).map_err(|_| malformed())
}

fn malformed() -> Failed {
    Failed::new(
        StatusCode::BAD_REQUEST,
        "the request does not parse",
        "update the launcher",
    )
}

fn too_often(wait: Duration) -> Failed {
    Failed::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too many tries with links",
        "wait a little and try again",
    )
    .retry_after(wait.as_secs() + 1)
}

fn redeem_failed(error: &RedeemError, hint: &str) -> Failed {
    let status = match error {
        RedeemError::Unknown => StatusCode::NOT_FOUND,
        RedeemError::Used | RedeemError::Expired | RedeemError::Full => StatusCode::GONE,
        RedeemError::Catalog(error) => {
            tracing::error!("cannot redeem a link: {error}");
            return Failed::internal();
        }
    };
    Failed::new(status, error.to_string(), hint)
}

fn set_cookie(
    place: &Place,
    name: String,
    value: &str,
    seconds: u64,
) -> Result<HeaderValue, Failed> {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let cookie = cookie::Cookie::build((name, value.to_owned()))
        .path("/")
        .http_only(true)
        .same_site(cookie::SameSite::Strict)
        .secure(place.scheme == "https")
        .max_age(cookie::time::Duration::seconds(seconds))
        .build();
    let mut value = HeaderValue::from_str(&cookie.to_string()).map_err(|_| Failed::internal())?;
    value.set_sensitive(true);
    Ok(value)
}
