//! From a data folder to a running server and back: opened in order, closed in order.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, UnixListener},
    signal::unix::{SignalKind, signal},
};

use crate::{
    bundle::{BundleError, BundleSource},
    catalog::{Catalog, CatalogError},
    data::{DataError, DataFolder},
    gate::Rules,
    http::{self, ListenError},
    key::{KeyError, ServerKey},
    local::{self, Status},
    looks,
    redact::Redaction,
    search,
    server::{Parts, Server},
    settings,
    switchboard::Input,
    tls::{Tls, TlsError, TlsFiles},
    transfer::Transfers,
    worker_process::WorkerProgram,
};

/// What to serve.
pub struct Config {
    /// The data folder.
    pub data: PathBuf,
    /// The address; port 0 picks one.
    pub listen: SocketAddr,
    /// Where the bundle is.
    pub bundle: BundleSource,
    /// Names under which a proxy with TLS reaches the server.
    pub allow_hosts: Vec<String>,
    /// Certificate and key, where the server encrypts by itself.
    pub tls: Option<TlsFiles>,
    /// The https origin that links name, where it is not the address.
    pub public_origin: Option<String>,
    /// How workers are started.
    pub worker: WorkerProgram,
    /// Largest file that is taken as an upload, in bytes.
    pub upload_bytes: u64,
    /// What SIGHUP means.
    pub hangup: Hangup,
    /// What is kept out of logs.
    pub redaction: Redaction,
}

/// What SIGHUP means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    /// The terminal is gone: end.
    End,
    /// Read bundle and certificate again.
    Reload,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what its source says")]
pub enum ServeError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("cannot open the catalog in the data folder: {0}")]
    Open(#[from] CatalogError),
    #[error("cannot read the catalog in the data folder: {0}")]
    Catalog(#[from] rusqlite::Error),
    #[error("cannot make the server's socket or catch signals: {0}")]
    Io(#[from] io::Error),
}

impl ServeError {
    /// Returns what to do next, for a person; may be empty.
    pub fn hint(&self) -> String {
        match self {
            Self::Data(DataError::InUse { .. }) => {
                "`portholed stop` ends a running server; `--data DIR` uses another folder".to_owned()
            }
            Self::Data(DataError::Io { .. } | DataError::Foreign(_) | DataError::Shared(_)) => "use another folder with `--data DIR`".to_owned(),
            Self::Key(_) => "restore the file from a backup, or remove it: every device then needs a new link".to_owned(),
            Self::Bundle(_) => "`cargo xtask bundle` makes one; `--bundle DIR` says where it is".to_owned(),
            Self::Tls(_) => "`--tls-cert` takes the certificate with its issuers, `--tls-key` its private key, both in PEM".to_owned(),
            Self::Listen(ListenError::InUse(_)) => {
                "is a server running? `portholed status` says; `--listen 127.0.0.1:0` picks a free port".to_owned()
            }
            Self::Listen(ListenError::NotLoopback(_)) => {
                "listen on 127.0.0.1 and use `ssh -L`; or give `--tls-cert` and `--tls-key`; or put a proxy with TLS before it and say `--allow-host HOST`".to_owned()
            }
            Self::Listen(ListenError::Io(..)) => "use another address with `--listen ADDR`".to_owned(),
            Self::Open(CatalogError::Lost { .. }) => {
                "put `catalog.sqlite` back from a backup, or move `sessions/` away to begin anew".to_owned()
            }
            Self::Open(_) | Self::Catalog(_) => "is the disk full, or the file damaged?".to_owned(),
            Self::Io(_) => String::new(),
        }
    }
}

/// A server that is ready.
pub struct Running {
    folder: DataFolder,
    server: Arc<Server>,
    tcp: TcpListener,
    tls: Option<Arc<Tls>>,
    unix: UnixListener,
    address: SocketAddr,
    origin: String,
    on_hangup: Hangup,
}

impl Running {
    /// Opens everything that a server needs.
    ///
    /// # Errors
    /// [`ServeError`]; what was opened is closed again.
    pub async fn open(config: Config) -> Result<Self, ServeError> {
        let bundle = config.bundle.load()?;
        let tls = config.tls.map(Tls::load).transpose()?.map(Arc::new);
        let mut folder = DataFolder::take(&config.data)?;
        Transfers::sweep(folder.path());
        let key = ServerKey::load(folder.path())?;
        let catalog = Catalog::open(folder.path())?;
        let tcp = http::listen(config.listen, tls.as_deref()).await?;
        let address = tcp.local_addr()?;
        let origin = own_origin(address, tls.is_some(), &config.allow_hosts);
        folder.note(&origin)?;
        let unix = local::listen(folder.path())?;
        let server = Server::new(Parts {
            data: folder.path().to_owned(),
            catalog,
            key,
            rules: Rules {
                https_hosts: config.allow_hosts,
                own_tls: tls.is_some(),
            },
            bundle_source: config.bundle,
            bundle,
            worker: config.worker,
            upload_bytes: config.upload_bytes,
            redaction: config.redaction,
            origin: config.public_origin.unwrap_or_else(|| origin.clone()),
        })?;
        Ok(Self {
            folder,
            server,
            tcp,
            tls,
            unix,
            address,
            origin,
            on_hangup: config.hangup,
        })
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns where it listens, as an address for people.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the server.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Serves until a signal or a command ends it, then closes everything in order: no new connections, the word to those
    /// that are there, the workers, the catalog, the folder.
    ///
    /// # Errors
    /// Where signals cannot be caught.
    pub async fn run(self) -> Result<(), ServeError> {
        let mut term = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let status = status_of(&self.server, self.origin.clone(), &self.folder);
        let http = tokio::spawn(http::serve(self.server.clone(), self.tcp, self.tls.clone()));
        let local = tokio::spawn(local::serve(self.server.clone(), self.unix, status));
        let (server, told) = (Arc::downgrade(&self.server), self.server.settings().clone());
        let watched = tokio::spawn(settings::watch(told, move || {
            server
                .upgrade()
                .map(|server| server.publish_settings())
                .is_some()
        }));
        self.server.learn_secrets();
        tokio::spawn(search::run(self.server.clone()));
        tracing::info!("listening on {}", self.origin);
        let leftovers = self.server.clone();
        tokio::task::spawn_blocking(move || leftovers.remove_leftovers());
        self.server.handle(Input::Start);
        let looks = looks::follow(&self.server);
        loop {
            tokio::select! {
                _ = term.recv() => break,
                _ = interrupt.recv() => break,
                () = self.server.until_down() => break,
                _ = hangup.recv() => match self.on_hangup {
                    Hangup::End => break,
                    Hangup::Reload => reload(&self.server, self.tls.as_deref()),
                },
            }
        }
        tracing::info!("shutting down");
        watched.abort();
        drop(looks);
        http.abort();
        local.abort();
        if tokio::time::timeout(CLOSE_BOUND, self.server.close())
            .await
            .is_err()
        {
            tracing::error!("workers were left behind");
        }
        if let Ok(socket) = local::SocketPath::of(self.folder.path()) {
            let _ = std::fs::remove_file(socket.path());
        }
        self.folder.release();
        tracing::info!("ended");
        Ok(())
    }
}

/// Returns the address under which this server itself is reached: a certificate is for a name, so one that was given
/// comes before the number.
fn own_origin(address: SocketAddr, encrypted: bool, names: &[String]) -> String {
    match (encrypted, names.first()) {
        (true, Some(name)) => format!("https://{name}:{}", address.port()),
        (true, None) => format!("https://{address}"),
        (false, _) => format!("http://{address}"),
    }
}

fn reload(server: &Arc<Server>, tls: Option<&Tls>) {
    server.learn_secrets();
    match tls.map_or(Ok(()), Tls::reload) {
        Ok(()) => {}
        Err(error) => tracing::error!("the certificate stays as it was: {error}"),
    }
    match server.reload_bundle() {
        Ok(()) => tracing::info!("read the bundle again"),
        Err(error) => tracing::error!("the bundle stays as it was: {error}"),
    }
}

/// How long closing may take: the workers' own bound and some.
const CLOSE_BOUND: Duration = Duration::from_millis(4_500);

fn status_of(
    server: &Arc<Server>,
    address: String,
    folder: &DataFolder,
) -> impl Fn() -> Status + Clone + Send + use<> {
    let (server, data) = (server.clone(), folder.path().display().to_string());
    move || {
        let (counts, up) = server.counts();
        let manifest = server.bundle().manifest;
        Status {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            address: address.clone(),
            up_seconds: up.as_secs(),
            data: data.clone(),
            bundle: format!(
                "{} {} ({})",
                manifest.name,
                manifest.version,
                &manifest.sha256[..12]
            ),
            counts,
        }
    }
}
