//! The codes of all findings, and their severities. `docs/doctor.md` explains them; a test compares.

use crate::doctor::report::Severity;

/// A finding's code and its severity. An error is something that flow cannot recover from by itself, or a loss of
/// acknowledged data; a warning is something that flow recovers from; an info needs no action.
pub(super) const CODES: &[(&str, Severity)] = &[
    // The project.
    ("flow_missing", Severity::Error),
    ("flow_foreign", Severity::Error),
    ("flow_elsewhere", Severity::Info),
    ("flow_unsafe", Severity::Error),
    ("flow_incomplete", Severity::Warning),
    ("not_writable", Severity::Warning),
    ("doubtful_file_system", Severity::Warning),
    ("gitignore_incomplete", Severity::Warning),
    ("gitignore_tracked", Severity::Warning),
    ("gitattributes_incomplete", Severity::Warning),
    ("prune_note_damaged", Severity::Warning),
    ("schema_outdated", Severity::Warning),
    ("half_made_run", Severity::Warning),
    ("stray_file", Severity::Warning),
    ("bad_run_name", Severity::Warning),
    ("twin_runs", Severity::Warning),
    ("workflow_invalid", Severity::Error),
    ("config_invalid", Severity::Error),
    ("config_unknown_key", Severity::Warning),
    ("definitions_missing", Severity::Warning),
    ("workflow_unread", Severity::Warning),
    ("gate_unread", Severity::Warning),
    ("policy_invalid", Severity::Error),
    ("script_invalid", Severity::Error),
    ("mode_unreadable", Severity::Error),
    ("mode_unknown", Severity::Warning),
    ("mode_log_damaged", Severity::Warning),
    // Anywhere.
    ("unreadable", Severity::Error),
    ("symbolic_link", Severity::Error),
    ("special_file", Severity::Error),
    ("wrong_kind", Severity::Error),
    ("hard_link", Severity::Error),
    ("foreign_owner", Severity::Error),
    ("odd_file", Severity::Warning),
    ("leftover_file", Severity::Warning),
    ("unknown_file", Severity::Info),
    ("quarantine", Severity::Info),
    // run.yaml.
    ("run_empty", Severity::Error),
    ("run_misplaced", Severity::Error),
    ("run_elsewhere", Severity::Info),
    ("left_out", Severity::Info),
    ("run_yaml_missing", Severity::Warning),
    ("run_yaml_unreadable", Severity::Error),
    ("run_yaml_conflict", Severity::Error),
    ("run_yaml_invalid", Severity::Error),
    ("run_yaml_schema", Severity::Error),
    ("run_yaml_refused", Severity::Error),
    ("run_yaml_behind", Severity::Warning),
    ("run_yaml_edited", Severity::Info),
    ("run_not_adopted", Severity::Info),
    ("line_ends", Severity::Info),
    // events.jsonl.
    ("log_missing", Severity::Error),
    ("log_no_start", Severity::Error),
    ("log_gap", Severity::Error),
    ("log_end_missing", Severity::Error),
    ("log_put_back", Severity::Warning),
    ("log_double", Severity::Error),
    ("log_joined", Severity::Error),
    ("log_unordered", Severity::Warning),
    ("log_line_damaged", Severity::Error),
    ("log_line_unreadable", Severity::Warning),
    ("log_merge_markers", Severity::Warning),
    ("log_line_unsealed", Severity::Info),
    ("log_torn_tail", Severity::Warning),
    ("log_nul_tail", Severity::Warning),
    ("log_repaired", Severity::Info),
    ("pinned_workflow_unreadable", Severity::Warning),
    // Activity files and what they refer to.
    ("activity_missing", Severity::Warning),
    ("activity_vanished", Severity::Warning),
    ("activity_cut_off", Severity::Warning),
    ("activity_unreadable", Severity::Warning),
    ("activity_edited", Severity::Info),
    ("activity_unknown", Severity::Warning),
    ("activity_number_twice", Severity::Warning),
    ("evidence_changed", Severity::Warning),
    ("evidence_missing", Severity::Warning),
    // The store that several machines share.
    ("store_not_accepted", Severity::Warning),
    ("run_hidden", Severity::Warning),
    ("store_not_reached", Severity::Warning),
    ("store_emptied", Severity::Error),
    ("store_push_unfinished", Severity::Warning),
    ("store_lost_run", Severity::Error),
    ("store_lost_events", Severity::Error),
    ("store_unlisted", Severity::Error),
    ("store_log_damaged", Severity::Error),
    ("store_log_unread", Severity::Warning),
    ("store_unmarked", Severity::Warning),
    ("store_mark_left", Severity::Info),
    ("store_deletes", Severity::Error),
    // The lock.
    ("lock_held", Severity::Info),
    ("lock_missing", Severity::Info),
];

/// The severity of `code`.
///
/// # Panics
/// If [`CODES`] has no row for the code.
pub(super) fn severity(code: &str) -> Severity {
    match CODES.iter().find(|(known, _)| *known == code) {
        Some((_, severity)) => *severity,
        None => panic!("BUG: {code} is not among the codes"),
    }
}
