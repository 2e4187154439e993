//! What a tool call may do without asking: a table of policy and effect. It asks nobody.

use std::collections::BTreeSet;

use porthole_protocol::{Policy, Settings, ToolRule};

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

/// What the owner lets a tool do in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    policy: Policy,
    rule: Option<ToolRule>,
}

impl Stand {
    /// Returns it for a tool in a turn that answers these guests. What runs for the owner without asking does so for a
    /// guest only where the guest is not bound more closely.
    pub(crate) fn new(
        settings: &Settings,
        session: Policy,
        guests: &BTreeSet<String>,
        tool: &str,
    ) -> Self {
        let guests = || guests.iter().map(String::as_str);
        let policy = settings.policy_for(session, guests());
        // Not whether they make it stricter: a guest who is to ask asks also where the owner does.
        let bound = settings.policy_for(Policy::Auto, guests()) != Policy::Auto;
        let rule = settings.tools.get(tool).copied();
        Self {
            policy,
            rule: rule.filter(|rule| !(bound && *rule == ToolRule::Auto)),
        }
    }

    /// Returns it where nothing but the policy is set.
    #[cfg(test)]
    fn of(policy: Policy) -> Self {
        Self { policy, rule: None }
    }
}

/// Told to the model where the policy refuses.
const READ_ONLY: &str = "Refused: this conversation is read-only. Nothing was changed and nothing was run. \
     Use read, grep, find and ls, and tell the person what you would change.";

/// Told to the model where the owner switched a tool off.
const OFF: &str = "Refused: the owner of this server switched this tool off. Do without it.";
/// Told to the model of tools that nobody here knows, where nothing may change.
const READ_ONLY_OUTSIDE: &str = "Refused: this conversation is read-only, and what a tool of an MCP server does is not known here. \
     Nothing was called.";

/// Told to the model of what belongs to the server.
const CLOSED: &str =
    "Refused: that belongs to the Porthole server itself and is closed to tools. Do without it.";

/// Returns what becomes of a call that would have this effect.
pub(crate) fn decide(
    stand: Stand,
    effect: &ToolEffect,
    allowed: &BTreeSet<String>,
    key: &str,
) -> Verdict {
    let by_policy = by_policy(stand.policy, effect);
    let verdict = match (by_policy, stand.rule) {
        // No rule goes past what is closed and what is read-only.
        (Verdict::Refuse(_), _) | (_, None) => by_policy,
        (_, Some(ToolRule::Off)) => Verdict::Refuse(OFF),
        (_, Some(ToolRule::Ask)) => Verdict::Ask,
        (_, Some(ToolRule::Auto)) => Verdict::Run,
    };
    match verdict {
        Verdict::Ask if allowed.contains(key) => Verdict::Run,
        verdict => verdict,
    }
}

fn by_policy(policy: Policy, effect: &ToolEffect) -> Verdict {
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
        ) => Verdict::Ask,
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
                decide(Stand::of(policy), effect, &none, "k"),
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
                decide(Stand::of(Policy::Ask), &effect(command), &allowed, &key),
                verdict,
                "{command}"
            );
        }
    }

    #[test]
    fn a_tools_own_rule_goes_before_the_policy_but_never_past_read_only() {
        let run = ToolEffect::Executes {
            command: "ls".into(),
        };
        let none = BTreeSet::new();
        let (refuse, off) = (Verdict::Refuse(READ_ONLY), Verdict::Refuse(OFF));
        for (policy, rule, effect, verdict) in [
            (Policy::Ask, ToolRule::Auto, &run, Verdict::Run),
            (Policy::Ask, ToolRule::Ask, &ToolEffect::Reads, Verdict::Ask),
            (Policy::Ask, ToolRule::Off, &ToolEffect::Reads, off),
            (Policy::Auto, ToolRule::Ask, &run, Verdict::Ask),
            (Policy::Auto, ToolRule::Off, &run, off),
            (Policy::ReadOnly, ToolRule::Auto, &run, refuse),
            (
                Policy::ReadOnly,
                ToolRule::Ask,
                &ToolEffect::Reads,
                Verdict::Ask,
            ),
            (
                Policy::Auto,
                ToolRule::Auto,
                &ToolEffect::Closed,
                Verdict::Refuse(CLOSED),
            ),
        ] {
            let settings = Settings {
                tools: [("t".to_owned(), rule)].into(),
                ..Settings::default()
            };
            let stand = Stand::new(&settings, policy, &none, "t");
            assert_eq!(
                decide(stand, effect, &none, "k"),
                verdict,
                "{policy:?} {rule:?}"
            );
            let other = Stand::new(&settings, policy, &none, "other");
            assert_eq!(other, Stand::of(policy), "the rule of another tool");
        }
        let settings = Settings {
            tools: [("t".to_owned(), ToolRule::Ask)].into(),
            ..Settings::default()
        };
        let stand = Stand::new(&settings, Policy::Auto, &none, "t");
        let allowed = BTreeSet::from(["k".to_owned()]);
        assert_eq!(decide(stand, &run, &allowed, "k"), Verdict::Run);
    }

    #[test]
    fn a_guest_binds_the_turn_and_never_loosens_it() {
        let run = ToolEffect::Executes {
            command: "ls".into(),
        };
        let settings = Settings {
            guests: [
                ("mira".to_owned(), Policy::Auto),
                ("*".to_owned(), Policy::ReadOnly),
            ]
            .into(),
            tools: [("t".to_owned(), ToolRule::Auto)].into(),
            ..Settings::default()
        };
        let refuse = Verdict::Refuse(READ_ONLY);
        for (session, guests, verdict) in [
            (Policy::Auto, &["mira"][..], Verdict::Run),
            (Policy::Auto, &["tom"], refuse),
            (Policy::Auto, &["mira", "tom"], refuse),
            (Policy::Auto, &[], Verdict::Run),
            (Policy::Ask, &["mira"], Verdict::Run),
            (Policy::ReadOnly, &["mira"], refuse),
        ] {
            let guests = guests.iter().map(|guest| (*guest).to_owned()).collect();
            let stand = Stand::new(&settings, session, &guests, "t");
            assert_eq!(
                decide(stand, &run, &BTreeSet::new(), "k"),
                verdict,
                "{session:?} {guests:?}"
            );
        }
        let asks = Settings {
            guests: [("*".to_owned(), Policy::Ask)].into(),
            ..settings
        };
        let tom = BTreeSet::from(["tom".to_owned()]);
        let stand = Stand::new(&asks, Policy::Auto, &tom, "t");
        assert_eq!(
            decide(stand, &run, &BTreeSet::new(), "k"),
            Verdict::Ask,
            "what runs for the owner asks for a guest who is bound"
        );
        let stand = Stand::new(&asks, Policy::Ask, &tom, "t");
        assert_eq!(
            decide(stand, &run, &BTreeSet::new(), "k"),
            Verdict::Ask,
            "also where the session asks as well: the rule that runs the tool unasked is the owner's"
        );
    }
}
