//! What a log would keep. Secrets here are made up.

use proptest::prelude::*;

use super::*;

const CANARIES: &[(&str, &str)] = &[
    ("ANTHROPIC_API_KEY", "sk-ant-api03-CANARY0123456789abcdef"),
    ("GOOGLE_API_KEY", "AIzaSyCANARY0123456789abcdefghijklmnop"),
    ("GH_TOKEN", "ghp_CANARY0123456789abcdefghijklmnopqr"),
    ("OWN_KEY", "MyPlainSecret!"),
    ("ODD_KEY", r#"odd+/=&%"\canary17"#),
];

static TAUGHT: std::sync::LazyLock<Redaction> = std::sync::LazyLock::new(teach);

fn taught() -> Redaction {
    TAUGHT.clone()
}

fn teach() -> Redaction {
    let redaction = Redaction::default();
    let weak = redaction.learn(
        CANARIES
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned())),
    );
    assert_eq!(weak, Vec::<String>::new());
    redaction
}

#[test]
fn a_known_secret_goes_in_every_form_in_which_programs_print_it() {
    use base64::Engine as _;
    let redaction = taught();
    for (name, value) in CANARIES {
        let base64 = base64::engine::general_purpose::STANDARD;
        let percent: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        let forms = [
            (*value).to_owned(),
            serde_json::to_string(value).expect("JSON"),
            format!("{value:?}"),
            percent.clone(),
            percent.replace('+', "%20"),
            percent
                .replace("%2B", "%2b")
                .replace("%2F", "%2f")
                .replace("%5C", "%5c")
                .replace("%3D", "%3d"),
            base64.encode(value),
            base64.encode(format!("u:{value}")),
            base64.encode(format!("us:{value}@x")),
            base64.encode(format!("use:{value}")),
            hex,
        ];
        for form in forms {
            let kept = redaction.text(&format!("before {form} after"));
            let core = &form[form.len() / 4..form.len() - form.len() / 4];
            assert!(!kept.contains(core), "{name}: {form} -> {kept}");
            assert!(
                kept.starts_with("before ") && kept.ends_with(" after"),
                "{kept}"
            );
        }
        assert!(
            redaction.text(value).contains(name),
            "the log says which one it was"
        );
    }
}

#[test]
fn what_looks_like_a_secret_goes_and_what_it_belongs_to_stays() {
    let redaction = Redaction::default();
    for (line, kept) in [
        ("asked pho_abcdefghijk0123", "asked [redacted]"),
        (
            "phd_x-abcdefgh1 phs_abcdefgh12 phg_abcdefgh12",
            "[redacted] [redacted] [redacted]",
        ),
        (
            "http://127.0.0.1:7420/#owner=pho_aaaabbbbccccdddd&key=1234",
            "http://127.0.0.1:7420/#owner=[redacted]&key=[redacted]",
        ),
        (
            "Incorrect API key provided: sk-CANARY…9xQ2.",
            "Incorrect API key provided: [redacted]",
        ),
        (
            "sk-proj-********************9xQ2 is wrong",
            "[redacted] is wrong",
        ),
        (
            "authorization: Bearer abc.def-ghi",
            "authorization: [redacted]",
        ),
        (
            "{\"authorization\": \"Basic dXNlcjpwYXNz\"}",
            "{\"authorization\": \"[redacted]\"}",
        ),
        (
            "sent Bearer abcdef0123456789abcdef",
            "sent Bearer [redacted]",
        ),
        (
            "cookie: porthole-device-7420=phdx; theme=dark",
            "cookie: [redacted]",
        ),
        ("Set-Cookie: sid=abc; HttpOnly", "Set-Cookie: [redacted]"),
        ("x-api-key: abcd1234efgh", "x-api-key: [redacted]"),
        (
            "GET https://h.example/v1?key=CANARY&model=x",
            "GET https://h.example/v1?key=[redacted]&model=x",
        ),
        (
            "https://user:CANARY@h.example/v1",
            "https://[redacted]@h.example/v1",
        ),
        (
            "postgres://app:pw@db/x redis://:pw@r/0",
            "postgres://[redacted]@db/x redis://[redacted]@r/0",
        ),
        (
            "https://TOKEN@h.example/x",
            "https://[redacted]@h.example/x",
        ),
        ("AKIAABCDEFGHIJKLMNOP", "[redacted]"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
            "aws_secret_access_key = [redacted]",
        ),
        ("github_pat_11ABCDEFG0123456789abc", "[redacted]"),
        ("xoxb-1234567890-abcdef", "[redacted]"),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def",
            "[redacted]",
        ),
        ("DB_PASSWORD=correct-horse", "DB_PASSWORD=[redacted]"),
        (
            "{\"password\":\"hunter2!\"}",
            "{\"password\":\"[redacted]\"}",
        ),
        (
            "key -----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY----- end",
            "key [redacted] end",
        ),
    ] {
        assert_eq!(redaction.text(line), kept, "{line}");
    }
}

#[test]
fn a_private_key_goes_with_all_its_lines() {
    let text = "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----\nb\n";
    assert_eq!(Redaction::default().text(text), "a\n[redacted]\nb\n");
    let endless = format!("-----BEGIN PRIVATE KEY-----\n{}", "x\n".repeat(2_000));
    assert!(
        Redaction::default().text(&endless).ends_with("x\n"),
        "it does not eat a log"
    );
}

#[test]
fn hashes_code_and_prose_stay_as_they_are() {
    let redaction = taught();
    for line in [
        "commit 3f2a9b7c1d4e5f60718293a4b5c6d7e8f9012345",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "password: ",
        "password:",
        "api_key = os.environ[\"OPENAI_API_KEY\"]",
        "let token = next_token();",
        "password = get_password()",
        "let secret: SecretString = read();",
        "send a Bearer token in the header",
        "Authorization: Bearer <token>",
        "prompt_tokens: 1234567, context_tokens=128000",
        "sk-learn and sk-forge are packages",
        "git@github.com:a/b.git ssh://git@h/x https://h/x?page=2",
        "test 1234 / a",
        "fn keys(a: u8) -> bool",
        "2026-11-30T10:00:00Z INFO portholed::serve: listening on http://127.0.0.1:7420",
        "Grüße 世界 👍",
    ] {
        assert_eq!(redaction.text(line), line);
    }
}

#[test]
fn values_that_would_blot_out_words_are_not_looked_for() {
    let redaction = Redaction::default();
    for weak in ["", "a", "test", "1234", "/", "aaaaaaaaaaaa"] {
        let told = redaction.learn([("WEAK".to_owned(), weak.to_owned())]);
        assert_eq!(told, ["WEAK"], "{weak}");
    }
    let text = "a test 1234 / aaaaaaaaaaaa";
    assert_eq!(redaction.text(text), text);
}

#[test]
fn a_replaced_key_stays_known() {
    let data = tempfile::tempdir().expect("a folder");
    let models = "[provider.a]\nkey_file = \"a.key\"\n[provider.b]\nkey_env = \"WORK_LLM\"\n";
    std::fs::write(data.path().join("models.toml"), models).expect("written");
    let redaction = Redaction::default();
    for key in ["first-Canary-1", "second-Canary-2"] {
        std::fs::write(data.path().join("a.key"), format!("{key}\n")).expect("written");
        let variables = [
            ("WORK_LLM", "by-Name-Canary-3"),
            ("EMPTY_TOKEN", ""),
            ("PATH", "/usr/bin:/bin"),
        ];
        let weak = learn(
            &redaction,
            data.path(),
            variables.map(|(n, v)| (n.into(), v.into())),
        );
        assert_eq!(weak, Vec::<String>::new());
    }
    let kept = redaction.text("first-Canary-1 second-Canary-2 by-Name-Canary-3 /usr/bin:/bin");
    assert_eq!(
        kept,
        "[redacted: a.key] [redacted: a.key] [redacted: WORK_LLM] /usr/bin:/bin"
    );
    assert!(!format!("{redaction:?}").contains("Canary"));
}

#[test]
fn lines_and_what_never_ends_are_bounded() {
    let known = Known::default();
    let mut lines = Lines::default();
    let long = format!("{}\nshort\n", "x".repeat(LINE_BYTES + 1));
    assert_eq!(
        lines.feed(&known, long.as_bytes()),
        ["[a line of 16385 bytes was left out]", "short"]
    );
    for _ in 0..100 {
        assert!(lines.feed(&known, &[b'x'; 4096]).is_empty());
    }
    assert_eq!(
        lines.feed(&known, b"y\nz"),
        ["[a line of 409601 bytes was left out]"]
    );
    assert_eq!(lines.finish(&known).as_deref(), Some("z"));
}

proptest! {
    #[test]
    fn no_cutting_lets_a_secret_through(
        order in proptest::collection::vec((0..CANARIES.len(), "[ -~]{0,20}"), 1..8),
        cuts in proptest::collection::vec(0usize..400, 0..12),
    ) {
        let redaction = taught();
        let known = redaction.known();
        let mut text = String::new();
        for (which, noise) in &order {
            text.push_str(&format!("{noise} {}\n", CANARIES[*which].1));
        }
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut lines = Lines::default();
        let mut kept = Vec::new();
        for pair in cuts.windows(2) {
            kept.extend(lines.feed(&known, &text.as_bytes()[pair[0]..pair[1]]));
        }
        kept.extend(lines.finish(&known));
        let joined = kept.join("\n");
        for (_, value) in CANARIES {
            prop_assert!(!joined.contains(value), "{joined}");
        }
        prop_assert_eq!(joined, redaction.text(&text).trim_end_matches('\n').to_owned());
    }

    #[test]
    fn any_bytes_make_lines(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let mut lines = Lines::default();
        lines.feed(&taught().known(), &bytes);
        lines.finish(&taught().known());
    }
}
