//! Who may do what: one table, no default. Whether a guest's call is about the guest's own session is asked here too;
//! whether the session exists is not.

use porthole_door::{
    PATH_ADMITTED, PATH_BUNDLE, PATH_DOWNLOAD, PATH_HEALTH, PATH_LINK, PATH_LOOK, PATH_MANIFEST,
    PATH_PROVE, PATH_REDEEM, PATH_SIGN_OUT, PATH_SIGN_OUT_ALL, PATH_UPLOAD,
};
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

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker<'a> {
    /// Someone who was let in.
    Admitted(&'a Role),
    /// A session's worker, over its own socket.
    Worker,
    /// Anyone else.
    Nobody,
}

/// What can be asked for: a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// A call on the link.
    Call(Method),
    /// A watch of the home list; a guest's has one row.
    WatchSessions,
    /// A watch of a conversation.
    WatchConversation,
    /// A watch of the settings.
    WatchSettings,
    /// A watch of the looks.
    WatchLooks,
    /// A request over HTTP.
    Route(Route),
    /// A worker's word about its session.
    Report,
}

macro_rules! routes {
    ($($(#[$doc:meta])* $name:ident = $method:literal $path:literal;)*) => {
        /// A request over HTTP: the whole surface.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Route {
            $($(#[$doc])* $name,)*
        }

        impl Route {
            /// Every route, in the order of this file.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns its method.
            pub fn method(self) -> &'static str {
                match self { $(Self::$name => $method,)* }
            }

            /// Returns its path, as the router reads it: what is in braces differs.
            pub fn path(self) -> String {
                match self { $(Self::$name => format!($path),)* }
            }
        }
    };
}

routes! {
    /// The page that explains what a link is.
    Page = "GET" "/";
    /// Whether the server is up.
    Health = "GET" "{PATH_HEALTH}";
    /// The server proves its key.
    Prove = "POST" "{PATH_PROVE}";
    /// What a share link allows is told before it is used.
    Look = "POST" "{PATH_LOOK}";
    /// A link becomes a cookie.
    Redeem = "POST" "{PATH_REDEEM}";
    /// Who the cookie admits.
    Admitted = "GET" "{PATH_ADMITTED}";
    /// The manifest of the UI.
    Manifest = "GET" "{PATH_MANIFEST}";
    /// The UI.
    Bundle = "GET" "{PATH_BUNDLE}{{sha256}}";
    /// The cookie's access ends.
    SignOut = "POST" "{PATH_SIGN_OUT}";
    /// Every device of the owner's ends.
    SignOutAll = "POST" "{PATH_SIGN_OUT_ALL}";
    /// The link.
    Link = "GET" "{PATH_LINK}";
    /// An upload begins.
    UploadOpen = "POST" "{PATH_UPLOAD}";
    /// How far an upload is.
    UploadState = "GET" "{PATH_UPLOAD}/{{upload}}";
    /// A part of an upload.
    UploadChunk = "PUT" "{PATH_UPLOAD}/{{upload}}/{{chunk}}";
    /// An upload becomes an attachment.
    UploadFinish = "POST" "{PATH_UPLOAD}/{{upload}}/finish";
    /// An upload is taken back.
    UploadDiscard = "DELETE" "{PATH_UPLOAD}/{{upload}}";
    /// A range of a file.
    Download = "GET" "{PATH_DOWNLOAD}";
}

/// Which askers an act is for.
#[derive(Clone, Copy)]
enum For {
    Owner,
    Approvers,
    Writers,
    Readers,
    Worker,
    Everyone,
}

const fn act(act: Act) -> For {
    match act {
        Act::Call(method) => roles(method),
        Act::WatchSettings => For::Owner,
        Act::WatchSessions | Act::WatchConversation | Act::WatchLooks => For::Readers,
        Act::Route(route) => route_roles(route),
        Act::Report => For::Worker,
    }
}

const fn route_roles(route: Route) -> For {
    match route {
        Route::Page | Route::Health | Route::Prove | Route::Look | Route::Redeem => For::Everyone,
        Route::SignOutAll => For::Owner,
        Route::Admitted
        | Route::Manifest
        | Route::Bundle
        | Route::SignOut
        | Route::Link
        | Route::Download => For::Readers,
        Route::UploadOpen
        | Route::UploadState
        | Route::UploadChunk
        | Route::UploadFinish
        | Route::UploadDiscard => For::Writers,
    }
}

const fn roles(method: Method) -> For {
    match method {
        Method::SessionCreate
        | Method::SessionRename
        | Method::SessionPin
        | Method::SessionArchive
        | Method::SessionRestore
        | Method::SessionRetry
        | Method::SessionRead
        | Method::SessionExport
        | Method::Configure
        | Method::ArchiveChild
        | Method::Move
        | Method::Models
        | Method::ShareCreate
        | Method::ShareList
        | Method::ShareRevoke
        | Method::DeviceList
        | Method::DeviceSignOut
        | Method::SettingsGet
        | Method::SettingsSave
        | Method::ModelsFind
        | Method::ModelsScope
        | Method::SessionDelete
        | Method::SessionClone => For::Owner,
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
        | Method::FilesFind
        | Method::PromptsList => For::Writers,
        Method::History | Method::OutputRead | Method::Search | Method::Responses => For::Readers,
    }
}

/// Returns whether `asker` may do this, as far as that does not depend on the session.
pub fn permit(what: Act, asker: Asker<'_>) -> Access {
    let may = match (act(what), asker) {
        (For::Everyone, _) => true,
        (For::Worker, asker) => asker == Asker::Worker,
        (_, Asker::Worker | Asker::Nobody) => false,
        (_, Asker::Admitted(Role::Owner)) => true,
        (
            needed,
            Asker::Admitted(Role::Guest {
                mode, may_approve, ..
            }),
        ) => guest_may(needed, *mode, *may_approve),
    };
    if may { Access::Yes } else { Access::No }
}

fn guest_may(needed: For, mode: GuestMode, may_approve: bool) -> bool {
    match needed {
        For::Owner | For::Worker => false,
        For::Approvers => may_approve,
        For::Writers => mode == GuestMode::Full,
        For::Readers | For::Everyone => true,
    }
}

/// Returns whether `role` may make this call: the method, and for a guest the session.
pub fn permit_call(call: &Call, role: &Role) -> Access {
    let access = permit(Act::Call(call.method()), Asker::Admitted(role));
    match (access, session_of(call), role) {
        (Access::Yes, Some(asked), Role::Guest { session, .. }) if asked != session => {
            Access::Unknown
        }
        (access, _, _) => access,
    }
}

/// Returns whether `role` may watch a topic.
pub fn permit_watch(topic: &Topic, role: &Role) -> Access {
    let (what, asked) = match topic {
        Topic::Sessions => (Act::WatchSessions, None),
        Topic::Settings => (Act::WatchSettings, None),
        Topic::Looks => (Act::WatchLooks, None),
        Topic::Conversation { session, .. } => (Act::WatchConversation, Some(session)),
    };
    match (permit(what, Asker::Admitted(role)), asked, role) {
        (Access::Yes, Some(asked), Role::Guest { session, .. }) if asked != session => {
            Access::Unknown
        }
        (access, _, _) => access,
    }
}

/// Returns the session that a call is about.
pub fn session_of(call: &Call) -> Option<&SessionId> {
    match call {
        Call::ShareList { session } | Call::Search { session, .. } => session.as_ref(),
        Call::SessionCreate { .. }
        | Call::Models {}
        | Call::ShareRevoke { .. }
        | Call::DeviceList {}
        | Call::DeviceSignOut { .. }
        | Call::SettingsGet {}
        | Call::SettingsSave { .. }
        | Call::ModelsFind { .. }
        | Call::ModelsScope {} => None,
        Call::SessionRename { session, .. }
        | Call::SessionPin { session, .. }
        | Call::SessionArchive { session }
        | Call::SessionRestore { session }
        | Call::SessionDelete { session }
        | Call::SessionClone { session, .. }
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
        | Call::SessionExport { session, .. }
        | Call::PromptsList { session, .. }
        | Call::Responses { session, .. }
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

    fn name(act: Act) -> String {
        match act {
            Act::Call(method) => method.name().to_owned(),
            Act::WatchSessions => "watch sessions".to_owned(),
            Act::WatchConversation => "watch conversation".to_owned(),
            Act::WatchSettings => "watch settings".to_owned(),
            Act::WatchLooks => "watch looks".to_owned(),
            Act::Route(route) => format!("{} {}", route.method(), route.path()),
            Act::Report => "worker's report".to_owned(),
        }
    }

    #[test]
    fn the_whole_table() {
        let roles = [
            ("owner", Role::Owner),
            ("full+approve", guest(GuestMode::Full, true)),
            ("full", guest(GuestMode::Full, false)),
            ("view+approve", guest(GuestMode::View, true)),
            ("view", guest(GuestMode::View, false)),
        ];
        let mut askers: Vec<_> = roles
            .iter()
            .map(|(name, role)| (*name, Asker::Admitted(role)))
            .collect();
        askers.extend([("worker", Asker::Worker), ("nobody", Asker::Nobody)]);
        let calls = Method::ALL.iter().map(|method| Act::Call(*method));
        let routes = Route::ALL.iter().map(|route| Act::Route(*route));
        let others = [
            Act::WatchSessions,
            Act::WatchConversation,
            Act::WatchSettings,
            Act::WatchLooks,
            Act::Report,
        ];
        let mut table = String::new();
        for act in calls.chain(others).chain(routes) {
            let may = askers
                .iter()
                .filter(|(_, asker)| permit(act, *asker) == Access::Yes)
                .map(|(name, _)| *name);
            let may: Vec<_> = may.collect();
            table.push_str(&format!("{:36} {}\n", name(act), may.join(" ")));
        }
        insta::assert_snapshot!(table, @r"
        session.create                       owner
        session.rename                       owner
        session.pin                          owner
        session.archive                      owner
        session.restore                      owner
        session.retry                        owner
        session.read                         owner
        conversation.submit                  owner full+approve full
        conversation.withdraw                owner full+approve full
        conversation.stop                    owner full+approve full
        conversation.answer                  owner full+approve view+approve
        conversation.configure               owner
        conversation.shell                   owner full+approve full
        conversation.history                 owner full+approve full view+approve view
        output.read                          owner full+approve full view+approve view
        models.list                          owner
        conversation.reset                   owner full+approve full
        conversation.compact                 owner full+approve full
        conversation.retry                   owner full+approve full
        conversation.exclude                 owner full+approve full
        conversation.open                    owner full+approve full
        conversation.fork                    owner full+approve full
        conversation.archive                 owner
        conversation.move                    owner
        files.find                           owner full+approve full
        search                               owner full+approve full view+approve view
        session.export                       owner
        share.create                         owner
        share.list                           owner
        share.revoke                         owner
        device.list                          owner
        device.sign_out                      owner
        settings.get                         owner
        settings.save                        owner
        models.find                          owner
        models.scope                         owner
        prompts.list                         owner full+approve full
        usage.responses                      owner full+approve full view+approve view
        session.delete                       owner
        session.clone                        owner
        watch sessions                       owner full+approve full view+approve view
        watch conversation                   owner full+approve full view+approve view
        watch settings                       owner
        watch looks                          owner full+approve full view+approve view
        worker's report                      worker
        GET /                                owner full+approve full view+approve view worker nobody
        GET /health                          owner full+approve full view+approve view worker nobody
        POST /door/prove                     owner full+approve full view+approve view worker nobody
        POST /door/look                      owner full+approve full view+approve view worker nobody
        POST /door/redeem                    owner full+approve full view+approve view worker nobody
        GET /door/admitted                   owner full+approve full view+approve view
        GET /door/ui/manifest                owner full+approve full view+approve view
        GET /door/ui/bundle/{sha256}         owner full+approve full view+approve view
        POST /door/sign-out                  owner full+approve full view+approve view
        POST /door/sign-out-all              owner
        GET /link                            owner full+approve full view+approve view
        POST /door/upload                    owner full+approve full
        GET /door/upload/{upload}            owner full+approve full
        PUT /door/upload/{upload}/{chunk}    owner full+approve full
        POST /door/upload/{upload}/finish    owner full+approve full
        DELETE /door/upload/{upload}         owner full+approve full
        GET /door/download                   owner full+approve full view+approve view
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
