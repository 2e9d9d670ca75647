//! Reads definitions with a schema and further rules.

use serde::de::DeserializeOwned;

use crate::catalog::error::CatalogError;
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
    let node = parse(text).map_err(|error| whole(error.place, error.to_string()))?;
    let value = node.to_value();
    let violations = validate(kind, &value, Some(&node));
    if !violations.is_empty() {
        return Err(violations);
    }
    let document = serde_json::from_value(value).map_err(|_| whole(None, "it does not fit its schema".to_owned()))?;
    let flaws = match build(document) {
        Ok(built) => return Ok(built),
        Err(flaws) => flaws,
    };
    let mut violations = Vec::new();
    for Flaw { pointer, message } in flaws.into_iter().take(limits::VIOLATIONS) {
        let place = Some(node.nearest(&pointer).place);
        violations.push(Violation { pointer, message, place });
    }
    violations.sort_by_key(|violation| violation.place);
    Err(violations)
}

/// A fault of a definition's file as a whole, in the form of faults in its text.
///
/// # Errors
/// `error`, if it is not about what the file holds.
pub(crate) fn flaws_of_file(error: CatalogError) -> Result<Vec<Violation>, CatalogError> {
    let CatalogError::Invalid { diagnostics, .. } = error else { return Err(error) };
    let mut violations = Vec::new();
    for found in diagnostics {
        violations.extend(whole(Some(found.place), found.message));
    }
    Ok(violations)
}

/// The one violation of a text that cannot be checked any further.
fn whole(place: Option<Place>, message: String) -> Vec<Violation> {
    vec![Violation { pointer: String::new(), message, place }]
}
