//! The story of one run: an agent works, dies in the middle of a step, and the next session learns what is safe to do.

use crate::demo::player::Player;
use crate::model::{Kind, Problem};

/// The project before the story begins: six rows, which the agent is to copy.
const PROJECT: [&str; 2] = [
    "git init -q && printf 'row %s\\n' 1 2 3 4 5 6 >old.txt && git add old.txt",
    "git -c user.name=Demo -c user.email=demo@example.com commit -qm 'Six rows'",
];

/// What the agent does. It dies before it can report on its last step.
const AGENT: [&str; 7] = [
    "export FLOW_SESSION=monday FLOW_HOLDER_PID=$$",
    "flow start start-issue --issue 42 --goal 'Copy the rows to the new table'",
    "flow record-activity --id check-tree --type bash --exit-code 0 --summary 'The tree is clean'",
    "flow record-activity --phase explore --id find-rows --summary 'The rows are in old.txt'",
    "flow record-activity --phase plan --id make-plan --summary 'Copy row by row' --advance",
    "flow record-activity --id copy-rows --status running --name 'Copy the rows'",
    "while read -r row; do echo \"$row\" >>new.txt; echo \"copied $row\"; sleep 1; done <old.txt",
];

/// The line of the agent behind which it is killed.
const LAST: &str = "copied row 3";
/// What it would print at the end.
const DONE: &str = "copied row 6";

/// The question of the next session.
const NEXT_SESSION: [&str; 2] = ["export FLOW_SESSION=tuesday", "flow resume"];

/// How the next session goes on: it looks what was done, records that, and does the step again.
const GOES_ON: [&str; 7] = [
    "export FLOW_SESSION=tuesday",
    "wc -l old.txt new.txt",
    "flow record-activity --id copy-rows --status failed --summary \"$(grep -c . new.txt) of 6 rows were copied\"",
    "flow record-activity --id copy-rows --status running --name 'Copy the rows, from the start'",
    "cp old.txt new.txt",
    "flow record-activity --id copy-rows --status passed --summary 'All 6 rows are copied'",
    "flow log",
];

/// What flow sees itself, and for how long that holds.
const PROOF: [&str; 5] = [
    "export FLOW_SESSION=tuesday",
    "flow exec --id compare -- cmp old.txt new.txt",
    "flow verify --evidence",
    "echo 'row 7' >>new.txt",
    "flow verify --evidence",
];

/// Plays the story, and checks that flow answered as it promises.
///
/// # Errors
/// As [`Player::play`], and if the answer is another one.
pub(super) fn play(player: &mut Player<'_>) -> Result<(), Problem> {
    player.play("A project to throw away. In it are six rows, which an agent is to copy:", &PROJECT)?;
    let heading = "The agent starts a run and records its work; before a step that must not happen twice, it says so:";
    let printed = player.play_and_kill(heading, &AGENT, LAST)?;
    if printed.last().map(String::as_str) == Some(DONE) {
        return Err(failed("the agent could not be killed"));
    }
    let heading = "The next day a new session, which knows nothing of the first one, asks what is safe to do:";
    let printed = player.play(heading, &NEXT_SESSION)?;
    if !printed.iter().any(|line| line.starts_with("reconcile  ")) {
        return Err(failed("`flow resume` did not say that the outcome of the last step is unknown"));
    }
    let heading = "flow does not guess whether the rows are there. The session looks, and goes on from what it finds:";
    let printed = player.play(heading, &GOES_ON)?;
    if !printed.iter().any(|line| line.contains("copy-rows passed")) {
        return Err(failed("the run does not show that the rows are copied"));
    }
    let heading = "So far the agent claims it. What flow runs itself is seen, and holds until a file changes:";
    let printed = player.play(heading, &PROOF)?;
    let is_told = |begin: &str| printed.iter().any(|line| line.starts_with(begin));
    if !is_told("ok  ") || !is_told("not fresh  ") {
        return Err(failed("`flow verify --evidence` did not tell a check that holds from one that does not"));
    }
    Ok(())
}

fn failed(what: &str) -> Problem {
    Problem::new(Kind::Refused, "demo_failed", what).help("`flow doctor` says what is wrong on this machine")
}
