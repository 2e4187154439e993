//! Any order of inputs: whatever people, models and tools do, no call starts twice, no request has a call without its
//! result, and no submission is lost.

use std::collections::BTreeSet;

use porthole_protocol::{Answer, EntryBody, QuestionId, SendMode};
use proptest::prelude::*;

use super::{
    Effect, Input, Request,
    tests::{World, failure, response},
};
use crate::{
    call::Phase,
    model::{ModelErrorKind, PromptItem},
    record::Record,
};

/// Something that may happen next; where it cannot, nothing does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send,
    Steer,
    Stop,
    Withdraw,
    Calls,
    Done,
    Fails { retryable: bool },
    RetryDue,
    Preview,
    Answers { yes: bool },
    ToolDone { last: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Send),
        1 => Just(Step::Steer),
        1 => Just(Step::Stop),
        1 => Just(Step::Withdraw),
        3 => Just(Step::Calls),
        1 => Just(Step::Done),
        1 => any::<bool>().prop_map(|retryable| Step::Fails { retryable }),
        1 => Just(Step::RetryDue),
        2 => Just(Step::Preview),
        2 => any::<bool>().prop_map(|yes| Step::Answers { yes }),
        4 => any::<bool>().prop_map(|last| Step::ToolDone { last }),
    ]
}

#[derive(Default)]
struct Seen {
    started: BTreeSet<String>,
    sent: u64,
    entered: u64,
    withdrawn: u64,
}

impl Seen {
    /// Looks at what the last input led to.
    fn look(&mut self, world: &World) {
        for call in world.started() {
            assert!(self.started.insert(call.clone()), "{call} started twice");
        }
        let entered = |b: &&EntryBody| matches!(b, EntryBody::Message { .. });
        self.entered += world.entries().iter().filter(entered).count() as u64;
        if world.asks_model() {
            check(&world.conversation.context.items());
        }
        let waiting = world.conversation.queue.len() as u64;
        assert_eq!(self.sent, self.entered + self.withdrawn + waiting);
    }
}

fn check(items: &[PromptItem]) {
    for item in items {
        if let PromptItem::ToolResult { text, .. } = item {
            assert_ne!(text, crate::prompt::NO_RESULT, "a call has no result");
        }
    }
}

fn go(world: &mut World, seen: &mut Seen, step: Step) {
    let waits = |world: &World| {
        let turn = world.conversation.turn.as_ref();
        turn.is_some_and(|turn| turn.stage == crate::turn::Stage::Model)
    };
    world
        .effects
        .retain(|effect| matches!(effect, Effect::Preview(_)));
    match step {
        Step::Send | Step::Steer if world.conversation.queue.len() > 20 => return,
        Step::Send => send(world, seen, SendMode::FollowUp),
        Step::Steer => send(world, seen, SendMode::Steer),
        Step::Stop => world.stop(),
        Step::Withdraw => withdraw(world, seen),
        Step::Calls if waits(world) => {
            let calls = [("look", "a"), ("look", "b"), ("shell", "c"), ("fly", "d")];
            world.done(response("some", &calls));
        }
        Step::Done if waits(world) => world.done(response("all", &[])),
        Step::Fails { retryable } if waits(world) => {
            world.failed(failure(ModelErrorKind::Overloaded, retryable));
        }
        Step::RetryDue => drop(world.handle(Input::RetryDue).len()),
        Step::Preview => preview(world, seen),
        Step::Answers { yes } => answer(world, yes),
        Step::ToolDone { last } => tool_done(world, last),
        Step::Calls | Step::Done | Step::Fails { .. } => return,
    }
    seen.look(world);
}

fn send(world: &mut World, seen: &mut Seen, mode: SendMode) {
    seen.sent += 1;
    world.submit("text", mode);
}

fn withdraw(world: &mut World, seen: &mut Seen) {
    let Some(submission) = world.conversation.queue.first().map(|s| s.id) else {
        return;
    };
    world.call(Request::Withdraw { submission }).expect("taken");
    assert!(matches!(world.records()[0], Record::Submission(_)));
    seen.withdrawn += 1;
}

/// Previews every call that waits for it, whichever input led there.
fn preview(world: &mut World, seen: &mut Seen) {
    for call in calls(world, |phase| *phase == Phase::Previewing) {
        let call = porthole_protocol::CallId::parse(&call).expect("id");
        let detail = porthole_protocol::ToolDetail::Text;
        world.handle(Input::Previewed { call, detail });
        seen.look(world);
        world.effects.clear();
    }
}

fn answer(world: &mut World, yes: bool) {
    let Some(question) = world.conversation.questions().next().map(|q| q.id) else {
        return;
    };
    let answer = match yes {
        true => Answer::Yes,
        false => Answer::No { why: String::new() },
    };
    let QuestionId(id) = question;
    assert!(world.answer(id, answer).counted);
}

fn tool_done(world: &mut World, last: bool) {
    let running = calls(world, |phase| *phase == Phase::Running);
    let call = if last {
        running.last()
    } else {
        running.first()
    };
    if let Some(call) = call {
        world.tool_done(call, "result");
    }
}

fn calls(world: &World, phase: impl Fn(&Phase) -> bool) -> Vec<String> {
    let calls = world.conversation.turn.iter().flat_map(|turn| &turn.calls);
    let named = calls.filter(|call| phase(&call.phase));
    named.map(|call| call.row.call.to_string()).collect()
}

proptest! {
    #[test]
    fn any_order_of_inputs_keeps_the_laws(steps in prop::collection::vec(step(), 0..60)) {
        let (mut world, mut seen) = (World::new(), Seen::default());
        for step in steps {
            go(&mut world, &mut seen, step);
        }
        // Nothing that waits may begin by itself after a stop: its end is rest.
        go(&mut world, &mut seen, Step::Stop);
        for _ in 0..10 {
            go(&mut world, &mut seen, Step::ToolDone { last: true });
        }
        prop_assert!(world.conversation.turn.is_none());
        check(&world.conversation.context.items());
    }
}
