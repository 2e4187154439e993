//! Scripts within their bounds, beside an engine that answers their calls.

use std::{sync::Arc, time::Duration};

use porthole_protocol::{RunId, ToolOutcome};
use tokio::sync::{mpsc, watch};

use super::super::{NestedAsk, ToolContext, ToolResult, action::Script};
use crate::call::told;

struct World {
    stop: watch::Sender<bool>,
    asked: mpsc::UnboundedReceiver<NestedAsk>,
    context: ToolContext,
}

fn world() -> World {
    let (stop, stopped) = watch::channel(false);
    let (nest, asked) = mpsc::unbounded_channel();
    let context = ToolContext {
        environment: porthole_env::local(),
        cwd: "/".into(),
        closed: None,
        runs: "/nowhere".into(),
        run: RunId::parse("c1-1").expect("id"),
        stop: stopped,
        progress: mpsc::unbounded_channel().0,
        variables: Arc::default(),
        nest,
        seen: Arc::default(),
    };
    World {
        stop,
        asked,
        context,
    }
}

/// Runs a script whose calls are answered with their tool and arguments; `fail` fails.
async fn run(code: &str) -> ToolResult {
    let mut world = world();
    let script = Script { code: code.into() };
    let work = super::run(&script, world.context.clone());
    let answers = async {
        while let Some(ask) = world.asked.recv().await {
            let text = format!("{} {}", ask.tool, ask.arguments);
            let outcome = match ask.tool.as_str() {
                "fail" => ToolOutcome::Failed,
                _ => ToolOutcome::Ok,
            };
            ask.answer
                .send(told(outcome, "done", text))
                .expect("it waits");
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        result = work => result,
        () = answers => unreachable!(),
    }
}

async fn fails(code: &str) -> String {
    let result = run(code).await;
    assert_eq!(
        result.outcome,
        ToolOutcome::Failed,
        "{code}: {}",
        result.text
    );
    result.text
}

#[tokio::test]
async fn a_script_calls_tools_and_says_what_came_of_it() {
    let code = r#"
        let all = [];
        for n in 0..3 { all.push(tool("read", #{ path: `f${n}`, limit: n + 1 })); }
        print("so far");
        #{ found: all.len(), last: all[2] }
    "#;
    let result = run(code).await;
    assert_eq!(result.outcome, ToolOutcome::Ok, "{}", result.text);
    assert_eq!(result.summary, "3 calls");
    let last = r#""last":"read {\"limit\":3,\"path\":\"f2\"}""#;
    assert!(result.text.starts_with("so far\n"), "{}", result.text);
    assert!(result.text.contains(last), "{}", result.text);
}

#[tokio::test]
async fn what_fails_throws_and_can_be_caught() {
    let text = fails(r#"tool("fail", #{}); 1"#).await;
    assert!(text.contains("fail {}"), "{text}");
    let result =
        run(r#"let r = (); try { tool("fail"); } catch (why) { r = "caught " + why; } r"#).await;
    assert_eq!(result.text, "caught fail {}");
}

#[tokio::test]
async fn every_bound_ends_a_script_with_a_sentence() {
    for (code, why) in [
        ("loop { }", "operations"),
        ("let s = \"x\"; loop { s += s; }", "too large"),
        ("let s = \"x\"; s.pad(100000000, \"y\"); s", "too large"),
        ("let a = []; loop { a.push(1); }", "too large"),
        ("let a = []; loop { a = [a]; }", "too large"),
        ("let a = []; loop { a.push(a); }", "too large"),
        ("let a = [1]; a.pad(100000000, 2); a", "too large"),
        ("let b = blob(100000000); b", "too large"),
        (
            "let m = #{}; let s = \"\"; s.pad(200000, \"y\"); for n in 0..100000 { m[`k${n}`] = s + n; }",
            "MiB",
        ),
        (
            "let s = \"\"; s.pad(200000, \"y\"); let a = []; loop { a.push(s); }",
            "too large",
        ),
        ("fn f(n) { f(n + 1) } f(0)", "deep"),
        ("try { loop { } } catch { } 1", "operations"),
    ] {
        let text = fails(code).await;
        assert!(text.contains(why), "{code}: {text}");
        assert!(text.len() < 1_000, "{code}: {text}");
    }
    let many: String = (0..100).map(|n| format!("let v{n} = {n};")).collect();
    fails(&many).await;
    fails(&format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000))).await;
}

#[tokio::test]
async fn a_script_has_no_other_access() {
    for code in [
        "eval(\"1\")",
        "sleep(1)",
        "import \"x\" as x;",
        "timestamp()",
        "open(\"/etc/passwd\")",
        "std::env()",
    ] {
        fails(code).await;
    }
}

#[tokio::test]
async fn output_is_bounded() {
    let result =
        run("for n in 0..4000 { print(\"a line that is of some length ${n}\"); } ()").await;
    assert_eq!(result.outcome, ToolOutcome::Ok);
    assert!(result.text.len() < 60 << 10, "{}", result.text.len());
    assert!(result.text.contains("left out"));
}

#[tokio::test]
async fn a_stop_ends_a_script_that_computes_and_cannot_be_caught() {
    let world = world();
    let code = "let n = 0; while n < 100000 { try { n += 1; } catch { } } n".into();
    let script = Script { code };
    world.stop.send_replace(true);
    let result = super::run(&script, world.context.clone()).await;
    assert_eq!(result.outcome, ToolOutcome::Stopped, "{}", result.text);
}

#[tokio::test]
async fn a_script_whose_work_is_dropped_makes_no_further_call() {
    let mut world = world();
    let code = r#"loop { try { tool("read", #{}); } catch { } }"#.into();
    let script = Script { code };
    let context = world.context.clone();
    let work = tokio::spawn(async move { super::run(&script, context).await });
    let ask = world.asked.recv().await.expect("its first call");
    work.abort();
    assert!(work.await.is_err());
    drop((ask, world.context));
    let next = tokio::time::timeout(Duration::from_secs(10), world.asked.recv()).await;
    assert!(
        matches!(next, Ok(None)),
        "the thread ended and asked nothing more"
    );
}
