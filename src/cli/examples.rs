//! Two examples of each command and each group of commands, for its page of help and its manual page.

/// The commands, each with two lines for a shell.
const EXAMPLES: [(&str, [&str; 2]); 86] = [
    (
        "start",
        [
            "flow start start-issue --issue 42 --goal 'The importer loses the last row'",
            "RUN=$(flow start debug --goal 'The clock test fails on Mondays')",
        ],
    ),
    (
        "record-activity",
        [
            "flow record-activity --id tests --type bash --exit-code 0 --summary '214 tests pass'",
            "flow record-activity --id read-parser --tokens-in 18250 --tokens-out 1930 --cost '0.42 USD'",
        ],
    ),
    ("resume", ["flow resume", "flow resume '#42' --claim --session monday"]),
    ("attention", ["flow attention --all", "flow attention --wait --exec notify-send flow"]),
    ("list", ["flow list --status failing --since 7d", "flow list --usage --workflow debug"]),
    ("show", ["flow show", "flow show issue-42 --at 3"]),
    (
        "block",
        ["flow block --reason 'waiting for access to staging'", "flow block '#42' --reason 'May the lock be split?'"],
    ),
    ("complete", ["flow complete", "flow complete --skip-reason 'the release is no longer needed'"]),
    ("approve", ["flow approve release-0.9", "flow approve '#42' --reason 'read the whole change'"]),
    (
        "reject",
        [
            "flow reject release-0.9 --reason 'the notes lack the fix of the importer'",
            "flow reject '#42' --reason 'no test'",
        ],
    ),
    ("unblock", ["flow unblock --reason 'access granted'", "flow unblock '#42' --reason 'Yes, by directory'"]),
    ("cancel", ["flow cancel --reason 'the issue was closed'", "flow cancel '#42' --reason 'done elsewhere'"]),
    ("trust", ["flow trust", "flow trust --yes"]),
    (
        "fail",
        ["flow fail --reason 'not possible without a new format'", "flow fail '#42' --reason 'the limit is reached'"],
    ),
    (
        "reopen",
        ["flow reopen issue-42 --reason 'one case is still open'", "flow reopen '#42' --reason 'the fault is back'"],
    ),
    ("fork", ["flow fork '#42' --reason 'the other parser'", "RUN=$(flow fork '#42' --at 12 --workflow-now)"]),
    ("set", ["flow set --goal 'Read the index in one pass'", "flow set '#42' --limit max_iterations=20"]),
    ("log", ["flow log --after 8", "flow log '#42' --follow"]),
    ("watch", ["flow watch", "flow watch --search '#42' --notify"]),
    ("serve", ["flow serve", "flow serve ~/src/api ~/src/app --allow-actions"]),
    ("wait", ["flow wait '#42' && git push", "flow wait --commands --timeout 600"]),
    ("evidence", ["flow evidence '#42'", "flow evidence --all"]),
    ("export", ["flow export --format html -o run.html", "flow export '#42' --format mermaid"]),
    ("report", ["flow report '#42' > pull-request.md", "flow report --format json"]),
    ("sessions", ["flow sessions", "flow sessions --json"]),
    ("setup", ["flow setup", "flow setup --undo"]),
    ("hooks", ["flow hooks install --dry-run", "flow hooks doctor"]),
    ("hooks install", ["flow hooks install --dry-run", "flow hooks install --host claude-code --scope project"]),
    ("hooks uninstall", ["flow hooks uninstall --dry-run", "flow hooks uninstall --host codex"]),
    ("hooks status", ["flow hooks status", "flow hooks status --host codex"]),
    ("hooks doctor", ["flow hooks doctor", "flow hooks doctor --host claude-code"]),
    ("hooks plugin", ["flow hooks plugin plugins/flow", "flow hooks plugin plugins/flow --replace"]),
    ("hooks skill", ["flow hooks skill", "flow hooks skill ~/src/api"]),
    ("hook", ["flow hook claude-code session-start", "flow hook auto stop --continue"]),
    ("session-end", ["flow session-end --session monday", "flow session-end --unowned"]),
    ("hud", ["flow hud", "flow hud --format '{name} {phase} {place}'"]),
    ("mcp", ["flow mcp", "flow mcp --tools core --read-only"]),
    ("workflow", ["flow workflow list", "flow workflow new write-docs"]),
    ("workflow list", ["flow workflow list", "flow workflow list --json"]),
    ("workflow new", ["flow workflow new write-docs", "flow workflow new write-docs --json"]),
    ("workflow show", ["flow workflow show start-issue", "flow workflow show debug --source"]),
    ("workflow check", ["flow workflow check .flow/workflows/own.workflow.yaml", "flow workflow check SKILL.md"]),
    ("workflow graph", ["flow workflow graph debug", "flow workflow graph debug --mermaid"]),
    ("workflow adopt", ["flow workflow adopt", "flow workflow adopt '#42' --from job.graph.yaml"]),
    ("workflow convert", ["flow workflow convert debug --to mermaid", "flow workflow convert SKILL.md --to phases"]),
    ("next", ["flow next", "flow next run-1 --json"]),
    ("advance", ["flow advance run-1", "flow advance run-1 --to write --summary 'nothing to look up'"]),
    (
        "emit",
        [
            "flow emit --workflow build --run-id run-1 --type status_change --step requirements --data '{\"status\":\"running\"}'",
            "flow emit --workflow build --run-id run-1 --batch reports.jsonl",
        ],
    ),
    (
        "drive",
        [
            "flow drive job.graph.yaml --on agent='my-agent --quiet'",
            "flow drive job.graph.yaml --on tool=./look.sh --choose ./choose.sh",
        ],
    ),
    ("mode", ["flow mode list", "flow mode request blueprint"]),
    ("mode request", ["flow mode request blueprint", "flow mode request forge --review clean"]),
    ("mode list", ["flow mode list", "flow mode list --all"]),
    ("mode show", ["flow mode show forge", "flow mode show forge --session monday"]),
    (
        "mode write",
        ["flow mode write forge --phase executing", "flow mode write forge --active false --outcome finished"],
    ),
    ("mode clear", ["flow mode clear forge", "flow mode clear --session monday"]),
    ("mode cancel", ["flow mode cancel forge", "flow mode cancel"]),
    ("mode outcome", ["flow mode outcome .flow/state/forge-state.json", "flow mode outcome -"]),
    ("mode prompt", ["flow mode prompt '$forge the importer'", "flow mode prompt - --session monday"]),
    ("mode policy", ["flow mode policy", "flow mode policy --table"]),
    ("interview", ["flow interview start charter.md", "flow interview next charter.md"]),
    ("interview start", ["flow interview start charter.md", "flow interview start notes.md --run-id release-0.9"]),
    ("interview next", ["flow interview next charter.md", "flow interview next charter.md --json"]),
    (
        "interview answer",
        [
            "flow interview answer charter.md 'For people who keep lists'",
            "flow interview answer charter.md --question 3 -- --quiet",
        ],
    ),
    (
        "interview skip",
        ["flow interview skip charter.md", "flow interview skip charter.md --question 3 --reason 'ask Ada'"],
    ),
    ("interview list", ["flow interview list", "flow interview list --json"]),
    ("interview status", ["flow interview status charter.md", "flow interview status charter.md --json"]),
    ("interview finish", ["flow interview finish charter.md", "flow interview finish charter.md --early"]),
    ("interview abandon", ["flow interview abandon charter.md", "flow interview abandon charter.md --yes"]),
    ("interview run", ["flow interview run charter.md", "flow interview run charter.md --agent './ask.sh'"]),
    ("demo", ["flow demo", "flow demo board --board"]),
    ("init", ["flow init", "flow init --schemas"]),
    ("remote", ["flow remote use git:origin", "flow remote status"]),
    ("remote use", ["flow remote use git:origin", "flow remote use s3://bucket/prefix"]),
    ("remote status", ["flow remote status", "flow remote status --json"]),
    ("remote probe", ["flow remote probe", "flow remote probe s3://bucket/prefix"]),
    ("remote push", ["flow remote push issue-42", "flow remote push @latest"]),
    ("remote fetch", ["flow remote fetch issue-42", "flow remote fetch issue-42 --json"]),
    ("prune", ["flow prune --dry-run", "flow prune --older-than 30d --keep 20 --to ../old-runs"]),
    ("validate", ["flow validate", "flow validate .flow/workflows/own.workflow.yaml"]),
    ("doctor", ["flow doctor", "flow doctor --repair --dry-run"]),
    ("replay", ["flow replay", "flow replay '#42' test --clean --yes"]),
    ("exec", ["flow exec -- cargo test --locked", "flow exec --id test --timeout 600 test"]),
    ("verify", ["flow verify", "flow verify '#42' --evidence"]),
    ("schema", ["flow schema run", "flow schema workflow > workflow.schema.json"]),
    ("completions", ["source <(flow completions bash)", "flow completions zsh > ~/.flow-completion.zsh"]),
    ("man", ["flow man start", "flow man --dir ~/.local/share/man/man1"]),
];

/// The examples of the command with this path, such as `workflow check`.
pub(super) fn of(path: &str) -> Option<&'static [&'static str; 2]> {
    for (known, lines) in &EXAMPLES {
        if *known == path {
            return Some(lines);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    fn commands_below(command: &clap::Command, above: &str, found: &mut BTreeSet<String>) {
        for below in command.get_subcommands() {
            let path = format!("{above}{}", below.get_name());
            if below.get_name() == "help" {
                continue;
            }
            commands_below(below, &format!("{path} "), found);
            found.insert(path);
        }
    }

    /// The words of a line as a shell gives them to the program.
    fn words(line: &str) -> Vec<String> {
        let inner = line.strip_prefix("RUN=$(").or_else(|| line.strip_prefix("source <("));
        let line = inner.map_or(line, |rest| rest.trim_end_matches(')'));
        let line = line.split(['>', '&']).next().unwrap();
        let mut words = Vec::new();
        let mut quoted = false;
        let mut word = String::new();
        for c in line.trim().chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn every_command_has_two_examples_that_the_program_takes() {
        let mut tree = Cli::command();
        tree.build();
        let mut commands = BTreeSet::new();
        commands_below(&tree, "", &mut commands);
        assert_eq!(EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect::<BTreeSet<_>>(), commands);
        let mut refused = String::new();
        for (path, line) in EXAMPLES.iter().flat_map(|(path, lines)| lines.map(|line| (path, line))) {
            assert!(words(line).join(" ").starts_with(&format!("flow {path}")), "{line}");
            if let Err(error) = Cli::command().try_get_matches_from(words(line)) {
                refused += &format!("{line}: {error}\n");
            }
        }
        assert_eq!(refused, "");
    }
}
