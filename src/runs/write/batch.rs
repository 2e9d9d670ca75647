//! A batch of reports as the caller gives it, and where each of them stands.

use serde_json::Value;

use crate::codec::{JsonFault, JsonText, json_fault, parse_json_values, read_request, request_schema};
use crate::runs::error::{Error, Result};
use crate::runs::write::payload::{ReportRequest, short};

/// The reports of a batch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The reports, in order.
    pub reports: Vec<ReportRequest>,
    /// Where they stand; none if the caller gave the text itself.
    pub places: Option<BatchPlaces>,
}

/// Where the reports of a batch stand, for errors about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchPlaces {
    /// The path of the document, or `standard input`.
    origin: String,
    /// The line of each report, from 1.
    lines: Vec<usize>,
}

/// Parses a batch of reports: a JSON array, or one JSON object in each line. `origin` names the document that has the text;
/// none if the caller gave the text itself.
///
/// # Errors
/// [`Error::Usage`] when the text is neither, has an unknown field, or is empty.
pub fn parse_batch(text: &str, origin: Option<&str>) -> Result<Batch> {
    // Some editors begin a file with it.
    let text = text.trim_start_matches('\u{feff}');
    // As an array it may be broken; read line by line, the error would be about its first line.
    let events = if text.trim_start().starts_with('[') { events_of_array(text) } else { events_of_lines(text) };
    let events = events.map_err(|fault| not_a_batch(origin, &fault))?;
    if events.is_empty() {
        let batch = origin.map_or("the batch".to_owned(), |origin| format!("the batch in {origin}"));
        return Err(Error::Usage(format!("{batch} holds no event")));
    }
    let mut lines = Vec::with_capacity(events.len());
    for (line, _) in &events {
        lines.push(*line);
    }
    let places = origin.map(|origin| BatchPlaces { origin: origin.to_owned(), lines });
    let mut reports = Vec::with_capacity(events.len());
    for (nth, (_, event)) in events.into_iter().enumerate() {
        let Value::Object(fields) = event else {
            let shown = short(&event.to_string());
            let what = format!("{shown} is not an object with `type`, `step`, `unit` and `data`");
            return Err(in_batch(places.as_ref(), nth, &what));
        };
        let report = read_request(&fields, request_schema::<ReportRequest>);
        reports.push(report.map_err(|why| in_batch(places.as_ref(), nth, &why))?);
    }
    Ok(Batch { reports, places })
}

/// The items of a JSON array, each with its line.
fn events_of_array(text: &str) -> std::result::Result<Vec<(usize, Value)>, JsonFault> {
    let array = JsonText::parse(text)?;
    let (mut line, mut counted) = (1, 0);
    let mut events = Vec::new();
    for item in array.root().items().unwrap_or_default() {
        let start = item.value.span.start;
        line += text[counted..start].matches('\n').count();
        counted = start;
        events.push((line, array.value(&item.value)));
    }
    Ok(events)
}

/// JSON values one after the other, each with its line.
fn events_of_lines(text: &str) -> std::result::Result<Vec<(usize, Value)>, JsonFault> {
    let values = parse_json_values(text).map_err(|error| json_fault(text, &error))?;
    let (mut line, mut counted) = (1, 0);
    let mut events = Vec::new();
    for (behind, value) in values {
        // What is before the value is blank.
        let start = text.len() - text[behind..].trim_start().len();
        line += text[counted..start].matches('\n').count();
        counted = start;
        events.push((line, value));
    }
    Ok(events)
}

/// The error for a text that cannot be read as a batch.
fn not_a_batch(origin: Option<&str>, fault: &JsonFault) -> Error {
    let JsonFault { place, reason } = fault;
    let wanted = "is neither a JSON array of events nor one line of JSON for each event";
    Error::Usage(match origin {
        Some(origin) => format!("{origin}:{place} {wanted}: {reason}"),
        None => format!("the batch {wanted}: {reason} at line {} column {}", place.line, place.column),
    })
}

/// An error in event number `nth` of a batch, counted from 0.
pub(super) fn in_batch(places: Option<&BatchPlaces>, nth: usize, what: &str) -> Error {
    let mut place = String::new();
    if let Some(BatchPlaces { origin, lines }) = places {
        place = match lines.get(nth) {
            Some(line) => format!(" ({origin}:{line})"),
            None => format!(" ({origin})"),
        };
    }
    Error::Usage(format!("event {} of the batch{place}: {what}; nothing of the batch was recorded", nth + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_an_array_or_a_line_for_each_event() {
        let array = r#"[{"type":"btw_update","data":{"message":"a"}},{"type":"status_change","step":"x"}]"#;
        let lines =
            "{\"type\":\"btw_update\",\"data\":{\"message\":\"a\"}}\n{\"type\":\"status_change\",\"step\":\"x\"}\n";
        assert_eq!(parse_batch(array, None).unwrap(), parse_batch(lines, None).unwrap());
        assert_eq!(parse_batch(&format!("\u{feff}{array}"), None).unwrap(), parse_batch(lines, None).unwrap());
        for broken in ["", "[]", "[1]", "{\"stp\":\"x\"}", "{"] {
            assert!(parse_batch(broken, None).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_error_of_a_batch_names_its_document_and_line() {
        let told = |text: &str| parse_batch(text, Some("b.jsonl")).unwrap_err().to_string();
        let good = "{\"type\":\"btw_update\",\"data\":{\"message\":\"a\"}}";
        let wanted = "is neither a JSON array of events nor one line of JSON for each event";
        assert_eq!(told(&format!("{good}\n\noops\n")), format!("b.jsonl:3:1 {wanted}: expected value"));
        assert_eq!(told(&format!("[{good},\n {good}\n")), format!("b.jsonl:3:1 {wanted}: EOF while parsing a list"));
        assert_eq!(told(" \n"), "the batch in b.jsonl holds no event");
        assert!(told(&format!("{good}\n\n  7\n")).starts_with("event 2 of the batch (b.jsonl:3): 7 is not an object"));
        let unknown = told(&format!("[\n{good},\n{good},\n\n{{\"typ\": 1}}]"));
        assert!(unknown.starts_with("event 3 of the batch (b.jsonl:5): unknown field `typ`"), "{unknown}");
    }
}
