//! A line that fails at any byte: every message arrives once, and what was being written stays.

use porthole_tests::proxy::{Fault, Way};
use serde_json::Value;

use super::Scene;

impl Scene {
    /// Sends a message over a line that fails meanwhile, and waits for its answer.
    fn send_through(&mut self, way: Way, bytes: usize, fault: Fault, count: u32) {
        let text = format!("message {count} end");
        self.proxy.arm(way, bytes, fault);
        self.terminal.send(&format!("{text}\r"));
        self.proxy.wait_faults(count);
        self.terminal.wait_for(&format!("You said: {text}"));
    }

    /// Returns the texts of the messages that the server keeps.
    fn messages(&self) -> Vec<String> {
        let printed = self.world.ask(&["transcript", &self.session, "--json"]);
        let entries: Value =
            serde_json::from_str(&printed.expect("a transcript")).expect("is JSON");
        let mut found = Vec::new();
        collect(&entries, &mut found);
        found
    }
}

/// Collects every text of the form that is sent here, wherever it stands in the transcript's JSON.
fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if text.starts_with("message ") => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
        _ => {}
    }
}

#[test]
fn a_message_is_sent_once_wherever_the_line_is_cut() {
    let mut scene = Scene::open();
    // Before the frame, inside it, and behind it; before the reply, inside it, between deltas.
    let points = [
        (Way::Up, 0),
        (Way::Up, 1),
        (Way::Up, 30),
        (Way::Up, 120),
        (Way::Up, 200),
        (Way::Down, 0),
        (Way::Down, 1),
        (Way::Down, 60),
        (Way::Down, 200),
        (Way::Down, 500),
        (Way::Down, 900),
    ];
    let mut count = 0;
    for (way, bytes) in points {
        for fault in [Fault::Cut, Fault::HalfClose] {
            count += 1;
            scene.send_through(way, bytes, fault, count);
        }
    }
    let expected: Vec<String> = (1..=count).map(|n| format!("message {n} end")).collect();
    assert_eq!(scene.messages(), expected);
    super::leave(scene.terminal);
}

#[test]
fn a_line_that_goes_silent_is_noticed_and_the_message_is_sent_once() {
    let mut scene = Scene::open();
    // The server has taken the message; the launcher hears nothing of it.
    scene.send_through(Way::Down, 0, Fault::Stall, 1);
    assert_eq!(scene.messages(), ["message 1 end"]);
}

#[test]
fn a_draft_outlives_the_line_and_the_trust_line_says_how_it_stands() {
    let mut scene = Scene::open();
    scene.terminal.type_and_see("half a thought");
    let address = scene.server.address.clone();
    scene.proxy.lead_to("127.0.0.1:1");
    scene.terminal.wait_for("again in ");
    scene.terminal.wait_for("half a thought");
    scene.proxy.lead_to(&address);
    scene.terminal.wait_for("connected again");
    scene.terminal.send(" and the rest\r");
    scene
        .terminal
        .wait_for("You said: half a thought and the rest");
}
