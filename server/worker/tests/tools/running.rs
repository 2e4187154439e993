//! Running commands: output, ends, what is left.

use std::{
    fs,
    time::{Duration, Instant},
};

use porthole_protocol::{
    ToolDetail, ToolOutcome,
    limits::{TAIL_BYTES, TAIL_LINES},
};
use porthole_worker::tool::{self, ToolEffect};
use serde_json::json;

use crate::world::{World, is_alive, ran, until};

/// A ceiling for what has to end at once, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_command_tells_its_exit_and_keeps_its_output() {
    let mut world = World::new();
    let result = world
        .run(
            "shell",
            json!({"command": "echo out; echo err >&2; pwd; exit 3"}),
        )
        .await;
    assert_eq!(
        (result.outcome, result.summary.as_str()),
        (ToolOutcome::Failed, "exit 3")
    );
    let whole = format!("out\nerr\n{}\n", world.cwd().display());
    assert_eq!(result.text, format!("{whole}[exit 3]"));
    let ran = ran(&result);
    assert_eq!(
        (ran.exit, ran.signal, ran.tail.as_str(), ran.left_out),
        (Some(3), None, whole.as_str(), 0)
    );
    assert_eq!(
        fs::read(world.artifact()).expect("artifact"),
        whole.as_bytes()
    );
    let output = ran.output.expect("output");
    assert!(output.complete && !output.source_incomplete && output.bytes == whole.len() as u64);
    let mut last = None;
    while let Ok(told) = world.progress.try_recv() {
        last = Some(told);
    }
    assert_eq!(last, Some(output));
}

#[tokio::test]
async fn no_output_is_no_artifact() {
    let world = World::new();
    let result = world.ok("shell", json!({"command": "true"})).await;
    assert_eq!(result.text, "(no output)\n[exit 0]");
    assert!(ran(&result).output.is_none() && !world.artifact().exists());
}

#[tokio::test]
async fn long_output_is_cut_between_letters_and_kept_whole() {
    let world = World::new();
    let result = world
        .ok(
            "shell",
            json!({"command": "yes é | head -n 100000 | tr -d '\\n'; echo"}),
        )
        .await;
    let ran = ran(&result);
    let whole = format!("{}\n", "é".repeat(100_000));
    assert_eq!(
        fs::read(world.artifact()).expect("artifact"),
        whole.as_bytes()
    );
    assert!(ran.tail.len() <= TAIL_BYTES && ran.tail.len() > TAIL_BYTES - 4);
    assert!(whole.ends_with(&ran.tail));
    assert_eq!(ran.left_out as usize + ran.tail.len(), whole.len());
    let start = format!(
        "… 148,802 bytes left out, full output: `{}`\né",
        world.artifact().display()
    );
    assert!(result.text.starts_with(&start), "{}", &result.text[..200]);
}

#[tokio::test]
async fn many_lines_from_both_streams_keep_their_end() {
    let world = World::new();
    let command = "seq 1 100000 & seq 1 100000 >&2; wait; echo last";
    let result = world.ok("shell", json!({"command": command})).await;
    let ran = ran(&result);
    assert!(ran.tail.ends_with("last\n"));
    assert_eq!(ran.tail.lines().count(), TAIL_LINES);
    let size = fs::metadata(world.artifact()).expect("artifact").len();
    assert_eq!(size, 2 * 588_895 + 5);
    assert_eq!(ran.output.map(|output| output.bytes), Some(size));
}

#[tokio::test]
async fn bytes_of_any_kind_are_kept_exactly() {
    let world = World::new();
    world.put(
        "noise",
        (0..3_000_000_u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect::<Vec<_>>(),
    );
    let result = world
        .ok(
            "shell",
            json!({"command": "printf '\\xff\\xfe\\x00'; cat noise"}),
        )
        .await;
    let whole = [b"\xff\xfe\x00".to_vec(), world.bytes("noise")].concat();
    assert!(
        fs::read(world.artifact()).expect("artifact") == whole,
        "the artifact differs"
    );
    assert!(ran(&result).tail.len() <= TAIL_BYTES);
}

#[tokio::test]
async fn progress_that_is_written_over_is_told_once() {
    let world = World::new();
    let command = "for i in 1 2 3 4 5; do printf '\\r%s%%' $i; done; echo; echo done";
    let result = world.ok("shell", json!({"command": command})).await;
    assert_eq!(result.text, "5%\ndone\n[exit 0]");
}

#[tokio::test]
async fn a_child_in_the_background_does_not_hold_the_call() {
    for command in [
        "sleep 300 & echo done",
        "setsid sleep 300 & echo done",
        "sleep 300 </dev/null >/dev/null 2>&1 & echo done",
        "(trap '' TERM; while :; do sleep 300; done) & echo done",
        "nohup sleep 300 & echo done",
        "(while :; do echo again; sleep 0.05; done) & echo done",
    ] {
        let world = World::new();
        let began = Instant::now();
        let result = world.ok("shell", json!({"command": command})).await;
        assert!(began.elapsed() < AT_ONCE, "{command}");
        let ran = ran(&result);
        assert!(ran.tail.contains("done"), "{command}: {}", ran.tail);
        assert!(!ran.still_running.is_empty(), "{command}");
        assert!(
            result.text.contains("still running"),
            "{command}: {}",
            result.text
        );
        let size = fs::metadata(world.artifact()).expect("artifact").len();
        assert!(
            ran.still_running.iter().any(|pid| is_alive(*pid)),
            "{command}"
        );
        world.environment.end_left().await.expect("ends");
        assert!(
            !ran.still_running.iter().any(|pid| is_alive(*pid)),
            "{command}"
        );
        assert_eq!(
            fs::metadata(world.artifact()).expect("artifact").len(),
            size,
            "{command}"
        );
    }
}

#[tokio::test]
async fn a_time_out_ends_the_whole_group() {
    for command in [
        "echo part; trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > pid; sleep 1000'",
        "echo part; python3 -c 'import os,time,signal; signal.signal(15,signal.SIG_IGN); os.fork(); open(\"pid\",\"w\").write(str(os.getpid())); time.sleep(1000)'",
        "echo part; setsid sh -c 'echo $$ > pid; sleep 1000' & wait",
    ] {
        let world = World::new();
        let began = Instant::now();
        let result = world
            .run("shell", json!({"command": command, "timeout_seconds": 1}))
            .await;
        assert!(
            began.elapsed() < Duration::from_secs(1) + AT_ONCE,
            "{command}: {:?}",
            began.elapsed()
        );
        assert_eq!(
            (result.outcome, result.summary.as_str()),
            (ToolOutcome::Failed, "timed out after 1 s")
        );
        let ran = ran(&result);
        assert!(
            ran.timed_out && ran.tail == "part\n",
            "{command}: {}",
            ran.tail
        );
        assert_eq!(ran.still_running, Vec::<u32>::new(), "{command}");
        let pid = fs::read_to_string(world.path("pid"))
            .expect("pid")
            .trim()
            .parse()
            .expect("a number");
        assert!(!is_alive(pid), "{command}");
    }
}

#[tokio::test]
async fn a_stop_ends_the_whole_group_and_keeps_the_partial_output() {
    let world = World::new();
    let command =
        json!({"command": "trap '' TERM; echo $$ > pid; echo part; sleep 1000; sleep 1000"});
    let plan = world.plan("shell", command);
    let stop = async {
        until("it runs", || {
            fs::metadata(world.artifact()).is_ok_and(|file| file.len() == 5)
        })
        .await;
        world.stop.send_replace(true);
        Instant::now()
    };
    let (result, stopped) = tokio::join!(tool::run(&plan, world.context()), stop);
    assert!(stopped.elapsed() < AT_ONCE, "{:?}", stopped.elapsed());
    assert_eq!(
        (result.outcome, result.summary.as_str()),
        (ToolOutcome::Stopped, "stopped")
    );
    assert_eq!(result.text, "part\n[stopped]");
    let pid = fs::read_to_string(world.path("pid"))
        .expect("pid")
        .trim()
        .parse()
        .expect("a number");
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn what_would_ask_a_person_fails_at_once() {
    let world = World::new();
    for command in [
        "cat",
        "read line",
        "head -c 1 /dev/tty",
        "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty",
    ] {
        let began = Instant::now();
        let result = world.run("shell", json!({"command": command})).await;
        assert!(began.elapsed() < AT_ONCE, "{command}");
        assert_eq!(
            result.outcome == ToolOutcome::Ok,
            command == "cat",
            "{command}: {}",
            result.text
        );
    }
}

#[tokio::test]
async fn output_can_be_read_while_the_command_runs() {
    let mut world = World::new();
    let plan = world.plan(
        "shell",
        json!({"command": "echo first; until [ -e go ]; do sleep 0.02; done; echo second"}),
    );
    let (context, artifact, go) = (world.context(), world.artifact(), world.path("go"));
    let look = async {
        let told = world.progress.recv().await.expect("progress");
        assert_eq!((told.bytes, told.complete), (6, false));
        assert_eq!(fs::read(&artifact).expect("artifact"), b"first\n");
        fs::write(&go, "").expect("go");
    };
    let (result, ()) = tokio::join!(tool::run(&plan, context), look);
    assert_eq!(ran(&result).tail, "first\nsecond\n");
}

#[tokio::test]
async fn progress_is_told_as_often_as_people_can_see_and_no_more() {
    let mut world = World::new();
    let began = Instant::now();
    let command = "for i in $(seq 60); do echo $i; sleep 0.01; done";
    world.ok("shell", json!({"command": command})).await;
    let most = began.elapsed().as_millis() / 100 + 2;
    let mut told = Vec::new();
    while let Ok(output) = world.progress.try_recv() {
        told.push(output.bytes);
    }
    assert!(
        (2..=most).contains(&(told.len() as u128)),
        "{told:?} in {most}"
    );
    assert!(told.is_sorted());
    assert_eq!(told.last(), Some(&171));
}

#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let world = World::new();
    let plan = world.plan("shell", json!({"command": "echo $$ > pid; sleep 1000"}));
    let pid_file = world.path("pid");
    let started = until("it runs", || {
        fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n'))
    });
    tokio::select! {
        _ = tool::run(&plan, world.context()) => panic!("it ended"),
        () = started => {}
    }
    let pid = fs::read_to_string(&pid_file)
        .expect("pid")
        .trim()
        .parse()
        .expect("a number");
    until("it is gone", || !is_alive(pid)).await;
}

#[tokio::test]
async fn commands_get_no_secret_and_no_terminal() {
    let world = World::new();
    let mut context = world.context();
    let variables = [
        ("PATH", "/usr/bin:/bin"),
        ("OPENAI_API_KEY", "k1"),
        ("PORTHOLE_X", "k2"),
        ("MINE", "k3"),
    ]
    .map(|(name, value)| (name.into(), value.into()));
    context.variables =
        std::sync::Arc::new(tool::tool_environment(variables, &["MINE".to_owned()]));
    let result = tool::run(&world.plan("shell", json!({"command": "env"})), context).await;
    for secret in ["k1", "k2", "k3"] {
        assert!(
            !result.text.contains(&format!("={secret}")),
            "{}",
            result.text
        );
    }
    assert!(result.text.contains("TERM=dumb") && result.text.contains("GIT_TERMINAL_PROMPT=0"));
}

#[tokio::test]
async fn a_person_may_put_another_command_in_place() {
    let world = World::new();
    let plan = world.plan(
        "shell",
        json!({"command": "rm -rf x\necho", "timeout_seconds": 7}),
    );
    assert_eq!(plan.subject, "rm -rf x ⏎ echo");
    let plan = tool::with_command(&plan, "echo mine").expect("a command");
    assert_eq!(
        plan.effect,
        ToolEffect::Executes {
            command: "echo mine".to_owned()
        }
    );
    assert!(
        matches!(tool::preview(&plan, &world.context()).await, ToolDetail::Command { command, .. } if command == "echo mine")
    );
    assert_eq!(
        tool::run(&plan, world.context()).await.text,
        "mine\n[exit 0]"
    );
    let read = world.plan("read", json!({"path": "f"}));
    assert_eq!(tool::with_command(&read, "x"), None);
    assert_eq!(
        tool::run_shell("echo $((1+1))", world.context()).await.text,
        "2\n[exit 0]"
    );
}

#[test]
fn arguments_that_make_no_sense_are_no_plan() {
    let world = World::new();
    for (tool, arguments, word) in [
        ("shell", json!({"command": "  "}), "empty"),
        ("shell", json!({"command": "a\u{0}b"}), "NUL"),
        (
            "shell",
            json!({"command": "x", "timeout_seconds": 601}),
            "at most 600",
        ),
        (
            "shell",
            json!({"command": "x", "timeout_seconds": -1}),
            "more than 0",
        ),
        ("shell", json!({}), "missing field `command`"),
        ("read", json!({"path": ""}), "empty"),
        ("read", json!({"path": "~/x"}), "not expanded"),
        ("grep", json!({"pattern": ""}), "empty"),
        (
            "browse",
            json!({}),
            "There is no tool `browse`. There are `read`, `write`",
        ),
        ("read", json!("text"), "make no sense"),
    ] {
        let error =
            tool::plan(tool, &arguments, &tool::Place::of(world.cwd())).expect_err("no plan");
        assert!(error.0.contains(word), "{tool}: {error}");
    }
}
