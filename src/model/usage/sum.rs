//! Sums of what work used. A sum says how much of the work reported it: the rest is not known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::usage::{Amount, Cost, Currency, TimeUsed, Usage};

/// A sum, and how many pieces of work reported a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartialSum {
    /// The sum of what was reported.
    pub sum: u64,
    /// How many pieces of work reported it.
    pub reported: u64,
}

/// The sum of the costs in one currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CostSum {
    /// The exact sum.
    pub amount: Amount,
    /// The currency; sums of several are never added.
    pub currency: Currency,
    /// How many pieces of work reported a cost in it.
    pub reported: u64,
}

/// What pieces of work used together. Null, or an empty list of costs, means that none of them reported it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UsageTotals {
    /// How many pieces of work there are: records that passed or failed, and whatever else reported usage.
    pub work: u64,
    /// Tokens that went into models.
    pub tokens_in: Option<PartialSum>,
    /// Tokens that came out of them.
    pub tokens_out: Option<PartialSum>,
    /// Costs, by currency.
    pub costs: Vec<CostSum>,
    /// Time, in milliseconds.
    pub duration_ms: Option<PartialSum>,
}

impl UsageTotals {
    /// Whether none of the work reported anything.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.tokens_in.is_none() && self.tokens_out.is_none() && self.costs.is_empty() && self.duration_ms.is_none()
    }

    /// Adds a piece of work; what it does not report is not known.
    fn add(&mut self, usage: &Usage) {
        self.work += 1;
        add(&mut self.tokens_in, usage.tokens_in, 1);
        add(&mut self.tokens_out, usage.tokens_out, 1);
        add(&mut self.duration_ms, usage.duration.map(TimeUsed::ms), 1);
        if let Some(Cost { amount, currency }) = &usage.cost {
            self.add_cost(*amount, currency, 1);
        }
    }

    fn join(&mut self, other: &Self) {
        self.work += other.work;
        for (own, others) in [
            (&mut self.tokens_in, other.tokens_in),
            (&mut self.tokens_out, other.tokens_out),
            (&mut self.duration_ms, other.duration_ms),
        ] {
            add(own, others.map(|measured| measured.sum), others.map_or(0, |measured| measured.reported));
        }
        for CostSum { amount, currency, reported } in &other.costs {
            self.add_cost(*amount, currency, *reported);
        }
    }

    fn add_cost(&mut self, amount: Amount, currency: &Currency, reported: u64) {
        match self.costs.binary_search_by(|cost| cost.currency.cmp(currency)) {
            Ok(at) => {
                self.costs[at].amount = self.costs[at].amount.plus(amount);
                self.costs[at].reported += reported;
            }
            Err(at) => self.costs.insert(at, CostSum { amount, currency: currency.clone(), reported }),
        }
    }
}

fn add(measured: &mut Option<PartialSum>, value: Option<u64>, reported: u64) {
    let Some(value) = value else { return };
    let measured = measured.get_or_insert_default();
    measured.sum = measured.sum.saturating_add(value);
    measured.reported += reported;
}

/// What the work with one model used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModelUsage {
    /// The model.
    pub model: String,
    /// What the work with it used.
    #[serde(flatten)]
    pub totals: UsageTotals,
}

/// What pieces of work used together, and with which models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UsageSum {
    /// All together.
    #[serde(flatten)]
    pub totals: UsageTotals,
    /// The work that named a model, by model.
    pub models: Vec<ModelUsage>,
}

impl UsageSum {
    /// Adds a piece of work, with what it reported.
    pub fn add(&mut self, usage: &Usage) {
        self.totals.add(usage);
        if let Some(model) = &usage.model {
            self.of_model(model).add(usage);
        }
    }

    /// Adds another sum.
    pub fn join(&mut self, other: &Self) {
        self.totals.join(&other.totals);
        for ModelUsage { model, totals } in &other.models {
            self.of_model(model).join(totals);
        }
    }

    fn of_model(&mut self, model: &str) -> &mut UsageTotals {
        let at = match self.models.binary_search_by(|known| known.model.as_str().cmp(model)) {
            Ok(at) => at,
            Err(at) => {
                self.models.insert(at, ModelUsage { model: model.to_owned(), totals: UsageTotals::default() });
                at
            }
        };
        &mut self.models[at].totals
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(value: &serde_json::Value) -> Usage {
        Usage::from_value(value).unwrap()
    }

    #[test]
    fn a_sum_says_how_much_of_the_work_reported_it() {
        let mut sum = UsageSum::default();
        sum.add(&usage(&json!({ "tokens_in": 10, "cost": { "amount": "0.1", "currency": "USD" }, "model": "a" })));
        sum.add(&usage(&json!({ "tokens_in": 0, "cost": { "amount": "0.20", "currency": "USD" }, "duration": "2s" })));
        sum.add(&usage(&json!({ "cost": { "amount": "3", "currency": "EUR" }, "model": "a" })));
        sum.add(&Usage::default());
        let one = json!(sum);
        insta::assert_snapshot!(one, @r#"{"work":4,"tokens_in":{"sum":10,"reported":2},"tokens_out":null,"costs":[{"amount":"3","currency":"EUR","reported":1},{"amount":"0.30","currency":"USD","reported":2}],"duration_ms":{"sum":2000,"reported":1},"models":[{"model":"a","work":2,"tokens_in":{"sum":10,"reported":1},"tokens_out":null,"costs":[{"amount":"3","currency":"EUR","reported":1},{"amount":"0.1","currency":"USD","reported":1}],"duration_ms":null}]}"#);
        let mut doubled = sum.clone();
        doubled.join(&sum);
        assert_eq!(doubled.totals.work, 8);
        assert_eq!(doubled.totals.costs[1].amount.to_string(), "0.60");
        assert_eq!(doubled.models[0].totals.tokens_in, Some(PartialSum { sum: 20, reported: 2 }));
    }
}
