//! Reads definitions with a schema and further rules.

use serde::de::DeserializeOwned;

use crate::codec::{DocumentKind, Place, Violation, parse, validate};
use crate::model::{Flaw, limits};

/// Reads a definition: checks it against the schema of `kind`, then against the rules of `build`.
///
/// # Errors
/// All violations, in the order of the text.
pub(crate) fn read_proved<D: DeserializeOwned, T>(
    text: &str,
    kind: DocumentKind,
    build: impl FnOnce(D) -> Result<T, Vec<Flaw>>,
) -> Result<T, Vec<Violation>> {
    let at = |place: Option<Place>, message: String| vec![Violation { pointer: String::new(), message, place }];
    let node = parse(text).map_err(|error| at(error.place, error.to_string()))?;
    let value = node.to_value();
    let violations = validate(kind, &value, Some(&node));
    if !violations.is_empty() {
        return Err(violations);
    }
    let document = serde_json::from_value(value).map_err(|error| at(None, error.to_string()))?;
    build(document).map_err(|flaws| {
        let violation = |Flaw { pointer, message }| {
            let place = Some(node.nearest(&pointer).place);
            Violation { pointer, message, place }
        };
        let mut violations: Vec<Violation> = flaws.into_iter().take(limits::VIOLATIONS).map(violation).collect();
        violations.sort_by_key(|violation| violation.place);
        violations
    })
}
