//! The routes: the whole HTTP surface of the server on one screen.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Extension, Path, Request, State},
    http::{HeaderValue, Response, StatusCode, header},
    response::{Html, IntoResponse as _},
    routing::{get, post},
};
use porthole_door::{
    Admitted, PATH_ADMITTED, PATH_BUNDLE, PATH_HEALTH, PATH_LINK, PATH_MANIFEST, PATH_PROVE,
    PATH_REDEEM, PATH_SIGN_OUT, PREFIX_OWNER_LINK, ProofRequest, Redeem, Redeemed, Redeemer,
    TIMEOUT_SECONDS,
};
use serde::de::DeserializeOwned;

use crate::{
    answer::{Failed, json},
    caller::{Caller, Owner},
    catalog::RedeemError,
    gate::Place,
    link,
    server::Server,
    token::Token,
    transfer,
};

/// Largest body of a door request.
const BODY_BYTES: usize = 4 << 10;
/// Longest name of a device, in characters.
const NAME_CHARS: usize = 40;
/// How long a browser or launcher keeps the cookie.
const COOKIE_DAYS: i64 = 365;
/// What a person sees who opens a link in a browser. It uses nothing up.
const PAGE: &str = include_str!("page.html");

/// Returns the routes.
pub fn routes(server: Arc<Server>) -> Router {
    let bundle = format!("{PATH_BUNDLE}{{sha256}}");
    Router::new()
        .route("/", get(page))
        .route(PATH_HEALTH, get(health))
        .route(PATH_PROVE, post(prove))
        .route(PATH_REDEEM, post(redeem))
        .route(PATH_ADMITTED, get(admitted))
        .route(PATH_MANIFEST, get(manifest))
        .route(&bundle, get(wasm))
        .route(PATH_SIGN_OUT, post(sign_out))
        .route(PATH_LINK, get(link::upgrade))
        .merge(transfer::routes())
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .with_state(server)
}

async fn page() -> Html<&'static str> {
    Html(PAGE)
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
    server.may_redeem().map_err(too_often)?;
    let asked: Redeem = body(request).await?;
    let name = checked_name(&asked.name)?;
    let token = Token::parse(PREFIX_OWNER_LINK, &asked.token)
        .ok_or_else(|| redeem_failed(&RedeemError::Unknown))?;
    let cookie = server
        .redeem(&token, &name)
        .map_err(|error| redeem_failed(&error))?;
    let mut response = json(
        StatusCode::OK,
        &Redeemed {
            who: Redeemer::Owner,
        },
    );
    response.headers_mut().append(
        header::SET_COOKIE,
        set_cookie(&place, cookie.reveal(), COOKIE_DAYS)?,
    );
    Ok(response)
}

async fn admitted(_: Owner) -> Response<Body> {
    json(
        StatusCode::OK,
        &Admitted {
            who: Redeemer::Owner,
        },
    )
}

async fn manifest(_: Caller, State(server): State<Arc<Server>>) -> Response<Body> {
    json(StatusCode::OK, &server.bundle().manifest)
}

async fn wasm(
    _: Caller,
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
    owner: Owner,
    State(server): State<Arc<Server>>,
    Extension(place): Extension<Place>,
) -> Result<Response<Body>, Failed> {
    server
        .sign_out(&owner.device.id)
        .map_err(|_| Failed::internal())?;
    let mut response = json(StatusCode::OK, &serde_json::json!({}));
    response
        .headers_mut()
        .append(header::SET_COOKIE, set_cookie(&place, "", 0)?);
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

fn redeem_failed(error: &RedeemError) -> Failed {
    let status = match error {
        RedeemError::Unknown => StatusCode::NOT_FOUND,
        RedeemError::Used | RedeemError::Expired => StatusCode::GONE,
        RedeemError::Catalog(error) => {
            tracing::error!("cannot redeem a link: {error}");
            return Failed::internal();
        }
    };
    Failed::new(
        status,
        error.to_string(),
        "make a new one with `portholed link owner`",
    )
}

fn checked_name(name: &str) -> Result<String, Failed> {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let name = name.trim();
    if name.chars().count() > NAME_CHARS {
        return Err(Failed::new(
            StatusCode::BAD_REQUEST,
            format!("the name is longer than {NAME_CHARS} characters"),
            "",
        ));
    }
    Ok(if name.is_empty() {
        "a device".to_owned()
    } else {
        name.to_owned()
    })
}

fn set_cookie(place: &Place, value: &str, days: i64) -> Result<HeaderValue, Failed> {
    let cookie = cookie::Cookie::build((place.device_cookie(), value.to_owned()))
        .path("/")
        .http_only(true)
        .same_site(cookie::SameSite::Strict)
        .secure(place.scheme == "https")
        .max_age(cookie::time::Duration::days(days))
        .build();
    let mut value = HeaderValue::from_str(&cookie.to_string()).map_err(|_| Failed::internal())?;
    value.set_sensitive(true);
    Ok(value)
}
