//! What work used, in words: `1,200 tokens in, 340 out, 0.42 USD, 12.5s (3 of 5 reported)`.

use crate::model::{TimeUsed, Usage, UsageSum, UsageTotals};
use crate::picture::words::{clean, count, duration};

/// From here on fractions of a second do not matter.
const MINUTE: u64 = 60_000;

/// What a piece of work used; empty if nothing is known.
pub(crate) fn usage_in_words(usage: &Usage) -> String {
    let mut sum = UsageSum::default();
    sum.add(usage);
    let mut words = totals_in_words(&sum.totals);
    if let Some(model) = &usage.model {
        let gap = if words.is_empty() { "" } else { ", " };
        words = format!("{words}{gap}with {}", clean(model));
    }
    words
}

/// What work used together; empty if none of it reported anything. Of what only some of it reported, that is said.
pub(crate) fn totals_in_words(totals: &UsageTotals) -> String {
    let mut parts = Vec::new();
    if let Some(into) = totals.tokens_in {
        parts.push((format!("{} tokens in", number(into.sum)), into.reported));
    }
    if let Some(out) = totals.tokens_out {
        let tokens = if totals.tokens_in.is_some() { "" } else { " tokens" };
        parts.push((format!("{}{tokens} out", number(out.sum)), out.reported));
    }
    for cost in &totals.costs {
        parts.push((format!("{} {}", cost.amount, cost.currency), cost.reported));
    }
    if let Some(time) = totals.duration_ms {
        let shown = if time.sum < MINUTE { TimeUsed::of_ms(time.sum).to_string() } else { duration(time.sum) };
        parts.push((shown, time.reported));
    }
    let Some((_, first)) = parts.first() else { return String::new() };
    let (first, work) = (*first, totals.work);
    let are_alike = parts.iter().all(|(_, reported)| *reported == first);
    let mut words = Vec::new();
    for (part, reported) in parts {
        let is_whole = are_alike || reported == work;
        words.push(if is_whole { part } else { format!("{part} ({reported} of {work} reported)") });
    }
    let rest = if are_alike && first != work { format!(" ({first} of {work} reported)") } else { String::new() };
    words.join(", ") + &rest
}

fn number(of: u64) -> String {
    count(usize::try_from(of).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_some_work_reported_is_told() {
        let known = json!({ "tokens_in": 1200, "tokens_out": 34, "cost": { "amount": "0.40", "currency": "USD" } });
        let known = Usage::from_value(&known).unwrap();
        let mut sum = UsageSum::default();
        sum.add(&known);
        assert_eq!(totals_in_words(&sum.totals), "1,200 tokens in, 34 out, 0.40 USD");
        sum.add(&Usage::default());
        assert_eq!(totals_in_words(&sum.totals), "1,200 tokens in, 34 out, 0.40 USD (1 of 2 reported)");
        sum.add(&Usage { cost: None, ..known.clone() });
        assert_eq!(
            totals_in_words(&sum.totals),
            "2,400 tokens in (2 of 3 reported), 68 out (2 of 3 reported), 0.40 USD (1 of 3 reported)"
        );
        assert_eq!(totals_in_words(&UsageTotals::default()), "");
        let timed = Usage { duration: Some("90s".parse().unwrap()), model: Some("m".to_owned()), ..Usage::default() };
        assert_eq!(usage_in_words(&timed), "1 min, with m");
    }
}
