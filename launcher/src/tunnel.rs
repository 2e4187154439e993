//! A way to a server through the ssh program: one child that forwards a port and runs the owner's commands at the other end.
//! It holds no link and no cookie; what goes through the port is proved and protected like anywhere else.

mod commands;
mod ssh;

use std::{
    net::{Ipv4Addr, TcpListener},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{sync::Mutex, time::timeout};

use crate::{door::DoorError, failure::Failure};
pub use commands::Remote;
use ssh::{Prompts, Ssh, SshError};

/// Where a server listens unless it was told otherwise.
const USUAL_PORT: u16 = 7420;
/// How long a connection that nobody can be asked about may take.
const UNATTENDED: Duration = Duration::from_secs(30);

/// A forwarded port, kept up by an ssh program.
pub struct Tunnel {
    host: String,
    local: u16,
    state: Mutex<State>,
    doubted: AtomicBool,
}

struct State {
    ssh: Option<Ssh>,
    remote: u16,
}

impl Tunnel {
    /// Connects to `host` through the ssh program, which may ask on the terminal; starts a server there if need be.
    /// `wanted` is the local port that is taken if it is free.
    ///
    /// # Errors
    /// Where the ssh program fails, or there is no server to be had.
    pub async fn open(host: &str, wanted: Option<u16>) -> Result<Self, Failure> {
        ssh::check_host(host)?;
        let failed = |error: SshError| error.to_failure(host);
        let local = free_port(wanted)?;
        let mut ssh = Ssh::start(host, local, USUAL_PORT, Prompts::Yes).map_err(failed)?;
        let remote = commands::find_server(&mut ssh).await.map_err(failed)?;
        if remote != USUAL_PORT {
            drop(ssh);
            ssh = Ssh::start(host, local, remote, Prompts::Yes).map_err(failed)?;
            commands::find_server(&mut ssh).await.map_err(failed)?;
        }
        Ok(Self {
            host: host.to_owned(),
            local,
            state: Mutex::new(State {
                ssh: Some(ssh),
                remote,
            }),
            doubted: AtomicBool::new(false),
        })
    }

    /// Returns the origin under which the server is reached from here.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.local)
    }

    /// Returns the host that the ssh program was given.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the other end, to run the owner's commands there.
    pub async fn remote(&self) -> Remote<'_> {
        Remote::new(&self.host, self.state.lock().await)
    }

    /// From now on nothing that the ssh program says is shown: the screen belongs to somebody else.
    pub async fn hush(&self) {
        if let Some(ssh) = &self.state.lock().await.ssh {
            ssh.hush();
        }
    }

    /// Does not take the word of the present ssh program for it any more that the way is open.
    pub fn doubt(&self) {
        self.doubted.store(true, Ordering::Relaxed);
    }

    /// Returns once the way is open; begins anew where it is not. Nobody is asked for anything.
    ///
    /// # Errors
    /// Where the ssh program fails.
    pub async fn ready(&self) -> Result<(), DoorError> {
        let mut state = self.state.lock().await;
        let doubted = self.doubted.swap(false, Ordering::Relaxed);
        if !doubted && state.ssh.as_mut().is_some_and(Ssh::runs) {
            return Ok(());
        }
        // The old one goes first: it holds the port.
        state.ssh = None;
        let again = timeout(UNATTENDED, self.again(state.remote));
        let (ssh, remote) = match again.await {
            Ok(again) => again.map_err(|error| DoorError::Ssh(error.told(&self.host)))?,
            Err(_) => return Err(DoorError::TimedOut),
        };
        *state = State {
            ssh: Some(ssh),
            remote,
        };
        Ok(())
    }

    async fn again(&self, remote: u16) -> Result<(Ssh, u16), SshError> {
        let mut ssh = Ssh::start(&self.host, self.local, remote, Prompts::No)?;
        let now = commands::find_server(&mut ssh).await?;
        if now == remote {
            return Ok((ssh, remote));
        }
        drop(ssh);
        let mut ssh = Ssh::start(&self.host, self.local, now, Prompts::No)?;
        commands::find_server(&mut ssh).await?;
        Ok((ssh, now))
    }
}

/// Returns a free port of this machine, `wanted` if it is one.
fn free_port(wanted: Option<u16>) -> Result<u16, Failure> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
    let bound = wanted.and_then(bind).or_else(|| bind(0));
    let port = bound.and_then(|listener| listener.local_addr().ok());
    port.map(|address| address.port())
        .ok_or_else(|| Failure::new("no local port is free", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wanted_port_is_taken_where_it_is_free() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = taken.local_addr().expect("bound").port();
        assert_ne!(free_port(Some(port)).expect("another"), port);
        drop(taken);
        assert_eq!(free_port(Some(port)).expect("this one"), port);
    }
}
