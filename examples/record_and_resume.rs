//! Uses flow as a library: a run in a temporary directory is started, worked on, interrupted and resumed.
//!
//! `cargo run --example record_and_resume`

use flowrun::host::{Clock, Env, Git, Ids};
use flowrun::model::{ActivityStatus, SessionId};
use flowrun::runs::{self, Context, Options, RecordRequest, ResumeRequest, SessionEndRequest, StartRequest};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn main() -> Outcome<()> {
    let project = tempfile::tempdir()?;
    let options = Options {
        project: Some(project.path().to_owned()),
        command: "record_and_resume".to_owned(),
        ..Options::default()
    };
    let cx = Context::new(Clock::real(), Ids::random(), Env::default(), Git::default(), options);
    let session = Some(SessionId::new("morning")?);

    let run = runs::start(
        &cx,
        &StartRequest {
            workflow: "start-issue".to_owned(),
            goal: Some("no crash on empty input".to_owned()),
            session: session.clone(),
            ..StartRequest::default()
        },
    )?;
    println!("started    {}", run.run_id);

    for phase in ["preflight", "explore"] {
        let recorded = runs::record_activity(
            &cx,
            &RecordRequest {
                run: Some(run.run_id.to_string()),
                id: Some(phase.parse()?),
                phase: Some(phase.parse()?),
                status: Some(ActivityStatus::Passed),
                session: session.clone(),
                ..RecordRequest::default()
            },
        )?;
        println!("recorded   {} {} as event {}", recorded.number, recorded.activity, recorded.seq);
    }

    runs::session_end(&cx, &SessionEndRequest { session, ..SessionEndRequest::default() })?;
    let answer = runs::resume(&cx, &ResumeRequest::default())?;
    println!("verdict    {}: {}", answer.verdict.as_str(), answer.reason);
    println!("next       {}", answer.next.command.map(|command| command.to_string()).unwrap_or_default());
    Ok(())
}
