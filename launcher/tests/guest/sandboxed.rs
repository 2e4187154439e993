//! A bundle's way through the real checks, the real compile child and the real sandbox child.

use std::{path::Path, time::Duration};

use porthole_bridge::{ABI, Event, Key, KeyCode, Modifiers, Request, Signal};
use porthole_door::Manifest;
use porthole_launcher::{
    bundle::{BundleError, VerifiedBundle, sha256_hex},
    sandbox::{self, Artifact, Sandbox, SandboxEvent, UiFault},
};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_porthole");
pub(crate) const ORIGIN: &str = "http://127.0.0.1:1";

/// Checks a bundle against a manifest that is right.
pub(crate) fn verify(bytes: Vec<u8>) -> Result<VerifiedBundle, BundleError> {
    let manifest = Manifest {
        name: "guest".into(),
        version: "1".into(),
        abi: ABI,
        sha256: sha256_hex(&bytes),
        bytes: bytes.len() as u64,
    };
    VerifiedBundle::verify(&manifest, bytes)
}

pub(crate) async fn compiled(bytes: Vec<u8>, cache: &Path) -> Result<Artifact, UiFault> {
    let bundle = verify(bytes).map_err(|error| match error {
        BundleError::Refused(fault) => fault,
        BundleError::Size { .. } => UiFault::TooLarge,
        other => panic!("{other}"),
    })?;
    sandbox::compile_with(Path::new(PROGRAM), bundle, cache, ORIGIN).await
}

pub(crate) async fn started(bytes: Vec<u8>, cache: &Path) -> Sandbox {
    let artifact = compiled(bytes, cache).await.expect("it compiles");
    Sandbox::spawn_with(Path::new(PROGRAM), artifact).expect("it starts")
}

pub(crate) fn key() -> Signal {
    Signal {
        now_ms: 0,
        event: Event::Key(Key {
            code: KeyCode::Enter,
            modifiers: Modifiers::default(),
        }),
    }
}

/// Loads a bundle, sends one key, and returns how it ended; `Ok` is what it posted first.
pub(crate) async fn outcome(bytes: Vec<u8>) -> Result<Request, UiFault> {
    let cache = tempfile::tempdir().expect("a folder");
    let artifact = compiled(bytes, cache.path()).await?;
    let mut ui = Sandbox::spawn_with(Path::new(PROGRAM), artifact).expect("it starts");
    let _ = ui.send(&key()).await;
    let event = tokio::time::timeout(Duration::from_secs(30), ui.next());
    match event.await.expect("it ends or draws in time") {
        SandboxEvent::Posted(request) => Ok(request),
        SandboxEvent::Ended(fault) => Err(fault),
    }
}
