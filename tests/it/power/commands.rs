//! The writing commands, each with a project in which it has something to do. A new command is a new row.

use flowrun::runs::{
    self, ClaimRequest, Context, EmitRequest, InitRequest, RecordRequest, ReportRequest, ResumeRequest,
    SessionEndRequest, StatusRequest, StatusVerb,
};

use super::reference::{Again, done};
use crate::support::Sandbox;

/// Stands for the run in the arguments of a command.
pub const RUN: &str = "RUN";
/// Stands for twenty thousand bytes.
pub const LONG: &str = "LONG";
/// The run that `start` makes.
const NEW: &str = "2026-05-20T160000Z-new";
/// What a person wrote into `run.yaml`.
const COMMENT: &str = "# ask Ada first";
const LATER: &str = "# and then Bob";

/// One or more commands in a row.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it is called in a report.
    pub name: &'static str,
    /// Makes the project and gives the run that the commands write.
    pub scene: fn(&Sandbox) -> String,
    /// The commands.
    pub commands: &'static [&'static [&'static str]],
    /// One of them once more; none where that is another operation.
    pub again: Option<Again>,
    /// Whether it is known by its id, also after something else was recorded.
    pub by_id: bool,
    /// What a person wrote into `run.yaml` and must find there.
    pub kept: &'static [&'static str],
}

const RECORD: &[&str] = &["record-activity", "--run-id", RUN, "--phase", "plan", "--id", "plan-done"];
const CODE: &[&str] = &["record-activity", "--run-id", RUN, "--phase", "code", "--id", "code-done"];
const VERIFY: &[&str] = &["record-activity", "--run-id", RUN, "--phase", "verify", "--id", "verify-done"];
const LONG_RECORD: &[&str] =
    &["record-activity", "--run-id", RUN, "--phase", "plan", "--id", "plan-done", "--summary", LONG];
const EMIT: [&str; 6] = ["emit", "--workflow", "build", "--run-id", "--type", "status_change"];
const RUNNING: &str = r#"{"status":"running"}"#;
/// Recovers a run, and records.
pub const RECOVERY: &[&str] = &["record-activity", "--run-id", RUN, "--id", RECOVERED];
const RECOVERED: &str = "recovered";
/// Starts the run that is called [`NEW`].
pub const START: &[&str] = &["start", "start-issue", "--id", NEW, "--repo", "acme/widgets", "--branch", "main"];
const START_NOTED: &[&str] =
    &["start", "start-issue", "--issue", "7", "--id", NEW, "--repo", "acme/widgets", "--branch", "main"];

/// One record in a run that a person has written in.
pub const ONE_RECORD: Case = Case {
    name: "record-activity",
    scene: begun,
    commands: &[RECORD],
    again: Some(|flow, run, _| record(flow, run, "plan", "plan-done", None)),
    by_id: true,
    kept: &[COMMENT],
};

/// The first run of a project.
pub const FIRST_START: Case =
    Case { name: "start (first)", scene: |_| NEW.to_owned(), commands: &[START], again: None, by_id: false, kept: &[] };

/// A run that ends.
pub const COMPLETE: Case = Case {
    name: "complete",
    commands: &[&["complete", RUN, "--skip-reason", "enough"]],
    again: Some(|flow, run, _| status(flow, run, StatusVerb::Complete, "")),
    by_id: false,
    ..ONE_RECORD
};

/// Three records in a row: what the first left unflushed is still pending at the third.
pub const THREE_RECORDS: Case = Case {
    name: "record-activity, three in a row",
    commands: &[RECORD, CODE, VERIFY],
    again: Some(|flow, run, nth| {
        let phase = ["plan", "code", "verify"][nth - 1];
        record(flow, run, phase, &format!("{phase}-done"), None)
    }),
    ..ONE_RECORD
};

/// A record that many blocks hold.
pub const LONG_ONE: Case = Case {
    name: "record-activity, 20 KB",
    commands: &[LONG_RECORD],
    again: Some(|flow, run, _| record(flow, run, "plan", "plan-done", Some(long()))),
    ..ONE_RECORD
};

/// A record where a part of a line ends with its page, so that the new line's end comes into the next one.
pub const BEHIND_A_TORN_PAGE: Case =
    Case { name: "record-activity behind a torn page", scene: torn_page, ..ONE_RECORD };

/// Every writing command.
pub const ALL: &[Case] = &[
    ONE_RECORD,
    THREE_RECORDS,
    LONG_ONE,
    FIRST_START,
    COMPLETE,
    Case {
        name: "init",
        commands: &[&["init"]],
        again: Some(|flow, _, _| done(runs::init(flow, &InitRequest::default()))),
        ..FIRST_START
    },
    Case { name: "start (first) with a journal", commands: &[START_NOTED], ..FIRST_START },
    Case { name: "start (further)", scene: with_another_run, commands: &[START_NOTED], ..FIRST_START },
    Case { name: "record-activity after a hand edit", scene: edited, kept: &[COMMENT, LATER], ..ONE_RECORD },
    Case { name: "record-activity with recovery", scene: behind, ..ONE_RECORD },
    BEHIND_A_TORN_PAGE,
    Case {
        name: "emit",
        scene: reported,
        commands: &[&[
            EMIT[0], EMIT[1], EMIT[2], EMIT[3], RUN, EMIT[4], EMIT[5], "--step", "design", "--data", RUNNING, "--id",
            "k1",
        ]],
        again: Some(|flow, run, _| report(flow, run, "design")),
        kept: &[],
        ..ONE_RECORD
    },
    Case {
        name: "emit (first)",
        commands: &[&[
            EMIT[0], EMIT[1], EMIT[2], EMIT[3], NEW, EMIT[4], EMIT[5], "--step", "requirements", "--data", RUNNING,
            "--id", "k1",
        ]],
        ..FIRST_START
    },
    Case {
        name: "block",
        commands: &[&["block", RUN, "--reason", "which region?"]],
        again: Some(|flow, run, _| status(flow, run, StatusVerb::Block, "which region?")),
        ..COMPLETE
    },
    Case {
        name: "unblock",
        scene: blocked,
        commands: &[&["unblock", RUN, "--reason", "the near one"]],
        again: Some(|flow, run, _| status(flow, run, StatusVerb::Unblock, "the near one")),
        ..COMPLETE
    },
    Case {
        name: "fail",
        commands: &[&["fail", RUN, "--reason", "out of money"]],
        again: Some(|flow, run, _| status(flow, run, StatusVerb::Fail, "out of money")),
        ..COMPLETE
    },
    Case {
        name: "cancel",
        commands: &[&["cancel", RUN, "--reason", "not wanted"]],
        again: Some(|flow, run, _| status(flow, run, StatusVerb::Cancel, "not wanted")),
        ..COMPLETE
    },
    Case {
        name: "resume --claim",
        commands: &[&["resume", RUN, "--claim", "--session", "s1"]],
        again: Some(|flow, run, _| {
            let (run, session) = (Some(run.to_owned()), Some("s1".parse().unwrap()));
            done(runs::resume(
                flow,
                &ResumeRequest { run, session, claim: Some(ClaimRequest::Claim), ..ResumeRequest::default() },
            ))
        }),
        ..COMPLETE
    },
    Case {
        name: "session-end",
        commands: &[&["session-end", "--unowned"]],
        again: Some(|flow, _, _| {
            done(runs::session_end(flow, &SessionEndRequest { unowned: true, ..Default::default() }))
        }),
        ..COMPLETE
    },
];

/// [`RECOVERY`] once more.
pub fn recover(flow: &Context, run: &str, _: usize) -> Result<(), String> {
    let (run, id) = (Some(run.to_owned()), Some(RECOVERED.parse().unwrap()));
    done(runs::record_activity(flow, &RecordRequest { run, id, ..RecordRequest::default() }))
}

/// Twenty thousand bytes of text.
pub fn long() -> String {
    (0..2000).map(|line| format!("{line:>9}\n")).collect()
}

fn record(flow: &Context, run: &str, phase: &str, id: &str, summary: Option<String>) -> Result<(), String> {
    let (run, id, phase) = (Some(run.to_owned()), Some(id.parse().unwrap()), Some(phase.parse().unwrap()));
    done(runs::record_activity(flow, &RecordRequest { run, id, phase, summary, ..RecordRequest::default() }))
}

fn status(flow: &Context, run: &str, verb: StatusVerb, reason: &str) -> Result<(), String> {
    let (run, reason) = (Some(run.to_owned()), Some(reason.to_owned()).filter(|reason| !reason.is_empty()));
    let skip_reason = (verb == StatusVerb::Complete).then(|| "enough".to_owned());
    done(runs::change_status(flow, &StatusRequest { run, reason, skip_reason, ..StatusRequest::new(verb) }))
}

/// Two records, and a person's comment that the second one adopted.
fn begun(sandbox: &Sandbox) -> String {
    let run = sandbox.start("start-issue");
    sandbox.record(&run, "preflight", "preflight-done");
    sandbox.edit(&run, "state:", &format!("{COMMENT}\nstate:"));
    sandbox.record(&run, "explore", "explore-done");
    run
}

fn with_another_run(sandbox: &Sandbox) -> String {
    begun(sandbox);
    NEW.to_owned()
}

/// A person has just saved `run.yaml` once more.
fn edited(sandbox: &Sandbox) -> String {
    let run = begun(sandbox);
    sandbox.edit(&run, "limits:", &format!("{LATER}\nlimits:"));
    run
}

fn blocked(sandbox: &Sandbox) -> String {
    let run = begun(sandbox);
    sandbox.flow(["block", &run, "--reason", "which region?"]).ok();
    run
}

/// A power cut left as much of a line as was in its first page.
fn torn_page(sandbox: &Sandbox) -> String {
    const PAGE: usize = 4096;
    let run = begun(sandbox);
    let log = sandbox.read(&run, "events.jsonl");
    let (torn, next) = (PAGE - log.len(), log.lines().last().unwrap().len());
    assert!(torn < next, "the next line does not reach into another page: {torn} of about {next} bytes fit");
    std::fs::write(sandbox.run_dir(&run).join("events.jsonl"), log.clone() + &log[..torn]).unwrap();
    run
}

/// A power cut took the latest `run.yaml`, an activity file, and left a part of a line.
fn behind(sandbox: &Sandbox) -> String {
    let run = begun(sandbox);
    let dir = sandbox.run_dir(&run);
    let (older, log) = (sandbox.read(&run, "run.yaml"), sandbox.read(&run, "events.jsonl"));
    sandbox.record(&run, "explore", "explore-more");
    let newer = sandbox.read(&run, "events.jsonl");
    std::fs::write(dir.join("events.jsonl"), newer.clone() + &log[..100]).unwrap();
    std::fs::write(dir.join("run.yaml"), older).unwrap();
    std::fs::remove_file(dir.join("activities/003-explore-more.yaml")).unwrap();
    run
}

/// A run whose first step was reported.
fn reported(sandbox: &Sandbox) -> String {
    let args = ["emit", "--workflow", "build", "--run-id", NEW, "--type", "status_change", "--step", "requirements"];
    sandbox.flow(args.iter().chain(&["--data", RUNNING])).ok();
    NEW.to_owned()
}

/// The report of the row `emit` once more.
fn report(flow: &Context, run: &str, step: &str) -> Result<(), String> {
    let kind = Some("status_change".to_owned());
    let reports = vec![ReportRequest::from_texts(kind, Some(step.to_owned()), None, Some(RUNNING)).unwrap()];
    done(runs::emit(
        flow,
        &EmitRequest {
            workflow: "build".to_owned(),
            run: run.to_owned(),
            reports,
            id: Some("k1".parse().unwrap()),
            ..EmitRequest::default()
        },
    ))
}
