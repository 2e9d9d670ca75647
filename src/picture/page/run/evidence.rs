//! What a run refers to as evidence and artifacts.

use maud::{Markup, html};

use crate::model::Number;
use crate::picture::page::file::file_address;
use crate::picture::page::pieces::cell;
use crate::picture::page::run::view::RunPage;
use crate::picture::words::{clean, count, shortened};
use crate::runs::{EvidenceItem, EvidenceKind, EvidenceOrigin};

/// The most rows of evidence.
const EVIDENCE: usize = 200;

pub(super) fn evidence(view: &RunPage<'_>) -> Markup {
    if view.evidence.is_empty() {
        return html! {};
    }
    html! {
        section data-key="evidence" {
            h2 { "Evidence and artifacts " span.dim { (count(view.evidence.len())) } }
            table.cards {
                thead { tr { th { "What" } th { "From" } th { "Size" } } }
                tbody { @for item in view.evidence.iter().take(EVIDENCE) {
                    tr {
                        (cell("What", evidence_link(view, item)))
                        (cell("From", origin(&item.origin)))
                        (cell("Size", html! {
                            @match (item.exists, item.bytes) {
                                (Some(false), _) => span class="tag bad" { "✕ missing" },
                                (_, Some(bytes)) => { (count(usize::try_from(bytes).unwrap_or(usize::MAX))) " bytes" }
                                (_, None) => {}
                            }
                        }))
                    }
                } }
            }
            @if view.evidence.len() > EVIDENCE {
                p.dim { "More is left out. All: " code { "flow evidence " (view.run.card.run.head.run_id) } }
            }
        }
    }
}

fn evidence_link(view: &RunPage<'_>, item: &EvidenceItem) -> Markup {
    let shown = shortened(&item.reference, 200);
    html! {
        @if let Some(label) = &item.label { (shortened(label, 200)) " " }
        @match (item.kind, &item.file, view.project()) {
            // Other people wrote the address, so the page behind it learns nothing of this one.
            (EvidenceKind::Link, ..) => a href=(item.reference) rel="noopener noreferrer" { (shown) },
            // What a fork took over stays with the run that recorded it.
            (_, Some(file), Some(project)) if item.exists == Some(true) => {
                a href={ "/" (project) "/runs/" (item.run_id) "/" (file_address(file)) } { (shown) }
            }
            (EvidenceKind::File, ..) => code { (shown) },
            (EvidenceKind::Text, ..) => (shown),
        }
    }
}

fn origin(origin: &EvidenceOrigin) -> Markup {
    match origin {
        EvidenceOrigin::Activity { number, id } => html! { (number) " " (clean(id)) },
        EvidenceOrigin::Artifact { step } => html! {
            "artifact" @if let Some(step) = step { " of " (step) }
        },
        EvidenceOrigin::Directory => html! { span.dim { "nothing refers to it" } },
    }
}

/// What the record of this number refers to, each with its size, or that it is missing.
pub(super) fn evidence_of(view: &RunPage<'_>, record: Number) -> Vec<Markup> {
    let mut found = Vec::new();
    for item in view.evidence {
        if !matches!(&item.origin, EvidenceOrigin::Activity { number, .. } if *number == record) {
            continue;
        }
        found.push(html! {
            (evidence_link(view, item))
            @match (item.exists, item.bytes) {
                (Some(false), _) => span.bad { " missing" },
                (_, Some(bytes)) => span.dim { " " (count(usize::try_from(bytes).unwrap_or(usize::MAX))) " bytes" },
                (_, None) => {}
            }
        });
    }
    found
}
