//! Transfers over real sockets: what is kept of an upload and when, what a range holds, and what is refused.

use std::{fs, path::PathBuf};

use porthole_door::{Attached, Download, Source, UPLOAD_CHUNK, UploadState};
use porthole_protocol::SessionId;

use crate::world::{Answer, World};

fn hash(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

struct Visit {
    world: World,
    cookie: String,
    session: SessionId,
    dir: PathBuf,
}

impl Visit {
    async fn new() -> Self {
        let world = World::new().await;
        let dir = world.data().parent().expect("a home").join("work");
        fs::create_dir_all(&dir).expect("made");
        let session = world.owner().await.create_at("r1", &dir).await;
        let cookie = world.sign_in().await;
        Self {
            world,
            cookie,
            session,
            dir,
        }
    }

    fn blobs(&self) -> PathBuf {
        let sessions = self.world.data().join("sessions");
        sessions.join(self.session.as_str()).join("blobs")
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.blobs())
            .expect("read")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    async fn open(&self, name: &str, bytes: usize) -> Answer {
        let body = serde_json::json!({
            "session": self.session, "name": name, "bytes": bytes, "media_type": "text/plain"
        });
        let body = body.to_string();
        self.world.post("/door/upload", &self.cookie, &body).await
    }

    async fn opened(&self, name: &str, bytes: usize) -> String {
        let answer = self.open(name, bytes).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let state: UploadState = serde_json::from_str(&answer.body).expect("a state");
        state.upload
    }

    async fn put(&self, upload: &str, chunk: u64, bytes: &str) -> Answer {
        let text = format!(
            "PUT /door/upload/{upload}/{chunk} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{}\r\n{bytes}",
            self.world.address,
            bytes.len(),
            self.cookie
        );
        self.world.http(&text).await
    }

    async fn finish(&self, upload: &str, sha256: &str) -> Answer {
        let path = format!("/door/upload/{upload}/finish");
        let body = format!(r#"{{"sha256":"{sha256}"}}"#);
        self.world.post(&path, &self.cookie, &body).await
    }

    async fn range(&self, source: Source, from: u64, bytes: u64) -> Answer {
        let asked = Download {
            session: self.session.to_string(),
            source,
            from,
            bytes,
        };
        self.world.get(&asked.to_path(), &self.cookie).await
    }
}

#[tokio::test]
async fn an_upload_in_two_chunks_becomes_an_attachment_that_reads_back() {
    let visit = Visit::new().await;
    let bytes = "a".repeat(UPLOAD_CHUNK + 3);
    let upload = visit.opened("../no\u{1b}tes.txt", bytes.len()).await;
    let (first, second) = bytes.split_at(UPLOAD_CHUNK);
    assert_eq!(
        visit.put(&upload, 1, second).await.status,
        409,
        "out of order"
    );
    assert_eq!(visit.put(&upload, 0, second).await.status, 400, "too short");
    assert_eq!(visit.put(&upload, 0, first).await.status, 200);
    let early = visit.finish(&upload, &hash(bytes.as_bytes())).await;
    assert_eq!(early.status, 409, "one is missing");
    assert_eq!(
        visit.put(&upload, 0, first).await.status,
        200,
        "its answer was lost"
    );
    let state = visit
        .world
        .get(&format!("/door/upload/{upload}"), &visit.cookie)
        .await;
    let state: UploadState = serde_json::from_str(&state.body).expect("a state");
    assert_eq!((state.next, state.chunks), (1, 2));
    assert_eq!(visit.put(&upload, 1, second).await.status, 200);
    assert_eq!(visit.names(), [format!("{upload}.part")]);
    for _ in 0..2 {
        let done = visit.finish(&upload, &hash(bytes.as_bytes())).await;
        assert_eq!(done.status, 200, "{}", done.body);
        let done: Attached = serde_json::from_str(&done.body).expect("an attachment");
        assert_eq!(
            (done.name.as_str(), done.bytes),
            ("notes.txt", bytes.len() as u64)
        );
        assert_eq!(done.media_type, "text/plain");
    }
    assert_eq!(visit.names(), [upload.clone(), format!("{upload}.json")]);
    let read = visit
        .range(Source::Attachment(upload), UPLOAD_CHUNK as u64 - 1, 100)
        .await;
    assert_eq!((read.status, read.body.as_str()), (200, "aaaa"));
    assert!(
        read.head.contains("x-porthole-total: 1048579"),
        "{}",
        read.head
    );
    assert!(read.head.contains("notes%2Etxt"), "{}", read.head);
}

#[tokio::test]
async fn what_is_taken_back_wrong_or_left_by_an_ended_server_leaves_nothing() {
    let visit = Visit::new().await;
    let upload = visit.opened("a", 1).await;
    let delete = format!(
        "DELETE /door/upload/{upload} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{}\r\n",
        visit.world.address, visit.cookie
    );
    assert_eq!(visit.world.http(&delete).await.status, 200);
    assert_eq!(visit.put(&upload, 0, "x").await.status, 404);
    let upload = visit.opened("b", 1).await;
    assert_eq!(visit.put(&upload, 0, "x").await.status, 200);
    assert_eq!(visit.finish(&upload, &hash(b"y")).await.status, 422);
    assert_eq!(visit.names(), Vec::<String>::new());
    visit.opened("c", 1).await;
    assert_eq!(visit.names().len(), 1);
    let blobs = visit.blobs();
    let home = visit.world.stop().await;
    let again = World::within(home).await;
    let left = fs::read_dir(&blobs).expect("read").count();
    assert_eq!(left, 0, "swept");
    again.stop().await;
}

#[tokio::test]
async fn uploads_over_a_limit_and_of_strangers_are_refused_in_words() {
    let visit = Visit::new().await;
    let large = visit.open("a", (25 << 20) + 1).await;
    assert_eq!(large.status, 413);
    assert!(
        large.body.contains("files of up to 25 MiB"),
        "{}",
        large.body
    );
    for _ in 0..4 {
        visit.opened("a", 1).await;
    }
    assert_eq!(visit.open("a", 1).await.status, 429);
    let body = r#"{"session":"nothing","name":"a","bytes":1,"media_type":"text/plain"}"#;
    let strange = visit.world.post("/door/upload", &visit.cookie, body).await;
    assert_eq!(strange.status, 404);
    let nobody = visit.world.post("/door/upload", "", body).await;
    assert_eq!(nobody.status, 401);
}

#[tokio::test]
async fn a_file_of_the_session_is_read_and_nothing_outside_its_directory() {
    let visit = Visit::new().await;
    fs::write(visit.dir.join("a.txt"), "0123456789").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", visit.dir.join("out")).expect("linked");
    let file = |path: &str| Source::File(path.as_bytes().to_vec());
    let read = visit.range(file("a.txt"), 4, 3).await;
    assert_eq!((read.status, read.body.as_str()), (200, "456"));
    let version = |answer: &Answer| {
        let head = answer.head.clone();
        let line = head
            .lines()
            .find(|line| line.starts_with("x-porthole-version"));
        line.expect("a version").to_owned()
    };
    let again = visit.range(file("a.txt"), 0, 3).await;
    assert_eq!(version(&read), version(&again));
    fs::write(visit.dir.join("a.txt"), "01").expect("written");
    let shrunk = visit.range(file("a.txt"), 4, 3).await;
    assert_eq!((shrunk.status, shrunk.body.as_str()), (200, ""));
    assert_ne!(version(&read), version(&shrunk));
    for out in ["out", "../data/catalog.sqlite", "/etc/passwd", "none"] {
        assert_eq!(visit.range(file(out), 0, 3).await.status, 404, "{out}");
    }
    assert_eq!(visit.range(file("."), 0, 3).await.status, 404);
    assert_eq!(
        visit.range(file("a.txt"), 0, (4 << 20) + 1).await.status,
        400
    );
    for id in ["../a", "nothing"] {
        let attachment = visit.range(Source::Attachment(id.into()), 0, 1).await;
        assert_eq!(attachment.status, 404, "{id}");
        assert_eq!(
            visit.range(Source::Output(id.into()), 0, 1).await.status,
            404
        );
    }
}

#[tokio::test]
async fn numbers_and_names_out_of_all_bounds_are_refused_in_words_and_harm_nothing() {
    let visit = Visit::new().await;
    let upload = visit.opened("a", 1).await;
    let beyond = visit.put(&upload, u64::MAX, "x").await;
    assert_eq!(beyond.status, 409, "{}", beyond.body);
    assert_eq!(visit.put(&upload, 0, "x").await.status, 200, "it goes on");
    fs::write(visit.dir.join("a.txt"), "0123456789").expect("written");
    let file = |path: &str| Source::File(path.as_bytes().to_vec());
    for from in [u64::MAX, 1 << 63] {
        let read = visit.range(file("a.txt"), from, 10).await;
        assert_eq!((read.status, read.body.as_str()), (200, ""));
    }
    for name in ["a.txt\0", &"a".repeat(5000), &"a/".repeat(4000)] {
        assert_eq!(visit.range(file(name), 0, 1).await.status, 404);
    }
    for path in ["/door/ui/bundle/%FF", "/door/upload/%FF"] {
        let answer = visit.world.get(path, &visit.cookie).await;
        assert_eq!(answer.status, 400);
        assert!(answer.body.starts_with(r#"{"message":"#), "{}", answer.body);
    }
}
