//! What a piece of work used: tokens, money and time, as it was reported, and sums of it.

mod amount;
mod sum;
mod time;
mod used;

pub use amount::{Amount, Currency};
pub use sum::{CostSum, ModelUsage, PartialSum, UsageSum, UsageTotals};
pub use time::TimeUsed;
pub use used::{Cost, Usage};
