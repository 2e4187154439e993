//! Lines between launcher and server, with the real programs: reconnecting, other servers on the same port, ssh, TLS,
//! and where secrets are and are not.

mod reconnect;
mod secrets;
mod sentences;
mod servers;
mod ssh;
mod tls;

use porthole_tests::{Proxy, Server, Terminal, World};

const COLS: u16 = 100;
const ROWS: u16 = 30;

/// A person in front of a new session, with a proxy between launcher and server.
struct Scene {
    world: World,
    server: Server,
    proxy: Proxy,
    session: String,
    terminal: Terminal,
    _model: porthole_examples::model_server::ModelServer,
}

impl Scene {
    fn open() -> Self {
        let world = World::new().expect("a world");
        let model = world.model(Vec::new()).expect("a model");
        let server = world.serve().expect("a server");
        let proxy = Proxy::start(&server.address).expect("a proxy");
        let session = world.session().expect("a session");
        let link = through(&world, &proxy);
        let terminal = world
            .launch(&["--session", &session], Some(&link), COLS, ROWS)
            .expect("the launcher");
        terminal.wait_for("Enter send");
        Self {
            world,
            server,
            proxy,
            session,
            terminal,
            _model: model,
        }
    }
}

/// Returns a fresh owner link as it reads behind a forwarded port.
fn through(world: &World, proxy: &Proxy) -> String {
    let link = world.owner_link().expect("a link");
    let (_, fragment) = link.split_once("/#").expect("a link has a fragment");
    format!("http://{}/#{fragment}", proxy.address)
}

fn leave(mut terminal: Terminal) {
    terminal.send("\x03");
    terminal.wait_for("again");
    terminal.send("\x03");
    assert_eq!(terminal.wait_exit(), 0);
}
