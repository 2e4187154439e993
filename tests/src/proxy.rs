//! A TCP proxy that fails in the ways lines do: cut at a byte, gone silent, half closed, leading elsewhere.
//! It understands nothing of what it carries.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the launcher to the server.
    Up,
    /// From the server to the launcher.
    Down,
}

/// How the line fails, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Both directions end.
    Cut,
    /// That direction ends in an orderly way; the other goes on.
    HalfClose,
    /// Nothing passes any more, and nobody is told.
    Stall,
}

/// A proxy in front of one server.
pub struct Proxy {
    /// Host and port.
    pub address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    target: String,
    armed: Option<Armed>,
    connections: Vec<(TcpStream, TcpStream)>,
    faults: u32,
    closed: bool,
}

#[derive(Clone, Copy)]
struct Armed {
    way: Way,
    bytes: usize,
    fault: Fault,
}

impl Proxy {
    /// Starts a proxy that leads to `target`.
    ///
    /// # Errors
    /// Where there is no port for it.
    pub fn start(target: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let shared = Arc::new(Shared::default());
        shared.lock().target = target.to_owned();
        let for_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if for_thread.lock().closed {
                    return;
                }
                carry(client, &for_thread);
            }
        });
        Ok(Self { address, shared })
    }

    /// Leads to another server from now on; what is connected is cut.
    pub fn lead_to(&self, target: &str) {
        self.shared.lock().target = target.to_owned();
        self.cut();
    }

    /// Cuts everything that is connected.
    pub fn cut(&self) {
        for (client, server) in self.shared.lock().connections.drain(..) {
            end(&client);
            end(&server);
        }
    }

    /// Has the line fail after so many more bytes in that direction.
    pub fn arm(&self, way: Way, bytes: usize, fault: Fault) {
        self.shared.lock().armed = Some(Armed { way, bytes, fault });
    }

    /// Waits until the line has failed so often.
    pub fn wait_faults(&self, count: u32) {
        let mut state = self.shared.lock();
        while state.faults < count {
            state = self
                .shared
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.cut();
        // Whoever accepts looks again.
        drop(TcpStream::connect(&self.address));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `count` bytes off the count; returns how many still pass, and the fault that comes after them.
    fn pass(&self, way: Way, count: usize) -> (usize, Option<Fault>) {
        let mut state = self.lock();
        let Some(armed) = state.armed.filter(|armed| armed.way == way) else {
            return (count, None);
        };
        if count < armed.bytes {
            let bytes = armed.bytes - count;
            state.armed = Some(Armed { bytes, ..armed });
            return (count, None);
        }
        state.armed = None;
        state.faults += 1;
        self.changed.notify_all();
        (armed.bytes, Some(armed.fault))
    }
}

fn end(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}

fn carry(client: TcpStream, shared: &Arc<Shared>) {
    let target = shared.lock().target.clone();
    let Ok(server) = TcpStream::connect(&target) else {
        return end(&client);
    };
    let clones = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
    let (Some(kept), Some((client_in, server_out)), Some((client_out, server_in))) =
        (clones(), clones(), clones())
    else {
        return end(&client);
    };
    shared.lock().connections.push(kept);
    let (up, down) = (Arc::clone(shared), Arc::clone(shared));
    thread::spawn(move || copy(client_in, server_out, Way::Up, &up));
    thread::spawn(move || copy(server_in, client_out, Way::Down, &down));
}

fn copy(mut from: TcpStream, mut to: TcpStream, way: Way, shared: &Shared) {
    let mut chunk = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let (passes, fault) = shared.pass(way, count);
        if to.write_all(&chunk[..passes]).is_err() {
            break;
        }
        match fault {
            None => {}
            Some(Fault::Cut) => {
                end(&from);
                return end(&to);
            }
            Some(Fault::HalfClose) => {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            // The sockets stay open and are read no more.
            Some(Fault::Stall) => return,
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
