//! Model servers on this machine, found by asking the ports they usually have. It asks nothing else.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::{
    Api,
    config::{KeySource, ModelEntry, Provider, call_url},
    http::{Clients, is_loopback},
};

/// How long a server may take to answer: loopback answers at once or not at all.
const PATIENCE: Duration = Duration::from_millis(300);
/// Most bytes of a list of models.
const LIST_LIMIT: usize = 1 << 20;
/// Most models of one server.
const MOST_MODELS: usize = 100;

/// Where a server may be, and how it lists its models.
struct Place {
    name: &'static str,
    base: String,
    list: &'static str,
    /// The list's field, and the field that an entry is called by.
    fields: (&'static str, &'static str),
}

/// Returns the servers that answer: Ollama (where `ollama_host` says, else at its usual port) and llama.cpp.
pub(crate) async fn find(ollama_host: Option<String>, clients: &Clients) -> Vec<Provider> {
    let ollama = Place {
        name: "ollama",
        base: ollama_base(ollama_host.as_deref()),
        list: "/api/tags",
        fields: ("models", "name"),
    };
    let llama = Place {
        name: "llama.cpp",
        base: "http://127.0.0.1:8080".to_owned(),
        list: "/v1/models",
        fields: ("data", "id"),
    };
    let (ollama, llama) = tokio::join!(ask(&ollama, clients), ask(&llama, clients));
    ollama.into_iter().chain(llama).collect()
}

/// Returns the address that `OLLAMA_HOST` means: it may lack scheme and port, and be an address to listen on.
fn ollama_base(host: Option<&str>) -> String {
    let host = host.map(str::trim).filter(|host| !host.is_empty());
    let host = host.unwrap_or("127.0.0.1").trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let rest = rest.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = rest
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match has_port {
        true => format!("{scheme}://{rest}"),
        false => format!("{scheme}://{rest}:11434"),
    }
}

async fn ask(place: &Place, clients: &Clients) -> Option<Provider> {
    let asked = tokio::time::timeout(PATIENCE, list(place, clients));
    let models = models(&asked.await.ok()??, place.fields);
    let url = call_url(Api::Chat, &place.base).ok()?;
    (!models.is_empty()).then(|| Provider {
        name: place.name.to_owned(),
        api: Api::Chat,
        url,
        key: KeySource::None,
        models,
    })
}

async fn list(place: &Place, clients: &Clients) -> Option<Value> {
    let url = Url::parse(&format!("{}{}", place.base, place.list)).ok()?;
    if url.scheme() == "https" && is_loopback(&url) {
        return None;
    }
    let client = clients.for_url(&url).ok()?;
    let mut response = client.get(url).send().await.ok()?;
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > LIST_LIMIT {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}

/// Returns the models of a list; of another service's answer none.
fn models(list: &Value, (list_field, name_field): (&str, &str)) -> Vec<ModelEntry> {
    let entries = list.get(list_field).and_then(Value::as_array);
    let entry = |entry: &Value| {
        let id = entry
            .get(name_field)?
            .as_str()
            .filter(|id| !id.is_empty())?;
        Some(ModelEntry {
            id: id.to_owned(),
            name: id.rsplit('/').next().map(str::to_owned),
            context: entry.pointer("/meta/n_ctx").and_then(Value::as_u64),
            max_output: None,
            thinking: Vec::new(),
            images: None,
            price: None,
        })
    };
    let entries = entries.into_iter().flatten();
    entries.filter_map(entry).take(MOST_MODELS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ollamas_variable_is_read_as_it_is_written() {
        let table = [
            (None, "http://127.0.0.1:11434"),
            (Some(""), "http://127.0.0.1:11434"),
            (Some("0.0.0.0"), "http://127.0.0.1:11434"),
            (Some("box:9"), "http://box:9"),
            (Some("https://box/"), "https://box:11434"),
        ];
        for (host, expected) in table {
            assert_eq!(ollama_base(host), expected, "{host:?}");
        }
    }

    #[test]
    fn only_a_list_of_models_is_one() {
        let found = models(
            &json!({"data": [{"id": "/m/a.gguf", "meta": {"n_ctx": 5}}, {"x": 1}]}),
            ("data", "id"),
        );
        assert_eq!((found.len(), found[0].context), (1, Some(5)));
        assert_eq!(found[0].name.as_deref(), Some("a.gguf"));
        for other in [
            json!([]),
            json!({"data": {}}),
            json!("<html>"),
            json!({"data": [1, ""]}),
        ] {
            assert!(models(&other, ("data", "id")).is_empty());
        }
    }
}
