//! Secrets that admit: made here, shown once, kept only as hashes. A token has no `Debug` and no `Display`.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};

/// A secret of 256 random bits behind a prefix.
pub struct Token(String);

/// What is kept of a token.
pub type TokenHash = [u8; 32];

impl Token {
    /// Returns a new token behind `prefix`.
    pub fn new(prefix: &str) -> Self {
        Self(format!(
            "{prefix}{}",
            URL_SAFE_NO_PAD.encode(random::<32>())
        ))
    }

    /// Returns the token in `text`, where it has the form of one with this prefix.
    pub fn parse(prefix: &str, text: &str) -> Option<Self> {
        let body = text.strip_prefix(prefix)?;
        let bytes = URL_SAFE_NO_PAD.decode(body).ok()?;
        (bytes.len() == 32).then(|| Self(text.to_owned()))
    }

    /// Returns what to keep of it. Looking it up by this hash tells nothing by its timing about the token.
    pub fn hash(&self) -> TokenHash {
        sha256(self.0.as_bytes())
    }

    /// Returns the secret itself, for the one who is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Returns random bytes of the operating system.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the operating system gives random bytes");
    bytes
}

/// Returns a random id of `N` letters and digits.
pub fn random_id<const N: usize>() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    random::<N>()
        .iter()
        .map(|byte| char::from(ALPHABET[usize::from(byte % 32)]))
        .collect()
}

/// Returns the SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// Returns bytes as lower-case hex digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_another_form_is_refused() {
        let token = Token::new("pho_");
        let again = Token::parse("pho_", token.reveal()).expect("reads back");
        assert_eq!(again.hash(), token.hash());
        for bad in [
            "",
            "pho_",
            "pho_abc",
            &token.reveal()[1..],
            &format!("{}a", token.reveal()),
        ] {
            assert!(Token::parse("pho_", bad).is_none(), "{bad}");
        }
        assert!(Token::parse("phd_", token.reveal()).is_none());
    }

    #[test]
    fn ids_are_ids() {
        let id = random_id::<12>();
        assert!(porthole_protocol::SessionId::parse(&id).is_ok(), "{id}");
    }
}
