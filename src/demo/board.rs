//! A project with runs of every group, for looking at lists and pages.

use crate::demo::player::{Player, UNSHOWN};
use crate::host::parent_process;
use crate::model::{Problem, Timestamp, counted};

/// Runs that some commands make: what they show, how many minutes ago, and the commands.
type Scene = (&'static str, &'static [(u32, &'static [&'static str])]);

const MINUTE: i64 = 60_000;
const HOUR: u32 = 60;
const DAY: u32 = 24 * HOUR;

/// The scenes, oldest first. Their sessions and processes are gone, but for those of the last one.
const SCENES: [Scene; 6] = [
    (
        "Runs that are over:",
        &[
            (
                12 * DAY,
                &[
                    "flow start start-issue --id issue-39 --issue 39 --goal 'Read files of the old format'",
                    "flow record-activity --run-id issue-39 --id check-tree --summary 'The tree is clean'",
                    "flow start debug --id slow-list --goal 'The list takes a second'",
                    "flow record-activity --run-id slow-list --phase preflight --id fixed --advance reproduce",
                ],
            ),
            (
                11 * DAY,
                &[
                    "flow fail issue-39 --reason 'Not possible without a new format'",
                    "flow complete slow-list --skip-reason 'It was the disk'",
                    "flow start build-fast --id short-help --goal 'Half the words in --help'",
                    "flow cancel short-help --reason 'The issue was closed'",
                ],
            ),
        ],
    ),
    (
        "Runs that wait for a person: a question, a blocker, a step that failed:",
        &[
            (9 * DAY, &["flow start review-pr --id pr-7 --pr 7 --goal 'Review the new parser'"]),
            (
                26 * HOUR,
                &["flow emit --workflow build --run-id reports --name 'Reports to read offline' --type status_change \
                 --step requirements --data '{\"status\":\"running\"}'"],
            ),
            (
                3 * HOUR,
                &[
                    "flow block pr-7 --reason 'waiting for access to staging'",
                    "flow start start-issue --id issue-57 --issue 57 --goal 'The importer loses the last row'",
                    "flow record-activity --run-id issue-57 --id check-tree --summary 'The tree is clean' --advance",
                ],
            ),
            (
                50,
                &["flow record-activity --run-id issue-57 --id find-cause --type bash --exit-code 101 --summary \
                 '2 tests fail: importer::last_row, importer::empty'"],
            ),
            (
                2,
                &["flow emit --workflow build --run-id reports --type waiting_for_user --step requirements --data \
                 '{\"prompt\":\"Drop the old table, or keep it for a release?\"}'"],
            ),
        ],
    ),
    (
        "A run whose last step has an unknown outcome:",
        &[
            (
                3 * DAY,
                &[
                    "flow start start-issue --id issue-42 --issue 42 --goal 'Copy the rows to the new table'",
                    "flow record-activity --run-id issue-42 --id check-tree --summary 'The tree is clean' --advance",
                ],
            ),
            (
                2 * DAY,
                &[
                    "flow record-activity --run-id issue-42 --id find-rows --summary 'The rows are in one file' --advance",
                    "flow record-activity --run-id issue-42 --id make-plan --summary 'Copy row by row' --advance",
                ],
            ),
            (12, &["flow record-activity --run-id issue-42 --id copy-rows --status running --name 'Copy the rows'"]),
        ],
    ),
    (
        "A run that a session left behind:",
        &[
            (
                40,
                &[
                    "flow start debug --id flaky-clock --goal 'The clock test fails on Mondays' --session wednesday",
                    "flow record-activity --run-id flaky-clock --session wednesday --id odds --summary 'Once in 40 runs'",
                ],
            ),
            (30, &["flow session-end --session wednesday </dev/null"]),
        ],
    ),
    (
        "Runs that can go on:",
        &[
            (8 * HOUR, &["flow start release --id release-0.9 --goal 'Version 0.9'"]),
            (5 * HOUR, &["flow start start-issue --id issue-43 --issue 43 --goal 'Say which file is damaged'"]),
        ],
    ),
    (
        "A run at work, which a session holds while the shell of this command lives:",
        &[(
            7,
            &[
                "flow start debug --id slow-start --goal 'The first command takes a second' --session monday",
                "flow record-activity --run-id slow-start --session monday --id profile --status running --name \
                 'Measure the first command'",
            ],
        )],
    ),
];

fn age(minutes: u32) -> String {
    let (unit, length) = match minutes {
        DAY.. => ("day", DAY),
        HOUR..DAY => ("hour", HOUR),
        _ => ("minute", 1),
    };
    counted((minutes / length) as usize, unit)
}

/// Fills the project with runs, as if they had happened in the days before `now`: a variable for tests sets the clock, which
/// is not shown.
///
/// # Errors
/// As [`Player::play`].
pub(super) fn fill(player: &mut Player<'_>, now: Timestamp) -> Result<(), Problem> {
    player.play("A project to throw away:", &["git init -q"])?;
    let last = SCENES.len() - 1;
    for (at, (heading, moments)) in SCENES.iter().enumerate() {
        let mut commands = Vec::new();
        if at == last {
            commands.push(format!("export FLOW_HOLDER_PID={}", parent_process()));
        }
        for (minutes, work) in *moments {
            let then = now.later(-MINUTE * i64::from(*minutes));
            commands.push(format!("# {} ago:", age(*minutes)));
            commands.push(format!("{UNSHOWN}export __FLOW_NOW={then}"));
            commands.extend(work.iter().map(|command| (*command).to_owned()));
        }
        let commands: Vec<_> = commands.iter().map(String::as_str).collect();
        player.play(heading, &commands)?;
    }
    Ok(())
}
