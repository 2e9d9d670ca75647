//! What properties of texts have in common.

use flowrun::codec::Place;

/// A place is one that an editor can go to.
#[track_caller]
pub fn assert_inside(text: &str, place: Place, what: &str) {
    if text.replace("\r\n", "\n").contains(['\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        // Editors and YAML do not agree on where these texts' lines end.
        return;
    }
    let line = place.line.checked_sub(1).and_then(|at| text.split('\n').nth(at));
    let line = line.unwrap_or_else(|| panic!("{what} is at {place}, and there is no such line"));
    let columns = line.chars().count() + 1;
    assert!((1..=columns).contains(&place.column), "{what} is at {place}, and the line ends at column {columns}");
}

/// Every piece stands in `text`, one behind the other, the first at the beginning and the last at the end.
#[track_caller]
pub fn assert_in_order(text: &str, pieces: &[&str]) {
    let [first, middle @ .., last] = pieces else {
        panic!("BUG: nothing to look for");
    };
    let mut rest = text.strip_prefix(first).unwrap_or_else(|| panic!("{first:?} is not at the beginning of {text:?}"));
    for piece in middle {
        let at = rest.find(piece).unwrap_or_else(|| panic!("{piece:?} is gone; what is left is {rest:?}"));
        rest = &rest[at + piece.len()..];
    }
    assert!(rest.ends_with(last), "{last:?} is not at the end of {rest:?}");
}
