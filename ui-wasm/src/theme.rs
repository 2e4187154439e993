//! Themes: one style for each role, read from embedded TOML and reduced to the colours a terminal has.
//! It knows nothing of what plays a role where.

use std::collections::BTreeMap;

use porthole_bridge::{Background, ColorDepth};
use ratatui_core::style::{Color, Modifier, Style};
use serde::Deserialize;

use crate::frame;

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

        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct RoleTable { $($role: StyleText,)* }

        impl Theme {
            /// Returns every role with its style, in the order of this file.
            pub fn roles(&self) -> Vec<(&'static str, Style)> {
                vec![$((stringify!($role), self.$role)),*]
            }
        }

        impl RoleTable {
            fn resolve(&self, look: &Look<'_>) -> Result<Theme, ThemeError> {
                Ok(Theme { $($role: look.style(&self.$role)?,)* })
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

/// Why a theme file is none.
#[derive(Debug, thiserror::Error)]
enum ThemeError {
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("`{0}` is neither a colour nor a name in the palette")]
    Color(String),
    #[error("`{0}` is no text attribute")]
    Attribute(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    /// The background that the colours were chosen for; checked for contrast, never painted.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "only the contrast test reads it")
    )]
    background: String,
    palette: BTreeMap<String, String>,
    roles: RoleTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StyleText {
    fg: Option<String>,
    bg: Option<String>,
    #[serde(default)]
    attributes: Vec<String>,
    /// Attributes that take the place of colour where there is none.
    #[serde(default)]
    colourless: Vec<String>,
}

/// What a style text is read with.
struct Look<'a> {
    palette: &'a BTreeMap<String, String>,
    depth: ColorDepth,
}

impl Look<'_> {
    fn style(&self, text: &StyleText) -> Result<Style, ThemeError> {
        let mut style = Style::new();
        style.fg = self.color(text.fg.as_deref())?;
        style.bg = self.color(text.bg.as_deref())?;
        for name in &text.attributes {
            style = style.add_modifier(attribute(name)?);
        }
        if self.depth == ColorDepth::None {
            for name in &text.colourless {
                style = style.add_modifier(attribute(name)?);
            }
        }
        Ok(style)
    }

    fn color(&self, name: Option<&str>) -> Result<Option<Color>, ThemeError> {
        let Some(name) = name else { return Ok(None) };
        let name = self.palette.get(name).map_or(name, String::as_str);
        let color = parse_color(name).ok_or_else(|| ThemeError::Color(name.to_owned()))?;
        Ok((self.depth != ColorDepth::None).then(|| frame::reduce(color, self.depth)))
    }
}

fn parse_color(text: &str) -> Option<Color> {
    if let Some(hex) = text.strip_prefix('#') {
        let value = u32::from_str_radix(hex, 16)
            .ok()
            .filter(|_| hex.len() == 6)?;
        return Some(Color::from_u32(value));
    }
    Some(match text {
        "default" => Color::Reset,
        "black" => Color::Black,
        "red" => Color::Red,
        "green" => Color::Green,
        "yellow" => Color::Yellow,
        "blue" => Color::Blue,
        "magenta" => Color::Magenta,
        "cyan" => Color::Cyan,
        "white" => Color::White,
        _ => return None,
    })
}

fn attribute(name: &str) -> Result<Modifier, ThemeError> {
    Ok(match name {
        "bold" => Modifier::BOLD,
        "dim" => Modifier::DIM,
        "italic" => Modifier::ITALIC,
        "underline" => Modifier::UNDERLINED,
        "reverse" => Modifier::REVERSED,
        _ => return Err(ThemeError::Attribute(name.to_owned())),
    })
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
            .and_then(|(_, text)| Self::read(text, depth).ok())
            .unwrap_or_default()
    }

    /// Returns the names that can be chosen.
    pub fn names() -> Vec<&'static str> {
        FILES.iter().map(|(name, _)| *name).collect()
    }

    fn read(text: &str, depth: ColorDepth) -> Result<Self, ThemeError> {
        let file: ThemeFile = toml::from_str(text)?;
        file.roles.resolve(&Look {
            palette: &file.palette,
            depth,
        })
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
    fn every_theme_file_is_a_theme_at_every_depth() {
        for (name, text) in FILES {
            for depth in [
                ColorDepth::None,
                ColorDepth::Sixteen,
                ColorDepth::Indexed,
                ColorDepth::True,
            ] {
                if let Err(error) = Theme::read(text, depth) {
                    panic!("{name}: {error}");
                }
            }
        }
    }

    #[test]
    fn every_role_can_be_read_on_the_background_its_theme_was_made_for() {
        for (name, text) in FILES.iter().filter(|(name, _)| *name != "sixteen") {
            let file: ThemeFile = toml::from_str(text).expect("a theme");
            let background = parse_color(&file.background).expect("a colour");
            let theme = Theme::read(text, ColorDepth::True).expect("a theme");
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
