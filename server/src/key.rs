//! The server's own key: by it a launcher knows the server again. It encrypts nothing and signs nothing but proofs.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use porthole_door::{DOOR_VERSION, Proof, proof_message};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};

use crate::token::sha256;

/// The server's key pair.
pub struct ServerKey(Ed25519KeyPair);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or made.
    #[error("cannot use the server key: {0}")]
    Io(#[from] io::Error),
    /// The file holds no key.
    #[error("`server.key` in the data folder is damaged")]
    Damaged,
}

impl ServerKey {
    /// Returns the key of a data folder; makes one where there is none.
    ///
    /// # Errors
    /// [`KeyError`]; a damaged key is not replaced, since launchers would not know the server again.
    pub fn load(data: &Path) -> Result<Self, KeyError> {
        let path = data.join("server.key");
        match File::open(&path) {
            Ok(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Self::from_pkcs8(&bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::make(&path),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns SHA-256 of the public key, base64url without padding.
    pub fn fingerprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(sha256(self.0.public_key().as_ref()))
    }

    /// Returns the proof for a nonce; `None` where that is not 32 bytes in base64url.
    pub fn prove(&self, nonce: &str) -> Option<Proof> {
        if URL_SAFE_NO_PAD.decode(nonce).ok()?.len() != 32 {
            return None;
        }
        let signature = self.0.sign(&proof_message(nonce));
        Some(Proof {
            door: DOOR_VERSION,
            server: env!("CARGO_PKG_VERSION").to_owned(),
            public_key: URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref()),
            signature: URL_SAFE_NO_PAD.encode(signature.as_ref()),
        })
    }

    fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        Ed25519KeyPair::from_pkcs8(bytes)
            .map(Self)
            .map_err(|_| KeyError::Damaged)
    }

    /// Written whole under another name first, so that a crash leaves no half key.
    fn make(path: &Path) -> Result<Self, KeyError> {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map_err(|_| io::Error::other("the operating system gives no random bytes"))?;
        let part = path.with_extension("part");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(pkcs8.as_ref())?;
        file.sync_all()?;
        std::fs::rename(&part, path)?;
        Self::from_pkcs8(pkcs8.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use ring::signature::{ED25519, UnparsedPublicKey};

    use super::*;

    #[test]
    fn a_key_is_made_once_and_proves_itself() {
        let data = tempfile::tempdir().expect("a folder");
        let key = ServerKey::load(data.path()).expect("made");
        let again = ServerKey::load(data.path()).expect("loaded");
        assert_eq!(key.fingerprint(), again.fingerprint());
        let mode = std::fs::metadata(data.path().join("server.key"))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);

        let nonce = URL_SAFE_NO_PAD.encode([7; 32]);
        let proof = key.prove(&nonce).expect("proves");
        let public = URL_SAFE_NO_PAD.decode(&proof.public_key).expect("base64");
        let signature = URL_SAFE_NO_PAD.decode(&proof.signature).expect("base64");
        assert_eq!(URL_SAFE_NO_PAD.encode(sha256(&public)), key.fingerprint());
        UnparsedPublicKey::new(&ED25519, public)
            .verify(&proof_message(&nonce), &signature)
            .expect("verifies");
        assert!(key.prove("short").is_none());
    }

    #[test]
    fn a_damaged_key_is_not_replaced() {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join("server.key"), b"x").expect("written");
        assert!(matches!(
            ServerKey::load(data.path()),
            Err(KeyError::Damaged)
        ));
    }
}
