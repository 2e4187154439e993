//! What the owner of the server and the visitor wish of the looks: read from TOML, the visitor's above the server's, and
//! both above what is built in. Nothing in it is a privilege: there is no key for one.

use toml::de::{DeTable, DeValue};

use crate::{
    keymap::Preset,
    theme::{Layer, at_line, parse},
};

/// The wishes of one side; what is not wished for is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub(crate) theme: Option<String>,
    pub(crate) reduced_motion: Option<bool>,
    pub(crate) keys: Option<Preset>,
    /// For people whom a screen reader reads to.
    pub(crate) plain: Option<bool>,
    /// The key that is the launcher's, as it is written: told by the launcher, wished for by nobody.
    pub(crate) launcher_key: Option<String>,
    /// Commands and their keys.
    pub(crate) bindings: Vec<(String, String)>,
}

impl Wishes {
    /// Returns the wishes in a text, and what of it means nothing, with its line. A text that is no TOML gives none.
    pub(crate) fn read(text: &str, layer: Layer) -> (Self, Vec<String>) {
        let mut wishes = Self::default();
        let mut complaints = Vec::new();
        match parse(text) {
            Err(wrong) => complaints.push(wrong),
            Ok(table) => {
                for (key, value) in table.get_ref() {
                    if let Err(words) = wishes.take(key.get_ref(), value.get_ref(), layer) {
                        complaints.push(at_line(text, key.span().start, &words));
                    }
                }
            }
        }
        (wishes, complaints)
    }

    fn take(&mut self, key: &str, value: &DeValue<'_>, layer: Layer) -> Result<(), String> {
        let text = value.as_str().ok_or("a text is wanted");
        let truth = value.as_bool().ok_or("`true` or `false` is wanted");
        match key {
            "launcher_key" if layer == Layer::Visitor => self.launcher_key = Some(text?.to_owned()),
            "theme" => self.theme = Some(text?.to_owned()),
            "reduced_motion" => self.reduced_motion = Some(truth?),
            "plain" => self.plain = Some(truth?),
            "keys" => {
                let words = || "`keys` is `standard`, `emacs` or `vi`".to_owned();
                self.keys = Some(text.ok().and_then(Preset::named).ok_or_else(words)?);
            }
            "bindings" => self.bindings = bindings(value.as_table().ok_or("a table is wanted")?)?,
            other => return Err(format!("there is no preference `{other}`")),
        }
        Ok(())
    }

    /// Returns these wishes above others.
    pub(crate) fn above(&self, below: &Self) -> Self {
        Self {
            theme: self.theme.clone().or_else(|| below.theme.clone()),
            reduced_motion: self.reduced_motion.or(below.reduced_motion),
            keys: self.keys.or(below.keys),
            plain: self.plain.or(below.plain),
            // Later ones win.
            launcher_key: self.launcher_key.clone(),
            bindings: below
                .bindings
                .iter()
                .chain(&self.bindings)
                .cloned()
                .collect(),
        }
    }
}

fn bindings(table: &DeTable<'_>) -> Result<Vec<(String, String)>, String> {
    let pair = |(id, keys): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let id: &std::borrow::Cow<'_, str> = id.get_ref();
        let keys = keys.get_ref().as_str();
        let keys =
            keys.ok_or_else(|| format!("the keys of `{id}` are a text, like \"ctrl-g, f5\""));
        Ok((id.to_string(), keys?.to_owned()))
    };
    table.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitors_wish_goes_before_the_servers() {
        let (server, told) = Wishes::read(
            "theme = \"light\"\nkeys = \"emacs\"\n[bindings]\nfind = \"f5\"\n",
            Layer::Server,
        );
        assert!(told.is_empty());
        let (own, _) = Wishes::read("keys = \"vi\"\n[bindings]\nhelp = \"f2\"\n", Layer::Visitor);
        let both = own.above(&server);
        assert_eq!(
            (both.theme.as_deref(), both.keys),
            (Some("light"), Some(Preset::Vi))
        );
        assert_eq!(both.bindings.len(), 2);
    }

    #[test]
    fn what_means_nothing_is_told_with_its_line_and_the_rest_holds() {
        let text = "theme = \"light\"\nlauncher_key = \"ctrl-g\"\nkeys = \"wordstar\"\nplain = 1\n[bindings]\nfind = 5\n";
        let (wishes, mut told) = Wishes::read(text, Layer::Server);
        told.sort();
        assert_eq!(wishes.theme.as_deref(), Some("light"));
        assert_eq!(
            told,
            [
                "line 2: there is no preference `launcher_key`",
                "line 3: `keys` is `standard`, `emacs` or `vi`",
                "line 4: `true` or `false` is wanted",
                "line 5: the keys of `find` are a text, like \"ctrl-g, f5\"",
            ]
        );
        assert_eq!(Wishes::read("theme =\n", Layer::Server).1.len(), 1);
    }
}
