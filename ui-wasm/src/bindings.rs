//! The keys as they are for this visitor: a preset, and above it the keys of their own from the preferences. What cannot be
//! taken is explained, and what a key does no more is shown nowhere.

use porthole_bridge::Key;

use crate::keymap::{self, Binding, Command, Context, Preset, TABLE};

/// The keys of this visitor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    preset: Preset,
    own: Vec<Own>,
    complaints: Vec<String>,
}

/// A command's keys in place of those of the table.
#[derive(Clone, Debug)]
struct Own {
    id: &'static str,
    keys: Vec<String>,
}

impl Keys {
    /// Returns the keys of a preset.
    pub(crate) fn of(preset: Preset) -> Self {
        Self {
            preset,
            ..Self::default()
        }
    }

    /// Returns the keys of a preset with a person's own, each a command's name and its keys, apart by commas.
    pub(crate) fn with<'a>(
        preset: Preset,
        wishes: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let mut keys = Self::of(preset);
        for (id, wish) in wishes {
            keys.take(id, wish);
        }
        keys
    }

    /// Returns what could not be taken, or what lost its key, for a person.
    pub(crate) fn complaints(&self) -> &[String] {
        &self.complaints
    }

    fn take(&mut self, id: &str, wish: &str) {
        let Some(binding) = TABLE.iter().find(|b| b.id == id) else {
            self.complaints.push(format!(
                "there is no command `{id}` to give a key to; F1 lists them"
            ));
            return;
        };
        let wished = wish.split(',').map(str::trim).filter(|key| !key.is_empty());
        let (fine, bad): (Vec<&str>, Vec<&str>) = wished.partition(|key| keymap::is_name(key));
        self.complain_of(&bad);
        if fine.is_empty() && !bad.is_empty() {
            return;
        }
        for key in &fine {
            let meets = |b: &&Binding| b.id != id && meets(b.context, binding.context);
            if let Some(other) = TABLE.iter().filter(meets).find(|b| self.has(b, key)) {
                self.complaints.push(format!(
                    "`{key}` is for `{id}` now, and no more for `{}`",
                    other.id
                ));
            }
        }
        self.own.retain(|own| own.id != id);
        self.own.push(Own {
            id: binding.id,
            keys: fine.into_iter().map(str::to_owned).collect(),
        });
    }

    fn complain_of(&mut self, bad: &[&str]) {
        let words =
            |key: &&str| format!("`{key}` is no key; write it like `ctrl-g`, `alt-enter` or `f5`");
        self.complaints.extend(bad.iter().map(words));
    }

    fn has(&self, binding: &Binding, key: &str) -> bool {
        self.keys(binding).contains(&key)
    }

    /// Returns the keys of a row of the table, as the table writes them.
    pub(crate) fn keys(&self, binding: &Binding) -> Vec<&str> {
        if let Some(own) = self.own.iter().find(|own| own.id == binding.id) {
            return own.keys.iter().map(String::as_str).collect();
        }
        let taken = |key: &str| {
            self.own.iter().any(|own| {
                let here = TABLE
                    .iter()
                    .any(|b| b.id == own.id && meets(b.context, binding.context));
                here && own.keys.iter().any(|k| k == key)
            })
        };
        let keys = binding.keys(self.preset).iter().copied();
        keys.filter(|key| !taken(key)).collect()
    }

    /// Returns the first key of a row as people write it, or nothing.
    pub(crate) fn key(&self, binding: &Binding) -> String {
        self.keys(binding)
            .first()
            .map(|key| keymap::written(key))
            .unwrap_or_default()
    }

    /// Returns all keys of a row as people write them.
    pub(crate) fn all_keys(&self, binding: &Binding) -> String {
        let keys: Vec<String> = self
            .keys(binding)
            .into_iter()
            .map(keymap::written)
            .collect();
        keys.join(", ")
    }

    /// Returns what `key` means in `context`.
    pub(crate) fn find(&self, key: Key, context: Context) -> Option<Command> {
        let name = keymap::name(key);
        TABLE
            .iter()
            .find(|b| b.context == context && self.has(b, &name))
            .map(|b| b.command)
    }
}

/// Whether keys of two contexts can be pressed at the same place.
fn meets(a: Context, b: Context) -> bool {
    use Context as C;
    let written = |c| {
        matches!(
            c,
            C::Composer | C::Conversation | C::Editing | C::Everywhere
        )
    };
    a == b
        || (written(a) && written(b))
        || [(a, b), (b, a)].iter().any(|(x, y)| {
            *x == C::Everywhere && *y == C::Home
                || matches!(x, C::Everywhere | C::Conversation)
                    && matches!(y, C::Reading | C::Question)
        })
}

#[cfg(test)]
mod tests {
    use porthole_bridge::{KeyCode, Modifiers};

    use super::*;

    fn pressed(c: char) -> Key {
        let modifiers = Modifiers {
            control: true,
            ..Modifiers::default()
        };
        Key {
            code: KeyCode::Char(c),
            modifiers,
        }
    }

    #[test]
    fn an_own_key_wins_and_what_lost_it_is_told_and_shown_nowhere() {
        let keys = Keys::with(Preset::Standard, [("find", "ctrl-g, f5")].into_iter());
        assert_eq!(
            keys.find(pressed('g'), Context::Conversation),
            Some(Command::Find)
        );
        assert_eq!(keys.find(pressed('g'), Context::Composer), None);
        assert_eq!(keys.find(pressed('f'), Context::Conversation), None);
        let edit = keymap::binding(Command::EditOutside, Context::Composer).expect("a row");
        assert_eq!(keys.all_keys(edit), "");
        assert_eq!(
            keys.complaints(),
            ["`ctrl-g` is for `find` now, and no more for `edit`"]
        );
    }

    #[test]
    fn what_is_no_key_or_no_command_is_explained_and_changes_nothing() {
        let keys = Keys::with(
            Preset::Standard,
            [("fnd", "ctrl-g"), ("find", "ctrl-nope")].into_iter(),
        );
        assert_eq!(keys.complaints().len(), 2, "{:?}", keys.complaints());
        assert_eq!(
            keys.find(pressed('g'), Context::Composer),
            Some(Command::EditOutside)
        );
    }

    #[test]
    fn every_key_of_the_table_is_a_key() {
        for binding in TABLE {
            for key in binding.keys(Preset::Standard) {
                assert!(keymap::is_name(key), "{key}");
            }
        }
    }
}
