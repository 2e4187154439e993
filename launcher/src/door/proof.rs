//! The server's proof: a fresh nonce out, an Ed25519 signature back, checked against the fingerprint we hold.
//! Pure but for the random nonce.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porthole_door::{DOOR_VERSION, Proof, ProofRequest, proof_message};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
    signature::{ED25519, UnparsedPublicKey},
};

use super::DoorError;

/// One nonce, used for one proof.
pub(super) struct Challenge {
    nonce: String,
}

impl Challenge {
    /// Makes a fresh nonce.
    pub(super) fn new() -> Result<Self, DoorError> {
        let mut bytes = [0; 32];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| DoorError::NoRandomness)?;
        Ok(Self {
            nonce: URL_SAFE_NO_PAD.encode(bytes),
        })
    }

    /// Returns what is sent.
    pub(super) fn request(&self) -> ProofRequest {
        ProofRequest {
            nonce: self.nonce.clone(),
        }
    }

    /// Checks `proof` against `fingerprint`: first that the signature is right, then whose it is, then the version.
    pub(super) fn check(&self, proof: &Proof, fingerprint: &str) -> Result<(), DoorError> {
        if self.signer(proof)? != fingerprint {
            return Err(DoorError::ForeignKey);
        }
        version(proof)
    }

    /// Returns the fingerprint of the key that `proof` was made with.
    pub(super) fn fingerprint(&self, proof: &Proof) -> Result<String, DoorError> {
        let signer = self.signer(proof)?;
        version(proof).map(|()| signer)
    }

    fn signer(&self, proof: &Proof) -> Result<String, DoorError> {
        let key = decode(&proof.public_key)?;
        let signature = decode(&proof.signature)?;
        UnparsedPublicKey::new(&ED25519, &key)
            .verify(&proof_message(&self.nonce), &signature)
            .map_err(|_| DoorError::NotPorthole)?;
        Ok(URL_SAFE_NO_PAD.encode(digest(&SHA256, &key)))
    }
}

fn version(proof: &Proof) -> Result<(), DoorError> {
    match proof.door.cmp(&DOOR_VERSION) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(DoorError::OlderServer),
        std::cmp::Ordering::Greater => Err(DoorError::NewerServer),
    }
}

fn decode(text: &str) -> Result<Vec<u8>, DoorError> {
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| DoorError::NotPorthole)
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a seed is a key")
    }

    fn proof(pair: &Ed25519KeyPair, nonce: &str, door: u32) -> Proof {
        Proof {
            door,
            server: "1".into(),
            public_key: URL_SAFE_NO_PAD.encode(pair.public_key()),
            signature: URL_SAFE_NO_PAD.encode(pair.sign(&proof_message(nonce))),
        }
    }

    fn fingerprint(pair: &Ed25519KeyPair) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, pair.public_key().as_ref()))
    }

    #[test]
    fn only_the_holder_of_the_expected_key_with_our_nonce_passes() {
        let challenge = Challenge::new().expect("random");
        let (ours, other) = (pair(1), pair(2));
        let expected = fingerprint(&ours);
        let good = proof(&ours, &challenge.nonce, DOOR_VERSION);
        assert!(challenge.check(&good, &expected).is_ok());
        let foreign = proof(&other, &challenge.nonce, DOOR_VERSION);
        assert!(matches!(
            challenge.check(&foreign, &expected),
            Err(DoorError::ForeignKey)
        ));
        let replayed = proof(&ours, "an older nonce", DOOR_VERSION);
        assert!(matches!(
            challenge.check(&replayed, &expected),
            Err(DoorError::NotPorthole)
        ));
    }

    #[test]
    fn another_version_is_named_as_older_or_newer() {
        let challenge = Challenge::new().expect("random");
        let ours = pair(1);
        let check =
            |door| challenge.check(&proof(&ours, &challenge.nonce, door), &fingerprint(&ours));
        assert!(matches!(check(0), Err(DoorError::OlderServer)));
        assert!(matches!(
            check(DOOR_VERSION + 1),
            Err(DoorError::NewerServer)
        ));
    }
}
