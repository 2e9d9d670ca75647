//! `prune`.

use std::path::{Path, PathBuf};

use crate::cli::args::PruneArgs;
use crate::cli::exit::Exit;
use crate::cli::out::{CliResult, Out};
use crate::cli::page::{CARE, TextPage};
use crate::cli::person::can_be_asked;
use crate::cli::prompt::Prompt;
use crate::model::counted;
use crate::runs::{self, Context, Error, PruneReport, PruneRequest, parse_since};

pub(in crate::cli::cmd) fn run(cx: &Context, args: PruneArgs, out: &mut Out) -> CliResult {
    let ended_before = match parse_since(&args.older_than, cx.now()) {
        Ok(before) => Some(before),
        Err(message) => return Err(Error::Usage(format!("--older-than: {message}")).into()),
    };
    let keep = args.keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
    let to: Option<PathBuf> = args.to;
    let mut request = PruneRequest { ended_before, keep, to: to.clone(), only: None, dry_run: true };
    // What is moved can be moved back.
    let is_sure = args.yes || request.to.is_some();
    if args.dry_run || !is_sure {
        let plan = runs::prune(cx, &request)?;
        if args.dry_run {
            return Ok(out.answer(&plan, |page| fill(&plan, to.as_deref(), page)));
        }
        if !plan.pruned.is_empty() && !can_be_asked(out) {
            let shown = out.answer(&plan, |page| fill(&plan, to.as_deref(), page));
            return Ok(out.only_shown(shown, "nothing is removed; --yes removes these runs\n"));
        }
        if !plan.pruned.is_empty() {
            out.aside_page(|page| fill(&plan, to.as_deref(), page));
            if !Prompt::new(out).agrees("Remove these runs for good?") {
                out.aside("nothing is removed\n");
                return Ok(Exit::Refused);
            }
        }
        request.only = Some(plan.pruned.into_iter().map(|run| run.run_id).collect());
    }
    request.dry_run = false;
    let report = runs::prune(cx, &request)?;
    if !report.pruned.is_empty() {
        out.committed(format!("{} are pruned", counted(report.pruned.len(), "run")));
    }
    out.warnings(&report.warnings);
    Ok(out.answer(&report, |page| fill(&report, to.as_deref(), page)))
}

fn fill(report: &PruneReport, to: Option<&Path>, page: &mut TextPage) {
    let widest = report.pruned.iter().map(|run| size(run.bytes).len()).max().unwrap_or_default();
    page.table(
        0,
        report.pruned.iter().map(|run| {
            let ended = run.ended_at.as_datetime().format("%Y-%m-%d").to_string();
            [run.run_id.to_string(), run.status.to_string(), ended, format!("{:>widest$}", size(run.bytes))]
        }),
    );
    for run in report.kept.iter().filter(|run| run.is_due) {
        page.head(CARE, "stays", &format!("{}: {}", run.run_id, run.why));
    }
    page.line(&sum(report, to));
}

/// How much it is, what becomes of it, and how many others there are. The directory `to` is named as the caller named it:
/// from where the caller is, another path would be another place.
fn sum(report: &PruneReport, to: Option<&Path>) -> String {
    let others = report.kept.iter().filter(|run| !run.is_due).count();
    let others = match others {
        0 => String::new(),
        1 => "; 1 other stays".to_owned(),
        n => format!("; {n} others stay"),
    };
    if report.pruned.is_empty() {
        return format!("no run to prune{others}");
    }
    let bytes = report.pruned.iter().map(|run| run.bytes).sum();
    let what = match (to, report.dry_run) {
        (None, false) => "removed".to_owned(),
        (None, true) => "to be removed".to_owned(),
        (Some(to), false) => format!("moved to {}", to.display()),
        (Some(to), true) => format!("to be moved to {}", to.display()),
    };
    format!("{}, {}, {what}{others}", counted(report.pruned.len(), "run"), size(bytes))
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut rest, mut unit) = (bytes, 0);
    while rest >= 1024 * 1024 && unit + 1 < UNITS.len() {
        rest /= 1024;
        unit += 1;
    }
    let (whole, tenth) = (rest / 1024, rest % 1024 * 10 / 1024);
    if whole < 10 { format!("{whole}.{tenth} {}", UNITS[unit]) } else { format!("{whole} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits_or_more() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (10 * 1024 - 1, "9.9 KiB"),
            (1 << 20, "1.0 MiB"),
            (34 << 20, "34 MiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
