//! The UI bundle that the server hands out: found, read once, named by its hash. It is never run here.

use std::{
    io,
    path::{Path, PathBuf},
};

use axum::body::Bytes;
use porthole_door::Manifest;
use serde::Deserialize;

use crate::token::{hex, sha256};

/// Largest bundle that a launcher would take.
const BUNDLE_BYTES: u64 = 8 << 20;
/// Name of the module in its folder.
const WASM: &str = "porthole-ui.wasm";
/// Name of the manifest in its folder.
const MANIFEST: &str = "manifest.json";

/// A bundle in memory.
#[derive(Clone)]
pub struct Bundle {
    /// What a launcher is told of it.
    pub manifest: Manifest,
    /// The module.
    pub wasm: Bytes,
}

/// Where the bundle comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleSource {
    /// A folder with the module and its manifest.
    Folder(PathBuf),
    /// The one inside this program.
    Embedded,
}

/// Why there is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file cannot be read.
    #[error("no UI bundle: cannot read `{0}`: {1}")]
    Unreadable(PathBuf, io::Error),
    /// The manifest does not parse.
    #[error("the manifest of the UI bundle does not parse: {0}")]
    Manifest(serde_json::Error),
    /// The module is over its limit.
    #[error("the UI bundle is larger than {} MiB", BUNDLE_BYTES >> 20)]
    TooLarge,
}

/// What `manifest.json` says that the bytes do not.
#[derive(Deserialize)]
struct Names {
    name: String,
    version: String,
    abi: i32,
}

impl BundleSource {
    /// Returns where to look: `folder`, else `variable` (of `PORTHOLE_BUNDLE`), else what is embedded, else beside the program.
    pub fn find(folder: Option<PathBuf>, variable: Option<PathBuf>, program: &Path) -> Self {
        if let Some(folder) = folder.or(variable) {
            return Self::Folder(folder);
        }
        if cfg!(feature = "embedded-bundle") {
            return Self::Embedded;
        }
        let beside = program.parent().and_then(Path::parent);
        Self::Folder(beside.unwrap_or(Path::new("/")).join("bundle"))
    }

    /// Reads the bundle; its hash and size are those of the bytes read.
    ///
    /// # Errors
    /// [`BundleError`]
    pub fn load(&self) -> Result<Bundle, BundleError> {
        let (wasm, names) = match self {
            Self::Folder(folder) => (
                Bytes::from(read(folder.join(WASM))?),
                read(folder.join(MANIFEST))?,
            ),
            Self::Embedded => (
                Bytes::from_static(embedded::WASM),
                embedded::MANIFEST.to_vec(),
            ),
        };
        if wasm.len() as u64 > BUNDLE_BYTES {
            return Err(BundleError::TooLarge);
        }
        let names: Names = serde_json::from_slice(&names).map_err(BundleError::Manifest)?;
        let manifest = Manifest {
            name: names.name,
            version: names.version,
            abi: names.abi,
            sha256: hex(&sha256(&wasm)),
            bytes: wasm.len() as u64,
        };
        Ok(Bundle { manifest, wasm })
    }
}

fn read(path: PathBuf) -> Result<Vec<u8>, BundleError> {
    std::fs::read(&path).map_err(|error| BundleError::Unreadable(path, error))
}

#[cfg(feature = "embedded-bundle")]
mod embedded {
    pub(super) const WASM: &[u8] = include_bytes!(env!("PORTHOLE_EMBEDDED_WASM"));
    pub(super) const MANIFEST: &[u8] = include_bytes!(env!("PORTHOLE_EMBEDDED_MANIFEST"));
}

#[cfg(not(feature = "embedded-bundle"))]
mod embedded {
    pub(super) const WASM: &[u8] = &[];
    pub(super) const MANIFEST: &[u8] = b"";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_the_bytes_and_not_of_what_the_manifest_says() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(WASM), b"abc").expect("written");
        let text = r#"{"name":"ui","version":"1","abi":1,"sha256":"lie","bytes":9}"#;
        std::fs::write(folder.path().join(MANIFEST), text).expect("written");
        let source = BundleSource::find(Some(folder.path().into()), None, Path::new("/bin/x"));
        let Ok(bundle) = source.load() else {
            panic!("it loads")
        };
        assert_eq!(bundle.manifest.bytes, 3);
        assert_eq!(
            bundle.manifest.sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_missing_bundle_is_named() {
        let source = BundleSource::find(None, Some("/nowhere".into()), Path::new("/bin/x"));
        let error = source.load().err().expect("fails").to_string();
        assert!(error.contains("/nowhere/porthole-ui.wasm"), "{error}");
    }
}
