//! A server made of frames and a person made of keys, around one app.

use porthole_bridge::{
    Background, ColorDepth, Event, Key, KeyCode, LinkState, Modifiers, Mouse, MouseKind, Place,
    Request, Role, Signal, Size, Start,
};
use porthole_protocol::{
    Author, AuthorKind, Block, Call, CallId, ClientFrame, ConversationDelta, ConversationId,
    ConversationInfo, ConversationState, Entry, EntryBody, EntryId, ModelRef, Policy, Question,
    QuestionId, QuestionState, SendMode, SessionId, SessionRow, SessionState, Thinking, ToolDetail,
    ToolOutcome, Topic, Turn, TurnId, TurnPhase, Usage,
};
use ratatui_core::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use crate::App;

/// Tue 14 Nov 2023, 22:13 UTC.
pub(super) const NOW: u64 = 1_700_000_000_000;

pub(super) struct World {
    pub(super) app: App,
    pub(super) now: u64,
    /// Everything the app asked for since it was last looked at.
    pub(super) asked: Vec<Request>,
    size: Size,
    seq: u64,
}

pub(super) fn start(cols: u16, rows: u16) -> Start {
    Start {
        size: Size { cols, rows },
        colors: ColorDepth::None,
        background: Background::Dark,
        unicode: true,
        reduced_motion: false,
        theme: String::new(),
        preferences: String::new(),
        role: Role::Owner,
        place: Some(Place {
            session: "s1".into(),
            conversation: 1,
        }),
        snapshot: None,
        seed: [7; 16],
        utc_offset_minutes: 0,
        origin: "http://127.0.0.1:7420".into(),
    }
}

impl World {
    /// A connected UI on a session whose state is `state`.
    pub(super) fn with(cols: u16, rows: u16, state: ConversationState) -> Self {
        let mut world = Self::begin(start(cols, rows));
        world.connect(1);
        world.sessions(rows_of_home());
        world.snapshot(&state);
        world.asked.clear();
        world
    }

    pub(super) fn begin(start: Start) -> Self {
        let size = start.size;
        let mut world = Self {
            app: App::default(),
            now: NOW,
            asked: Vec::new(),
            size,
            seq: 1,
        };
        world.send(Event::Start(Box::new(start)));
        world
    }

    pub(super) fn send(&mut self, event: Event) -> Vec<Request> {
        let requests = self.app.handle(Signal {
            now_ms: self.now,
            event,
        });
        self.asked.extend(requests.clone());
        requests
    }

    pub(super) fn connect(&mut self, epoch: u64) {
        self.send(Event::LinkState(LinkState::Up { epoch }));
        self.frame(json!({"hello": {"protocol": porthole_protocol::PROTOCOL_VERSION, "server": "0.1.0", "machine": "box", "home": "/home/ada",
            "who": {"role": "owner", "id": "owner", "name": "you"}}}));
    }

    pub(super) fn frame(&mut self, frame: Value) -> Vec<Request> {
        self.send(Event::Link(frame.to_string().into_bytes()))
    }

    pub(super) fn sessions(&mut self, rows: Vec<SessionRow>) {
        self.frame(json!({"snapshot": {"topic": "sessions", "epoch": 1, "seq": 0, "state": {"sessions": rows}}}));
    }

    pub(super) fn snapshot(&mut self, state: &ConversationState) {
        self.seq = 1;
        self.snapshot_at(5, 1, state);
    }

    pub(super) fn snapshot_at(&mut self, epoch: u64, seq: u64, state: &ConversationState) {
        let state = json!({"conversation": state});
        self.frame(
            json!({"snapshot": {"topic": topic(), "epoch": epoch, "seq": seq, "state": state}}),
        );
    }

    /// The next delta of the conversation.
    pub(super) fn delta(&mut self, delta: &ConversationDelta) -> Vec<Request> {
        self.seq += 1;
        self.delta_at(5, self.seq, delta)
    }

    pub(super) fn delta_at(
        &mut self,
        epoch: u64,
        seq: u64,
        delta: &ConversationDelta,
    ) -> Vec<Request> {
        self.frame(json!({"delta": {"topic": topic(), "epoch": epoch, "seq": seq, "delta": {"conversation": delta}}}))
    }

    pub(super) fn reply(&mut self, id: u64, result: Value) {
        self.frame(json!({"reply": {"id": id, "result": result}}));
    }

    pub(super) fn refuse(&mut self, id: u64, message: &str) {
        self.frame(json!({"error": {"id": id, "error": {"code": "unavailable", "message": message, "hint": ""}}}));
    }

    /// Presses keys: names as in the table of commands, or single characters.
    pub(super) fn keys(&mut self, keys: &[&str]) {
        for name in keys {
            let key = key(name);
            self.send(Event::Key(key));
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        for c in text.chars() {
            self.send(Event::Key(Key {
                code: KeyCode::Char(c),
                modifiers: Modifiers::default(),
            }));
        }
    }

    pub(super) fn click(&mut self, col: u16, row: u16) {
        let modifiers = Modifiers::default();
        self.send(Event::Mouse(Mouse {
            kind: MouseKind::Press,
            col,
            row,
            modifiers,
        }));
    }

    /// Lets time go on; a wake-up comes as it would.
    pub(super) fn wait(&mut self, ms: u64) {
        self.now += ms;
        self.send(Event::Wake);
    }

    /// The calls sent since last looked at, each with its id on the wire.
    pub(super) fn calls(&mut self) -> Vec<(u64, Call)> {
        let frames = self.frames();
        let call = |frame| match frame {
            ClientFrame::Call { id, call } => Some((id, call)),
            ClientFrame::Watch { .. } | ClientFrame::Unwatch { .. } => None,
        };
        frames.into_iter().filter_map(call).collect()
    }

    pub(super) fn frames(&mut self) -> Vec<ClientFrame> {
        let asked = std::mem::take(&mut self.asked);
        let frame = |request: Request| match request {
            Request::Link(bytes) => serde_json::from_slice(&bytes).ok(),
            _ => None,
        };
        asked.into_iter().filter_map(frame).collect()
    }

    /// The screen as text; the cursor's cell is named below it.
    pub(super) fn screen(&mut self) -> String {
        let area = Rect::new(0, 0, self.size.cols, self.size.rows);
        let mut buf = Buffer::empty(area);
        let cursor = self.app.view(area, &mut buf);
        let mut lines: Vec<String> = Vec::new();
        for y in 0..area.height {
            let line: String = (0..area.width).map(|x| buf[(x, y)].symbol()).collect();
            lines.push(line.trim_end().to_owned());
        }
        let cursor = cursor.map_or("no cursor".to_owned(), |c| {
            format!("cursor {},{}", c.x, c.y)
        });
        format!("{}\n{cursor}", lines.join("\n"))
    }

    pub(super) fn draft(&mut self) -> String {
        self.app
            .screen()
            .map(|s| s.composer.draft().text)
            .unwrap_or_default()
    }
}

pub(super) fn topic() -> Topic {
    Topic::Conversation {
        session: session("s1"),
        conversation: ConversationId::ROOT,
    }
}

pub(super) fn key(name: &str) -> Key {
    let mut modifiers = Modifiers::default();
    let mut rest = name;
    for (prefix, held) in [("ctrl-", 0), ("alt-", 1), ("shift-", 2)] {
        if let Some(after) = rest.strip_prefix(prefix) {
            rest = after;
            match held {
                0 => modifiers.control = true,
                1 => modifiers.alt = true,
                _ => modifiers.shift = true,
            }
        }
    }
    let code = match rest {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Escape,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "pgup" => KeyCode::PageUp,
        "backspace" => KeyCode::Backspace,
        "f1" => KeyCode::Function(1),
        other => KeyCode::Char(other.chars().next().unwrap_or(' ')),
    };
    Key { code, modifiers }
}

pub(super) fn session(id: &str) -> SessionId {
    SessionId::parse(id).expect("an id")
}

pub(super) fn row(
    id: &str,
    title: &str,
    dir: &str,
    minutes_ago: u64,
    state: SessionState,
) -> SessionRow {
    SessionRow {
        id: session(id),
        title: title.into(),
        machine: "box".into(),
        dir: dir.into(),
        created_ms: NOW - 90_000_000,
        updated_ms: NOW - minutes_ago * 60_000,
        pinned: false,
        archived: false,
        state,
        unread: false,
        presence: Default::default(),
    }
}

pub(super) fn rows_of_home() -> Vec<SessionRow> {
    let mut rows = vec![
        row(
            "s1",
            "fix the flaky retry test",
            "~/src/shop",
            4,
            SessionState::Waiting {
                question: "run git push origin main?".into(),
            },
        ),
        row(
            "s2",
            "port the importer to streams",
            "~/src/shop",
            5,
            SessionState::Working {
                activity: "running cargo test".into(),
            },
        ),
        row(
            "s3",
            "why is checkout slow?",
            "~/src/shop",
            33,
            SessionState::Idle,
        ),
        row(
            "s4",
            "upgrade the build",
            "~/src/site",
            1_500,
            SessionState::Failed {
                reason: "the model refused the key".into(),
            },
        ),
        row("s5", "tidy up", "~/train", 9_000, SessionState::Idle),
    ];
    rows[2].unread = true;
    rows[4].archived = true;
    rows
}

pub(super) fn empty() -> ConversationState {
    ConversationState {
        info: ConversationInfo {
            id: ConversationId::ROOT,
            cwd: "~/src/shop".into(),
            branch: Some("main".into()),
            model: ModelRef::parse("anthropic/claude-sonnet").expect("a model"),
            practice: false,
            thinking: Thinking::Low,
            policy: Policy::Ask,
            context_tokens: 76_000,
            context_limit: Some(200_000),
            usage: Usage::default(),
            title: None,
            parent: None,
            read_only: None,
            failed: None,
            last: None,
            unpriced: 0,
            prompts: 0,
        },
        entries: Vec::new(),
        has_older: false,
        submissions: Vec::new(),
        turn: None,
        questions: Vec::new(),
        children: Vec::new(),
    }
}

pub(super) fn entry(id: u64, kind: AuthorKind, author: &str, body: EntryBody) -> Entry {
    let author = Author {
        kind,
        id: author.into(),
        name: if author == "owner" { "you" } else { author }.into(),
    };
    Entry {
        id: EntryId(id),
        at_ms: NOW - 600_000 + id * 1_000,
        author,
        turn: Some(TurnId(1)),
        body,
    }
}

pub(super) fn message(id: u64, text: &str) -> Entry {
    entry(
        id,
        AuthorKind::Owner,
        "owner",
        EntryBody::Message {
            text: text.into(),
            mode: SendMode::FollowUp,
            attachments: Vec::new(),
        },
    )
}

fn answer(id: u64, text: &str) -> Entry {
    let body = EntryBody::Answer {
        model: ModelRef::parse("anthropic/claude-sonnet").expect("a model"),
        blocks: vec![Block::Text { text: text.into() }],
        stop: Some("end_turn".into()),
        usage: None,
        incomplete: false,
    };
    entry(id, AuthorKind::Model, "anthropic/claude-sonnet", body)
}

pub(super) fn talked() -> ConversationState {
    let tool = EntryBody::ToolResult {
        call: CallId::parse("c1").expect("an id"),
        tool: "shell".into(),
        subject: "cargo test retry -- --nocapture".into(),
        outcome: ToolOutcome::Ok,
        summary: "12 runs, 1 failed".into(),
        text: String::new(),
        detail: ToolDetail::Text,
        duration_ms: 8_400,
        nested: Vec::new(),
        attachments: Vec::new(),
    };
    let mut state = empty();
    state.entries = vec![
        message(
            1,
            "The retry test fails about once in ten runs. Find out why and fix it.",
        ),
        answer(
            2,
            "I'll run it until it fails, then read what it depends on.",
        ),
        entry(3, AuthorKind::Tool, "shell", tool),
        answer(
            4,
            "The jitter could be longer than the back-off itself, so two attempts met in one tick.\n\nIt is bounded by half the base now. 200 runs pass.",
        ),
    ];
    state
}

pub(super) fn turn(phase: TurnPhase) -> Turn {
    Turn {
        id: TurnId(2),
        started_ms: NOW - 7_400,
        phase,
        answer: None,
        tools: Vec::new(),
    }
}

pub(super) fn asking(id: u64) -> Question {
    Question {
        id: QuestionId(id),
        call: CallId::parse("c2").expect("an id"),
        tool: "shell".into(),
        subject: "git push origin main".into(),
        detail: ToolDetail::Text,
        at_ms: NOW,
        state: QuestionState::Open,
    }
}

pub(super) fn waiting() -> ConversationState {
    let mut state = talked();
    state.turn = Some(turn(TurnPhase::Question));
    state.questions = vec![asking(1)];
    state
}

pub(super) fn working() -> ConversationState {
    let mut state = talked();
    state.turn = Some(turn(TurnPhase::Model));
    state
}
