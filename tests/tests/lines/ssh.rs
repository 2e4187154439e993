//! A server behind ssh: the real ssh program against a real sshd on this machine, with keys and configuration of the test's own.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use porthole_tests::{Terminal, World, process};
use rustix::process::Signal;

use super::{COLS, ROWS, leave};

const SSHD: &str = "/usr/sbin/sshd";

/// A machine called `box`, which is this one behind an sshd. What was started there is stopped when this is dropped.
struct Far {
    world: World,
    sshd: Child,
    folder: PathBuf,
}

impl Far {
    fn new() -> Self {
        assert!(
            Path::new(SSHD).exists(),
            "this test needs `{SSHD}`: install Debian's `openssh-server`"
        );
        let world = World::new().expect("a world");
        let folder = world.home().join("far");
        fs::create_dir(&folder).expect("made");
        for key in ["host", "user"] {
            keygen(&folder.join(key));
        }
        fs::copy(folder.join("user.pub"), folder.join("authorized")).expect("copied");
        let port = free_port();
        write_server_config(&world, &folder, port);
        write_client_config(&folder, port);
        // Where sshd is run by root it wants this folder, which an installed service would have made.
        let _ = fs::create_dir_all("/run/sshd");
        let sshd = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(folder.join("sshd_config"))
            .stderr(fs::File::create(folder.join("sshd.log")).expect("made"))
            .stdin(Stdio::null())
            .spawn()
            .expect("sshd starts");
        let far = Self {
            world,
            sshd,
            folder,
        };
        far.wait_until_it_listens(port);
        far
    }

    fn wait_until_it_listens(&self, port: u16) {
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(self.folder.join("sshd.log")).unwrap_or_default();
            assert!(Instant::now() < end, "sshd does not listen: {log}");
            std::thread::yield_now();
        }
    }

    /// Between the two it refuses everybody.
    fn wait_until_it_listens_anew(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        let log = || fs::read_to_string(self.folder.join("sshd.log")).unwrap_or_default();
        while log().matches("Server listening on").count() < 2 {
            assert!(Instant::now() < end, "sshd does not listen: {}", log());
            std::thread::yield_now();
        }
    }

    /// The PATH in which `ssh` is the real one with the test's configuration.
    fn path(&self) -> String {
        format!(
            "{}:{}",
            self.folder.display(),
            std::env::var("PATH").unwrap_or_default()
        )
    }

    fn launch(&self, arguments: &[&str]) -> Terminal {
        let path = self.path();
        self.world
            .launch_with(arguments, None, COLS, ROWS, &[("PATH", &path)])
            .expect("the launcher")
    }

    /// Runs a command of the server's owner at the far end.
    fn owner(&self, arguments: &[&str]) -> String {
        let output = self
            .world
            .command("portholed")
            .args(arguments)
            .output()
            .expect("runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.owner(&["stop"]);
        drop(self.sshd.kill());
        drop(self.sshd.wait());
    }
}

fn keygen(path: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .status()
        .expect("ssh-keygen runs");
    assert!(made.success());
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}

fn write_server_config(world: &World, folder: &Path, port: u16) {
    let programs = world.program("portholed");
    let programs = programs.parent().expect("a folder").display();
    let home = world.home();
    let at = folder.display();
    let variables = format!(
        "PATH={programs}:/usr/bin:/bin HOME={home} XDG_DATA_HOME={home}/.data XDG_CONFIG_HOME={home}/.config \
         PORTHOLE_NO_LOCAL_MODELS=1 PORTHOLE_BUNDLE={bundle}",
        home = home.display(),
        bundle = world.bundle().display(),
    );
    let config = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
         PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\nPrintMotd no\nSetEnv {variables}\n"
    );
    fs::write(folder.join("sshd_config"), config).expect("written");
}

/// An `ssh` that is the real one, told where the test's keys are.
fn write_client_config(folder: &Path, port: u16) {
    let at = folder.display();
    let host_key = fs::read_to_string(folder.join("host.pub")).expect("a key");
    fs::write(
        folder.join("known"),
        format!("[127.0.0.1]:{port} {host_key}"),
    )
    .expect("written");
    let user = Command::new("id").arg("-un").output().expect("runs").stdout;
    let user = String::from_utf8_lossy(&user);
    let config = format!(
        "Host box\n HostName 127.0.0.1\n Port {port}\n User {}\n IdentityFile {at}/user\n IdentitiesOnly yes\n \
         UserKnownHostsFile {at}/known\n",
        user.trim()
    );
    fs::write(folder.join("ssh_config"), config).expect("written");
    let real = ["/usr/bin/ssh", "/bin/ssh"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let real = real.expect("this test needs `ssh`: install Debian's `openssh-client`");
    let script = format!("#!/bin/sh\nexec {real} -F {at}/ssh_config \"$@\"\n");
    fs::write(folder.join("ssh"), script).expect("written");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.join("ssh"), executable).expect("set");
}

/// Returns the ssh programs of a launcher.
fn ssh_of(terminal: &Terminal) -> Vec<u32> {
    let is_ssh = |pid: &u32| {
        let line = process::command_line(*pid);
        line.first().is_some_and(|program| program.ends_with("ssh")) && process::is_alive(*pid)
    };
    process::tree(terminal.pid())
        .into_iter()
        .filter(is_ssh)
        .collect()
}

#[test]
fn one_command_starts_the_server_behind_ssh_opens_a_folder_and_outlives_the_ssh_program() {
    let far = Far::new();
    let shop = far.world.home().join("src/it's a shop");
    fs::create_dir_all(&shop).expect("made");
    let mut terminal = far.launch(&["--ssh", "box", "~/src/it's a shop"]);
    terminal.wait_for("Enter send");
    terminal.send("list the files\r");
    terminal.wait_for("list the files");
    let sessions = far.owner(&["sessions", "--json"]);
    assert!(sessions.contains("it's a shop"), "{sessions}");

    // Nothing secret is among the arguments, and the ssh program is ours alone.
    let before = ssh_of(&terminal);
    assert_eq!(before.len(), 1, "one ssh program");
    for pid in process::tree(terminal.pid()) {
        let line = process::command_line(pid).join(" ");
        assert!(!line.contains("pho_") && !line.contains("phd_"), "{line}");
    }

    terminal.type_and_see("a draft");
    process::signal(before[0], Signal::KILL);
    terminal.wait_for("connected again");
    terminal.wait_for("a draft");
    let after = ssh_of(&terminal);
    assert_eq!(after.len(), 1);
    assert_ne!(before, after, "a new ssh program");
    terminal.send("\x15");
    terminal.send("\x03\x03");
    assert_eq!(terminal.wait_exit(), 0);
    assert!(
        process::wait_gone(after[0], Duration::from_secs(20)),
        "it ends with us"
    );

    // The second time no new device is made, and the last server is the one behind ssh.
    let devices = ids(&far.owner(&["devices"]));
    let again = far.launch(&[]);
    again.wait_for("shop");
    assert_eq!(ids(&far.owner(&["devices"])), devices);
    leave(again);
}

/// Returns the ids that stand first in the rows of a listing; what follows them changes with time.
fn ids(listing: &str) -> Vec<String> {
    let rows = listing.lines().filter_map(|row| row.split(' ').next());
    rows.map(str::to_owned).collect()
}

#[test]
fn a_host_without_the_server_program_says_what_to_do() {
    let far = Far::new();
    let config = fs::read_to_string(far.folder.join("sshd_config")).expect("there");
    let without = config.replace(
        &format!(
            "PATH={}:",
            far.world
                .program("portholed")
                .parent()
                .expect("a folder")
                .display()
        ),
        "PATH=",
    );
    assert_ne!(config, without);
    fs::write(far.folder.join("sshd_config"), without).expect("written");
    // sshd reads its configuration again.
    process::signal(far.sshd.id(), Signal::HUP);
    far.wait_until_it_listens_anew();
    let mut terminal = far.launch(&["--ssh", "box"]);
    terminal.wait_for("`portholed` is not installed there");
    terminal.wait_for("hint: ");
    assert_eq!(terminal.wait_exit(), 1);
    let mut terminal = far.launch(&["--ssh", "-oProxyCommand=true"]);
    terminal.wait_for("error: ");
    assert_eq!(terminal.wait_exit(), 2);
}

#[test]
fn a_port_that_was_forwarded_by_hand_works_under_any_number() {
    let far = Far::new();
    let server = far.world.serve().expect("a server");
    let local = free_port();
    let mut forward = Command::new(far.folder.join("ssh"))
        .args(["-N", "-L", &format!("{local}:{}", server.address), "box"])
        .stdin(Stdio::null())
        .spawn()
        .expect("ssh starts");
    let end = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(("127.0.0.1", local)).is_err() {
        assert!(Instant::now() < end, "the port is not forwarded");
        std::thread::yield_now();
    }
    let link = far.world.owner_link().expect("a link");
    let (_, fragment) = link.split_once("/#").expect("a fragment");
    let link = format!("http://127.0.0.1:{local}/#{fragment}");
    let terminal = far
        .world
        .launch(&[], Some(&link), COLS, ROWS)
        .expect("launches");
    terminal.wait_for("No sessions yet");
    leave(terminal);
    drop(forward.kill());
    drop(forward.wait());
}
