//! The theme files as Rust tables, so that the bundle carries no TOML reader.
//! A colour or attribute that is none stops the build here; a role that is missing or unknown stops the compiler.

use std::{error::Error, fmt::Write as _, fs, path::Path};

/// The themes in the order in which they are offered.
const THEMES: [&str; 4] = ["dark", "light", "contrast", "sixteen"];

/// Writes `themes.rs` into `out`.
pub(crate) fn write(out: &Path) -> Result<(), Box<dyn Error>> {
    let folder = Path::new("../themes");
    let mut tables = String::from("&[\n");
    for name in THEMES {
        let path = folder.join(format!("{name}.toml"));
        println!("cargo::rerun-if-changed={}", path.display());
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let table = theme(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        writeln!(tables, "({name:?}, {table}),")?;
    }
    tables.push(']');
    fs::write(out.join("themes.rs"), tables)?;
    Ok(())
}

/// Returns a theme file as a `ThemeFile` in Rust.
fn theme(text: &str) -> Result<String, Box<dyn Error>> {
    let file: toml::Table = text.parse()?;
    known(&file, &["background", "palette", "roles"])?;
    let palette = table(&file, "palette")?;
    let background = file.get("background").ok_or("it names no background")?;
    let mut out = format!(
        "ThemeFile {{ background: {}, roles: RoleTable {{\n",
        color(background, palette)?
    );
    for (role, style) in table(&file, "roles")? {
        let style = style.as_table().ok_or("a role is a table")?;
        writeln!(
            out,
            "{role}: {},",
            role_style(style, palette).map_err(|error| format!("{role}: {error}"))?
        )?;
    }
    out.push_str("} }");
    Ok(out)
}

fn role_style(style: &toml::Table, palette: &toml::Table) -> Result<String, Box<dyn Error>> {
    known(style, &["fg", "bg", "attributes", "colourless"])?;
    let ink = |key: &str| match style.get(key) {
        Some(value) => color(value, palette).map(|color| format!("Some({color})")),
        None => Ok("None".to_owned()),
    };
    Ok(format!(
        "RoleStyle {{ fg: {}, bg: {}, attributes: {}, colourless: {} }}",
        ink("fg")?,
        ink("bg")?,
        attributes(style.get("attributes"))?,
        attributes(style.get("colourless"))?,
    ))
}

fn color(value: &toml::Value, palette: &toml::Table) -> Result<String, Box<dyn Error>> {
    let text = value.as_str().ok_or("a colour is a text")?;
    let name = palette.get(text).and_then(toml::Value::as_str);
    let name = name.unwrap_or(text);
    if let Some(hex) = name.strip_prefix('#').filter(|hex| hex.len() == 6) {
        let value = u32::from_str_radix(hex, 16)?;
        return Ok(format!("Color::from_u32({value:#08x})"));
    }
    let known = match name {
        "default" => "Reset",
        "black" => "Black",
        "red" => "Red",
        "green" => "Green",
        "yellow" => "Yellow",
        "blue" => "Blue",
        "magenta" => "Magenta",
        "cyan" => "Cyan",
        "white" => "White",
        _ => {
            return Err(format!("`{name}` is neither a colour nor a name in the palette").into());
        }
    };
    Ok(format!("Color::{known}"))
}

fn attributes(value: Option<&toml::Value>) -> Result<String, Box<dyn Error>> {
    let mut out = String::from("Modifier::empty()");
    let Some(value) = value else { return Ok(out) };
    for name in value.as_array().ok_or("attributes are a list")? {
        let name = name.as_str().unwrap_or_default();
        let known = match name {
            "bold" => "BOLD",
            "dim" => "DIM",
            "italic" => "ITALIC",
            "underline" => "UNDERLINED",
            "reverse" => "REVERSED",
            _ => return Err(format!("`{name}` is no text attribute").into()),
        };
        write!(out, ".union(Modifier::{known})")?;
    }
    Ok(out)
}

fn table<'a>(file: &'a toml::Table, key: &str) -> Result<&'a toml::Table, String> {
    file.get(key)
        .and_then(toml::Value::as_table)
        .ok_or_else(|| format!("it has no table `{key}`"))
}

fn known(table: &toml::Table, keys: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("`{key}` is no key here")),
        None => Ok(()),
    }
}
