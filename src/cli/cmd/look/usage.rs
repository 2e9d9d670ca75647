//! What work used, for people.

use crate::cli::page::TextPage;
use crate::engine::RunUsage;
use crate::model::UsageTotals;
use crate::picture::totals_in_words;

/// What work used together; a dash if none of it reported anything.
pub(in crate::cli::cmd) fn usage_or_dash(totals: &UsageTotals) -> String {
    if totals.is_unknown() { "–".to_owned() } else { totals_in_words(totals) }
}

/// What the work of a run used, by phase and by model; nothing if none of it reported anything.
pub(in crate::cli::cmd) fn usage_table(used: &RunUsage, page: &mut TextPage) {
    if used.sum.totals.is_unknown() {
        return;
    }
    let mut rows = Vec::new();
    for one in &used.phases {
        let phase = one.phase.as_ref().map_or("no phase", |phase| phase.as_str());
        rows.push([phase.to_owned(), usage_or_dash(&one.sum.totals)]);
    }
    for one in &used.sum.models {
        rows.push([format!("with {}", one.model), usage_or_dash(&one.totals)]);
    }
    if rows.len() > 1 {
        rows.push(["all".to_owned(), usage_or_dash(&used.sum.totals)]);
    }
    page.line("  usage");
    page.table(4, rows);
}
