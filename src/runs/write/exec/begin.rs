//! The first of the two commits of `exec`: that the command begins.

use serde_json::{Value, json};

use crate::codec::digest;
use crate::engine::{Command, Record, Refusal};
use crate::host::Holder;
use crate::model::{
    Activity, ActivityId, ActivityRecorded, ActivityStatus, ActivityType, EventKind, Execution, Kind, Number, Problem,
    RunId, Seq, StateName, Suggestion, TextDigest, command_line, slug,
};
use crate::runs::error::{Error, Result};
use crate::runs::write::begun::command_at_work;
use crate::runs::write::exec::request::ExecRequest;
use crate::runs::write::questions::append_and_warn;
use crate::runs::write::record::{Earlier, latest_before};
use crate::runs::write::transaction::Transaction;

/// The longest title, in characters.
const TITLE: usize = 200;

/// What the first commit led to.
pub(super) enum Begin {
    /// The command is to be run.
    Run {
        /// The number of the record that it begins.
        number: Number,
        id: ActivityId,
        phase: StateName,
        /// The digest of the request.
        asked: TextDigest,
    },
    /// It ran already, under the same id.
    RanAlready {
        /// The position of the event that has its end.
        seq: Seq,
        record: Box<ActivityRecorded>,
    },
}

/// Records that `execution` begins, unless it ran already.
///
/// # Errors
/// `exec_in_doubt` and `exec_runs` if it began already and its end is not known, and those of a record.
pub(super) fn begin(tx: &mut Transaction<'_>, request: &ExecRequest, execution: &Execution) -> Result<Begin> {
    let id = match &request.id {
        Some(id) => id.clone(),
        None => free_id(tx, execution)?,
    };
    let asked = TextDigest(digest(canonical(request, execution).as_bytes()));
    if request.id.is_some()
        && let Some(latest) = latest_before(tx, &id)?
        && ran_already(tx, request, &asked, &latest)?
    {
        tx.answer_stands();
        return Ok(Begin::RanAlready { seq: latest.seq, record: Box::new(latest.record) });
    }
    let activity = activity_of(&id, request.phase.as_ref(), execution, ActivityStatus::Running);
    let record = Record {
        exec: Some(Box::new(execution.clone())),
        request: Some(asked.clone()),
        ..Record::new(activity, tx.next_number(None, &id)?)
    };
    let mut recorded = tx.decide_record(Command::Record(Box::new(record)))?;
    // A later session that finds it without an end can see whether this process still runs.
    recorded.by = Holder::running(std::process::id()).iter().map(ToString::to_string).collect();
    let (phase, number) = (recorded.phase.clone(), recorded.number);
    tx.claim_for_work()?;
    let key = request.id.as_ref().map(ActivityId::as_str);
    append_and_warn(tx, EventKind::ActivityRecorded(recorded), key)?;
    tx.commit()?;
    Ok(Begin::Run { number, id, phase, asked })
}

/// Whether the latest record of the same id has the end of this command, so that it is not to be run.
fn ran_already(tx: &Transaction<'_>, request: &ExecRequest, asked: &TextDigest, earlier: &Earlier) -> Result<bool> {
    let (run, latest) = (tx.state.id(), &earlier.record);
    let status = latest.activity.status();
    let Some(exec) = &latest.exec else {
        // Someone else's record. Work that was begun or did not end well goes on.
        return if status.is_completed() && !request.again { Err(reused(run, latest)) } else { Ok(false) };
    };
    if exec.end.is_none() && status == ActivityStatus::Running {
        let parent = earlier.of.as_ref();
        if let Some(at_work) = command_at_work(tx.project, parent.unwrap_or(run), latest) {
            return Err(at_work.refusal("wait for its end, or give another --id; nothing was run").into());
        }
        if !request.again {
            return Err(in_doubt(run, parent, latest).into());
        }
        return Ok(false);
    }
    if request.again {
        return Ok(false);
    }
    if latest.request.as_ref().is_some_and(|request| request.begins(asked)) {
        return Ok(true);
    }
    Err(reused(run, latest))
}

fn reused(run: &RunId, latest: &ActivityRecorded) -> Error {
    let (id, number, status) = (latest.id().to_string(), latest.number, latest.activity.status());
    let refusal = Refusal::IdReused { id, number, status };
    Problem::new(Kind::Refused, "id_reused", format!("run {run}: {refusal}"))
        .help("--again runs this command in its place; without --id it gets an id of its own")
        .into()
}

/// A command without an end; one that a fork took over may have it in the parent.
fn in_doubt(run: &RunId, parent: Option<&RunId>, latest: &ActivityRecorded) -> Problem {
    let message = format!("{} {} began, and its end was not seen", latest.number, latest.id());
    let help = match parent {
        Some(parent) => Suggestion::flow("show").value(parent) + " may tell how it ended there",
        None => Suggestion::flow("resume").value(run) + " shows what to do",
    };
    Problem::new(Kind::Refused, "exec_in_doubt", message).help(help + "; --again runs the command once more")
}

/// The request, as a retry gives it.
fn canonical(request: &ExecRequest, execution: &Execution) -> String {
    let phase = request.phase.as_ref().map(StateName::as_str);
    let mut asked =
        vec![json!("exec"), json!(execution.argv), json!(execution.dir), json!(execution.name), json!(phase)];
    if !request.inputs.is_empty() {
        asked.push(json!({ "inputs": request.inputs }));
    }
    if !request.usage.is_unknown() {
        asked.push(json!({ "usage": request.usage }));
    }
    Value::Array(asked).to_string()
}

/// An id made of the command: the one of an earlier run of it, whose outcome this one replaces, unless that still goes on.
/// Another command of which the same id would be made has its own outcome.
fn free_id(tx: &Transaction<'_>, execution: &Execution) -> Result<ActivityId> {
    let words = execution.name.clone().unwrap_or_else(|| execution.argv.join(" "));
    let base = slug(&words, 80).unwrap_or_else(|| "command".to_owned());
    let (mut id, mut n) = (ActivityId::new(&base)?, 2);
    loop {
        let Some(Earlier { record: latest, .. }) = latest_before(tx, &id)? else { return Ok(id) };
        let is_another = latest.exec.as_ref().is_some_and(|earlier| !is_same_command(earlier, execution));
        if !is_another && latest.activity.status() != ActivityStatus::Running {
            return Ok(id);
        }
        id = ActivityId::new(format!("{base}-{n}"))?;
        n += 1;
    }
}

fn is_same_command(one: &Execution, other: &Execution) -> bool {
    (&one.argv, &one.name, &one.dir) == (&other.argv, &other.name, &other.dir)
}

/// The activity that the command is.
pub(super) fn activity_of(
    id: &ActivityId,
    phase: Option<&StateName>,
    execution: &Execution,
    status: ActivityStatus,
) -> Activity {
    let title: String = command_line(&execution.argv).chars().take(TITLE).collect();
    let mut activity = Activity::of_work(id, ActivityType::Bash, Some(&title), status);
    if let Some(phase) = phase {
        activity.fill("metadata", "phase", phase.as_str());
    }
    activity.fill("activity", "started_at", execution.started_at.to_string());
    activity
}
