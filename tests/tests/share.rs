//! Two people at one session: the owner's launcher and a guest's, in terminals of their own, until the guest is thrown out.

use std::{
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use porthole_examples::model_server::{ModelServer, Step};
use porthole_tests::{Server, Terminal, World, terminal::PATIENCE};

const COLS: u16 = 110;
const ROWS: u16 = 30;
/// Who is thrown out is out within this.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The box with the owner in front of it, and the guest's own computer.
struct Scene {
    here: World,
    _model: ModelServer,
    there: World,
    _server: Server,
    session: String,
    owner: Terminal,
}

impl Scene {
    fn open(script: Vec<Step>) -> Self {
        let here = World::new().expect("a world");
        let model = here.model(script).expect("a model");
        let server = here.serve().expect("a server");
        let session = here.session().expect("a session");
        let link = here.owner_link().expect("a link");
        let owner = here
            .launch(&["--session", &session], Some(&link), COLS, ROWS)
            .expect("the launcher");
        owner.wait_for("Enter send");
        Self {
            here,
            _model: model,
            there: World::new().expect("a world"),
            _server: server,
            session,
            owner,
        }
    }

    /// Makes a share link and returns it.
    fn share(&self, mode: &str) -> String {
        let arguments = ["link", "share", "--session", &self.session, "--mode", mode];
        let said = self.here.ask(&arguments).expect("a link");
        let link = said
            .split_whitespace()
            .find(|word| word.contains("#share="));
        link.expect("a share link").to_owned()
    }

    /// Joins from the other computer.
    fn join(&self, link: &str, name: &str) -> Terminal {
        let terminal = self
            .there
            .launch(&["join", link, "--name", name], None, COLS, ROWS);
        terminal.expect("the launcher")
    }

    /// Returns how many records the guest's computer keeps; one that is just being written is none yet.
    fn records(&self) -> usize {
        let folder = self.there.home().join(".state/porthole/credentials");
        let entries = fs::read_dir(folder).expect("the folder").flatten();
        let is_record = |path: &PathBuf| path.extension().is_some_and(|end| end == "json");
        let records = entries.map(|entry| entry.path()).filter(is_record);
        records
            .filter_map(|path| fs::read_to_string(path).ok())
            .filter(|text| text.contains("cookie_name"))
            .count()
    }

    /// A record goes beside what is drawn, so that the page may be there first.
    fn wait_for_records(&self, count: usize) {
        let end = Instant::now() + PATIENCE;
        while self.records() != count {
            let there = self.records();
            assert!(Instant::now() < end, "{there} records in place of {count}");
            thread::yield_now();
        }
    }
}

fn pieces(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("word{n} ")).collect()
}

#[test]
fn a_guest_follows_a_stream_and_is_thrown_out_in_the_middle_of_it() {
    let scene = &mut Scene::open(vec![Step::Text {
        pieces: pieces(20_000),
        pause_ms: 20,
    }]);
    let link = scene.share("view");
    let mut guest = scene.join(&link, "Ada");
    guest.wait_for("you are viewing");
    assert_eq!(scene.records(), 1);
    scene.owner.wait_for("Ada");
    scene.owner.send("go\r");
    guest.wait_for("word10 ");
    // What a viewer types goes nowhere.
    guest.send("let me in\r");
    let guests = scene.here.ask(&["links", "--json"]).expect("the links");
    assert!(guests.contains("Ada"), "{guests}");
    let links: serde_json::Value = serde_json::from_str(&guests).expect("JSON");
    let id = find_id(&links).expect("the link has an id");
    scene.here.ask(&["revoke", &id]).expect("revoked");
    let thrown = guest.wait_at_most(AT_ONCE, |state| {
        let page = state.text();
        page.contains("The server says: “the owner revoked this link”.")
            && page.contains("Enter redeems")
    });
    thrown.expect("the guest is out at once and reads why");
    scene.wait_for_records(0);
    scene.owner.wait_gone("Ada");
    let transcript = scene.here.ask(&["transcript", &scene.session, "--json"]);
    let transcript = transcript.expect("a transcript");
    assert!(
        transcript.contains(r#""go""#) && !transcript.contains("let me in"),
        "{transcript}"
    );
    guest.send("\x1b");
    guest.wait_exit();
    let again = scene.join(&link, "Ada");
    again.wait_until("the refusal", |state| state.closed);
    assert_eq!(scene.records(), 0);
}

#[test]
fn a_guest_who_may_write_is_heard_under_the_own_name() {
    let scene = &mut Scene::open(Vec::new());
    let link = scene.share("full");
    let mut guest = scene.join(&link, "Grace");
    guest.wait_for("Enter send");
    guest.send("hello from the guest\r");
    guest.wait_for("You said: hello from the guest");
    scene.owner.wait_for("hello from the guest");
    scene.owner.wait_for("Grace");
}

/// Returns the first `id` of the listing.
fn find_id(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::Object(fields) => match fields.get("id") {
            Some(serde_json::Value::String(id)) => Some(id.clone()),
            _ => fields.values().find_map(find_id),
        },
        serde_json::Value::Array(items) => items.iter().find_map(find_id),
        _ => None,
    }
}
