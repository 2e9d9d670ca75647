//! `remote use | status | probe | push | fetch`.

use crate::cli::args::RemoteCommand;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{TextPage, or_dash};
use crate::cli::progress::while_waiting;
use crate::model::{Suggestion, Timestamp};
use crate::picture::age;
use crate::runs::Context;
use crate::sharing::{self, FetchRequest, PushRequest, StoreStatusReport, UseReport, UseRequest};

pub(super) fn run(cx: &Context, command: RemoteCommand, out: &mut Out) -> CliResult {
    match command {
        RemoteCommand::Use { store } => use_store(cx, store, out),
        RemoteCommand::Status => {
            let report = while_waiting("asking the store", || sharing::store_status(cx))?;
            out.warnings(&report.notes);
            Ok(out.answer(&report, |page| status(&report, cx.now(), page)))
        }
        RemoteCommand::Probe { store } => {
            let report =
                while_waiting("trying the store with many writers", || sharing::probe_store(cx, store.as_deref()))?;
            Ok(out.answer(&report, |page| {
                page.line(&format!("{} ({}) kept everything in this trial", report.store, report.address));
            }))
        }
        RemoteCommand::Push { run, another } => {
            let report = while_waiting("moving the run", || sharing::push(cx, &PushRequest { run, another }))?;
            out.committed(format!("{} is in {}", report.run_id, report.store));
            out.warnings(&report.warnings);
            Ok(out.answer(&report, |page| {
                page.line(&format!("{} is shared in {}, up to event {}", report.run_id, report.store, report.seq));
            }))
        }
        RemoteCommand::Fetch { run } => {
            let report = while_waiting("bringing the run", || sharing::fetch(cx, &FetchRequest { run }))?;
            out.warnings(&report.warnings);
            Ok(out.answer(&report, |page| {
                page.line(&format!("{} is here up to event {}", report.run_id, report.seq));
                for name in &report.evidence {
                    page.line(&format!("and its evidence/{name}"));
                }
            }))
        }
    }
}

fn use_store(cx: &Context, store: String, out: &mut Out) -> CliResult {
    let report = while_waiting("trying the store with many writers", || sharing::use_store(cx, &UseRequest { store }))?;
    let UseReport { store, readers, changed_configuration, runs, .. } = &report;
    out.committed(format!("{store} is accepted"));
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| {
        page.line(&format!("new runs of this project are kept in {store}"));
        page.line(&format!("they can be read by {readers}"));
        let shared = match runs {
            0 => "no run is shared there yet".to_owned(),
            1 => "1 run is shared there".to_owned(),
            n => format!("{n} runs are shared there"),
        };
        page.line(&shared);
        if *changed_configuration {
            page.line("commit .flow/config.yaml, which names it now; each machine accepts it once with this command");
        }
    }))
}

fn status(report: &StoreStatusReport, now: Timestamp, page: &mut TextPage) {
    let StoreStatusReport { store, address, accepted, reached, at, runs, local, .. } = report;
    let Some(store) = store else {
        page.line(&format!("all runs are in this checkout alone ({local})"));
        return;
    };
    page.fields(&[
        ("store", store.clone()),
        ("address", or_dash(address.as_ref())),
        ("here alone", runs_in_words(*local)),
    ]);
    if address.is_none() {
        page.field("shared", "not seen: it cannot be used");
        return;
    }
    if !accepted {
        page.field("shared", "not seen: it was not accepted on this machine");
        page.field("next", &Suggestion::flow("remote use").value(store).to_string());
        return;
    }
    page.field("shared", &runs_in_words(runs.iter().filter(|run| !run.lost).count()));
    let seen = at.map(|at| format!("{} ago", age(at, now))).unwrap_or_else(|| "never".to_owned());
    page.field("reached", if *reached { "just now" } else { &seen });
    let mut rows = Vec::new();
    for run in runs {
        let lost = if run.lost { ", which the store has lost" } else { "" };
        rows.push([run.run_id.to_string(), or_dash(run.status), format!("event {}{lost}", run.seq)]);
    }
    page.table(2, rows);
}

fn runs_in_words(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}
