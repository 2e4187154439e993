//! Runs the scripted model server from a shell: `model-server --listen 127.0.0.1:8911 --script steps.json`.
//! The script is a JSON list of steps; past its end the server says back what it was told.

use std::{net::SocketAddr, path::PathBuf};

use anyhow::Context;
use clap::Parser;
use porthole_examples::model_server::{ModelServer, Step};

/// A model server that follows a script, for trying Porthole without a model.
#[derive(Parser)]
struct Options {
    /// Where to listen; port 0 picks one.
    #[arg(long, default_value = "127.0.0.1:8911")]
    listen: SocketAddr,
    /// A JSON list of steps, e.g. `[{"step":"text","pieces":["Hello"]}]`.
    #[arg(long)]
    script: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let script: Vec<Step> = match &options.script {
        None => Vec::new(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            serde_json::from_str(&text)
                .with_context(|| format!("`{}` is no list of steps", path.display()))?
        }
    };
    let server = ModelServer::start(options.listen, script).context("cannot listen")?;
    println!("model server on {}", server.base_url());
    loop {
        std::thread::park();
    }
}
