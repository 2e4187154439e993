//! What a tool call may do without asking: a table of policy and effect. It asks nobody.

use std::collections::BTreeSet;

use porthole_protocol::Policy;

use crate::tool::ToolEffect;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It runs.
    Run,
    /// A person is asked.
    Ask,
    /// It is refused; the model is told why.
    Refuse(&'static str),
}

/// Told to the model where the policy refuses.
const READ_ONLY: &str = "Refused: this conversation is read-only. Nothing was changed and nothing was run. \
     Use read, grep, find and ls, and tell the person what you would change.";

/// Told to the model of tools that nobody here knows, where nothing may change.
const READ_ONLY_OUTSIDE: &str = "Refused: this conversation is read-only, and what a tool of an MCP server does is not known here. \
     Nothing was called.";

/// Told to the model of what belongs to the server.
const CLOSED: &str =
    "Refused: that belongs to the Porthole server itself and is closed to tools. Do without it.";

/// Returns what becomes of a call that would have this effect.
pub(crate) fn decide(
    policy: Policy,
    effect: &ToolEffect,
    allowed: &BTreeSet<String>,
    key: &str,
) -> Verdict {
    match (policy, effect) {
        // Whatever the policy says: sessions of others and the server's secrets are there.
        (_, ToolEffect::Closed) => Verdict::Refuse(CLOSED),
        // A delegated task and a script ask for themselves, call by call, under the same policy.
        (_, ToolEffect::Reads | ToolEffect::Delegates { .. } | ToolEffect::Scripts)
        | (Policy::Auto, _) => Verdict::Run,
        (Policy::ReadOnly, ToolEffect::Calls { .. }) => Verdict::Refuse(READ_ONLY_OUTSIDE),
        (Policy::ReadOnly, ToolEffect::Edits { .. } | ToolEffect::Executes { .. }) => {
            Verdict::Refuse(READ_ONLY)
        }
        (Policy::ReadOnly, ToolEffect::ReadsOutside) => Verdict::Run,
        (
            Policy::Ask,
            ToolEffect::ReadsOutside
            | ToolEffect::Edits { .. }
            | ToolEffect::Executes { .. }
            | ToolEffect::Calls { .. },
        ) => {
            if allowed.contains(key) {
                Verdict::Run
            } else {
                Verdict::Ask
            }
        }
    }
}

/// Returns what "always in this session" allows: exactly this command, or this tool on exactly this file.
pub(crate) fn key(tool: &str, subject: &str, effect: &ToolEffect) -> String {
    match effect {
        ToolEffect::Executes { command } => format!("{tool}\n{command}"),
        ToolEffect::Calls { arguments } => format!("{tool}\n{arguments}"),
        ToolEffect::Edits { .. }
        | ToolEffect::Reads
        | ToolEffect::ReadsOutside
        | ToolEffect::Closed
        | ToolEffect::Scripts
        | ToolEffect::Delegates { .. } => format!("{tool}\n{subject}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_decides_each_effect() {
        let run = ToolEffect::Executes {
            command: "ls".into(),
        };
        let edit = ToolEffect::Edits { inside: true };
        let outside = ToolEffect::Calls {
            arguments: "{}".into(),
        };
        let none = BTreeSet::new();
        let refuse = Verdict::Refuse(READ_ONLY);
        for (policy, effect, verdict) in [
            (Policy::Ask, &ToolEffect::Reads, Verdict::Run),
            (Policy::Ask, &ToolEffect::ReadsOutside, Verdict::Ask),
            (Policy::Auto, &ToolEffect::ReadsOutside, Verdict::Run),
            (Policy::ReadOnly, &ToolEffect::ReadsOutside, Verdict::Run),
            (Policy::Ask, &ToolEffect::Closed, Verdict::Refuse(CLOSED)),
            (Policy::Auto, &ToolEffect::Closed, Verdict::Refuse(CLOSED)),
            (
                Policy::ReadOnly,
                &ToolEffect::Closed,
                Verdict::Refuse(CLOSED),
            ),
            (Policy::Ask, &outside, Verdict::Ask),
            (Policy::Auto, &outside, Verdict::Run),
            (
                Policy::ReadOnly,
                &outside,
                Verdict::Refuse(READ_ONLY_OUTSIDE),
            ),
            (Policy::Ask, &ToolEffect::Scripts, Verdict::Run),
            (Policy::ReadOnly, &ToolEffect::Scripts, Verdict::Run),
            (Policy::Ask, &edit, Verdict::Ask),
            (Policy::Ask, &run, Verdict::Ask),
            (Policy::Auto, &ToolEffect::Reads, Verdict::Run),
            (Policy::Auto, &edit, Verdict::Run),
            (Policy::Auto, &run, Verdict::Run),
            (Policy::ReadOnly, &ToolEffect::Reads, Verdict::Run),
            (Policy::ReadOnly, &edit, refuse),
            (Policy::ReadOnly, &run, refuse),
        ] {
            assert_eq!(
                decide(policy, effect, &none, "k"),
                verdict,
                "{policy:?} {effect:?}"
            );
        }
    }

    #[test]
    fn always_allows_exactly_that_command() {
        let effect = |command: &str| ToolEffect::Executes {
            command: command.into(),
        };
        let allowed = BTreeSet::from([key("shell", "ls", &effect("ls"))]);
        for (command, verdict) in [
            ("ls", Verdict::Run),
            ("ls ", Verdict::Ask),
            ("ls; rm x", Verdict::Ask),
            ("LS", Verdict::Ask),
        ] {
            let key = key("shell", "ls", &effect(command));
            assert_eq!(
                decide(Policy::Ask, &effect(command), &allowed, &key),
                verdict,
                "{command}"
            );
        }
    }
}
