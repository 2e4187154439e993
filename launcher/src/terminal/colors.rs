//! How many colours the terminal shows, what its background is, and the nearest colour it has.
//! Pure: the environment comes in as a function.

use porthole_bridge::{Background, ColorDepth};
use ratatui::style::Color;

/// Returns the depth that the environment promises.
pub fn depth(var: impl Fn(&str) -> Option<String>) -> ColorDepth {
    let set = |name: &str| var(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return ColorDepth::None;
    }
    let term = set("TERM").unwrap_or_default();
    if matches!(term.as_str(), "linux" | "ansi" | "vt220" | "cons25") {
        return ColorDepth::Sixteen;
    }
    let promised = set("COLORTERM");
    if matches!(promised.as_deref(), Some("truecolor" | "24bit")) || term.ends_with("-direct") {
        ColorDepth::True
    } else if term.contains("256color") || term.contains("kitty") || term.contains("alacritty") {
        ColorDepth::Indexed
    } else if matches!(term.as_str(), "" | "vt100" | "vt102") {
        ColorDepth::None
    } else {
        ColorDepth::Sixteen
    }
}

/// Returns the background that `COLORFGBG` names. The terminal is not asked: the start waits for no answer.
pub fn background(var: impl Fn(&str) -> Option<String>) -> Background {
    let said = var("COLORFGBG").and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    match said {
        Some(7 | 15) => Background::Light,
        Some(0..=6 | 8) => Background::Dark,
        Some(_) | None => Background::Unknown,
    }
}

/// Returns whether the locale lets box and symbol glyphs through.
pub fn unicode(var: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| var(name).filter(|value| !value.is_empty()));
    let upper = locale.unwrap_or_default().to_ascii_uppercase();
    // No locale at all is what containers and ssh leave behind on terminals that know UTF-8 well.
    !matches!(upper.as_str(), "POSIX")
        && (upper.is_empty() || upper.contains("UTF") || matches!(upper.as_str(), "C"))
        && var("TERM").as_deref() != Some("linux")
}

/// Returns the nearest colour of a terminal of `depth`.
pub fn quantise(color: Color, depth: ColorDepth) -> Color {
    match (depth, color) {
        (ColorDepth::None, _) => Color::Reset,
        (ColorDepth::Indexed, Color::Rgb(r, g, b)) => Color::Indexed(to_indexed(r, g, b)),
        (ColorDepth::Sixteen, Color::Rgb(r, g, b)) => to_sixteen(r, g, b),
        (ColorDepth::Sixteen, Color::Indexed(index)) => {
            let (r, g, b) = of_indexed(index);
            match index {
                0..=15 => SIXTEEN[usize::from(index)].0,
                16..=255 => to_sixteen(r, g, b),
            }
        }
        (ColorDepth::Sixteen | ColorDepth::Indexed | ColorDepth::True, other) => other,
    }
}

const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The named colours as xterm shows them.
const SIXTEEN: [(Color, (u8, u8, u8)); 16] = [
    (Color::Black, (0, 0, 0)),
    (Color::Red, (205, 0, 0)),
    (Color::Green, (0, 205, 0)),
    (Color::Yellow, (205, 205, 0)),
    (Color::Blue, (0, 0, 238)),
    (Color::Magenta, (205, 0, 205)),
    (Color::Cyan, (0, 205, 205)),
    (Color::Gray, (229, 229, 229)),
    (Color::DarkGray, (127, 127, 127)),
    (Color::LightRed, (255, 0, 0)),
    (Color::LightGreen, (0, 255, 0)),
    (Color::LightYellow, (255, 255, 0)),
    (Color::LightBlue, (92, 92, 255)),
    (Color::LightMagenta, (255, 0, 255)),
    (Color::LightCyan, (0, 255, 255)),
    (Color::White, (255, 255, 255)),
];

fn to_indexed(r: u8, g: u8, b: u8) -> u8 {
    let step = |value: u8| {
        let distance = |index: &usize| STEPS[*index].abs_diff(value);
        (0..STEPS.len()).min_by_key(distance).unwrap_or_default() as u8
    };
    let cube = 16 + 36 * step(r) + 6 * step(g) + step(b);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let grey = 232 + (mean.saturating_sub(3) / 10).min(23) as u8;
    let off = |index| distance(of_indexed(index), (r, g, b));
    if off(grey) < off(cube) { grey } else { cube }
}

fn of_indexed(index: u8) -> (u8, u8, u8) {
    match index {
        0..=15 => SIXTEEN[usize::from(index)].1,
        16..=231 => {
            let cube = index - 16;
            let at = |value: u8| STEPS[usize::from(value % 6)];
            (at(cube / 36), at(cube / 6), at(cube))
        }
        232..=255 => {
            let level = 8 + 10 * (index - 232);
            (level, level, level)
        }
    }
}

fn to_sixteen(r: u8, g: u8, b: u8) -> Color {
    SIXTEEN
        .iter()
        .min_by_key(|(_, rgb)| distance(*rgb, (r, g, b)))
        .map_or(Color::Reset, |(color, _)| *color)
}

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let square = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    square(a.0, b.0) + square(a.1, b.1) + square(a.2, b.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth_of(vars: &[(&str, &str)]) -> ColorDepth {
        depth(|name| {
            vars.iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_decides_the_depth() {
        for (vars, expected) in [
            (
                &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")][..],
                ColorDepth::None,
            ),
            (
                &[("NO_COLOR", ""), ("TERM", "xterm-256color")],
                ColorDepth::Indexed,
            ),
            (&[("TERM", "xterm-256color")], ColorDepth::Indexed),
            (
                &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")],
                ColorDepth::True,
            ),
            (
                &[("TERM", "xterm"), ("COLORTERM", "24bit")],
                ColorDepth::True,
            ),
            (
                &[("TERM", "linux"), ("COLORTERM", "truecolor")],
                ColorDepth::Sixteen,
            ),
            (&[("TERM", "screen")], ColorDepth::Sixteen),
        ] {
            assert_eq!(depth_of(vars), expected, "{vars:?}");
        }
    }

    #[test]
    fn every_palette_entry_is_its_own_nearest_or_an_equal() {
        for index in 16..=255_u8 {
            let (r, g, b) = of_indexed(index);
            assert_eq!(of_indexed(to_indexed(r, g, b)), (r, g, b), "{index}");
        }
    }

    #[test]
    fn sixteen_colours_come_out_named_and_none_comes_out_plain() {
        let red = Color::Rgb(250, 5, 5);
        assert_eq!(quantise(red, ColorDepth::Sixteen), Color::LightRed);
        assert_eq!(
            quantise(Color::Indexed(4), ColorDepth::Sixteen),
            Color::Blue
        );
        assert_eq!(quantise(red, ColorDepth::None), Color::Reset);
        assert_eq!(quantise(red, ColorDepth::True), red);
    }

    #[test]
    fn the_background_is_known_only_where_it_is_said() {
        let said = |value: &str| background(|_| Some(value.to_owned()));
        assert_eq!(said("15;0"), Background::Dark);
        assert_eq!(said("0;default;15"), Background::Light);
        assert_eq!(said("odd"), Background::Unknown);
        assert_eq!(background(|_| None), Background::Unknown);
    }
}
