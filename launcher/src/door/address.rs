//! From a name to addresses, beside the loop, with an error of its own where there are none.
//! It caches nothing and opens nothing.

use std::{
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// A name that leads nowhere.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no address is known for that name")]
pub(super) struct NoAddress;

/// Returns the addresses of `host`.
///
/// # Errors
/// Where there are none; the error wraps [`NoAddress`].
pub(crate) async fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let name = (host.to_owned(), port);
    let found = tokio::task::spawn_blocking(move || name.to_socket_addrs()).await?;
    let addresses: Vec<_> = found.map_err(|_| nowhere())?.collect();
    match addresses.is_empty() {
        true => Err(nowhere()),
        false => Ok(addresses),
    }
}

fn nowhere() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, NoAddress)
}

/// The same for the HTTP client.
pub(super) struct Names;

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = look_up(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
