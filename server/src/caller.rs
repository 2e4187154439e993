//! Who a request is from, as types that a handler takes: one that takes [`Owner`] cannot be reached without one.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use porthole_door::PREFIX_DEVICE;
use porthole_protocol::Who;

use crate::{
    answer::Failed,
    catalog::Device,
    gate::Place,
    server::{Server, owner},
    token::Token,
};

/// The owner, by one of their devices.
pub struct Owner {
    /// The device.
    pub device: Device,
}

/// Anyone who is let in.
pub struct Caller {
    /// Who.
    pub who: Who,
    /// The owner's device by which they came.
    pub device: Option<Device>,
}

impl FromRequestParts<Arc<Server>> for Owner {
    type Rejection = Failed;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Arc<Server>,
    ) -> Result<Self, Self::Rejection> {
        let place = parts
            .extensions
            .get::<Place>()
            .ok_or_else(Failed::internal)?;
        let token = cookie(parts, &place.device_cookie())
            .and_then(|value| Token::parse(PREFIX_DEVICE, &value))
            .ok_or_else(Failed::not_admitted)?;
        let device = server
            .catalog()
            .device_of(&token.hash())
            .map_err(|_| Failed::internal())?
            .ok_or_else(Failed::not_admitted)?;
        Ok(Self { device })
    }
}

impl FromRequestParts<Arc<Server>> for Caller {
    type Rejection = Failed;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Arc<Server>,
    ) -> Result<Self, Self::Rejection> {
        let Owner { device } = Owner::from_request_parts(parts, server).await?;
        Ok(Self {
            who: owner(),
            device: Some(device),
        })
    }
}

/// Returns the value of a cookie. One that is there twice was set by someone else as well, so neither counts.
fn cookie(parts: &Parts, name: &str) -> Option<String> {
    let headers = parts.headers.get_all(header::COOKIE);
    let mut values = headers
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| cookie::Cookie::split_parse(value.to_owned()))
        .filter_map(Result::ok)
        .filter(|cookie| cookie.name() == name)
        .map(|cookie| cookie.value().to_owned());
    let first = values.next()?;
    values.next().is_none().then_some(first)
}
