//! Finding models by what a person types, and the models to step through by patterns. Pure.

use porthole_protocol::{ModelInfo, Thinking, replies};

/// Returns the models that have all words of a query in provider, id or name; those whose name begins with it first.
pub(super) fn find<'a>(
    models: impl Iterator<Item = &'a ModelInfo>,
    query: &str,
    limit: usize,
) -> replies::ModelsFound {
    let query = query.to_lowercase();
    let words: Vec<_> = query.split_whitespace().collect();
    let text = |info: &ModelInfo| format!("{} {}", info.model, info.name).to_lowercase();
    let fits = |info: &&ModelInfo| words.iter().all(|word| text(info).contains(word));
    let mut found: Vec<_> = models.filter(fits).collect();
    let begins = |info: &&ModelInfo| {
        let names = [&info.name, &info.model.model, &info.model.provider];
        !names
            .iter()
            .any(|name| name.to_lowercase().starts_with(query.trim()))
    };
    found.sort_by_key(begins);
    replies::ModelsFound {
        more: found.len().saturating_sub(limit) as u64,
        models: found.into_iter().take(limit).cloned().collect(),
    }
}

/// Returns the models that patterns name, in order and each once; without any pattern, all.
pub(super) fn scope(models: &[&ModelInfo], patterns: &[String]) -> replies::Scope {
    let mut scope = replies::Scope::default();
    if patterns.is_empty() {
        scope.models = models.iter().map(|info| scoped(info, None)).collect();
        return scope;
    }
    for pattern in patterns {
        let (found, thinking) = named(models, pattern);
        if found.is_empty() {
            scope.unmatched.push(pattern.clone());
        }
        for info in found {
            let there = |there: &replies::ScopedModel| there.model == info.model;
            if !scope.models.iter().any(there) {
                scope.models.push(scoped(info, thinking));
            }
        }
    }
    scope
}

fn scoped(info: &ModelInfo, thinking: Option<Thinking>) -> replies::ScopedModel {
    replies::ScopedModel {
        model: info.model.clone(),
        thinking: thinking.map(|level| info.fitting(level)),
    }
}

/// Returns the models of a pattern, and the level behind its last colon. A model's own name may hold a colon, so that the
/// whole pattern is tried first.
fn named<'a>(models: &[&'a ModelInfo], pattern: &str) -> (Vec<&'a ModelInfo>, Option<Thinking>) {
    let whole = matching(models, pattern);
    if !whole.is_empty() {
        return (whole, None);
    }
    let level = |word: &str| match word {
        "off" => Some(Thinking::Off),
        "low" => Some(Thinking::Low),
        "medium" => Some(Thinking::Medium),
        "high" => Some(Thinking::High),
        _ => None,
    };
    let split = pattern.rsplit_once(':');
    match split.and_then(|(name, word)| Some((name, level(word)?))) {
        Some((name, level)) => (matching(models, name), Some(level)),
        None => (Vec::new(), None),
    }
}

/// Returns the models that a name means: all of a pattern with `*` or `?`; else the one of exactly this name; else the
/// first that has it in its name.
fn matching<'a>(models: &[&'a ModelInfo], name: &str) -> Vec<&'a ModelInfo> {
    let name = name.to_lowercase();
    let names = |info: &ModelInfo| {
        let whole = info.model.to_string().to_lowercase();
        let id = info.model.model.to_lowercase();
        [whole, id]
    };
    if name.contains(['*', '?']) {
        let fits = |info: &&&ModelInfo| names(info).iter().any(|text| glob(&name, text));
        return models.iter().filter(fits).copied().collect();
    }
    let exact = models.iter().find(|info| names(info).contains(&name));
    let part = || models.iter().find(|info| names(info)[0].contains(&name));
    exact.or_else(part).into_iter().copied().collect()
}

/// Returns whether a text fits a pattern in which `*` is any text and `?` any one character. Takes time linear in each.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<_>, Vec<_>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut back) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match back {
                Some((star, from)) => {
                    (p, t) = (star + 1, from + 1);
                    back = Some((star, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use porthole_protocol::ModelRef;

    use super::*;

    fn model(name: &str, thinks: bool) -> ModelInfo {
        ModelInfo {
            model: ModelRef::parse(name).expect("a model"),
            name: name.to_owned(),
            context: None,
            thinking: if thinks {
                vec![Thinking::High]
            } else {
                Vec::new()
            },
            ready: true,
            source: String::new(),
            practice: false,
            price: None,
        }
    }

    fn models() -> Vec<ModelInfo> {
        vec![
            model("far/big-one", true),
            model("far/big-two", true),
            model("near/qwen:7b", false),
            model("near/small", false),
        ]
    }

    fn stepped(patterns: &[&str]) -> (Vec<String>, Vec<String>) {
        let models = models();
        let models: Vec<_> = models.iter().collect();
        let patterns: Vec<_> = patterns.iter().map(|p| (*p).to_owned()).collect();
        let scope = scope(&models, &patterns);
        let shown = |m: &replies::ScopedModel| match m.thinking {
            Some(level) => format!("{} {level:?}", m.model),
            None => m.model.to_string(),
        };
        (scope.models.iter().map(shown).collect(), scope.unmatched)
    }

    #[test]
    fn patterns_name_models_in_their_order_and_each_once() {
        for (patterns, named, unmatched) in [
            (
                &[][..],
                &["far/big-one", "far/big-two", "near/qwen:7b", "near/small"][..],
                &[][..],
            ),
            (
                &["near/*", "FAR/big-one"],
                &["near/qwen:7b", "near/small", "far/big-one"],
                &[],
            ),
            (&["big"], &["far/big-one"], &[]),
            (
                &["*two:high", "far/*"],
                &["far/big-two High", "far/big-one"],
                &[],
            ),
            (&["small:high"], &["near/small Off"], &[]),
            (&["qwen:7b"], &["near/qwen:7b"], &[]),
            (&["big-one:loud", "none"], &[], &["big-one:loud", "none"]),
            (&["far/big-?n?"], &["far/big-one"], &[]),
        ] {
            let (found, left) = stepped(patterns);
            assert_eq!(
                (found, left),
                (
                    named.iter().map(|n| (*n).to_owned()).collect(),
                    unmatched
                        .iter()
                        .map(|n: &&str| (*n).to_owned())
                        .collect::<Vec<_>>()
                ),
                "{patterns:?}"
            );
        }
    }

    #[test]
    fn a_search_wants_every_word_and_counts_what_it_leaves_out() {
        let models = models();
        let search = |query: &str, limit| {
            let found = find(models.iter(), query, limit);
            let names: Vec<_> = found.models.iter().map(|m| m.model.to_string()).collect();
            (names, found.more)
        };
        assert_eq!(search("one FAR", 300), (vec!["far/big-one".to_owned()], 0));
        assert_eq!(search("big", 1), (vec!["far/big-one".to_owned()], 1));
        assert_eq!(search("", 2).1, 2);
        assert_eq!(search("one two", 300), (Vec::new(), 0));
    }

    proptest::proptest! {
        #[test]
        fn a_pattern_of_stars_takes_no_time(stars in 1..200_usize, text in "a{0,200}") {
            let pattern = "*a".repeat(stars);
            proptest::prop_assert_eq!(glob(&pattern, &text), text.len() >= stars);
        }
    }
}
