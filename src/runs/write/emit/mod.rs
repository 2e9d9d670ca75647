//! `emit`: agents report on the steps of a workflow (rp1). The first report creates the run if it does not exist.

mod agents;
mod answer;
mod request;
mod verb;

pub use answer::{EmitData, EmitReport, EmittedActivity, EmittedReport};
pub use request::EmitRequest;
pub use verb::emit;
pub(crate) use verb::{MissingRun, Reporter, emit_by};
