//! Messages about documents that violate their schema.

use std::fmt::Display;

use crate::codec::{Place, Violation};

/// `:line:column`, if the place is known.
pub(crate) fn suffix(place: Option<Place>) -> String {
    place.map(|place| format!(":{place}")).unwrap_or_default()
}

/// The path, with the place of the first violation.
pub(crate) fn located(path: impl Display, violations: &[Violation]) -> String {
    format!("{path}{}", suffix(violations.first().and_then(|violation| violation.place)))
}

/// The first violation, and the number of further ones.
pub(crate) fn first(violations: &[Violation]) -> String {
    match violations {
        [] => "it must be a mapping".to_owned(),
        [only] => only.message.clone(),
        [first, rest @ ..] => format!("{} (and {} more)", first.message, rest.len()),
    }
}

/// All violations, if there is more than the one that [`first`] shows.
pub(crate) fn all(violations: &[Violation]) -> Vec<String> {
    if violations.len() < 2 {
        return Vec::new();
    }
    let mut all = Vec::with_capacity(violations.len());
    for violation in violations {
        all.push(match violation.place {
            Some(place) => format!("{place} {}", violation.message),
            None => violation.message.clone(),
        });
    }
    all
}

/// The first violation with its line, and the number of further errors: the end of a sentence that names the file.
pub(crate) fn first_with_line(violations: &[Violation]) -> String {
    let Some(first) = violations.first() else { return "it has no errors".into() };
    let line = first.place.map(|place| format!("line {}: ", place.line)).unwrap_or_default();
    let more = match violations.len() {
        1 => String::new(),
        2 => " (and 1 more error)".to_owned(),
        all => format!(" (and {} more errors)", all - 1),
    };
    format!("{line}{}{more}", first.message)
}
