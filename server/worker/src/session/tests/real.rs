//! The worker as the server runs it: the entry point, the practice model, and the tools of this machine.

use std::path::Path;

use porthole_protocol::{Call, EntryBody, ErrorCode, ToolDetail};

use super::{
    beside,
    client::{Client, session, shell, text_of},
};

/// Models without any that is looked for on this machine.
const MODELS: &str = r#"
default = "practice/practice"
[provider.mock]
api = "chat"
base_url = "http://127.0.0.1:9/v1"
models = [ { id = "mock", context = 1000 } ]
"#;

fn folders() -> (tempfile::TempDir, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("folder");
    let dir = tempfile::tempdir().expect("folder");
    models(folder.path(), MODELS);
    (folder, dir)
}

fn models(folder: &Path, text: &str) {
    std::fs::write(folder.join("models.toml"), text).expect("writes");
}

fn errors(client: &Client) -> Vec<String> {
    let error = |e: &porthole_protocol::Entry| match &e.body {
        EntryBody::Error { text, .. } => Some(text.clone()),
        _ => None,
    };
    client.state().entries.iter().filter_map(error).collect()
}

#[tokio::test]
async fn practice_makes_a_file_after_a_yes_and_it_is_there() {
    beside(async {
        let (folder, dir) = folders();
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        assert!(client.state().info.practice);
        let wish = "make a file called hello.txt with good morning";
        client.submit("r1", wish).await.expect("taken");
        client
            .until("asked", |c| !c.state().questions.is_empty())
            .await;
        let question = client.state().questions[0].clone();
        assert_eq!(question.subject, "hello.txt");
        assert!(
            matches!(question.detail, ToolDetail::Diff { .. }),
            "{question:?}"
        );
        assert!(!dir.path().join("hello.txt").exists());
        assert!(client.answer(question.id).await.counted);
        client
            .until("done", |c| c.finals() == 1 && c.state().turn.is_none())
            .await;
        let text = std::fs::read_to_string(dir.path().join("hello.txt")).expect("is there");
        assert!(text.contains("good morning"));
        client.gone().await;
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        assert_eq!(client.finals(), 1, "it is all there again");
        client.gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_link_that_is_put_in_place_after_the_yes_was_asked_for_is_not_written_through() {
    beside(async {
        let (folder, dir) = folders();
        let outside = tempfile::tempdir().expect("folder");
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "old").expect("writes");
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        let wish = "make a file called hello.txt with good morning";
        client.submit("r1", wish).await.expect("taken");
        client
            .until("asked", |c| !c.state().questions.is_empty())
            .await;
        let question = client.state().questions[0].clone();
        std::os::unix::fs::symlink(&secret, dir.path().join("hello.txt")).expect("link");
        assert!(client.answer(question.id).await.counted);
        client
            .until("done", |c| c.finals() == 1 && c.state().turn.is_none())
            .await;
        let refused = |e: &porthole_protocol::Entry| {
            matches!(&e.body, EntryBody::ToolResult { summary, .. } if summary == "leads elsewhere by now")
        };
        assert!(client.state().entries.iter().any(refused));
        assert_eq!(std::fs::read(&secret).expect("is there"), b"old");
        client.gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_persons_command_runs_and_its_output_can_be_read_whole() {
    beside(async {
        let (folder, dir) = folders();
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        client
            .call(shell("r1", "echo one; echo two >&2"))
            .await
            .expect("taken");
        client
            .until("ended", |c| {
                !c.state().entries.is_empty() && c.state().turn.is_none()
            })
            .await;
        let EntryBody::Shell {
            detail:
                ToolDetail::Command {
                    exit: Some(0),
                    tail,
                    output: Some(output),
                    ..
                },
            ..
        } = &client.state().entries[0].body
        else {
            panic!("{:?}", client.state().entries);
        };
        assert!(tail.contains("one") && tail.contains("two"));
        let read = Call::OutputRead {
            session: session(),
            run: output.run.clone(),
            generation: output.generation,
            from: 0,
            bytes: 3,
        };
        let part = client.call(read).await.expect("reads");
        assert_eq!(
            (&part["base64"], &part["complete"]),
            (&"b25l".into(), &true.into())
        );
        client.gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_command_that_runs_when_the_server_goes_is_ended_and_told() {
    beside(async {
        let (folder, dir) = folders();
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        client
            .call(shell("r1", "echo $$; exec sleep 1000"))
            .await
            .expect("taken");
        let output = |c: &Client| c.state().turn.as_ref()?.tools.first()?.output.clone();
        client
            .until("its number", |c| output(c).is_some_and(|o| o.bytes > 1))
            .await;
        let run = output(&client).expect("just seen").run;
        client.gone().await;
        let pid = std::fs::read_to_string(folder.path().join("runs").join(run.as_str()))
            .expect("is there");
        let alive = Path::new("/proc").join(pid.trim()).join("cmdline");
        let line = std::fs::read(alive).unwrap_or_default();
        assert!(!line.starts_with(b"sleep"), "it is ended");
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        let entries = &client.state().entries;
        assert!(matches!(
            entries[..],
            [porthole_protocol::Entry {
                body: EntryBody::Shell { .. },
                ..
            }]
        ));
        client.gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_model_that_is_gone_fails_each_turn_once_until_another_is_chosen() {
    beside(async {
        let (folder, dir) = folders();
        let mut client = Client::start_real(folder.path(), dir.path(), Some("mock/mock")).await;
        client.watch().await;
        assert_eq!(client.state().info.context_limit, Some(1_000));
        client.gone().await;
        models(folder.path(), &MODELS.replace("\"mock\"", "\"other\""));
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        client.submit("r1", "hello").await.expect("taken");
        client
            .until("failed", |c| c.finals() == 1 && c.state().turn.is_none())
            .await;
        let told = errors(&client);
        assert!(told.len() == 1 && told[0].contains("mock/mock"), "{told:?}");
        client
            .configure("practice/practice")
            .await
            .expect("there is one");
        client.submit("r2", "hello").await.expect("taken");
        client.until("answered", |c| c.finals() == 2).await;
        let practice = client.state().entries.last().map(text_of);
        assert!(practice.is_some_and(|text| text.contains("practice")));
        client.gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_new_session_with_a_broken_model_file_says_what_is_wrong_with_it() {
    beside(async {
        let (folder, dir) = folders();
        models(folder.path(), "default = ");
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.until("refused", |c| c.refused.is_some()).await;
        let error = client.refused.clone().expect("refused");
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("models.toml"), "{error:?}");
        client.gone().await;
        models(folder.path(), MODELS);
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        client.gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_session_whose_store_is_gone_is_refused_and_not_begun_again() {
    super::beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start_again(dir.path(), dir.path()).await;
        client.until("refused", |c| c.refused.is_some()).await;
        let refused = client.refused.take().expect("just came");
        assert_eq!(refused.message, "the store of this session is missing");
        assert!(!dir.path().join("session.db").exists());
    })
    .await;
}

#[tokio::test]
async fn a_command_that_is_too_long_to_be_looked_at_is_refused() {
    beside(async {
        let (folder, dir) = folders();
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        let long = format!("true {}", "x".repeat(64 << 10));
        let refused = client.call(shell("r1", &long)).await.expect_err("refused");
        assert_eq!(refused.code, ErrorCode::TooLarge);
        let arguments = serde_json::json!({ "command": long });
        let error = crate::tool::plan("shell", &arguments, &crate::tool::Place::of(dir.path()))
            .expect_err("refused");
        assert!(error.0.contains("longer than 64 KiB"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_stop_at_rest_ends_what_commands_left_and_so_does_the_end_of_the_worker() {
    beside(async {
        let (folder, dir) = folders();
        let mut client = Client::start_real(folder.path(), dir.path(), None).await;
        client.watch().await;
        let stubborn = "trap '' TERM; sleep 1000 >/dev/null 2>&1 &";
        let mut left = Vec::new();
        for n in 1..=2 {
            client
                .call(shell(&format!("r{n}"), stubborn))
                .await
                .expect("taken");
            client
                .until("ended", |c| c.finals() == n && c.state().turn.is_none())
                .await;
            let last = client.state().entries.last().expect("there");
            let EntryBody::Shell {
                detail: ToolDetail::Command { still_running, .. },
                ..
            } = &last.body
            else {
                panic!("no command: {last:?}");
            };
            assert!(!still_running.is_empty());
            left.clone_from(still_running);
            if n == 1 {
                client.stop("s1").await;
                gone(&left).await;
            }
        }
        client.gone().await;
        gone(&left).await;
    })
    .await;
}

/// Waits until none of the processes is alive.
async fn gone(pids: &[u32]) {
    let alive = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
    };
    while pids.iter().any(alive) {
        tokio::task::yield_now().await;
    }
}
