//! Encryption of the server's own: a certificate and its key from two files, read again when told to. It accepts no
//! connection itself.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio_rustls::TlsAcceptor;

use crate::server::locked;

/// Where certificate and key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, its issuers behind it, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// Why there is no encryption. No sentence holds anything of a key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// No certificate in it.
    #[error("`{}` holds no certificate", .0.display())]
    NoCertificate(PathBuf),
    /// No key in it.
    #[error("`{}` holds no private key", .0.display())]
    NoKey(PathBuf),
    /// They are of different pairs.
    #[error("the key in `{}` is not the one of the certificate in `{}`", key.display(), cert.display())]
    Mismatch {
        /// The certificate.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
    },
    /// They cannot be used.
    #[error("the certificate in `{}` cannot be used: {}", .0.display(), .1)]
    Unusable(PathBuf, rustls::Error),
}

/// The encryption that is in use.
pub struct Tls {
    files: TlsFiles,
    config: Mutex<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads both files.
    ///
    /// # Errors
    /// [`TlsError`]
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let config = Mutex::new(config(&files)?);
        Ok(Self { files, config })
    }

    /// Reads both files again; connections that are there go on as they are.
    ///
    /// # Errors
    /// [`TlsError`]; what was in use stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        *locked(&self.config) = config(&self.files)?;
        Ok(())
    }

    /// Returns what accepts the next connection.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(locked(&self.config).clone())
    }
}

fn config(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let (cert, key) = (read(&files.cert)?, read(&files.key)?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&cert)
        .collect::<Result<_, _>>()
        .map_err(|_| TlsError::NoCertificate(files.cert.clone()))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(files.cert.clone()));
    }
    let key =
        PrivateKeyDer::from_pem_slice(&key).map_err(|_| TlsError::NoKey(files.key.clone()))?;
    let unusable = |error| match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch {
            cert: files.cert.clone(),
            key: files.key.clone(),
        },
        error => TlsError::Unusable(files.cert.clone(), error),
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|error| TlsError::Unreadable(path.to_owned(), error))
}
