//! Who may call what: one table, no default. Whether a guest's call is about the guest's own session is asked here too;
//! whether the session exists is not.

use porthole_protocol::{Call, GuestMode, Method, Role, SessionId, Topic};

/// An answer of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// They may.
    Yes,
    /// They may not.
    No,
    /// For them, what it is about does not exist.
    Unknown,
}

/// Which roles a method is for.
#[derive(Clone, Copy)]
enum For {
    Owner,
    Approvers,
    Writers,
    Readers,
}

/// The table.
const fn roles(method: Method) -> For {
    match method {
        Method::SessionCreate
        | Method::SessionRename
        | Method::SessionPin
        | Method::SessionArchive
        | Method::SessionRestore
        | Method::SessionRetry
        | Method::SessionRead
        | Method::Configure
        | Method::ArchiveChild
        | Method::Move
        | Method::Models
        | Method::ShareCreate
        | Method::ShareList
        | Method::ShareRevoke
        | Method::DeviceList
        | Method::DeviceSignOut => For::Owner,
        Method::AnswerQuestion => For::Approvers,
        Method::Submit
        | Method::Withdraw
        | Method::Stop
        | Method::Shell
        | Method::Reset
        | Method::Compact
        | Method::Retry
        | Method::Exclude
        | Method::OpenChild
        | Method::Fork
        | Method::FilesFind => For::Writers,
        Method::History | Method::OutputRead => For::Readers,
    }
}

/// Returns whether `role` may call `method`; `None` is nobody.
pub fn permit(method: Method, role: Option<&Role>) -> Access {
    let may = match (roles(method), role) {
        (_, None) => false,
        (_, Some(Role::Owner)) => true,
        (For::Owner, Some(Role::Guest { .. })) => false,
        (For::Approvers, Some(Role::Guest { may_approve, .. })) => *may_approve,
        (For::Writers, Some(Role::Guest { mode, .. })) => *mode == GuestMode::Full,
        (For::Readers, Some(Role::Guest { .. })) => true,
    };
    if may { Access::Yes } else { Access::No }
}

/// Returns whether `role` may make this call: the method, and for a guest the session.
pub fn permit_call(call: &Call, role: &Role) -> Access {
    match (permit(call.method(), Some(role)), session_of(call), role) {
        (Access::Yes, Some(asked), Role::Guest { session, .. }) if asked != session => {
            Access::Unknown
        }
        (access, _, _) => access,
    }
}

/// Returns whether `role` may watch a topic.
pub fn permit_watch(topic: &Topic, role: &Role) -> Access {
    match (topic, role) {
        (_, Role::Owner) | (Topic::Sessions, Role::Guest { .. }) => Access::Yes,
        (
            Topic::Conversation { session: asked, .. },
            Role::Guest {
                session: theirs, ..
            },
        ) => {
            if asked == theirs {
                Access::Yes
            } else {
                Access::Unknown
            }
        }
    }
}

/// Returns the session that a call is about.
pub fn session_of(call: &Call) -> Option<&SessionId> {
    match call {
        Call::ShareList { session } => session.as_ref(),
        Call::SessionCreate { .. }
        | Call::Models {}
        | Call::ShareRevoke { .. }
        | Call::DeviceList {}
        | Call::DeviceSignOut { .. } => None,
        Call::SessionRename { session, .. }
        | Call::SessionPin { session, .. }
        | Call::SessionArchive { session }
        | Call::SessionRestore { session }
        | Call::SessionRetry { session }
        | Call::SessionRead { session }
        | Call::Submit { session, .. }
        | Call::Withdraw { session, .. }
        | Call::Stop { session, .. }
        | Call::AnswerQuestion { session, .. }
        | Call::Configure { session, .. }
        | Call::Shell { session, .. }
        | Call::History { session, .. }
        | Call::OutputRead { session, .. }
        | Call::Reset { session, .. }
        | Call::Compact { session, .. }
        | Call::Retry { session, .. }
        | Call::Exclude { session, .. }
        | Call::OpenChild { session, .. }
        | Call::Fork { session, .. }
        | Call::ArchiveChild { session, .. }
        | Call::Move { session, .. }
        | Call::FilesFind { session, .. }
        | Call::ShareCreate { session, .. } => Some(session),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(mode: GuestMode, may_approve: bool) -> Role {
        Role::Guest {
            session: SessionId::parse("theirs").expect("an id"),
            mode,
            may_approve,
        }
    }

    #[test]
    fn the_whole_table() {
        let columns = [
            ("owner", Some(Role::Owner)),
            ("full", Some(guest(GuestMode::Full, false))),
            ("view", Some(guest(GuestMode::View, false))),
            ("view+approve", Some(guest(GuestMode::View, true))),
            ("nobody", None),
        ];
        let mut table = String::new();
        for method in Method::ALL {
            let may: Vec<_> = columns
                .iter()
                .filter(|(_, role)| permit(*method, role.as_ref()) == Access::Yes)
                .map(|(name, _)| *name)
                .collect();
            table.push_str(&format!("{:24} {}\n", method.name(), may.join(" ")));
        }
        insta::assert_snapshot!(table, @r"
        session.create           owner
        session.rename           owner
        session.pin              owner
        session.archive          owner
        session.restore          owner
        session.retry            owner
        session.read             owner
        conversation.submit      owner full
        conversation.withdraw    owner full
        conversation.stop        owner full
        conversation.answer      owner view+approve
        conversation.configure   owner
        conversation.shell       owner full
        conversation.history     owner full view view+approve
        output.read              owner full view view+approve
        models.list              owner
        conversation.reset       owner full
        conversation.compact     owner full
        conversation.retry       owner full
        conversation.exclude     owner full
        conversation.open        owner full
        conversation.fork        owner full
        conversation.archive     owner
        conversation.move        owner
        share.create             owner
        share.list               owner
        share.revoke             owner
        device.list              owner
        device.sign_out          owner
        ");
    }

    #[test]
    fn a_foreign_session_looks_to_a_guest_like_one_that_does_not_exist() {
        let other = SessionId::parse("other").expect("an id");
        let role = guest(GuestMode::Full, true);
        let call = Call::History {
            session: other.clone(),
            conversation: porthole_protocol::ConversationId::ROOT,
            before: None,
            limit: 1,
        };
        assert_eq!(permit_call(&call, &role), Access::Unknown);
        assert_eq!(permit_call(&call, &Role::Owner), Access::Yes);
        let topic = Topic::Conversation {
            session: other,
            conversation: porthole_protocol::ConversationId::ROOT,
        };
        assert_eq!(permit_watch(&topic, &role), Access::Unknown);
        assert_eq!(permit_watch(&Topic::Sessions, &role), Access::Yes);
    }
}
