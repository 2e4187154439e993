//! The launcher in a real terminal, with a small server and a small bundle: on every way out the terminal is as it was.
//! The whole product end to end is tried elsewhere.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    num::NonZeroU16,
    path::Path,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use porthole_bridge::{ABI, Request, encode_request};
use porthole_door::{
    Manifest, PATH_BUNDLE, PATH_MANIFEST, PATH_PROVE, PATH_REDEEM, Proof, ProofRequest,
    proof_message,
};
use porthole_launcher::bundle::sha256_hex;
use ring::{
    digest::{SHA256, digest},
    signature::{Ed25519KeyPair, KeyPair},
};
use rustix::{
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
    termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr},
};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, EntityType, ExportKind, ExportSection, Function,
    FunctionSection, ImportSection, Instruction as I, MemorySection, MemoryType, Module,
    TypeSection, ValType,
};

const PATIENCE: Duration = Duration::from_secs(30);
const TOKEN: &str = "pho_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const COOKIE: &str = "phd_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A bundle that posts one frame at each call and does `then` when a key comes.
fn bundle_after_start(then: &[I<'static>]) -> Vec<u8> {
    // The kind of an event is the byte after the time; that of a key is 1.
    let key = porthole_bridge::encode_signal(&porthole_bridge::Signal {
        now_ms: 0,
        event: porthole_bridge::Event::Key(porthole_bridge::Key {
            code: porthole_bridge::KeyCode::Enter,
            modifiers: porthole_bridge::Modifiers::default(),
        }),
    })
    .expect("small");
    // `ui_alloc` says where a message is. The time is a number of six bytes, today and for a long while.
    let kind = wasm_encoder::MemArg {
        offset: 4096 + 6,
        align: 0,
        memory_index: 0,
    };
    let mut body = vec![
        I::I32Const(0),
        I::I32Load8U(kind),
        I::I32Const(i32::from(key[1])),
        I::I32Eq,
        I::If(wasm_encoder::BlockType::Empty),
    ];
    body.extend_from_slice(then);
    body.push(I::End);
    bundle(&body)
}

/// A bundle that posts one frame at each call, and does `then` after it.
fn bundle(then: &[I<'static>]) -> Vec<u8> {
    let frame = encode_request(&Request::Frame(b"hello from the bundle".to_vec())).expect("small");
    let length = i32::try_from(frame.len()).expect("small");
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32, ValType::I32], []);
    types.ty().function([], [ValType::I32]);
    types.ty().function([ValType::I32], [ValType::I32]);
    let mut imports = ImportSection::new();
    imports.import("porthole", "post", EntityType::Function(0));
    let mut functions = FunctionSection::new();
    functions.function(1).function(2).function(0);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 20,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut exports = ExportSection::new();
    exports.export("memory", ExportKind::Memory, 0);
    exports.export("ui_abi", ExportKind::Func, 1);
    exports.export("ui_alloc", ExportKind::Func, 2);
    exports.export("ui_handle", ExportKind::Func, 3);
    let mut code = CodeSection::new();
    let post = [I::I32Const(0), I::I32Const(length), I::Call(0)];
    let bodies = [
        &[I::I32Const(ABI)][..],
        &[I::I32Const(4096)],
        &[&post[..], then].concat(),
    ];
    for body in bodies {
        let mut function = Function::new([]);
        for instruction in body {
            function.instruction(instruction);
        }
        function.instruction(&I::End);
        code.function(&function);
    }
    let mut data = DataSection::new();
    data.active(0, &ConstExpr::i32_const(0), frame);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions);
    module
        .section(&memories)
        .section(&exports)
        .section(&code)
        .section(&data);
    module.finish()
}

/// A server that proves its key, redeems one link and serves a bundle; its link always fails.
struct Server {
    link: String,
    /// Requests that carried the token or the cookie.
    secrets: Arc<Mutex<u32>>,
}

impl Server {
    /// Starts one; `honest` or with a key that is not the link's.
    fn start(bundle: Vec<u8>, honest: Honest) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let pair = Arc::new(Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a key"));
        let shown = match honest {
            Honest::Yes => URL_SAFE_NO_PAD.encode(digest(&SHA256, pair.public_key().as_ref())),
            Honest::No => "z".repeat(43),
        };
        let secrets = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&secrets);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (pair, bundle, counted) =
                    (Arc::clone(&pair), bundle.clone(), Arc::clone(&counted));
                std::thread::spawn(move || serve(stream, &pair, &bundle, &counted));
            }
        });
        Self {
            link: format!("http://127.0.0.1:{port}/#owner={TOKEN}&key={shown}"),
            secrets,
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Honest {
    Yes,
    No,
}

fn serve(stream: TcpStream, pair: &Ed25519KeyPair, bundle: &[u8], secrets: &Mutex<u32>) {
    let mut reader = BufReader::new(stream.try_clone().expect("clones"));
    let mut out = stream;
    while let Some((path, secret, body)) = request(&mut reader) {
        *secrets.lock().expect("not poisoned") += u32::from(secret);
        let (status, answer) = match path.as_str() {
            PATH_PROVE => (200, prove(pair, &body)),
            PATH_REDEEM => (200, br#"{"who":"owner"}"#.to_vec()),
            PATH_MANIFEST => (200, manifest(bundle)),
            path if path.starts_with(PATH_BUNDLE) => (200, bundle.to_vec()),
            _ => (503, Vec::new()),
        };
        let head = format!(
            "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nset-cookie: porthole-device={COOKIE}\r\n\r\n",
            answer.len()
        );
        if out.write_all(&[head.as_bytes(), &answer].concat()).is_err() {
            return;
        }
    }
}

/// Reads one request: its path, whether it held a secret, its body.
fn request(reader: &mut impl BufRead) -> Option<(String, bool, Vec<u8>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut secret) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        secret |= header.contains(COOKIE);
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    secret |= String::from_utf8_lossy(&body).contains(TOKEN);
    Some((path, secret, body))
}

fn prove(pair: &Ed25519KeyPair, body: &[u8]) -> Vec<u8> {
    let asked: ProofRequest = serde_json::from_slice(body).expect("a proof request");
    let proof = Proof {
        door: porthole_door::DOOR_VERSION,
        server: "test".into(),
        public_key: URL_SAFE_NO_PAD.encode(pair.public_key()),
        signature: URL_SAFE_NO_PAD.encode(pair.sign(&proof_message(&asked.nonce))),
    };
    serde_json::to_vec(&proof).expect("serialises")
}

fn manifest(bundle: &[u8]) -> Vec<u8> {
    let manifest = Manifest {
        name: "small".into(),
        version: "1".into(),
        abi: ABI,
        sha256: sha256_hex(bundle),
        bytes: bundle.len() as u64,
    };
    serde_json::to_vec(&manifest).expect("serialises")
}

/// The launcher in a terminal of 80×24.
struct Terminal {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

struct Seen {
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

impl Terminal {
    fn run(home: &Path, link: &str) -> Self {
        let size = PtySize {
            rows: 24,
            cols: 80,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_porthole"));
        command.env_clear();
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        if !link.is_empty() {
            command.env("PORTHOLE_LINK", link);
        }
        let child = pair.slave.spawn_command(command).expect("starts");
        let mut output = pair.master.try_clone_reader().expect("a reader");
        let keys = pair.master.take_writer().expect("a writer");
        let cells = |count| NonZeroU16::new(count).expect("not zero");
        let seen = Seen {
            bytes: Vec::new(),
            screen: vt100::Parser::new(cells(24), cells(80), 0),
        };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut chunk) {
                let mut seen = shared.0.lock().expect("not poisoned");
                seen.bytes.extend_from_slice(&chunk[..read]);
                seen.screen.process(&chunk[..read]);
                shared.1.notify_all();
            }
        });
        // The slave stays open here, so that the terminal's mode can be looked at after the launcher has left.
        std::mem::forget(pair.slave);
        Self {
            master: pair.master,
            child,
            keys,
            seen,
        }
    }

    fn wait_until(&self, what: &str, ok: impl Fn(&Seen) -> bool) {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("not poisoned");
        while !ok(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "{what}:\n{}",
                seen.screen.screen().contents()
            );
            seen = self
                .seen
                .1
                .wait_timeout(seen, left)
                .expect("not poisoned")
                .0;
        }
    }

    fn wait_for(&self, text: &str) {
        self.wait_until(text, |seen| seen.screen.screen().contents().contains(text));
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("typed");
    }

    fn resize(&self, cols: u16, rows: u16) {
        let cells = |count| NonZeroU16::new(count).expect("not zero");
        let mut seen = self.seen.0.lock().expect("not poisoned");
        seen.screen.screen_mut().set_size(cells(rows), cells(cols));
        drop(seen);
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        self.master.resize(size).expect("resizes");
    }

    /// Returns the processor time of the thread that reads keys, in ticks.
    fn keys_ticks(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.child.process_id().expect("runs"));
        let stat = std::fs::read_dir(tasks)
            .expect("threads")
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok())
            .find(|stat| stat.contains("(keys)"))
            .expect("the thread");
        let after = stat.rsplit(')').next().expect("a name");
        let ticks = after.split(' ').skip(12).take(2);
        ticks.map(|text| text.parse::<u64>().expect("ticks")).sum()
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.process_id().expect("runs") as i32;
        kill_process(Pid::from_raw(id).expect("a process"), signal).expect("sent");
    }

    /// Waits as a shell does, until the launcher has stopped.
    fn wait_stopped(&self) {
        let id = self.child.process_id().expect("runs") as i32;
        let (_, status) = waitpid(Pid::from_raw(id), WaitOptions::UNTRACED)
            .expect("our child")
            .expect("waited for");
        assert!(status.stopped());
    }

    /// Leaves the terminal as a program that died in the middle leaves it.
    fn make_raw(&self) {
        self.with_terminal(|fd| {
            let mut mode = tcgetattr(fd).expect("a mode");
            mode.make_raw();
            tcsetattr(fd, OptionalActions::Now, &mode).expect("set");
        });
    }

    fn raw(&self) -> bool {
        self.with_terminal(|fd| {
            let modes = tcgetattr(fd).expect("a mode").local_modes;
            !modes.contains(LocalModes::ICANON | LocalModes::ECHO)
        })
    }

    fn with_terminal<T>(&self, use_it: impl Fn(std::os::fd::BorrowedFd<'_>) -> T) -> T {
        let fd = self.master.as_raw_fd().expect("a terminal");
        // The descriptor is the master's and outlives this call.
        #[expect(
            unsafe_code,
            reason = "portable-pty lends the master's descriptor only as a number"
        )]
        let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
        use_it(fd)
    }

    /// Waits for the end and checks that everything is as it was; returns the status.
    fn ended(mut self) -> u32 {
        let status = self.child.wait().expect("ends").exit_code();
        self.wait_until("the shell's screen", |seen| {
            !seen.screen.screen().alternate_screen()
        });
        assert!(!self.raw(), "the terminal's mode is back");
        let seen = self.seen.0.lock().expect("not poisoned");
        let text = String::from_utf8_lossy(&seen.bytes);
        for mode in [1000, 1002, 1004, 1006, 1049, 2004, 2026] {
            let (on, off) = (format!("\x1b[?{mode}h"), format!("\x1b[?{mode}l"));
            assert!(
                text.rfind(&on) < text.rfind(&off),
                "mode {mode} is off again"
            );
        }
        assert!(
            text.rfind("\x1b[?25l") < text.rfind("\x1b[?25h"),
            "the cursor is back"
        );
        let count = |part: &str| text.matches(part).count();
        assert_eq!(
            count("\x1b[>1u"),
            count("\x1b[<1u"),
            "keyboard pushes and pops"
        );
        status
    }
}

fn open(bundle: Vec<u8>) -> (tempfile::TempDir, Terminal) {
    let server = Server::start(bundle, Honest::Yes);
    let home = tempfile::tempdir().expect("a home");
    let terminal = Terminal::run(home.path(), &server.link);
    (home, terminal)
}

#[test]
fn the_terminal_is_given_back_on_quitting() {
    let (_home, mut terminal) = open(bundle(&[]));
    terminal.wait_for("hello from the bundle");
    assert!(terminal.raw());
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_ui_that_hangs_does_not_keep_the_launchers_menu_nor_the_way_out() {
    let forever = [I::Loop(wasm_encoder::BlockType::Empty), I::Br(0), I::End];
    let (_home, mut terminal) = open(bundle_after_start(&forever));
    terminal.wait_for("hello from the bundle");
    // This key hangs the UI; the next ones are the launcher's and come long before its deadline.
    terminal.press("x");
    let pressed = Instant::now();
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    assert!(
        pressed.elapsed() < porthole_bridge::limits::CALL_WALL,
        "{:?}",
        pressed.elapsed()
    );
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_ui_that_hangs_is_ended_and_its_page_says_so() {
    let forever = [I::Loop(wasm_encoder::BlockType::Empty), I::Br(0), I::End];
    let (_home, mut terminal) = open(bundle_after_start(&forever));
    terminal.wait_for("hello from the bundle");
    terminal.press("x");
    terminal.wait_for("The interface stopped responding.");
    terminal.press("r");
    terminal.wait_for("hello from the bundle");
    terminal.press("\x1dq");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_link_in_the_environment_is_not_seen_by_other_programs_and_no_image_of_the_memory_is_left() {
    let (_home, mut terminal) = open(bundle(&[]));
    terminal.wait_for("hello from the bundle");
    let own = format!("/proc/{}", terminal.child.process_id().expect("runs"));
    let shown = std::fs::read(format!("{own}/environ")).expect("root may look");
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.contains("TERM=xterm-256color"), "{shown}");
    assert!(!shown.contains(TOKEN), "{shown}");
    let limits = std::fs::read_to_string(format!("{own}/limits")).expect("readable");
    let core = limits.lines().find(|line| line.starts_with("Max core"));
    assert!(
        core.is_some_and(|line| line.split_whitespace().nth(4) == Some("0")),
        "{limits}"
    );
    terminal.press("\x1dq");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn the_terminal_is_given_back_on_signals() {
    for (signal, status) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let (_home, terminal) = open(bundle(&[]));
        terminal.wait_for("hello from the bundle");
        terminal.signal(signal);
        assert_eq!(terminal.ended(), status);
    }
}

#[test]
fn a_ui_that_traps_leaves_a_page_and_the_terminal_whole() {
    let (_home, mut terminal) = open(bundle(&[I::Unreachable]));
    terminal.wait_for("The UI stopped.");
    terminal.press("q");
    assert_eq!(terminal.ended(), 1);
}

#[test]
fn a_launcher_that_was_stopped_and_continued_draws_itself_anew() {
    let (_home, mut terminal) = open(bundle(&[]));
    terminal.wait_for("hello from the bundle");
    terminal.signal(Signal::TSTP);
    terminal.wait_stopped();
    terminal.wait_until("the shell's screen", |seen| {
        !seen.screen.screen().alternate_screen()
    });
    assert!(!terminal.raw(), "the shell has its own mode");
    terminal.signal(Signal::CONT);
    terminal.wait_for("hello from the bundle");
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_server_with_another_key_gets_no_secret() {
    let server = Server::start(bundle(&[]), Honest::No);
    let home = tempfile::tempdir().expect("a home");
    let mut terminal = Terminal::run(home.path(), &server.link);
    let status = terminal.child.wait().expect("ends").exit_code();
    assert_eq!(status, 1);
    terminal.wait_for("its key is another");
    assert_eq!(*server.secrets.lock().expect("not poisoned"), 0);
}

#[test]
fn keys_are_heard_after_a_resize() {
    let (_home, mut terminal) = open(bundle(&[]));
    terminal.wait_for("hello from the bundle");
    for (cols, rows) in [(70, 20), (80, 24), (60, 12)] {
        terminal.resize(cols, rows);
        terminal.press("\x1d");
        terminal.wait_for("reload the UI");
        terminal.resize(cols + 1, rows);
        terminal.press("\x1d");
        terminal.wait_until("the menu is gone", |seen| {
            !seen.screen.screen().contents().contains("reload the UI")
        });
    }
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_burst_of_keys_is_heard_to_its_last_and_odd_bytes_end_nothing() {
    let (_home, mut terminal) = open(bundle(&[]));
    terminal.wait_for("hello from the bundle");
    // Each pair opens and closes the menu; the odd one at the end leaves it open.
    terminal.press(&"\x1d".repeat(3_001));
    terminal.wait_for("reload the UI");
    terminal.press("\x1b[<64;0;0M\x1b[0;0R\x1b[M !\x10");
    // The thread that reads sleeps while nothing is typed.
    let before = terminal.keys_ticks();
    std::thread::park_timeout(Duration::from_millis(600));
    assert!(terminal.keys_ticks() - before < 20, "the reader spins");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_mode_that_somebody_left_behind_meanwhile_is_not_given_back() {
    let (_home, mut terminal) = open(bundle(&[]));
    terminal.wait_for("hello from the bundle");
    terminal.signal(Signal::TSTP);
    terminal.wait_stopped();
    terminal.make_raw();
    terminal.signal(Signal::CONT);
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_signal_while_a_link_is_asked_for_leaves_the_terminal_whole() {
    for (signal, status) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
    ] {
        let home = tempfile::tempdir().expect("a home");
        let mut terminal = Terminal::run(home.path(), "");
        terminal.wait_for("Paste a link");
        while !terminal.raw() {
            std::thread::yield_now();
        }
        terminal.signal(signal);
        assert_eq!(terminal.child.wait().expect("ends").exit_code(), status);
        assert!(!terminal.raw());
    }
}
