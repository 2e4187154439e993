//! Files that are good, and each fault a file can have.

use super::*;

const GOOD: &str = r#"
default = "mock/mock"                     # provider/model

[provider.mock]
api = "chat"                              # chat | responses | messages
base_url = "http://127.0.0.1:8911/v1"
key_env = "MOCK_KEY"                      # or key_file = "…"; neither: no key is sent
models = [ { id = "mock", context = 128000 } ]

[provider.another]
api = "messages"
base_url = "https://example.org"
models = [ { id = "a/b", name = "Bee", thinking = ["low", "off"], max_output = 100 }, { id = "c", thinking = true } ]
"#;

#[test]
fn a_file_is_read_in_its_order() {
    let config = parse(GOOD).expect("the file is good");
    assert_eq!(config.default, ModelRef::parse("mock/mock"));
    let [mock, another] = &config.providers[..] else {
        panic!("two providers");
    };
    assert_eq!((mock.name.as_str(), mock.api), ("mock", Api::Chat));
    assert_eq!(
        mock.url.as_str(),
        "http://127.0.0.1:8911/v1/chat/completions"
    );
    assert_eq!(mock.key, KeySource::Variable("MOCK_KEY".to_owned()));
    assert_eq!(mock.models[0].context, Some(128_000));
    assert_eq!(another.url.as_str(), "https://example.org/v1/messages");
    assert_eq!(another.models[0].thinking, [Thinking::Low]);
    assert_eq!(another.models[1].thinking, ALL_LEVELS);
    assert_eq!(another.key, KeySource::None);
    assert_eq!(parse(""), Ok(Config::default()));
}

#[test]
fn each_fault_is_told_with_its_line_and_without_secrets() {
    let table = [
        (
            "default = \"mock/mock\",",
            "default = \"mock/mock\" ",
            2,
            "unexpected",
        ),
        (
            "default = \"nobody/mock\"",
            "default = \"mock/mock\"",
            2,
            "no provider here",
        ),
        (
            "default = \"mock\"",
            "default = \"mock/mock\"",
            2,
            "PROVIDER/MODEL",
        ),
        ("api = \"chats\"", "api = \"chat\"", 5, "chats"),
        (
            "base_url = \"sk-CANARY12345678\"",
            "base_url = \"http://127.0.0.1:8911/v1\"",
            6,
            "`base_url` is no address",
        ),
        (
            "base_url = \"https://u:CANARY@h.example/v1\"",
            "base_url = \"http://127.0.0.1:8911/v1\"",
            6,
            "password",
        ),
        (
            "key_env = \"sk-CANARY12345678\"",
            "key_env = \"MOCK_KEY\"",
            7,
            "`key_env` is no name",
        ),
        (
            "key = \"sk-CANARY12345678\"",
            "key_env = \"MOCK_KEY\"",
            7,
            "keys are not written here",
        ),
        ("key_file = 12", "key_env = \"MOCK_KEY\"", 7, "integer"),
        (
            "models = []",
            "models = [ { id = \"mock\", context = 128000 } ]",
            8,
            "`models` is empty",
        ),
        (
            "models = [ { id = \"mock\", size = 1 } ]",
            "models = [ { id = \"mock\", context = 128000 } ]",
            8,
            "size",
        ),
        ("[provider.mock", "[provider.mock]", 4, ""),
        ("[provider.practice]", "[provider.another]", 10, "name"),
    ];
    for (bad, good, line, words) in table {
        assert!(GOOD.contains(good), "{good}");
        let Err(fault) = parse(&GOOD.replacen(good, bad, 1)) else {
            panic!("{bad} is a fault");
        };
        let told = fault.to_string();
        assert_eq!(fault.line, line, "{bad}: {told}");
        assert!(told.contains(words), "{bad}: {told}");
        assert!(!told.contains("CANARY"), "{told}");
    }
}

#[test]
fn addresses_lead_to_the_call_however_they_are_written() {
    let table = [
        (Api::Chat, "http://h:1", "http://h:1/v1/chat/completions"),
        (
            Api::Chat,
            "http://h:1/v1/",
            "http://h:1/v1/chat/completions",
        ),
        (
            Api::Chat,
            "https://h/api?version=2",
            "https://h/api/chat/completions?version=2",
        ),
        (Api::Responses, "https://h/v1", "https://h/v1/responses"),
        (Api::Messages, "https://h", "https://h/v1/messages"),
        (Api::Messages, "https://h/v1", "https://h/v1/messages"),
        (
            Api::Messages,
            "https://h/anthropic",
            "https://h/anthropic/v1/messages",
        ),
    ];
    for (api, base, expected) in table {
        assert_eq!(
            call_url(api, base).map(String::from),
            Ok(expected.to_owned())
        );
    }
    for bad in ["", "h", "ftp://h", "sk-key", "http://"] {
        assert!(call_url(Api::Chat, bad).is_err(), "{bad}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_taken_or_refused(text in "\\PC*|(default|\\[provider.a\\]|api|models|key|base_url|[=\n\"\\[{}, ]|chat){0,20}") {
        if let Err(fault) = parse(&text) {
            proptest::prop_assert!(fault.line >= 1);
        }
    }
}

#[test]
fn a_price_is_read_for_a_million_tokens_and_a_strange_one_is_refused_with_its_line() {
    let file = |price: &str| {
        format!(
            "[provider.p]\napi = \"chat\"\nbase_url = \"http://x/v1\"\nmodels = [ {{ id = \"m\", price = {price} }} ]"
        )
    };
    let price = |text: &str| parse(&file(text)).map(|c| c.providers[0].models[0].price);
    let good = price("{ input = 3, output = 15.5, cache_read = 0.075 }").expect("good");
    let expected = Price {
        input: 3_000_000,
        output: 15_500_000,
        cache_read: Some(75_000),
        cache_write: None,
    };
    assert_eq!(good, Some(expected));
    for bad in [
        "{ input = -1, output = 1 }",
        "{ input = nan, output = 1 }",
        "{ input = 1e9, output = 1 }",
        "{ input = 1 }",
        "3",
    ] {
        assert_eq!(price(bad).expect_err(bad).line, 4, "{bad}");
    }
    let none = parse(
        &file("{ input = 0, output = 0 }").replace(", price = { input = 0, output = 0 }", ""),
    );
    assert_eq!(none.expect("good").providers[0].models[0].price, None);
}
