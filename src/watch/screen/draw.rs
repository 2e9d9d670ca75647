//! Draws a page on a frame.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text;

use crate::picture::{columns, in_ascii};
use crate::watch::line::{Look, PageLine};
use crate::watch::screen::page::ScreenPage;
use crate::watch::screen::state::Screen;
use crate::watch::screen::view::footer;

/// How many lines of a page fit on a screen of this height: one is above, one is below.
pub(super) fn room(height: u16) -> usize {
    usize::from(height.saturating_sub(2))
}

/// What the terminal shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawing {
    pub(super) colour: bool,
    /// Whether signs are those of ASCII.
    pub(super) ascii: bool,
}

/// Draws the part of the page that is in sight.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen, page: &ScreenPage, drawing: Drawing) {
    let area = frame.area();
    if area.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    let mut put = |y: usize, line: &PageLine, over: Style| {
        let y = u16::try_from(y).unwrap_or(u16::MAX);
        // A screen may have only one line, or none.
        if y < area.height {
            let place = Rect { x: 0, y, width: area.width, height: 1 };
            frame.buffer_mut().set_line(0, y, &spans(&line.cut(width), drawing), area.width);
            frame.buffer_mut().set_style(place, over);
        }
    };
    put(0, &page.head, Style::new());
    let room = room(area.height);
    for (row, line) in page.lines.iter().skip(screen.top).take(room).enumerate() {
        let is_chosen = screen.view.is_list() && !screen.help && line.run.is_some() && line.run == screen.chosen;
        if is_chosen {
            put(row + 1, &marked(line), Style::new().add_modifier(Modifier::REVERSED));
        } else {
            put(row + 1, line, Style::new());
        }
    }
    if area.height > 1 {
        let more = page.lines.len().saturating_sub(screen.top + room);
        let below = if more > 0 { format!("↓ {more} more  ") } else { String::new() };
        let left = width.saturating_sub(columns(&below));
        let mut line = PageLine::new().dim(below);
        for piece in footer(screen, &page.acts, left).pieces {
            line = line.with(piece.look, piece.text);
        }
        put(usize::from(area.height) - 1, &line, Style::new());
    }
}

/// The line of the chosen run: a mark stands where the others are blank, for those who do not see colours.
fn marked(line: &PageLine) -> PageLine {
    let mut line = line.clone();
    if let Some(first) = line.pieces.first_mut()
        && let Some(rest) = first.text.strip_prefix(' ')
    {
        first.text = format!("›{rest}");
    }
    line
}

fn spans(line: &PageLine, drawing: Drawing) -> text::Line<'static> {
    let mut spans = Vec::with_capacity(line.pieces.len());
    for piece in &line.pieces {
        let text = if drawing.ascii { in_ascii(&piece.text) } else { piece.text.clone() };
        spans.push(text::Span::styled(text, style(piece.look, drawing.colour)));
    }
    text::Line::from(spans)
}

/// The style of a look, in the sixteen colours that a terminal's owner has chosen.
fn style(look: Look, colour: bool) -> Style {
    let (shade, modifier) = match look {
        Look::Plain => (None, Modifier::empty()),
        Look::Strong => (None, Modifier::BOLD),
        Look::Dim => (None, Modifier::DIM),
        Look::Need => (Some(Color::Yellow), Modifier::BOLD),
        Look::Doubt => (Some(Color::Magenta), Modifier::BOLD),
        Look::Bad => (Some(Color::Red), Modifier::BOLD),
        Look::Work => (Some(Color::Blue), Modifier::BOLD),
        Look::Done => (Some(Color::Green), Modifier::empty()),
    };
    let style = Style::new().add_modifier(modifier);
    match shade {
        Some(shade) if colour => style.fg(shade),
        _ => style,
    }
}
