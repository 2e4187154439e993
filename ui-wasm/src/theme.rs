//! Themes: one style for each role, from the files in `themes/` and reduced to the colours a terminal has.
//! The files are read when the UI is built (`build.rs`). It knows nothing of what plays a role where.

use porthole_bridge::{Background, ColorDepth};
use ratatui_core::style::{Color, Modifier, Style};

use crate::frame;

/// The themes by name, in the order in which they are offered.
const FILES: &[(&str, ThemeFile)] = include!(concat!(env!("OUT_DIR"), "/themes.rs"));

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident),* $(,)?) => {
        /// The styles by role, as the terminal can show them.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Theme { $($(#[$doc])* pub $role: Style,)* }

        #[derive(Debug)]
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
#[derive(Debug)]
struct ThemeFile {
    /// The background that the colours were chosen for; checked for contrast, never painted.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only the contrast test reads it")
    )]
    background: Color,
    roles: RoleTable,
}

#[derive(Debug)]
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

impl Theme {
    /// Returns the theme of that name, or the one that fits the background where there is none of that name.
    /// Terminals with fewer than 256 colours get the theme made for sixteen.
    pub fn choose(name: &str, background: Background, depth: ColorDepth) -> Self {
        let few = matches!(depth, ColorDepth::Sixteen | ColorDepth::None);
        let fitting = match background {
            Background::Light => "light",
            Background::Dark | Background::Unknown => "dark",
        };
        let known = Self::names().contains(&name);
        let name = match (few, known) {
            (true, _) => "sixteen",
            (false, true) => name,
            (false, false) => fitting,
        };
        FILES
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, file)| file.roles.resolve(depth))
            .unwrap_or_default()
    }

    /// Returns the names that can be chosen.
    pub fn names() -> Vec<&'static str> {
        FILES.iter().map(|(name, _)| *name).collect()
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
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        let mut names = Theme::names();
        files.sort();
        names.sort_unstable();
        assert_eq!(files, names);
    }

    #[test]
    fn every_role_can_be_read_on_the_background_its_theme_was_made_for() {
        for (name, file) in FILES.iter().filter(|(name, _)| *name != "sixteen") {
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
}
