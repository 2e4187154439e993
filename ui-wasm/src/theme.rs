//! Themes: one style for each role, from TOML files (those in `themes/`, the server's, the visitor's), reduced to the
//! colours a terminal has. It knows nothing of what plays a role where.

mod file;

use porthole_bridge::{Background, ColorDepth};
use ratatui_core::style::{Color, Modifier, Style};

use crate::frame;

pub(crate) use file::{Wrong, at_line, parse};

/// The themes that are always there, in the order in which they are offered.
const FILES: &[(&str, &str)] = &[
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("contrast", include_str!("../../themes/contrast.toml")),
    ("sixteen", include_str!("../../themes/sixteen.toml")),
];

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident),* $(,)?) => {
        /// The styles by role, as the terminal can show them.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Theme { $($(#[$doc])* pub $role: Style,)* }

        #[derive(Clone, Debug)]
        struct RoleTable { $($role: RoleStyle,)* }

        impl Theme {
            /// Returns every role with its style, in the order of this file.
            pub fn roles(&self) -> Vec<(&'static str, Style)> {
                vec![$((stringify!($role), self.$role)),*]
            }
        }

        impl RoleTable {
            fn resolve(&self, depth: ColorDepth) -> Theme {
                Theme { $($role: self.$role.resolve(depth),)* }
            }

            fn read(mut style: impl FnMut(&'static str) -> Result<RoleStyle, Wrong>) -> Result<Self, Wrong> {
                Ok(Self { $($role: style(stringify!($role))?,)* })
            }

            fn get(&self, role: &str) -> Option<RoleStyle> {
                match role {
                    $(stringify!($role) => Some(self.$role),)*
                    _ => None,
                }
            }
        }
    };
}

roles! {
    /// Words people read.
    text,
    /// What may be overlooked.
    dim,
    /// The one accent colour: where one is, what is at work.
    accent,
    /// Emphasis in a text.
    strong,
    /// Headings.
    heading,
    /// Code in a line of words.
    code,
    /// Code in a block, where no finer role is known.
    code_block,
    /// Quotes.
    quote,
    /// Links.
    link,
    /// Added lines.
    added,
    /// Removed lines.
    removed,
    /// Words that were added within a line.
    added_word,
    /// Words that were removed within a line.
    removed_word,
    /// Failures.
    error,
    /// What needs a person, or care.
    warn,
    /// Success.
    ok,
    /// What is selected; laid over other styles.
    selected,
    /// Lines around what floats.
    border,
    /// The bar beside what a person said.
    human_bar,
    /// Status words.
    status,
    /// Keys in hints.
    key,
    /// Code: keywords.
    keyword,
    /// Code: strings.
    string,
    /// Code: comments.
    comment,
    /// Code: names of types.
    type_name,
    /// Code: names of functions.
    function,
    /// Code: numbers and other constants.
    number,
}

/// A theme as its file has it.
#[derive(Clone, Debug)]
pub(crate) struct ThemeFile {
    /// The background that the colours were chosen for; checked for contrast, never painted.
    background: Color,
    roles: RoleTable,
}

#[derive(Clone, Copy, Debug)]
struct RoleStyle {
    fg: Option<Color>,
    bg: Option<Color>,
    attributes: Modifier,
    /// Attributes that take the place of colour where there is none.
    colourless: Modifier,
}

impl RoleStyle {
    fn resolve(&self, depth: ColorDepth) -> Style {
        let mut style = Style::new().add_modifier(self.attributes);
        if depth == ColorDepth::None {
            return style.add_modifier(self.colourless);
        }
        style.fg = self.fg.map(|color| frame::reduce(color, depth));
        style.bg = self.bg.map(|color| frame::reduce(color, depth));
        style
    }
}

/// The themes that are there: the built-in ones, and above them others by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Themes {
    /// Of each layer the themes that could be read last, the uppermost last.
    others: [Vec<(String, ThemeFile)>; 2],
}

/// Whose themes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The server's.
    Server,
    /// The visitor's.
    Visitor,
}

impl Themes {
    /// Takes a layer's themes in place of what it had; a file that is wrong stays as it was. Returns what is wrong.
    pub(crate) fn take<'a>(
        &mut self,
        layer: Layer,
        files: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Vec<String> {
        let before = std::mem::take(&mut self.others[layer as usize]);
        let base = built_in("dark");
        let mut complaints = Vec::new();
        for (name, text) in files {
            let taken = match file::read(text, base.as_ref()) {
                Ok(theme) => Some(theme),
                Err(wrong) => {
                    complaints.push(format!("theme `{name}`, {wrong}"));
                    before
                        .iter()
                        .find(|(n, _)| n == name)
                        .map(|(_, last)| last.clone())
                }
            };
            let taken = taken.map(|theme| (name.to_owned(), theme));
            self.others[layer as usize].extend(taken);
        }
        complaints
    }

    /// Returns the names that can be chosen.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        for (name, _) in self.others.iter().flatten() {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the theme of that name, or the one that fits the background where there is none of that name.
    /// Terminals with fewer than 256 colours get the theme made for sixteen.
    pub(crate) fn choose(&self, name: &str, background: Background, depth: ColorDepth) -> Theme {
        let few = matches!(depth, ColorDepth::Sixteen | ColorDepth::None);
        let fitting = match background {
            Background::Light => "light",
            Background::Dark | Background::Unknown => "dark",
        };
        let name = if few { "sixteen" } else { name };
        let file = self.find(name).or_else(|| self.find(fitting));
        file.map(|file| file.roles.resolve(depth))
            .unwrap_or_default()
    }

    fn find(&self, name: &str) -> Option<ThemeFile> {
        let others = self.others.iter().rev().flatten();
        let mut named = others.filter(|(other, _)| other == name);
        named
            .next()
            .map(|(_, file)| file.clone())
            .or_else(|| built_in(name))
    }
}

fn built_in(name: &str) -> Option<ThemeFile> {
    let (_, text) = FILES.iter().find(|(n, _)| *n == name)?;
    // Those that come with the UI are all read by a test.
    file::read(text, None).ok()
}

impl Theme {
    /// Returns the built-in theme of that name, or the one that fits the background where there is none of that name.
    pub fn choose(name: &str, background: Background, depth: ColorDepth) -> Self {
        Themes::default().choose(name, background, depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(color: Color) -> f64 {
        let Color::Rgb(r, g, b) = color else {
            panic!("{color:?} is no true colour")
        };
        let part = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    }

    fn contrast(a: Color, b: Color) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_theme_file_can_be_chosen() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../themes");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .expect("the folder is there")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        let themes = Themes::default();
        let mut names = themes.names();
        // The folder is a crate too.
        files.retain(|name| name != "Cargo");
        files.sort();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn every_role_can_be_read_on_the_background_its_theme_was_made_for() {
        for (name, text) in FILES.iter().filter(|(name, _)| *name != "sixteen") {
            let file = file::read(text, None).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            let background = file.background;
            let theme = file.roles.resolve(ColorDepth::True);
            let ink = match theme.text.fg {
                Some(Color::Rgb(r, g, b)) => Color::Rgb(r, g, b),
                _ if luminance(background) < 0.2 => Color::Rgb(0xd8, 0xdc, 0xe4),
                _ => Color::Rgb(0x24, 0x28, 0x30),
            };
            for (role, style) in theme.roles() {
                let fg = style.fg.filter(|c| *c != Color::Reset).unwrap_or(ink);
                let bg = style.bg.unwrap_or(background);
                let least = if matches!(role, "dim" | "border" | "comment" | "status") {
                    3.0
                } else {
                    4.5
                };
                let got = contrast(fg, bg);
                assert!(got >= least, "{name}: {role} has a contrast of {got:.2}");
            }
        }
    }

    #[test]
    fn without_colour_what_matters_still_stands_out() {
        let theme = Theme::choose("dark", Background::Dark, ColorDepth::None);
        for (role, style) in theme.roles() {
            assert!(
                style.fg.is_none() && style.bg.is_none(),
                "{role} has a colour"
            );
        }
        for style in [
            theme.error,
            theme.warn,
            theme.selected,
            theme.accent,
            theme.heading,
            theme.key,
        ] {
            assert_ne!(style, theme.text);
        }
    }

    #[test]
    fn an_unknown_name_gives_the_theme_that_fits_the_background() {
        let light = Theme::choose("no such theme", Background::Light, ColorDepth::True);
        assert_eq!(
            light,
            Theme::choose("light", Background::Dark, ColorDepth::True)
        );
        let named = Theme::choose("dark", Background::Light, ColorDepth::True);
        assert_ne!(named, light);
    }

    #[test]
    fn a_visitors_theme_goes_before_the_servers_and_that_before_the_built_in_one() {
        let mut themes = Themes::default();
        let red = "[palette]\nink = \"#ff0000\"\n[roles]\ntext = { fg = \"ink\" }\n";
        let blue = "[roles]\ntext = { fg = \"#0000ff\", attributes = [\"bold\"] }\n";
        let text = |themes: &Themes| {
            themes
                .choose("dark", Background::Dark, ColorDepth::True)
                .text
        };
        assert!(
            themes
                .take(Layer::Visitor, [("dark", blue)].into_iter())
                .is_empty()
        );
        assert!(
            themes
                .take(Layer::Server, [("dark", red), ("dusk", red)].into_iter())
                .is_empty()
        );
        assert_eq!(text(&themes).fg, Some(Color::Rgb(0, 0, 255)));
        themes.take(Layer::Visitor, std::iter::empty());
        assert_eq!(text(&themes).fg, Some(Color::Rgb(255, 0, 0)));
        assert_eq!(
            themes.names(),
            ["dark", "light", "contrast", "sixteen", "dusk"]
        );
        let rest = themes
            .choose("dusk", Background::Light, ColorDepth::True)
            .error;
        assert_eq!(
            rest,
            Theme::choose("dark", Background::Dark, ColorDepth::True).error
        );
    }

    #[test]
    fn a_wrong_theme_stays_as_it_was_and_its_line_is_told() {
        let mut themes = Themes::default();
        let good = "[roles]\ntext = { fg = \"#0000ff\" }\n";
        assert!(
            themes
                .take(Layer::Visitor, [("dusk", good)].into_iter())
                .is_empty()
        );
        for (wrong, line) in [
            ("[roles]\ntext = { fg = \"blu\" }\n", "line 2: `blu`"),
            ("[roles]\n\ntxt = {}\n", "line 3: `txt`"),
            ("[roles]\ntext = 1\n", "line 2: a role"),
            ("[roles\n", "line 1: "),
            ("roles = 1", "line 1: `roles`"),
            (
                "[roles]\ntext = { attributes = [\"loud\"] }\n",
                "line 2: this",
            ),
            ("launcher_key = \"x\"", "line 1: `launcher_key`"),
        ] {
            let told = themes.take(Layer::Visitor, [("dusk", wrong)].into_iter());
            assert!(
                told[0].starts_with(&format!("theme `dusk`, {line}")),
                "{told:?}"
            );
            let text = themes
                .choose("dusk", Background::Dark, ColorDepth::True)
                .text;
            assert_eq!(text.fg, Some(Color::Rgb(0, 0, 255)));
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_theme_or_is_refused(text in "(\\[roles\\]\n)?([a-z_]{1,8} ?= ?[\\[{\"#a-f0-9}\\]]{0,12}\n){0,4}") {
            let _ = Themes::default().take(Layer::Server, [("x", text.as_str())].into_iter());
        }
    }
}
