//! Conversations to draw, and a screen to draw them on.

use porthole_bridge::{Background, ColorDepth};
use porthole_protocol::{
    Author, AuthorKind, Block, CallId, ConversationId, ConversationInfo, ConversationState,
    DiffLine, DiffMark, Entry, EntryBody, EntryId, ModelRef, OpenAnswer, Policy, RunId, RunOutput,
    SendMode, Thinking, ToolDetail, ToolOutcome, ToolRun, ToolRunState, Turn, TurnId, TurnPhase,
    Usage,
};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::super::{Sending, Transcript, ViewContext};
use crate::text;
use crate::theme::Theme;

/// 14:02 on some day.
pub(super) const NOW: u64 = 1_700_056_920_000;

pub(super) fn author(kind: AuthorKind, id: &str, name: &str) -> Author {
    Author {
        kind,
        id: id.into(),
        name: name.into(),
    }
}

pub(super) fn call(id: &str) -> CallId {
    CallId::parse(id).expect("an id")
}

pub(super) fn run_id(id: &str) -> RunId {
    RunId::parse(id).expect("an id")
}

pub(super) fn empty() -> ConversationState {
    ConversationState {
        info: ConversationInfo {
            id: ConversationId::ROOT,
            cwd: "~/src/shop".into(),
            branch: Some("main".into()),
            model: ModelRef {
                provider: "anthropic".into(),
                model: "claude-sonnet".into(),
            },
            practice: false,
            thinking: Thinking::Low,
            policy: Policy::Ask,
            context_tokens: 0,
            context_limit: None,
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

/// Adds entries as a worker would.
pub(super) trait Talk {
    fn add(&mut self, author: Author, body: EntryBody) -> EntryId;
    fn human(&mut self, text: &str) -> EntryId;
    fn answer(&mut self, blocks: Vec<Block>) -> EntryId;
    fn result(
        &mut self,
        id: &str,
        tool: &str,
        subject: &str,
        outcome: ToolOutcome,
        summary: &str,
        detail: ToolDetail,
    );
    fn turn(&mut self, phase: TurnPhase) -> &mut Turn;
}

impl Talk for ConversationState {
    fn add(&mut self, author: Author, body: EntryBody) -> EntryId {
        let id = EntryId(self.entries.last().map_or(1000, |entry| entry.id.0 + 1));
        let turn = Some(TurnId(1));
        self.entries.push(Entry {
            id,
            at_ms: NOW,
            author,
            turn,
            body,
        });
        id
    }

    fn human(&mut self, text: &str) -> EntryId {
        let body = EntryBody::Message {
            text: text.into(),
            mode: SendMode::FollowUp,
            attachments: Vec::new(),
        };
        self.add(author(AuthorKind::Owner, "owner", "Ada"), body)
    }

    fn answer(&mut self, blocks: Vec<Block>) -> EntryId {
        let body = EntryBody::Answer {
            model: self.info.model.clone(),
            blocks,
            stop: Some("end_turn".into()),
            usage: None,
            incomplete: false,
        };
        self.add(
            author(
                AuthorKind::Model,
                "anthropic/claude-sonnet",
                "claude-sonnet",
            ),
            body,
        )
    }

    fn result(
        &mut self,
        id: &str,
        tool: &str,
        subject: &str,
        outcome: ToolOutcome,
        summary: &str,
        detail: ToolDetail,
    ) {
        let body = EntryBody::ToolResult {
            call: call(id),
            tool: tool.into(),
            subject: subject.into(),
            outcome,
            summary: summary.into(),
            text: "what the model was told".into(),
            detail,
            duration_ms: if tool == "shell" { 8_400 } else { 20 },
            nested: Vec::new(),
            attachments: Vec::new(),
        };
        self.add(author(AuthorKind::Tool, tool, tool), body);
    }

    fn turn(&mut self, phase: TurnPhase) -> &mut Turn {
        self.turn.insert(Turn {
            id: TurnId(1),
            started_ms: NOW - 7_000,
            phase,
            answer: None,
            tools: Vec::new(),
        })
    }
}

pub(super) fn words(text: &str) -> Block {
    Block::Text { text: text.into() }
}

pub(super) fn uses(id: &str, tool: &str, subject: &str) -> Block {
    Block::ToolCall {
        call: call(id),
        tool: tool.into(),
        subject: subject.into(),
        arguments: serde_json::Value::Null,
    }
}

pub(super) fn command(tail: &str, exit: Option<i32>) -> ToolDetail {
    ToolDetail::Command {
        command: "cargo test retry".into(),
        exit,
        signal: None,
        timed_out: false,
        tail: tail.into(),
        left_out: 0,
        output: None,
        still_running: Vec::new(),
    }
}

pub(super) fn runs(id: &str, subject: &str, state: ToolRunState) -> ToolRun {
    let output = RunOutput {
        run: run_id("r1"),
        bytes: 40,
        generation: 1,
        complete: false,
        source_incomplete: false,
    };
    ToolRun {
        call: call(id),
        tool: "shell".into(),
        subject: subject.into(),
        state,
        started_ms: Some(NOW - 7_000),
        output: (state == ToolRunState::Running).then_some(output),
        nested: Vec::new(),
    }
}

pub(super) fn open_answer(text: &str) -> Option<OpenAnswer> {
    Some(OpenAnswer {
        attempt: 1,
        thinking: String::new(),
        text: text.into(),
    })
}

fn changed(mark: DiffMark, old: Option<u32>, new: Option<u32>, text: &str) -> DiffLine {
    DiffLine {
        mark,
        old,
        new,
        text: text.into(),
    }
}

pub(super) fn change() -> ToolDetail {
    ToolDetail::Diff {
        path: "src/retry.rs".into(),
        added: 2,
        removed: 1,
        lines: vec![
            changed(
                DiffMark::Same,
                Some(41),
                Some(41),
                "let wait = base * 2u32.pow(attempt);",
            ),
            changed(
                DiffMark::Removed,
                Some(42),
                None,
                "let wait = wait + jitter();",
            ),
            changed(
                DiffMark::Added,
                None,
                Some(42),
                "// Jitter is bounded so that two attempts never meet.",
            ),
            changed(
                DiffMark::Added,
                None,
                Some(43),
                "let wait = wait + jitter().min(base / 2);",
            ),
            changed(DiffMark::Gap, None, None, ""),
        ],
        truncated: false,
    }
}

/// The conversation of the sketch.
pub(super) fn retry_talk() -> ConversationState {
    let mut talk = empty();
    talk.human("The retry test fails about once in ten runs. Find out why and fix it.");
    talk.answer(vec![
        Block::Thinking {
            text: "A flaky test around retries: time, or order.\nLook at the jitter first.".into(),
        },
        words("I'll run it until it fails, then read what it depends on."),
        uses("c1", "shell", "cargo test retry -- --nocapture"),
        uses(
            "c2",
            "read",
            "src/very/deep/down/in/the/tree/of/modules/that/nobody/reads/retry.rs",
        ),
    ]);
    talk.result(
        "c1",
        "shell",
        "cargo test retry -- --nocapture",
        ToolOutcome::Failed,
        "12 runs, 1 failed",
        command(
            "running 12 tests\n\u{1b}[31mFAILED\u{1b}[0m retry\n",
            Some(101),
        ),
    );
    let file = ToolDetail::File {
        path: "src/retry.rs".into(),
        first_line: 1,
        text: "fn wait() {}\n".into(),
        total_lines: 88,
    };
    talk.result(
        "c2",
        "read",
        "src/very/deep/down/in/the/tree/of/modules/that/nobody/reads/retry.rs",
        ToolOutcome::Ok,
        "lines 1–88",
        file,
    );
    talk.answer(vec![uses("c3", "edit", "src/retry.rs")]);
    talk.result(
        "c3",
        "edit",
        "src/retry.rs",
        ToolOutcome::Ok,
        "+2 −1",
        change(),
    );
    talk.answer(vec![
        words("The jitter could be longer than the back-off itself, so two attempts met in one tick.\n\nIt is bounded by half the base now: **200 runs** pass."),
        uses("c4", "shell", "cargo test --workspace"),
    ]);
    let turn = talk.turn(TurnPhase::Tools);
    turn.tools
        .push(runs("c4", "cargo test --workspace", ToolRunState::Running));
    talk
}

pub(super) fn theme() -> Theme {
    Theme::choose("dark", Background::Dark, ColorDepth::True)
}

/// A screen that shows a conversation.
pub(super) struct Screen {
    pub(super) transcript: Transcript,
    pub(super) theme: Theme,
    pub(super) area: Rect,
    pub(super) buf: Buffer,
    pub(super) sending: Vec<Sending>,
    pub(super) unicode: bool,
}

impl Screen {
    pub(super) fn new(cols: u16, rows: u16) -> Self {
        let area = Rect::new(0, 0, cols, rows);
        Self {
            transcript: Transcript::new(),
            theme: theme(),
            area,
            buf: Buffer::empty(area),
            sending: Vec::new(),
            unicode: true,
        }
    }

    pub(super) fn resize(&mut self, cols: u16, rows: u16) {
        self.area = Rect::new(0, 0, cols, rows);
    }

    pub(super) fn draw(&mut self, state: &ConversationState) -> Vec<String> {
        self.draw_at(state, NOW)
    }

    pub(super) fn draw_at(&mut self, state: &ConversationState, now_ms: u64) -> Vec<String> {
        self.buf = Buffer::empty(self.area);
        let cx = ViewContext {
            theme: &self.theme,
            now_ms,
            utc_offset_minutes: 0,
            unicode: self.unicode,
            animate: false,
            me: "owner",
        };
        self.transcript
            .view(state, &self.sending, self.area, &mut self.buf, &cx);
        rows(&self.buf)
    }

    pub(super) fn picture(&mut self, state: &ConversationState) -> String {
        self.draw(state).join("\n")
    }
}

/// Returns the rows of a buffer as text.
pub(super) fn rows(buf: &Buffer) -> Vec<String> {
    let cols = usize::from(buf.area.width);
    buf.content
        .chunks(cols)
        .map(|cells| {
            let mut row = String::new();
            let mut x = 0;
            while let Some(cell) = cells.get(x) {
                row.push_str(cell.symbol());
                x += text::cluster_width(cell.symbol()).max(1);
            }
            row.trim_end().to_owned()
        })
        .collect()
}
