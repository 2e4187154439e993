//! A bare ratatui program: a line that grows with each key. The reference for start and key; it does nothing else.

use crossterm::event::{Event, KeyCode, KeyEventKind, read};
use ratatui::{
    layout::{Constraint, Layout},
    widgets::Paragraph,
};

fn main() -> std::io::Result<()> {
    let mut terminal = ratatui::init();
    let mut draft = String::new();
    loop {
        terminal.draw(|frame| {
            let [top, bottom] =
                Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
            frame.render_widget(Paragraph::new("ready"), top);
            frame.render_widget(Paragraph::new(draft.as_str()), bottom);
        })?;
        if let Event::Key(key) = read()?
            && key.kind == KeyEventKind::Press
        {
            match key.code {
                KeyCode::Esc => break,
                KeyCode::Backspace => drop(draft.pop()),
                KeyCode::Char(letter) => draft.push(letter),
                _ => {}
            }
        }
    }
    ratatui::restore();
    Ok(())
}
