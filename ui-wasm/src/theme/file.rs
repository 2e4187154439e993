//! A theme's file: TOML into roles, with the line of what is wrong. It chooses nothing.

use ratatui_core::style::{Color, Modifier};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{RoleStyle, RoleTable, ThemeFile};

/// Where and why a file cannot be taken: "line 3: …".
pub(crate) type Wrong = String;

/// Returns the theme in a file. Roles that it does not name are those of `base`.
pub(super) fn read(text: &str, base: Option<&ThemeFile>) -> Result<ThemeFile, Wrong> {
    let file = parse(text)?;
    let file = Reader {
        text,
        file: file.get_ref(),
        palette: None,
    };
    file.known(file.file, &["background", "palette", "roles"])?;
    let palette = file.table("palette")?;
    let reader = Reader { palette, ..file };
    let background = match reader.file.get("background") {
        Some(value) => reader.color(value)?,
        None => base.map_or(Color::Reset, |base| base.background),
    };
    let roles = reader.table("roles")?;
    let mut named: Vec<&str> = Vec::new();
    let roles = RoleTable::read(|role| {
        named.push(role);
        match (roles.and_then(|roles| roles.get(role)), base) {
            (Some(style), _) => reader.style(style),
            (None, Some(base)) => base
                .roles
                .get(role)
                .ok_or_else(|| format!("there is no `{role}`")),
            (None, None) => Err(format!("the role `{role}` is missing")),
        }
    })?;
    if let Some(table) = reader.table("roles")? {
        reader.known(table, &named)?;
    }
    Ok(ThemeFile { background, roles })
}

/// Returns a text as TOML.
pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Wrong> {
    DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        at_line(text, at, error.message())
    })
}

/// Returns the words with the line that they are about before them.
pub(crate) fn at_line(text: &str, at: usize, words: &str) -> Wrong {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    format!("line {line}: {words}")
}

struct Reader<'a> {
    text: &'a str,
    file: &'a DeTable<'a>,
    palette: Option<&'a DeTable<'a>>,
}

impl<'a> Reader<'a> {
    fn wrong(&self, value: &Spanned<DeValue<'_>>, words: &str) -> Wrong {
        at_line(self.text, value.span().start, words)
    }

    fn known(&self, table: &DeTable<'_>, keys: &[&str]) -> Result<(), Wrong> {
        let unknown = table
            .keys()
            .find(|key| !keys.contains(&key.get_ref().as_ref()));
        match unknown {
            Some(key) => {
                let words = format!("`{}` means nothing here", key.get_ref());
                Err(at_line(self.text, key.span().start, &words))
            }
            None => Ok(()),
        }
    }

    fn table(&self, key: &str) -> Result<Option<&'a DeTable<'a>>, Wrong> {
        let Some(value) = self.file.get(key) else {
            return Ok(None);
        };
        let table = value.get_ref().as_table();
        table
            .map(Some)
            .ok_or_else(|| self.wrong(value, &format!("`{key}` is a table")))
    }

    fn style(&self, value: &Spanned<DeValue<'_>>) -> Result<RoleStyle, Wrong> {
        let table = value.get_ref().as_table();
        let table = table
            .ok_or_else(|| self.wrong(value, "a role is a table, like { fg = \"#d0d0d0\" }"))?;
        self.known(table, &["fg", "bg", "attributes", "colourless"])?;
        let color = |key: &str| table.get(key).map(|value| self.color(value)).transpose();
        let attributes = |key: &str| {
            table
                .get(key)
                .map_or(Ok(Modifier::empty()), |value| self.attributes(value))
        };
        Ok(RoleStyle {
            fg: color("fg")?,
            bg: color("bg")?,
            attributes: attributes("attributes")?,
            colourless: attributes("colourless")?,
        })
    }

    fn color(&self, value: &Spanned<DeValue<'_>>) -> Result<Color, Wrong> {
        let text = value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.wrong(value, "a colour is a text"))?;
        let named = self.palette.and_then(|palette| palette.get(text));
        let name = named
            .and_then(|named| named.get_ref().as_str())
            .unwrap_or(text);
        color(name).ok_or_else(|| {
            self.wrong(
                value,
                &format!("`{name}` is neither a colour nor a name in the palette"),
            )
        })
    }

    fn attributes(&self, value: &Spanned<DeValue<'_>>) -> Result<Modifier, Wrong> {
        let list = value.get_ref().as_array();
        let list =
            list.ok_or_else(|| self.wrong(value, "attributes are a list, like [\"bold\"]"))?;
        let mut all = Modifier::empty();
        for value in list.iter() {
            let one = value.get_ref().as_str().and_then(attribute);
            all |= one.ok_or_else(|| self.wrong(value, "this is no text attribute"))?;
        }
        Ok(all)
    }
}

fn color(name: &str) -> Option<Color> {
    if let Some(hex) = name.strip_prefix('#').filter(|hex| hex.len() == 6) {
        return u32::from_str_radix(hex, 16).ok().map(Color::from_u32);
    }
    Some(match name {
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

fn attribute(name: &str) -> Option<Modifier> {
    Some(match name {
        "bold" => Modifier::BOLD,
        "dim" => Modifier::DIM,
        "italic" => Modifier::ITALIC,
        "underline" => Modifier::UNDERLINED,
        "reverse" => Modifier::REVERSED,
        _ => return None,
    })
}
