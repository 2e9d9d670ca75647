//! What the work of a run used, by phase and by model.

use maud::{Markup, html};

use crate::model::UsageTotals;
use crate::picture::page::pieces::cell;
use crate::picture::page::run::view::RunPage;
use crate::picture::usage::totals_in_words;
use crate::picture::words::shortened;

/// The most models that are named.
const MODELS: usize = 20;

pub(super) fn usage(view: &RunPage<'_>) -> Markup {
    let used = &view.run.usage;
    if used.sum.totals.is_unknown() {
        return html! {};
    }
    html! {
        section data-key="usage" {
            h2 { "Usage " span.dim { "as it was reported" } }
            table.cards {
                thead { tr { th { "Work" } th { "Used" } } }
                tbody {
                    @for one in &used.phases {
                        (row(one.phase.as_ref().map_or("no phase", |phase| phase.as_str()), &one.sum.totals))
                    }
                    @for one in used.sum.models.iter().take(MODELS) { (row(&format!("with {}", one.model), &one.totals)) }
                    (row("all", &used.sum.totals))
                }
            }
        }
    }
}

fn row(of: &str, totals: &UsageTotals) -> Markup {
    html! {
        tr {
            (cell("Work", html! { (shortened(of, 200)) }))
            (cell("Used", html! {
                @if totals.is_unknown() { span.dim { "–" } } @else { (totals_in_words(totals)) }
            }))
        }
    }
}
