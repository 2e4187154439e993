//! Commands about the server as a process: serve, start, stop, status, service.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde::Serialize;

use super::out::say;
use super::{
    DataArgs, Failure, ListArgs, ServeArgs,
    client::{ask, strange, try_ask},
};
use crate::{
    bundle::BundleSource,
    data::make_private,
    diagnostics::{Capture, SERVER_SOURCE},
    local::{Ask, Status, Tell},
    log,
    redact::Redaction,
    serve::{Config, Hangup, Running, ServeError},
    tls::TlsFiles,
    worker_process::WorkerProgram,
};

/// Descriptors that a server wants to be able to hold.
const DESCRIPTORS: u64 = 8_192;
/// How long `stop` waits for the end.
const STOP_BOUND: Duration = Duration::from_secs(10);

pub(super) fn serve(args: ServeArgs) -> Result<(), Failure> {
    if args.detached {
        // Fails only where it already leads a session.
        let _ = rustix::process::setsid();
    }
    raise_descriptors();
    let folder = args.data.folder()?;
    let config = config(&args, folder.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let redaction = config.redaction.clone();
        let running = Running::open(config).await.map_err(failed)?;
        log::begin(&folder, redaction.clone())?;
        if args.detached {
            keep_errors(&folder, redaction)?;
        }
        let mut stdout = std::io::stdout();
        // Whoever started it may have gone; it serves all the same.
        let _ = writeln!(stdout, "listening on {}", running.origin()).and_then(|()| stdout.flush());
        running.run().await.map_err(failed)
    })
}

/// Nobody reads what a detached server prints to standard error: it is kept as what workers print is.
fn keep_errors(folder: &Path, redaction: Redaction) -> std::io::Result<()> {
    let (ours, theirs) = std::io::pipe()?;
    // Printing never waits for this process itself to read.
    let flags = rustix::fs::fcntl_getfl(&theirs)? | rustix::fs::OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&theirs, flags)?;
    rustix::stdio::dup2_stderr(&theirs)?;
    let ours = tokio::net::unix::pipe::Receiver::from_owned_fd(ours.into())?;
    let capture = Capture::new(folder, SERVER_SOURCE.to_owned(), redaction);
    tokio::spawn(capture.run(ours));
    Ok(())
}

/// Every link and every worker takes a few; many systems begin with 1,024.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if now.current.is_some_and(|current| current < most) {
        let more = Rlimit {
            current: Some(most),
            maximum: now.maximum,
        };
        // It serves with fewer as well.
        let _ = setrlimit(Resource::Nofile, more);
    }
}

pub(super) fn start(args: &ServeArgs) -> Result<(), Failure> {
    let folder = args.data.folder()?;
    if let Some(Tell::Status(status)) = try_ask(&folder, &Ask::Status)? {
        say!("Already running at {}", status.address);
        return Ok(());
    }
    make_private(&folder.join("log")).map_err(|error| {
        Failure::new(format!(
            "cannot use the data folder `{}`: {error}",
            folder.display()
        ))
        .hint("use another folder with `--data DIR`")
    })?;
    // Earlier versions kept there what was printed, as it was.
    let _ = std::fs::remove_file(folder.join("log/start.log"));
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments(args, &folder))
        .arg("--detached")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let Some(address) = line.trim().strip_prefix("listening on ") else {
        let mut told = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            let _ = stderr.take(16 << 10).read_to_end(&mut told);
        }
        let _ = child.wait();
        return Err(start_failed(&String::from_utf8_lossy(&told)));
    };
    say!("Running at {address}");
    say!("It goes on when this shell ends; `portholed stop` ends it.");
    say!("Next: `portholed link owner`");
    Ok(())
}

pub(super) fn stop(data: &DataArgs) -> Result<(), Failure> {
    let folder = data.folder()?;
    ask(data, &Ask::Stop)?;
    let begun = Instant::now();
    // The folder is locked until everything is closed.
    while is_locked(&folder) {
        if begun.elapsed() > STOP_BOUND {
            return Err(
                Failure::new("the server does not end").hint("`portholed logs` may say why")
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    say!("Stopped");
    Ok(())
}

pub(super) fn status(list: &ListArgs) -> Result<(), Failure> {
    let Tell::Status(status) = ask(&list.data, &Ask::Status)? else {
        return Err(strange());
    };
    if list.json {
        return print_json(&status);
    }
    print_status(&status);
    Ok(())
}

pub(super) fn install(args: &ServeArgs) -> Result<(), Failure> {
    let base =
        directories::BaseDirs::new().ok_or_else(|| Failure::new("no home directory is known"))?;
    let folder = base.config_dir().join("systemd/user");
    let program = std::env::current_exe()?;
    let unit = unit(&program, &arguments(args, &args.data.folder()?));
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("portholed.service");
    std::fs::write(&path, unit)?;
    say!("Wrote {}", path.display());
    say!("Next: systemctl --user daemon-reload && systemctl --user enable --now portholed");
    say!("To have it run while you are logged out: loginctl enable-linger");
    Ok(())
}

/// Prints one JSON value.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::new(error.to_string()))?;
    say!("{}", super::plain::json(&text));
    Ok(())
}

fn config(args: &ServeArgs, data: PathBuf) -> Result<Config, Failure> {
    let variable = std::env::var_os("PORTHOLE_BUNDLE").map(PathBuf::from);
    let mut allow_hosts: Vec<_> = args
        .allow_host
        .iter()
        .map(|host| host.to_ascii_lowercase())
        .collect();
    let public = args.public_url.as_deref().map(public_origin).transpose()?;
    let public_origin = public.map(|(origin, host)| {
        allow_hosts.push(host);
        origin
    });
    Ok(Config {
        data,
        listen: args.listen,
        bundle: BundleSource::find(args.bundle.clone(), variable, &std::env::current_exe()?),
        allow_hosts,
        tls: tls_files(args),
        public_origin,
        worker: WorkerProgram::this()?,
        upload_bytes: args.max_upload << 20,
        hangup: hangup(),
        redaction: Redaction::default(),
    })
}

/// The parser takes both or none.
fn tls_files(args: &ServeArgs) -> Option<TlsFiles> {
    Some(TlsFiles {
        cert: args.tls_cert.clone()?,
        key: args.tls_key.clone()?,
    })
}

/// With a terminal, SIGHUP says that it is gone; without one, only someone who means it sends that.
fn hangup() -> Hangup {
    match std::fs::File::open("/dev/tty") {
        Ok(_) => Hangup::End,
        Err(_) => Hangup::Reload,
    }
}

/// Returns origin and host of an https address without a path.
fn public_origin(text: &str) -> Result<(String, String), Failure> {
    let bad = || {
        Failure::new("the public address must be `https://HOST`, without a path")
            .hint("e.g. `--public-url https://box.example`")
    };
    let url = url::Url::parse(text).map_err(|_| bad())?;
    let host = url.host_str().ok_or_else(bad)?.to_owned();
    let plain = url.scheme() == "https"
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty();
    if plain {
        Ok((url.origin().ascii_serialization(), host))
    } else {
        Err(bad())
    }
}

fn failed(error: ServeError) -> Failure {
    Failure::new(error.to_string()).hint(error.hint())
}

/// Returns the arguments that serve in the same way.
fn arguments(args: &ServeArgs, folder: &Path) -> Vec<String> {
    let mut all = vec![
        "serve".to_owned(),
        "--data".to_owned(),
        absolute(folder),
        "--listen".to_owned(),
        args.listen.to_string(),
        "--max-upload".to_owned(),
        args.max_upload.to_string(),
    ];
    let mut add = |name: &str, value: &str| all.extend([name.to_owned(), value.to_owned()]);
    if let Some(bundle) = &args.bundle {
        add("--bundle", &absolute(bundle));
    }
    for (name, file) in [("--tls-cert", &args.tls_cert), ("--tls-key", &args.tls_key)] {
        if let Some(file) = file {
            add(name, &absolute(file));
        }
    }
    for host in &args.allow_host {
        add("--allow-host", host);
    }
    if let Some(url) = &args.public_url {
        add("--public-url", url);
    }
    all
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path)
        .unwrap_or_else(|_| path.to_owned())
        .to_string_lossy()
        .into_owned()
}

/// Returns what the server that did not start had to say.
fn start_failed(text: &str) -> Failure {
    let mut parts = text.splitn(2, "hint:");
    let message = parts.next().unwrap_or("").trim();
    let hint = parts.next().unwrap_or("").trim();
    let message = message.strip_prefix("error:").unwrap_or(message).trim();
    match message {
        "" => Failure::new("the server did not start").hint("`portholed serve` shows why"),
        message => Failure::new(message).hint(hint),
    }
}

fn is_locked(folder: &Path) -> bool {
    let file = std::fs::File::open(folder.join("lock"));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

fn print_status(status: &Status) {
    let counts = &status.counts;
    say!(
        "running     {} (process {}, version {})",
        status.address,
        status.pid,
        status.version
    );
    say!("up          {}", duration(status.up_seconds));
    say!(
        "sessions    {} ({} archived)",
        counts.sessions,
        counts.archived
    );
    say!("workers     {}", counts.workers);
    say!("connections {}", counts.connections);
    say!("ui          {}", super::plain::one_line(&status.bundle));
    say!("data        {}", status.data);
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86400, seconds / 3600 % 24),
    }
}

fn unit(program: &Path, arguments: &[String]) -> String {
    let words: Vec<_> = std::iter::once(program.to_string_lossy().into_owned())
        .chain(arguments.iter().cloned())
        .map(|word| quoted(&word))
        .collect();
    format!(
        "[Unit]\nDescription=Porthole server\n\n[Service]\nExecStart={}\nExecReload=/bin/kill -HUP $MAINPID\nRestart=on-failure\nKillMode=mixed\n\n[Install]\nWantedBy=default.target\n",
        words.join(" ")
    )
}

/// Returns a word as systemd reads it back.
fn quoted(word: &str) -> String {
    let escaped = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', "$$");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_survives_names_with_blanks_and_signs() {
        let unit = unit(
            Path::new("/a b/portholed"),
            &["serve".to_owned(), "--data".to_owned(), "/x%$\"".to_owned()],
        );
        assert!(
            unit.contains("ExecStart=\"/a b/portholed\" \"serve\" \"--data\" \"/x%%$$\\\"\"\n"),
            "{unit}"
        );
    }

    #[test]
    fn a_public_address_is_https_and_bare() {
        assert_eq!(
            public_origin("https://Box.example/"),
            Ok(("https://box.example".to_owned(), "box.example".to_owned()))
        );
        for bad in [
            "http://box.example",
            "https://box.example/x",
            "https://u@box.example",
            "box.example",
            "https://",
        ] {
            assert!(public_origin(bad).is_err(), "{bad}");
        }
    }
}
