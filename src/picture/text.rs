//! Texts and numbers in pictures: on one line, without control characters, of a bounded length, and how wide they are.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::model::is_terminal_control;

/// The font size of states, in pixels.
pub(super) const FONT: f64 = 12.0;
/// The font size of transitions, in pixels.
pub(super) const SMALL_FONT: f64 = 11.0;

/// A text on one line. Control characters, marks that change the direction of text, and what XML does not allow become
/// blanks; blanks are joined.
pub(super) fn in_one_line(text: &str) -> String {
    let shown =
        text.replace(|c: char| is_terminal_control(c) || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}'), " ");
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text if it takes at most this many columns, otherwise its beginning with `…`.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if fits(text, columns) {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(1);
    let fitting = text.chars().take(characters(columns)).take_while(|c| {
        let width = c.width().unwrap_or(0);
        let has_room = width <= room;
        room = room.saturating_sub(width);
        has_room
    });
    let start: String = fitting.collect();
    format!("{}…", start.trim_end())
}

/// The id of a run if it takes at most this many columns, otherwise its end behind `…`: ids differ at their ends.
pub(crate) fn cut_front(id: &str, columns: usize) -> String {
    if id.width() <= columns {
        return id.to_owned();
    }
    // Ids are ASCII.
    let from = id.len() - columns.saturating_sub(1).min(id.len());
    format!("…{}", id.get(from..).unwrap_or(id))
}

/// Whether a text takes at most this many columns.
pub(super) fn fits(text: &str, columns: usize) -> bool {
    // The end of a text may be far away.
    text.chars().nth(characters(columns)).is_none() && text.width() <= columns
}

/// How many columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The most characters of a text: those that take no column, such as accents, are drawn anyway.
fn characters(columns: usize) -> usize {
    columns.saturating_mul(4)
}

/// A number of pixels to a tenth, which is as much as anyone sees, and short as text.
pub(super) fn rounded(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// How wide a text is in pixels, at most, in a usual sans-serif font of this size.
pub(super) fn pixels(text: &str, font: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * font
}

/// The width of a character, in parts of the font size.
fn em(c: char) -> f64 {
    match c {
        'I' | 'J' | 'i' | 'j' | 'l' | 'f' | 'r' | 't' | ' '..='!' | '\''..=')' | ','..='/' | ':'..=';' | '|' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 1.0,
        'A'..='Z' | '+' | '<'..='>' | '~' | '#' => 0.84,
        _ if c.is_ascii() => 0.65,
        // In most fonts a column of other scripts is wider than a Latin letter.
        _ => [0.0, 0.84, 1.1][c.width().unwrap_or(0).min(2)],
    }
}

/// A text with signs of ASCII in the place of flow's own, each as wide as before; what people wrote stays.
pub(crate) fn in_ascii(text: &str) -> String {
    text.chars().map(ascii_sign).collect()
}

fn ascii_sign(sign: char) -> char {
    match sign {
        '▲' => '!',
        '◆' | '?' => '?',
        '○' => 'o',
        '●' | '·' | '◉' => '*',
        '◦' | '–' | '─' | '—' | '−' => '-',
        '✓' => '+',
        '✕' | '×' => 'x',
        '…' => '~',
        '█' => '#',
        '▒' => '%',
        '┊' => ':',
        '▶' | '→' | '›' => '>',
        '↩' | '←' => '<',
        '▏' => '_',
        '│' => '|',
        '├' => '+',
        '↓' | '▼' => 'v',
        '↑' => '^',
        '↻' => '@',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_that_nothing_can_turn_around() {
        assert_eq!(in_one_line("  a\u{1b}[31m\n\tb\u{202e}c\u{fffe} "), "a [31m b c");
        assert_eq!(in_one_line("שלום"), "שלום");
    }

    #[test]
    fn a_terminal_of_ascii_gets_the_drawing_of_a_workflow_in_ascii() {
        assert_eq!(in_ascii("▼ │ ├─▶ ◉"), "v | +-> *");
    }

    #[test]
    fn a_long_text_is_cut_by_columns() {
        assert_eq!(cut("code", 4), "code");
        assert_eq!(cut("verify", 4), "ver…");
        assert_eq!(cut("尋ねる", 5), "尋ね…");
        assert_eq!(cut("尋ねる", 4), "尋…");
        assert_eq!(cut("go on", 4), "go…");
        let accents = format!("e{}", "\u{301}".repeat(10_000));
        assert_eq!(cut(&accents, 24).chars().count(), 97);
    }
}
