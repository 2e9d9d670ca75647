//! Arguments that say what work used.

use clap::Args;

use crate::cli::args::values::tokens;
use crate::model::{Cost, TimeUsed, Usage};

// What a piece of work used.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// How many tokens went into models
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = tokens)]
    tokens_in: Option<u64>,
    /// How many tokens came out of them
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = tokens)]
    tokens_out: Option<u64>,
    /// What it cost: an exact amount and its currency, such as '0.42 USD'
    #[arg(long, value_name = "AMOUNT CURRENCY", allow_hyphen_values = true)]
    cost: Option<Cost>,
    /// The model that was used
    #[arg(long, value_name = "NAME", value_parser = Usage::model_named)]
    model: Option<String>,
    /// How long it took, with its unit: 340ms, 12.5s, 3m or 1.5h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    duration: Option<TimeUsed>,
}

impl UsageArgs {
    /// What is known.
    pub(crate) fn usage(self) -> Usage {
        let Self { tokens_in, tokens_out, cost, model, duration } = self;
        Usage { tokens_in, tokens_out, cost, model, duration }
    }
}
