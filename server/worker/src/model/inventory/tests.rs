//! Inventories from files and variables.

use std::collections::HashMap;

use porthole_protocol::Thinking;
use tokio::net::TcpListener;

use super::*;
use crate::model::{
    ModelErrorKind, PromptItem,
    scripted::{After, serve_once},
};

async fn load(file: Option<&str>, variables: &[(&str, &str)]) -> Result<Inventory, InventoryError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    if let Some(text) = file {
        std::fs::write(folder.path().join(FILE), text).expect("the file can be written");
        std::fs::write(folder.path().join("good.key"), "sk-CANARY1234\n").expect("written");
        std::fs::write(folder.path().join("bad.key"), "sk-CANARY1234\n\n").expect("written");
    }
    let table: HashMap<_, _> = [("PORTHOLE_NO_LOCAL_MODELS", "1")]
        .iter()
        .chain(variables)
        .copied()
        .collect();
    Inventory::load(folder.path(), |name| table.get(name).map(|&v| v.to_owned())).await
}

fn names(inventory: &Inventory) -> Vec<String> {
    let list = inventory.list();
    list.iter().map(|info| info.model.to_string()).collect()
}

#[tokio::test]
async fn with_nothing_configured_there_is_practice() {
    let inventory = load(None, &[]).await.expect("nothing is wrong");
    assert_eq!(names(&inventory), ["practice/practice"]);
    assert_eq!(inventory.default_model(), practice::name());
    let info = inventory.list().remove(0);
    assert!(info.practice && info.ready && info.source == "built in");
}

#[tokio::test]
async fn a_key_in_the_environment_brings_its_providers_models() {
    let variables = [
        ("OPENAI_API_KEY", "sk-CANARY1234"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
    ];
    let inventory = load(None, &variables).await.expect("nothing is wrong");
    let first = inventory.list().remove(0);
    assert_eq!(inventory.default_model(), first.model);
    assert_eq!(
        (first.model.provider.as_str(), first.source.as_str()),
        ("openai", "OPENAI_API_KEY")
    );
    assert!(first.context.is_some() && first.ready);
    assert_eq!(
        names(&inventory).last().map(String::as_str),
        Some("practice/practice")
    );
    assert!(!format!("{inventory:?}").contains("CANARY"));
    let error = load(None, &[variables[0], ("OPENAI_BASE_URL", "sk-CANARY")]).await;
    let told = error.expect_err("no address").to_string();
    assert!(
        told.contains("`OPENAI_BASE_URL`") && !told.contains("CANARY"),
        "{told}"
    );
}

const FILE_TEXT: &str = r#"
[provider.one]
api = "chat"
base_url = "http://127.0.0.1:1/v1"
key_env = "ONE_KEY"
models = [ { id = "a" } ]
[provider.two]
api = "chat"
base_url = "http://127.0.0.1:1/v1"
key_file = "good.key"
models = [ { id = "x/y", name = "Why", context = 5, thinking = ["high"] } ]
[provider.three]
api = "chat"
base_url = "http://127.0.0.1:1/v1"
key_file = "bad.key"
models = [ { id = "c" } ]
"#;

#[tokio::test]
async fn a_file_decides_alone_and_the_first_ready_model_is_the_default() {
    let variables = [("OPENAI_API_KEY", "sk-CANARY1234")];
    let inventory = load(Some(FILE_TEXT), &variables)
        .await
        .expect("nothing is wrong");
    assert_eq!(
        names(&inventory),
        ["one/a", "two/x/y", "three/c", "practice/practice"]
    );
    assert_eq!(inventory.default_model().to_string(), "two/x/y");
    let ready: Vec<_> = inventory.list().iter().map(|info| info.ready).collect();
    assert_eq!(ready, [false, true, false, true]);
    let why = inventory.list().remove(1);
    assert_eq!(
        (why.name.as_str(), why.context, why.thinking),
        ("Why", Some(5), vec![Thinking::High])
    );
    assert!(
        inventory
            .resolve(&ModelRef::parse("one/b").expect("a name"))
            .is_none()
    );
}

#[tokio::test]
async fn a_missing_or_malformed_key_is_told_when_the_model_is_asked() {
    let inventory = load(Some(FILE_TEXT), &[]).await.expect("nothing is wrong");
    let (sender, _receiver) = mpsc::unbounded_channel();
    for (name, words) in [
        ("one/a", "`ONE_KEY` with the key is not set"),
        ("three/c", "has 14 characters"),
    ] {
        let model = inventory
            .resolve(&ModelRef::parse(name).expect("a name"))
            .expect("configured");
        let error = model.request(&prompt(), &sender).await.expect_err("no key");
        assert_eq!((error.kind, error.retryable), (ModelErrorKind::Key, false));
        assert!(error.message.contains(words), "{}", error.message);
        assert!(!error.message.contains("CANARY"));
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_understood_is_an_error_with_its_line() {
    let told = load(Some("default = \"a/b\"\n[provider.a]\napi = "), &[]).await;
    let told = told.expect_err("half a file").to_string();
    assert!(told.contains("models.toml` line 3"), "{told}");
    let told = load(Some("default = \"a/b\"\n"), &[]).await;
    let told = told.expect_err("nobody has it").to_string();
    assert!(
        told.contains("models.toml") && told.contains("`a/b`"),
        "{told}"
    );
}

#[tokio::test]
async fn the_default_can_be_set_by_a_pair_of_variables_and_not_by_half_of_one() {
    let provider = ("PORTHOLE_DEFAULT_PROVIDER", "one");
    let model = ("PORTHOLE_DEFAULT_MODEL", "a");
    let inventory = load(Some(FILE_TEXT), &[provider, model])
        .await
        .expect("both halves");
    assert_eq!(inventory.default_model().to_string(), "one/a");
    for half in [provider, model] {
        let told = load(Some(FILE_TEXT), &[half])
            .await
            .expect_err("one half")
            .to_string();
        assert!(told.contains("only half"), "{told}");
    }
}

#[tokio::test]
async fn a_local_server_is_found_when_nothing_is_configured() {
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let body = r#"{"models":[{"name":"qwen3:8b"}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let served = serve_once(server, answer.into_bytes(), After::Close);
    let variables = [
        ("PORTHOLE_NO_LOCAL_MODELS", ""),
        ("OLLAMA_HOST", address.as_str()),
    ];
    let load = load(None, &variables);
    let (inventory, asked) = tokio::join!(load, served);
    let inventory = inventory.expect("nothing is wrong");
    assert!(asked.starts_with("GET /api/tags "), "{asked}");
    assert_eq!(names(&inventory)[0], "ollama/qwen3:8b");
    assert_eq!(inventory.list()[0].source, format!("found at {address}"));
}

fn prompt() -> Prompt {
    Prompt {
        system: "be brief".to_owned(),
        items: vec![PromptItem::User {
            speaker: String::new(),
            files: Vec::new(),
            text: "hello".to_owned(),
        }],
        tools: Vec::new(),
        thinking: Thinking::Off,
        cache: Default::default(),
    }
}
