//! Every state that people see, each as a row: a name, and how one gets there on a screen of 80 by 24.

use porthole_bridge::{Event, LinkState, Looks};
use porthole_protocol::{
    Attachment, AttachmentId, AuthorKind, CallId, ChildRow, ConversationId, ConversationState,
    DiffLine, DiffMark, Entry, EntryBody, EntryId, FileHits, NestedCall, OpenAnswer, QuestionState,
    RequestId, RunId, RunOutput, SendMode, SessionState, Submission, SubmissionId, SubmissionState,
    ToolDetail, ToolOutcome, ToolRun, ToolRunState, TurnPhase,
};
use serde_json::{Value, json};

use super::world::*;

/// A state: its name, the conversation, what happens then.
pub(super) type Seen = (&'static str, fn() -> ConversationState, fn(&mut World));

/// All of them.
pub(super) const SEEN: &[Seen] = &[
    ("first minute", empty, |_| {}),
    ("first minute with the stand-in", practice, |_| {}),
    ("conversation", talked, |_| {}),
    ("conversation, read", talked, |w| w.keys(&["backtab"])),
    ("conversation, scrolled", talked, |w| w.keys(&["pgup"])),
    ("conversation, plain", talked, plain),
    ("connection lost", talked, |w| {
        w.send(Event::LinkState(LinkState::Down { retry_in_ms: 500 }));
        w.text("and bump the changelog");
        w.keys(&["enter"]);
    }),
    ("guest who views", waiting, |w| guest(w, "view")),
    ("guest who works", talked, |w| guest(w, "full")),
    ("card open", talked, |w| w.keys(&["ctrl-o"])),
    ("card of a command", command, |w| w.keys(&["ctrl-o"])),
    ("card of a change", change, |_| {}),
    ("card of a file", file, |w| w.keys(&["ctrl-o"])),
    ("card of hits", hits, |w| w.keys(&["ctrl-o"])),
    ("card of names", names, |w| w.keys(&["ctrl-o"])),
    ("card of a child", delegated, |w| w.keys(&["ctrl-o"])),
    ("card of a script", script, |w| w.keys(&["ctrl-o"])),
    ("cards that failed", outcomes, |_| {}),
    ("command of a person", shell, |w| w.keys(&["ctrl-o"])),
    ("thinking", talked, |w| w.keys(&["ctrl-t"])),
    ("attachments", attached, |_| {}),
    ("find", talked, |w| w.keys(&["ctrl-f", "r"])),
    ("draft", talked, |w| w.keys(&["x", "alt-enter", "日", "y"])),
    ("shell", talked, |w| w.keys(&["!", "l"])),
    ("commands", talked, |w| w.keys(&["/"])),
    ("sent", talked, |w| w.keys(&["x", "enter"])),
    ("history", talked, |w| w.keys(&["ctrl-r"])),
    ("working", working, |_| {}),
    ("answer that comes in", streaming, |_| {}),
    ("command that runs", running, |_| {}),
    ("waiting for the next try", retrying, |_| {}),
    ("stopping", || phase(TurnPhase::Stopping), |_| {}),
    ("making a summary", || phase(TurnPhase::Compacting), |_| {}),
    ("steering", working, |w| w.keys(&["tab"])),
    ("queued", queued, |_| {}),
    ("question", waiting, |_| {}),
    ("question about a change", asked_about_change, |_| {}),
    ("question, answered", waiting, |w| w.keys(&["alt-q"])),
    ("question, answered by another", answered, |_| {}),
    ("error", failed, |_| {}),
    ("marks", marked, |_| {}),
    ("read-only", read_only, |_| {}),
    ("help", talked, |w| w.keys(&["f1"])),
    ("palette", talked, |w| w.keys(&["ctrl-k"])),
    ("sessions", talked, |w| w.keys(&["ctrl-p"])),
    ("models", talked, |w| w.keys(&["alt-m"])),
    ("thinking levels", talked, |w| w.keys(&["alt-t"])),
    ("policies", talked, |w| w.keys(&["alt-p"])),
    ("colours", talked, |w| say(w, "/theme ")),
    ("share", talked, share),
    ("usage", talked, usage),
    ("settings", talked, settings),
    ("notices", talked, |w| {
        say(w, "/no-such-thing");
        say(w, "/notices ");
    }),
    ("beginning anew, asked back about", talked, |w| {
        say(w, "/reset ")
    }),
    ("home", talked, |w| w.keys(&["alt-h"])),
    ("home, empty", talked, |w| {
        w.sessions(Vec::new());
        w.keys(&["alt-h"]);
    }),
    ("home, unfolded", parent, |w| {
        w.keys(&["alt-h", "right"]);
        w.snapshot(&parent());
    }),
    ("home, searched", talked, searched),
    ("home, new", talked, |w| w.keys(&["alt-h", "n"])),
    ("home, renamed", talked, |w| w.keys(&["alt-h", "r"])),
    ("home, archived", talked, |w| w.keys(&["alt-h", "a"])),
    ("home, help", talked, |w| w.keys(&["alt-h", "?"])),
];

/// Returns a screen of so many columns and rows in a state.
pub(super) fn reached((_, state, then): &Seen, cols: u16, rows: u16) -> World {
    let mut world = World::with(cols, rows, state());
    world.wait(1_000);
    then(&mut world);
    world
}

/// Types a command and sends it.
fn say(world: &mut World, command: &str) {
    world.text(command);
    world.keys(&["enter"]);
}

/// Answers the newest call.
fn replied(world: &mut World, result: Value) {
    if let Some((id, _)) = world.calls().pop() {
        world.reply(id, result);
    }
}

fn plain(world: &mut World) {
    let looks = Looks {
        preferences: "plain = true\n".into(),
        ..Looks::default()
    };
    world.send(Event::Looks(Box::new(looks)));
}

fn guest(world: &mut World, mode: &str) {
    let role = json!({"guest": {"session": "s1", "mode": mode, "may_approve": false}});
    let who = json!({"role": role, "id": "g-1", "name": "Mira"});
    world.frame(json!({"hello": {"protocol": porthole_protocol::PROTOCOL_VERSION, "server": "0.1.0", "machine": "box", "who": who}}));
}

fn share(world: &mut World) {
    world.asked.clear();
    world.keys(&["alt-s"]);
    let here =
        json!({"id": "g-1", "name": "Mira", "created_ms": NOW, "seen_ms": NOW, "here": true});
    replied(
        world,
        json!({"shares": [{"id": "s-1", "session": "s1", "name": "the team", "mode": "view", "may_approve": false,
            "once": false, "used": false, "created_ms": NOW, "expires_ms": NOW + 86_400_000, "guests": [here]}]}),
    );
}

fn usage(world: &mut World) {
    world.asked.clear();
    say(world, "/usage ");
    let used = json!({"input": 900, "output": 40, "cache_read": 450, "cache_write": null, "cost_nanos": 3_000_000});
    replied(
        world,
        json!({"has_older": false, "responses": [{"entry": 4, "at_ms": NOW, "model": {"provider": "p", "model": "m"},
            "usage": used, "stop": "end_turn", "incomplete": false}]}),
    );
}

fn settings(world: &mut World) {
    say(world, "/settings ");
    let state = json!({"version": 1, "settings": {"policy": "ask"}, "path": "~/settings.toml",
        "fault": {"line": 3, "message": "`x` is no setting"}});
    world.frame(json!({"snapshot": {"topic": "settings", "epoch": 1, "seq": 0, "state": {"settings": state}}}));
}

fn searched(world: &mut World) {
    world.keys(&["alt-h", "/"]);
    world.asked.clear();
    world.text("retry");
    replied(world, json!({"hits": [], "next": null, "behind": false}));
    replied(
        world,
        json!({"hits": [{"session": "s1", "title": "fix the flaky retry test", "archived": false, "conversation": 1, "entry": 1,
            "at_ms": NOW, "author": "you", "snippet": "The retry test fails about once in ten runs.", "matches": [[4, 9]]}],
            "next": null, "behind": false}),
    );
}

fn practice() -> ConversationState {
    let mut state = empty();
    state.info.practice = true;
    state
}

fn call(id: &str) -> CallId {
    CallId::parse(id).expect("an id")
}

/// A conversation that ends in a tool's result.
fn with_tool(tool: &str, subject: &str, summary: &str, detail: ToolDetail) -> ConversationState {
    let mut state = talked();
    state.entries.truncate(2);
    state.entries.push(tool_entry(
        50,
        tool,
        subject,
        summary,
        detail,
        ToolOutcome::Ok,
    ));
    state
}

fn tool_entry(
    id: u64,
    tool: &str,
    subject: &str,
    summary: &str,
    detail: ToolDetail,
    outcome: ToolOutcome,
) -> Entry {
    let body = EntryBody::ToolResult {
        call: call(&format!("c{id}")),
        tool: tool.into(),
        subject: subject.into(),
        outcome,
        summary: summary.into(),
        text: format!("what {tool} said"),
        detail,
        duration_ms: 1_200,
        nested: Vec::new(),
        attachments: Vec::new(),
    };
    entry(id, AuthorKind::Tool, tool, body)
}

fn ran(exit: Option<i32>) -> ToolDetail {
    ToolDetail::Command {
        command: "cargo test retry".into(),
        exit,
        signal: None,
        timed_out: false,
        tail: "running 2 tests\ntest retry ... ok\ntest wait ... FAILED\n".into(),
        left_out: 4_096,
        output: None,
        still_running: vec![4_711],
    }
}

fn command() -> ConversationState {
    with_tool("shell", "cargo test retry", "exit 101", ran(Some(101)))
}

fn diff() -> ToolDetail {
    let line = |mark, old, new, text: &str| DiffLine {
        mark,
        old,
        new,
        text: text.into(),
    };
    ToolDetail::Diff {
        path: "src/retry.rs".into(),
        added: 2,
        removed: 1,
        lines: vec![
            line(
                DiffMark::Same,
                Some(5),
                Some(5),
                "    let wait = base * 2u64.pow(attempt);",
            ),
            line(DiffMark::Removed, Some(6), None, "    wait + jitter()"),
            line(
                DiffMark::Added,
                None,
                Some(6),
                "    // Jitter is bounded, so that two attempts never meet in one tick.",
            ),
            line(
                DiffMark::Added,
                None,
                Some(7),
                "    wait + jitter().min(base / 2)",
            ),
            line(DiffMark::Gap, None, None, ""),
            line(DiffMark::Same, Some(40), Some(41), "}"),
        ],
        truncated: false,
    }
}

fn change() -> ConversationState {
    with_tool("edit", "src/retry.rs", "+2 −1", diff())
}

fn file() -> ConversationState {
    let detail = ToolDetail::File {
        path: "src/retry.rs".into(),
        first_line: 3,
        text: "pub fn wait(base: u64) -> u64 {\n    base * 2\n}\n".into(),
        total_lines: 11,
    };
    with_tool("read", "src/retry.rs", "lines 3–5 of 11", detail)
}

fn hits() -> ConversationState {
    let files = vec![FileHits {
        path: "src/retry.rs".into(),
        lines: vec![
            (6, "    wait + jitter()".into()),
            (9, "fn jitter() -> u64 {".into()),
        ],
    }];
    let detail = ToolDetail::Hits {
        pattern: "jitter".into(),
        files,
        total: 40,
    };
    with_tool("grep", "jitter", "40 hits in 1 file", detail)
}

fn names() -> ConversationState {
    let detail = ToolDetail::Names {
        names: vec!["src/".into(), "Cargo.toml".into()],
        total: 9,
    };
    with_tool("ls", ".", "9 names", detail)
}

fn delegated() -> ConversationState {
    let detail = ToolDetail::Child {
        conversation: ConversationId(7),
        title: "look for the leak".into(),
    };
    with_tool("delegate", "look for the leak", "done", detail)
}

fn parent() -> ConversationState {
    let mut state = talked();
    let row = |id, title: &str, state, archived| ChildRow {
        id: ConversationId(id),
        title: title.into(),
        call: None,
        state,
        archived,
    };
    let activity = "reading src".into();
    state.children = vec![
        row(
            7,
            "look for the leak",
            SessionState::Working { activity },
            false,
        ),
        row(8, "an old idea", SessionState::Idle, true),
    ];
    state
}

fn script() -> ConversationState {
    let mut state = with_tool("script", "3 calls", "2 of 3 done", ToolDetail::Text);
    if let Some(EntryBody::ToolResult { nested, .. }) =
        state.entries.last_mut().map(|e| &mut e.body)
    {
        let made = |id: &str, subject: &str, outcome| NestedCall {
            call: call(id),
            tool: "read".into(),
            subject: subject.into(),
            outcome,
            summary: "lines 1–11".into(),
        };
        *nested = vec![
            made("n1", "src/retry.rs", Some(ToolOutcome::Ok)),
            made("n2", "/etc/shadow", Some(ToolOutcome::Denied)),
            made("n3", "src/lib.rs", None),
        ];
    }
    state
}

fn outcomes() -> ConversationState {
    let mut state = talked();
    state.entries.truncate(2);
    let ended = [
        ToolOutcome::Failed,
        ToolOutcome::Denied,
        ToolOutcome::Stopped,
        ToolOutcome::Interrupted,
    ];
    for (at, outcome) in (50..).zip(ended) {
        let row = tool_entry(at, "shell", "make", "", ToolDetail::Text, outcome);
        state.entries.push(row);
    }
    state
}

fn shell() -> ConversationState {
    let mut state = talked();
    let body = EntryBody::Shell {
        command: "cargo test retry".into(),
        included: false,
        detail: ran(Some(0)),
    };
    state
        .entries
        .push(entry(60, AuthorKind::Owner, "owner", body));
    state
}

fn attached() -> ConversationState {
    let mut state = talked();
    if let Some(EntryBody::Message { attachments, .. }) =
        state.entries.first_mut().map(|e| &mut e.body)
    {
        attachments.push(Attachment {
            id: AttachmentId::parse("a1").expect("an id"),
            name: "plan.pdf".into(),
            bytes: 2_048,
            media_type: "application/pdf".into(),
        });
    }
    state
}

fn phase(phase: TurnPhase) -> ConversationState {
    let mut state = talked();
    state.turn = Some(turn(phase));
    state
}

fn streaming() -> ConversationState {
    let mut state = working();
    if let Some(turn) = &mut state.turn {
        turn.answer = Some(OpenAnswer {
            attempt: 1,
            thinking: "The bound is missing.".into(),
            text: "I'll bound the **jitter** by half of the ba".into(),
        });
    }
    state
}

fn running() -> ConversationState {
    let mut state = phase(TurnPhase::Tools);
    let run = |id: &str, subject: &str, at, output| ToolRun {
        call: call(id),
        tool: "shell".into(),
        subject: subject.into(),
        state: at,
        started_ms: Some(NOW - 3_000),
        output,
        nested: Vec::new(),
    };
    let output = RunOutput {
        run: RunId::parse("r1").expect("an id"),
        bytes: 12_000,
        generation: 1,
        complete: false,
        source_incomplete: false,
    };
    if let Some(turn) = &mut state.turn {
        turn.tools = vec![
            run("c7", "make", ToolRunState::Running, Some(output)),
            run("c8", "make install", ToolRunState::Queued, None),
        ];
    }
    state
}

fn retrying() -> ConversationState {
    phase(TurnPhase::Retry {
        at_ms: NOW + 9_000,
        attempt: 2,
        reason: "the model's server is overloaded (529)".into(),
    })
}

fn queued() -> ConversationState {
    let mut state = working();
    let waits = |id: u64, mode, text: &str| Submission {
        id: SubmissionId(id),
        request: RequestId::parse(&format!("q{id}")).expect("an id"),
        author: message(1, "").author,
        mode,
        text: text.into(),
        attachments: Vec::new(),
        at_ms: NOW,
        state: SubmissionState::Queued,
    };
    state.submissions = vec![
        waits(1, SendMode::FollowUp, "then bump the changelog"),
        waits(2, SendMode::Steer, "mind the clock"),
    ];
    state
}

fn asked_about_change() -> ConversationState {
    let mut state = waiting();
    if let Some(question) = state.questions.first_mut() {
        question.tool = "edit".into();
        question.subject = "src/retry.rs".into();
        question.detail = diff();
    }
    state
}

fn answered() -> ConversationState {
    let mut state = waiting();
    if let Some(question) = state.questions.first_mut() {
        let mut by = message(1, "").author;
        by.kind = AuthorKind::Guest;
        by.name = "Mira".into();
        question.state = QuestionState::Answered {
            by,
            answer: "yes".into(),
        };
    }
    state
}

fn failed() -> ConversationState {
    let mut state = talked();
    let body = EntryBody::Error {
        text: "the model refused the key".into(),
        hint: "set ANTHROPIC_API_KEY and try again".into(),
    };
    state.info.failed = Some(EntryId(90));
    state
        .entries
        .push(entry(90, AuthorKind::System, "porthole", body));
    state
}

/// Everything that is marked in a conversation without being said by anyone.
fn marked() -> ConversationState {
    let mut state = talked();
    state.entries.truncate(1);
    let bodies = [
        EntryBody::Notice {
            text: "The worker ended and was started again.".into(),
        },
        EntryBody::Reset,
        EntryBody::Compaction {
            summary: "A test was flaky; its cause is known.".into(),
            automatic: true,
            kept: Vec::new(),
        },
        EntryBody::Excluded {
            entry: EntryId(1),
            excluded: true,
        },
        EntryBody::Retried { error: EntryId(90) },
        EntryBody::Forked {
            conversation: ConversationId::ROOT,
            entry: EntryId(1),
        },
        EntryBody::Moved {
            dir: "~/src/site".into(),
        },
    ];
    for (id, body) in (91..).zip(bodies) {
        state
            .entries
            .push(entry(id, AuthorKind::System, "porthole", body));
    }
    state
}

fn read_only() -> ConversationState {
    let mut state = talked();
    state.info.read_only = Some("this conversation is put away".into());
    state
}
