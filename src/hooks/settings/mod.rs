//! The settings of agents' hosts: flow's hooks in them, and what else hosts can be given of flow.
//!
//! A file of settings belongs to its owner. Its text is edited, all other bytes stay, and taking the hooks out gives the
//! bytes of before. See `docs/decisions/021-settings-files.md`.

mod ask;
mod change;
mod command;
mod diff;
mod doctor;
mod edit;
mod error;
mod file;
mod host;
mod look;
mod managed;
mod obstacle;
mod plugin;
mod rules;
mod script;
mod setup;
mod status;
mod whole;

pub use crate::host::{AgentHost, Rules};
pub use change::{
    ChangeOutcome, HooksChangeReport, HooksInstallRequest, HooksUninstallRequest, SettingsChange, install, uninstall,
};
pub use doctor::{HooksDoctorReport, HooksDoctorRequest, HooksFinding, LastCall, doctor};
pub use edit::StatusLineOutcome;
pub use host::{HostChoice, SettingsScope};
pub use plugin::{HooksFilesReport, HooksPluginRequest, HooksSkillRequest, WrittenFile, plugin, skill};
pub use setup::{
    SetupFile, SetupPart, SetupPlan, SetupReport, SetupRequest, SkippedHost, carry_out as carry_out_setup,
    plan as plan_setup,
};
pub use status::{
    HandlerStatus, HandlerTrust, HandlerVersion, HooksStatusReport, HooksStatusRequest, InstallState, PluginStatus,
    SettingsStatus, status,
};
