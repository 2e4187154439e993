//! Files of 25 MiB down and up, with the launcher's commands; the reference is curl with the same ranges and chunks, and
//! the same flush to the disk.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, ensure};
use porthole_launcher::bundle::sha256_hex;

use super::{Row, SIZE, quantile};
use crate::World;

const RUNS: usize = 20;
const BYTES: usize = 25 << 20;
const RANGE: usize = 4 << 20;
const CHUNK: usize = 1 << 20;

/// Measures downloads and uploads in MiB a second, launcher and curl in turn.
pub fn measure() -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let server = world.serve()?;
    let session = world.session()?;
    admit(&world, &session)?;
    let curl = Curl::new(&world, &server.address)?;
    let file = world.project().join("large.bin");
    fs::write(&file, bytes())?;
    let to = world.home().join("saved");
    fs::create_dir(&to)?;
    let (mut down, mut curl_down, mut up, mut curl_up) = (vec![], vec![], vec![], vec![]);
    for _ in 0..RUNS {
        down.push(speed(|| download(&world, &session, &to))?);
        curl_down.push(speed(|| curl.download(&session, &to.join("curl")))?);
    }
    // One session keeps a bounded number of bytes, so each pair has its own.
    for _ in 0..RUNS {
        let session = world.session()?;
        up.push(speed(|| upload(&world, &session, &file))?);
        curl_up.push(speed(|| curl.upload(&session, &file))?);
    }
    let row = |name: &str, ours: &mut Vec<f64>, theirs: &mut Vec<f64>| {
        Row::beside(name, quantile(ours, 0.5), "MiB/s", quantile(theirs, 0.5))
    };
    Ok(vec![
        row("download of 25 MiB", &mut down, &mut curl_down),
        row("upload of 25 MiB", &mut up, &mut curl_up),
    ])
}

fn admit(world: &World, session: &str) -> anyhow::Result<()> {
    let link = world.owner_link()?;
    let mut terminal = world.launch(&["--session", session], Some(&link), SIZE.0, SIZE.1)?;
    terminal.wait_for(super::COMPOSER);
    terminal.send("\x03");
    terminal.wait_for("again");
    terminal.send("\x03");
    ensure!(terminal.wait_exit() == 0, "the launcher did not leave well");
    Ok(())
}

fn speed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok((BYTES >> 20) as f64 / begun.elapsed().as_secs_f64())
}

fn download(world: &World, session: &str, to: &Path) -> anyhow::Result<()> {
    let mut command = world.command("porthole");
    command.args(["download", "large.bin", "--file", "--session", session]);
    run(command.arg("--to").arg(to))
}

fn upload(world: &World, session: &str, file: &Path) -> anyhow::Result<()> {
    let mut command = world.command("porthole");
    run(command.arg("upload").arg(file).args(["--session", session]))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

/// The reference: curl with a cookie of its own.
struct Curl<'a> {
    world: &'a World,
    origin: String,
    jar: String,
}

impl<'a> Curl<'a> {
    fn new(world: &'a World, address: &str) -> anyhow::Result<Self> {
        let jar = world.home().join("curl.jar").display().to_string();
        let curl = Self {
            world,
            origin: format!("http://{address}"),
            jar,
        };
        let link = world.owner_link()?;
        let token = link
            .split_once("#owner=")
            .and_then(|(_, rest)| rest.split_once('&'));
        let (token, _) = token.context("a link has a token")?;
        let body = format!(r#"{{"token":"{token}","name":"curl"}}"#);
        curl.json("/door/redeem", &body, true)?;
        Ok(curl)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail", "--cookie", &self.jar]);
        command
    }

    fn json(&self, path: &str, body: &str, keeps: bool) -> anyhow::Result<String> {
        let mut command = self.command();
        if keeps {
            command.args(["--cookie-jar", &self.jar]);
        }
        command.args(["--header", "content-type: application/json", "--data", body]);
        let output = command.arg(format!("{}{path}", self.origin)).output();
        let output = output.context("curl is not installed")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "curl failed: {said}");
        Ok(String::from_utf8(output.stdout)?)
    }

    fn download(&self, session: &str, to: &Path) -> anyhow::Result<()> {
        let file = File::create(to)?;
        let mut command = self.command();
        for from in (0..BYTES).step_by(RANGE) {
            command.arg(format!(
                "{}/door/download?session={session}&file=large.bin&from={from}&bytes={RANGE}",
                self.origin
            ));
        }
        let status = command.stdout(file.try_clone()?).status()?;
        ensure!(status.success(), "curl failed");
        file.sync_all()?;
        ensure!(file.metadata()?.len() == BYTES as u64, "curl fetched less");
        Ok(())
    }

    fn upload(&self, session: &str, file: &Path) -> anyhow::Result<()> {
        let open = format!(
            r#"{{"session":"{session}","name":"a","bytes":{BYTES},"media_type":"text/plain"}}"#
        );
        let opened: serde_json::Value =
            serde_json::from_str(&self.json("/door/upload", &open, false)?)?;
        let id = opened["upload"].as_str().context("an id")?.to_owned();
        let mut command = self.command();
        let bytes = fs::read(file)?;
        for (at, chunk) in bytes.chunks(CHUNK).enumerate() {
            let part = self.world.home().join(format!("part-{at}"));
            fs::write(&part, chunk)?;
            if at > 0 {
                command.args(["--next", "--silent", "--fail", "--cookie", &self.jar]);
            }
            command
                .args(["--output", "/dev/null", "--upload-file"])
                .arg(part);
            command.arg(format!("{}/door/upload/{id}/{at}", self.origin));
        }
        ensure!(command.status()?.success(), "curl failed");
        let hex = sha256_hex(&bytes);
        let finish = format!(r#"{{"sha256":"{hex}"}}"#);
        self.json(&format!("/door/upload/{id}/finish"), &finish, false)?;
        Ok(())
    }
}

fn bytes() -> Vec<u8> {
    (0..BYTES).map(|at| (at / 7 % 251) as u8).collect()
}
