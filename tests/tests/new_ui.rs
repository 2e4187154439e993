//! The server gets another UI while a launcher runs: a sound one takes over with what was typed, a broken one leaves the
//! old one running and is told of.

use std::{
    fs,
    path::{Path, PathBuf},
};

use porthole_launcher::bundle::sha256_hex;
use porthole_tests::{Server, Terminal, World, process, terminal::PATIENCE};
use rustix::process::Signal;

const COLS: u16 = 140;
const ROWS: u16 = 30;

/// A launcher at a server whose bundle can be changed.
struct Scene {
    world: World,
    server: Server,
    terminal: Terminal,
    folder: PathBuf,
}

impl Scene {
    fn open() -> Self {
        let world = World::new().expect("a world");
        let folder = world.home().join("bundle");
        fs::create_dir(&folder).expect("a folder");
        for file in ["porthole-ui.wasm", "manifest.json"] {
            fs::copy(world.bundle().join(file), folder.join(file)).expect("the built bundle");
        }
        let server = world.serve_bundle(&folder).expect("a server");
        let session = world.session().expect("a session");
        let link = world.owner_link().expect("a link");
        let terminal = world
            .launch(&["--session", &session], Some(&link), COLS, ROWS)
            .expect("the launcher");
        terminal.wait_for("Enter send");
        Self {
            world,
            server,
            terminal,
            folder,
        }
    }

    fn built(&self) -> Vec<u8> {
        fs::read(self.world.bundle().join("porthole-ui.wasm")).expect("the built bundle")
    }

    /// Gives the server this bundle.
    fn offer(&self, wasm: &[u8]) {
        fs::write(Path::new(&self.folder).join("porthole-ui.wasm"), wasm).expect("written");
        process::signal(self.server.pid(), Signal::HUP);
    }

    /// Waits until the trust line names this bundle.
    fn wait_named(&self, wasm: &[u8]) {
        let digits = sha256_hex(wasm)[..12].to_owned();
        self.terminal
            .wait_until("the bundle on the trust line", |state| {
                state.row(ROWS - 1).contains(&format!("UI {digits}"))
            });
    }
}

/// The same UI under another hash: a section that nobody reads stands at its end.
fn another(built: &[u8]) -> Vec<u8> {
    [built, &[0, 3, 1, b'x', b'y']].concat()
}

#[test]
fn a_new_ui_takes_over_with_the_draft_and_a_broken_one_leaves_it_running_with_a_notice() {
    let mut scene = Scene::open();
    let built = scene.built();
    scene.wait_named(&built);
    scene.terminal.type_and_see("half a sentence");
    let other = another(&built);
    scene.offer(&other);
    scene.wait_named(&other);
    scene.terminal.wait_for("half a sentence");
    scene.terminal.send(" and its end");
    scene.terminal.wait_for("half a sentence and its end");

    let traps = "(module (import \"porthole\" \"post\" (func (param i32 i32))) (memory (export \"memory\") 2) \
        (func (export \"ui_abi\") (result i32) i32.const 1) (func (export \"ui_alloc\") (param i32) (result i32) i32.const 4096) \
        (func (export \"ui_handle\") (param i32 i32) unreachable))";
    let traps = wat::parse_str(traps).expect("a module");
    for broken in [traps, b"no module".to_vec()] {
        scene.offer(&broken);
        let told =
            |state: &porthole_tests::terminal::State| state.row(ROWS - 1).contains("new UI failed");
        let seen = scene.terminal.wait_at_most(PATIENCE, told);
        assert!(seen.is_ok(), "{seen:?}");
        scene.terminal.wait_for("half a sentence and its end");
        scene
            .terminal
            .wait_until("the notice gone", |state| !told(state));
        scene.wait_named(&other);
    }
    scene.terminal.send("!");
    scene.terminal.wait_for("half a sentence and its end!");
}
