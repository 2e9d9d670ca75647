//! When work happened: the steps and units of a run as lanes over time.
//!
//! A log has points in time, not durations, and what is shown as work must have been recorded. Work begins with the
//! event that says it runs, or at the `started_at` of its record, and ends with the event that says how it went; what
//! is recorded without a beginning is a point. Being in a step is not work, and neither is waiting: both are told
//! apart from it. Work without an outcome goes on until now only if its worker is known to be alive; otherwise it
//! ends with the last event that shows it. Quiet stretches are folded, because a run may rest for days.

mod keeper;
mod lanes;
mod quiet;
#[cfg(test)]
mod tests;
mod track;

pub use keeper::Timekeeper;
pub use lanes::{Lane, OpenWork, SessionSpan, Span, SpanState, Stay, Timeline, Wait, WaitState};
pub use quiet::Fold;
