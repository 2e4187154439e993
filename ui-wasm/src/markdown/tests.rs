//! Tests of Markdown as lines.

use porthole_bridge::{Background, ColorDepth};
use proptest::prelude::*;

use super::*;
use crate::text;

fn theme() -> Theme {
    Theme::choose("dark", Background::Dark, ColorDepth::True)
}

fn shown(document: &Document) -> String {
    let lines: Vec<String> = document
        .lines()
        .map(|line| {
            line.spans
                .iter()
                .map(|s| s.content.as_ref())
                .collect::<String>()
                .trim_end()
                .to_owned()
        })
        .collect();
    lines.join("\n")
}

fn lay_out(document: &mut Document, text: &str, cols: usize, highlighter: &mut Highlighter) {
    highlighter.begin_frame();
    let theme = theme();
    document.lay_out(
        text,
        cols,
        &mut Pens {
            theme: &theme,
            highlighter,
        },
    );
}

fn at(text: &str, cols: usize) -> String {
    let mut document = Document::default();
    lay_out(&mut document, text, cols, &mut Highlighter::default());
    shown(&document)
}

const TOUR: &str = "\
# Retries

The *jitter* could be **longer** than the `base`, see [the docs](https://example.org/retry) or <https://example.org>.
Soft break.  \nHard break. ~~Gone~~ <b>html</b> ![chart](chart.png)

- one
- two with words that have to be wrapped somewhere
  1. deep
  2. deeper

     with a second paragraph
- [x] done
- [ ] open

1. loose

2. items

> A quote
> of two lines
>
> - with a list

```rust
fn main() {\n\tprintln!(\"hi\");\n}
```

| Name | Cells | What |
|:-----|------:|------|
| 漢 | 2 | wide |
| ☕ | 2 | **emoji** |
| ab | 12 | narrow |

***

<div>
raw
</div>
";

#[test]
fn a_tour_of_markdown() {
    insta::assert_snapshot!(at(TOUR, 60), @r#"
    Retries

    The jitter could be longer than the base, see the docs
    (https://example.org/retry) or https://example.org. Soft
    break.
    Hard break. Gone <b>html</b> image: chart (chart.png)

    • one
    • two with words that have to be wrapped somewhere
      1. deep

      2. deeper

         with a second paragraph
    • [x] done
    • [ ] open

    1. loose

    2. items

    │ A quote of two lines
    │
    │ • with a list

      fn main() {
              println!("hi");
      }

    Name │ Cells │ What
    ─────┼───────┼───────
    漢   │     2 │ wide
    ☕   │     2 │ emoji
    ab   │    12 │ narrow

    ────────────────────────────────────────

    <div>
    raw
    </div>
    "#);
}

#[test]
fn narrow_tables_wrap_their_cells_and_very_narrow_ones_become_lists() {
    let table = "| Flag | What it does | Default |\n|-|-|-|\n| `--jobs` | How many run at once | the number of cores |\n| `-q` | Says less | off |\n";
    insta::assert_snapshot!(at(table, 40), @r#"
    Flag   │ What it does   │ Default
    ───────┼────────────────┼───────────────
    --jobs │ How many run   │ the number of
           │ at once        │ cores
    -q     │ Says less      │ off
    "#);
    insta::assert_snapshot!(at(table, 16), @r#"
    Flag: --jobs
    What it does:
    How many run at
    once
    Default: the
    number of cores

    Flag: -q
    What it does:
    Says less
    Default: off
    "#);
}

#[test]
fn what_could_act_is_shown() {
    let evil = "a\u{1b}[2Jb \u{202e}c `\u{9b}2J` [x\u{200b}](http://e\u{7}vil)\n\n```\n\ta\u{1b}]0;pwn\u{7}\n```\n";
    let shown = at(evil, 80);
    assert!(
        !shown.chars().any(|c| c != '\n' && text::acts(c)),
        "{shown:?}"
    );
}

#[test]
fn links_defined_later_are_resolved_also_while_the_text_comes_in() {
    let text =
        "See [the page][p].\n\nMore.\n\n[p]: https://example.org/page\n\nEnd.\n\nAgain [p].\n";
    let mut document = Document::default();
    let mut highlighter = Highlighter::default();
    for end in 0..=text.len() {
        lay_out(&mut document, &text[..end], 60, &mut highlighter);
    }
    assert_eq!(shown(&document), at(text, 60));
    assert!(
        shown(&document).starts_with("See the page (https://example.org/page)."),
        "{}",
        shown(&document)
    );
}

#[test]
fn a_long_text_that_grows_is_laid_out_again_only_at_its_end() {
    let block = "A paragraph with *some* words in it, long enough to be wrapped once or twice at eighty columns.\n\n- one\n- two\n\n";
    let text = block.repeat(200 * 1024 / block.len());
    let mut document = Document::default();
    let mut highlighter = Highlighter::default();
    lay_out(&mut document, &text, 80, &mut highlighter);
    let before = document.chunks.len();
    let grown = format!("{text}And a bit more");
    lay_out(&mut document, &grown, 80, &mut highlighter);
    assert_eq!(document.chunks.len(), before + 1);
    assert!(
        document.text.len() - document.stable < 200,
        "the tail is short"
    );
}

#[test]
fn a_block_of_code_that_grows_keeps_its_lines_and_gets_its_colours_later() {
    let mut text = String::from("```rust\n");
    let mut document = Document::default();
    let mut highlighter = Highlighter::default();
    for n in 0..40 {
        text.push_str(&format!("let a{n} = \"{n}\"; // so\n"));
        lay_out(&mut document, &text, 80, &mut highlighter);
    }
    text.push_str("```\n");
    for _ in 0..10 {
        lay_out(&mut document, &text, 80, &mut highlighter);
    }
    assert!(!document.is_behind());
    let keyword = theme().keyword;
    let colored = document.lines().filter(|l| {
        l.spans
            .iter()
            .any(|s| s.content == "let" && s.style == keyword)
    });
    assert_eq!(colored.count(), 40);
    assert_eq!(shown(&document), at(&text, 80));
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "# ",
            "\n",
            "\n\n",
            "- ",
            "  ",
            "    ",
            "1. ",
            "> ",
            "```",
            "```rs\n",
            "~~~\n",
            "|",
            "|-|-|\n",
            "a | b\n",
            "---\n",
            "***",
            "*",
            "**",
            "_",
            "`",
            "[a]",
            "[a]: /x\n",
            "[b]: <y> 't'\n",
            "(c)",
            "![",
            "<div>",
            "</div>\n",
            "<!--",
            "-->",
            "\\",
            "&amp;",
            "~~",
            "- [ ] ",
            "+ x\n",
            "=\n",
            "\t",
            "漢",
            "word",
            " word ",
            "\u{1b}[2J",
            "\u{202e}",
            "👩‍👩‍👧",
            "e\u{301}",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ]
}

#[test]
fn code_in_a_fence_that_is_indented_is_coloured_where_it_stands() {
    for (indent, more) in [(0, 0), (1, 0), (2, 2), (3, 5)] {
        let (indent, more) = (" ".repeat(indent), " ".repeat(more));
        let text = format!("{indent}```rs\n{indent}{more}let a = 1;\n{indent}```\n");
        let mut document = Document::default();
        let mut highlighter = Highlighter::default();
        lay_out(&mut document, &text, 40, &mut highlighter);
        while document.is_behind() {
            lay_out(&mut document, &text, 40, &mut highlighter);
        }
        assert_eq!(shown(&document).trim_end(), format!("  {more}let a = 1;"));
    }
}

proptest! {
    #[test]
    fn any_text_fits_its_width(parts in prop::collection::vec(fragment(), 0..40), cols in 8usize..60) {
        let mut document = Document::default();
        lay_out(&mut document, &parts.concat(), cols, &mut Highlighter::default());
        for line in document.lines() {
            prop_assert!(text::line_width(line) <= cols, "{line:?}");
        }
    }

    #[test]
    fn an_indented_line_after_a_definition_stays_words(end in "[a-z]{0,3}") {
        let mut document = Document::default();
        let mut text = String::new();
        for part in ["[a]: /x\n", "    <b>\n", "# ", &end] {
            text.push_str(part);
            lay_out(&mut document, &text, 40, &mut Highlighter::default());
        }
        prop_assert_eq!(shown(&document), at(&text, 40));
    }

    #[test]
    fn a_text_in_pieces_looks_like_the_whole(parts in prop::collection::vec(fragment(), 0..30)) {
        let mut document = Document::default();
        let mut highlighter = Highlighter::default();
        let mut text = String::new();
        for part in &parts {
            text.push_str(part);
            lay_out(&mut document, &text, 40, &mut highlighter);
        }
        prop_assert_eq!(shown(&document), at(&text, 40), "{:?}", text);
    }
}
