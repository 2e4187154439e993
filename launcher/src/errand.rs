//! Errands: what takes a while at the door, the cache or the credentials, done beside the loop and reported back.
//! Each is started by one effect and ends in one report.

use std::path::PathBuf;

use porthole_door::{Link, LinkKind, Manifest, Redeemer, SignOut};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    app::{DoorInput, Input, Trouble},
    bundle::VerifiedBundle,
    credential::{Record, Store},
    door::{Door, DoorError},
    driver::{Done, wall_ms},
    escape,
    link::{Incoming, LinkEvent, LinkHappening},
    name,
    sandbox::{self, Effort},
    surroundings::var,
};

/// What errands need; a copy for each.
pub struct Errands {
    /// The server's door.
    pub door: Door,
    /// The credentials.
    pub store: Store,
    /// The credential in use.
    pub record: Record,
    /// Where artifacts are kept.
    pub cache: PathBuf,
    /// The link's epoch when the errand began.
    pub epoch: u64,
    /// Reports about the link.
    pub link: mpsc::Sender<Incoming>,
    /// Reports to the loop.
    pub done: mpsc::Sender<Done>,
}

/// Starts an errand.
pub fn spawn(errand: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(errand)
}

impl Errands {
    /// Sees that the server's bundle can be started.
    pub async fn prepare(self, running: Option<String>) {
        let manifest = match self.manifest().await {
            Ok(manifest) => manifest,
            Err(trouble) => return self.prepared(DoorInput::NotPrepared(trouble)).await,
        };
        let origin = &self.record.origin;
        let (input, fetched) = if running.as_ref() == Some(&manifest.sha256) {
            (DoorInput::Unchanged, None)
        } else if sandbox::artifact(&self.cache, origin, &manifest.sha256)
            .await
            .is_some()
        {
            (DoorInput::Prepared(manifest.sha256.clone()), None)
        } else {
            match self.fetch(&manifest).await {
                Ok(bundle) => (DoorInput::Prepared(manifest.sha256.clone()), Some(bundle)),
                Err(trouble) => (DoorInput::NotPrepared(trouble), None),
            }
        };
        let may_run = !matches!(input, DoorInput::NotPrepared(_));
        self.prepared(input).await;
        if may_run && !sandbox::is_thorough(&self.cache, origin, &manifest.sha256) {
            // What was compiled quickly runs on as well; the next start has the better code.
            let _ = self.improve(&manifest, fetched).await;
        }
    }

    async fn prepared(&self, input: DoorInput) {
        self.tell(Done::Input(Input::Door(input))).await;
    }

    async fn manifest(&self) -> Result<Manifest, Trouble> {
        let proved = self.door.prove(&self.record.fingerprint).await?;
        Ok(proved.manifest(&self.record).await?)
    }

    /// Compiles a bundle that runs already once more, for better code.
    async fn improve(
        &self,
        manifest: &Manifest,
        fetched: Option<VerifiedBundle>,
    ) -> Result<(), Trouble> {
        let bundle = match fetched {
            Some(bundle) => bundle,
            None => self.download(manifest).await?,
        };
        let (cache, origin) = (&self.cache, &self.record.origin);
        sandbox::compile(&bundle, Effort::Thorough, cache, origin)
            .await
            .map(drop)
            .map_err(|fault| Trouble::Bundle(fault.to_string()))
    }

    async fn download(&self, manifest: &Manifest) -> Result<VerifiedBundle, Trouble> {
        let bytes = self.door.bundle(&self.record, manifest, |_| ()).await?;
        VerifiedBundle::verify(manifest, bytes).map_err(|error| Trouble::Bundle(error.to_string()))
    }

    /// Downloads a bundle and compiles it as quickly as can be.
    async fn fetch(&self, manifest: &Manifest) -> Result<VerifiedBundle, Trouble> {
        let name = escape::visible_cut(&manifest.name, 40);
        self.progress(format!("downloading {name}, {}", size(manifest.bytes)))
            .await;
        let bundle = self.download(manifest).await?;
        self.progress(format!(
            "compiling {name}, {}; this is done once for each version",
            size(manifest.bytes)
        ))
        .await;
        sandbox::compile(&bundle, Effort::Quick, &self.cache, &self.record.origin)
            .await
            .map_err(|fault| Trouble::Bundle(fault.to_string()))?;
        Ok(bundle)
    }

    async fn progress(&self, text: String) {
        let input = Input::Door(DoorInput::Progress(text));
        self.tell(Done::Input(input)).await;
    }

    /// Redeems a fresh link of the same server.
    pub async fn redeem(self, text: String) {
        let done = match self.redeemed(&text).await {
            Ok(record) => Done::Admitted(Box::new(record)),
            Err(why) => Done::Input(Input::Door(DoorInput::RedeemFailed(why))),
        };
        self.tell(done).await;
    }

    async fn redeemed(&self, text: &str) -> Result<Record, String> {
        let mut link = Link::parse(text).map_err(|error| error.to_string())?;
        // The same server may have another address where a port is forwarded; its key tells.
        let is_here =
            link.origin.starts_with("http://") && self.record.origin.starts_with("http://");
        if is_here && link.fingerprint == self.record.fingerprint {
            link.origin.clone_from(&self.record.origin);
        }
        if link.origin != self.record.origin {
            let other = escape::visible_cut(&link.origin, 60);
            return Err(format!(
                "this link is for another server, {other}: leave, and run `porthole` with it"
            ));
        }
        let (name, already) = match &self.record.who {
            Redeemer::Guest { name, .. } => (name.clone(), Some(&self.record)),
            Redeemer::Owner => (name::suggested(var), None),
        };
        let mut record = redeem(&self.door, &link, &name, already)
            .await
            .map_err(|error| error.to_string())?;
        record.bundle.clone_from(&self.record.bundle);
        record.ssh.clone_from(&self.record.ssh);
        self.store
            .save(&record)
            .map_err(|error| error.to_string())?;
        Ok(record)
    }

    /// Forgets the credential here.
    pub async fn forget(self) {
        // A credential that cannot be removed is refused by the server all the same.
        let _ = self.store.forget(&self.record);
    }

    /// Forgets the credential here, and at the server where it can be told.
    pub async fn sign_out(self) {
        let told = async {
            let proved = self.door.prove(&self.record.fingerprint).await?;
            proved.sign_out(&self.record, SignOut::default()).await
        };
        // The local record goes in any case: that is what signing out of this computer means.
        let _ = told.await;
        let _ = self.store.forget(&self.record);
        self.tell(Done::Input(Input::Door(DoorInput::SignedOut)))
            .await;
    }

    /// Notes which bundle runs and when.
    pub async fn note(self) {
        let noted = tokio::task::spawn_blocking(move || self.store.touch(&self.record));
        // It only saves time at the next start.
        let _ = noted.await;
    }

    /// Reports a link that takes no more frames as down.
    pub async fn link_is_full(self) {
        let what = LinkHappening::Down(DoorError::TimedOut);
        let epoch = self.epoch;
        let _ = self.link.send(LinkEvent { epoch, what }.into()).await;
    }

    async fn tell(&self, done: Done) {
        // The loop is gone only when the launcher leaves.
        let _ = self.done.send(done).await;
    }
}

/// Redeems `link`: the key is proved first. A guest is called `name`, a device of the owner by this computer's name;
/// `already` is the guest that one is there so far.
///
/// # Errors
/// Where the server is not the link's, or the link is not good any more.
pub async fn redeem(
    door: &Door,
    link: &Link,
    name: &str,
    already: Option<&Record>,
) -> Result<Record, DoorError> {
    let proved = door.prove(&link.fingerprint).await?;
    let redeemed = match link.kind {
        LinkKind::Owner => proved.redeem(link, &device_name(), None).await?,
        LinkKind::Share => {
            let already = already.filter(|record| record.fingerprint == link.fingerprint);
            proved.redeem(link, name, already).await?
        }
    };
    Ok(Record {
        origin: link.origin.clone(),
        fingerprint: link.fingerprint.clone(),
        cookie_name: redeemed.cookie_name,
        cookie_value: redeemed.cookie_value,
        who: redeemed.who,
        last_used: wall_ms() / 1000,
        bundle: None,
        ssh: None,
    })
}

/// This computer's name, as the owner will see it in the list of devices.
fn device_name() -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    escape::visible_cut(&name, 40)
}

fn size(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10) / (1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}
