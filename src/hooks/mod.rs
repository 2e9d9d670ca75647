//! The hooks of agents' hosts: a host's payload in, a verb, the host's output out. No rule lives here.
//!
//! A hook may never disturb its host. So it always succeeds, and trouble goes to `.flow/.cache/hooks.log`, or to the
//! user's own log. The facts about hosts come from Claude Code 2.1.330 and Codex 0.169.0; see `docs/hosts.md`.

mod brief;
mod hook;
mod hud;
mod output;
mod payload;
pub mod settings;

pub use hook::{Call, hook};
pub use hud::{HudReport, HudRequest, hud};
pub use payload::{HostInput, event_names};
