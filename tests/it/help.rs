//! What `flow` says about itself: help, manual pages, completions, and what it answers a caller who named nothing.

use std::collections::BTreeSet;

use clap::CommandFactory as _;
use flowrun::cli::Cli;

use crate::support::{Sandbox, run};

/// The paths of all commands: `workflow`, `workflow check`.
fn commands(above: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
    for command in above.get_subcommands().filter(|command| command.get_name() != "help") {
        let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
        commands(command, &path, found);
        found.insert(path);
    }
}

fn all_commands() -> BTreeSet<String> {
    let mut tree = Cli::command();
    tree.build();
    let mut found = BTreeSet::new();
    commands(&tree, "", &mut found);
    found
}

#[test]
fn help_has_the_commands_of_every_day_first_and_one_line_for_each() {
    let sandbox = Sandbox::new();
    let help = sandbox.flow(["--help"]).ok().stdout;
    assert_eq!(sandbox.flow(["help"]).ok().stdout, help);
    let (_, listed) = help.split_once("Usage: flow [OPTIONS] <COMMAND>\n\n").unwrap();
    let (listed, _) = listed.split_once("\nOptions:\n").unwrap();
    insta::assert_snapshot!(listed, @r"
    Every day:
      start            Start a run and print its id
      record-activity  Record a piece of work
      resume           Show the next safe action
      attention        Show the runs that need a person
      list             List runs, newest first
      show             Show one run, now or as it was
      block            Mark a run as waiting for a person
      complete         Complete a run whose work is done

    What people decide:
      approve          Approve what a gate waits for; only a person can
      reject           Reject what a gate waits for; only a person can
      unblock          Unblock a blocked run
      cancel           Cancel a run
      fail             Fail a run
      reopen           Reopen a run that is over
      fork             Go on from an event of a run, in a new one
      set              Change what a run is about, and its limits
      prune            Move runs that are over out of the project, or remove them
      trust            Accept the commands that this project names

    Look:
      log              Show what happened to a run
      watch            Watch the runs in the terminal, live
      serve            Serve a live dashboard to this machine's browsers
      wait             Wait until a run is over or needs a person
      evidence         List evidence and artifacts, and whether they are there
      export           Write a run as a diagram, page, trace or events
      report           Tell a pull request or the next agent what came of a run
      sessions         Show the sessions that work here, and what they hold

    Agents' hosts:
      setup            Set flow up for the agents' hosts on this machine
      hooks            Install hooks, a plugin or skills in agents' hosts
      hook             Answer an event of an agent's host (for hooks)
      session-end      Mark the runs of a session that ended (for hooks)
      hud              Show the session's run and modes in one line
      mcp              Serve runs as tools of agents' hosts (MCP)

    Workflows, modes and interviews:
      workflow         List, show, check, draw and convert workflows
      next             Show the states that a run can go to next
      advance          Move a run on, and complete the state that it leaves
      emit             Report on a step of a workflow
      drive            Run a graph by a command for each type of state
      mode             Long-lived skills of a session, and which fit together
      interview        Questions whose answers are kept safe in a document

    Checks, and what is done once:
      exec             Run a command, and record how it ended and on which files
      replay           Run recorded commands again, and compare
      demo             Watch flow at work in an example project
      init             Create .flow, or add what is missing in it
      remote           Share the runs of this project with other machines
      validate         Find what is wrong with a file, a run or the project
      doctor           Find what is wrong with .flow, and repair it when asked
      verify           Prove that a run's files are what its log says
      schema           Print the JSON Schema of a document
      completions      Print a completion script for a shell
      man              Print or write manual pages
    ");
}

#[test]
fn every_page_of_help_fits_into_forty_columns_and_shows_two_examples() {
    let sandbox = Sandbox::new();
    for command in std::iter::once(String::new()).chain(all_commands()) {
        let mut line = sandbox.flow_command();
        line.args(command.split_whitespace()).arg("--help").env("COLUMNS", "40").env("LC_ALL", "C");
        let page = run(line, "").ok().stdout;
        let examples = page.split("\nExamples:\n").nth(1).unwrap_or_default();
        let examples: Vec<_> = examples.lines().take_while(|line| line.starts_with("  ")).collect();
        assert_eq!(examples.len(), if command.is_empty() { 0 } else { 2 }, "{command}: {page}");
        for line in page.lines().filter(|line| !examples.contains(line)) {
            // A usage line is one word to the parser, and a word cannot be broken.
            let longest = line.split_whitespace().map(str::len).max().unwrap_or_default();
            let is_usage = line.starts_with("Usage: ") || line.trim_start().starts_with("flow ");
            assert!(line.len() <= 40 || longest > 26 || is_usage, "{command}: {line}");
        }
        assert!(page.is_ascii(), "{command}");
    }
}

#[test]
fn a_format_in_the_place_of_a_run_or_an_option_is_understood() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    for args in [&["export", "html"][..], &["export", "--html"], &["export", "r1", "--html"]] {
        let refused = sandbox.flow(args).stderr;
        assert!(refused.contains("--format html"), "{args:?}: {refused}");
    }
}

#[test]
fn pages_of_one_run_and_of_a_workflow_fit_into_a_narrow_terminal() {
    let sandbox = Sandbox::new();
    let goal = "The importer loses the last row of every file that it reads";
    sandbox.flow(["start", "start-issue", "--issue", "142", "--goal", goal, "--session", "monday"]).ok();
    let record = ["record-activity", "--id", "look", "--session", "monday", "--summary", goal];
    sandbox.flow(record).ok();
    for args in [&["next"][..], &["workflow", "show", "start-issue"], &["log"], &["sessions"]] {
        let mut command = sandbox.flow_command();
        command.args(args).env("COLUMNS", "40");
        let shown = run(command, "").ok().stdout;
        // The first line has the whole id, which can be copied.
        let wide: Vec<_> = shown.lines().skip(1).filter(|line| line.chars().count() > 40).collect();
        assert!(wide.is_empty(), "{args:?}: {wide:#?}");
        assert!(shown.contains("look") || args[0] != "log", "{shown}");
    }
}

#[test]
fn flow_alone_shows_what_needs_a_person_and_how_to_begin() {
    let sandbox = Sandbox::new();
    let begin =
        "`flow start` lists what can be begun, `flow demo` shows flow at work, `flow --help` has all commands\n";
    let alone = sandbox.flow::<&str>([]).ok();
    assert_eq!(
        (alone.stdout.as_str(), alone.stderr),
        ("", format!("no runs here: there is no .flow in {} or above\n{begin}", sandbox.root().display()))
    );
    assert!(!sandbox.path(".flow").exists());
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    sandbox.flow(["block", "--reason", "Which one?"]).ok();
    let clock = sandbox.now();
    let attention = sandbox.flow(["attention"]).ok();
    sandbox.put_clock(clock);
    let alone = sandbox.flow::<&str>([]).ok();
    assert_eq!((alone.stdout, alone.stderr), (attention.stdout, attention.stderr + begin));
    let elsewhere = sandbox.root();
    let named = sandbox.flow(["-C", elsewhere.to_str().unwrap(), "--json"]).ok();
    assert_eq!(named.json()["runs"][0]["run_id"], "r1");
    assert_eq!(named.stderr, "");
}

#[test]
fn start_alone_lists_the_workflows_with_their_purpose() {
    let sandbox = Sandbox::new();
    let told = sandbox.flow(["start"]).exits(2);
    assert_eq!(told.stdout, "", "nothing is taken for the id of a run");
    assert!(told.stderr.starts_with("What do you want to start?\n  address-pr     Answer every comment"), "{told:?}");
    assert!(!told.stderr.contains("task-builder"), "an agent that a skill calls begins no run: {told:?}");
    assert!(told.stderr.ends_with("`flow start WORKFLOW` begins a run, for an issue with `--issue 42`\n"), "{told:?}");
    assert_eq!(sandbox.flow(["start", "--json"]).exits(2).error()["code"], "usage");
    assert!(!sandbox.path(".flow").exists());
}

#[test]
fn workflows_of_agents_that_skills_call_are_listed_apart() {
    let sandbox = Sandbox::new();
    let agent = include_str!("../../workflows/agents/task-builder.md").replace("task-builder", "scout");
    std::fs::create_dir_all(sandbox.path(".claude/agents")).unwrap();
    std::fs::write(sandbox.path(".claude/agents/scout.md"), agent).unwrap();
    sandbox.flow(["init"]).ok();
    let listed = sandbox.flow(["workflow", "list"]).ok().stdout;
    let (own, agents) = listed.split_once("\nof agents that skills call:\n").unwrap();
    assert!(own.contains("start-issue ") && !own.contains("scout"), "{listed}");
    assert!(
        agents.contains("scout ") && agents.contains("task-reviewer ") && !agents.contains("build-fast"),
        "{listed}"
    );
    let listed = sandbox.flow(["workflow", "list", "--json"]).ok().json();
    for workflow in listed["workflows"].as_array().unwrap() {
        let id = workflow["id"].as_str().unwrap();
        assert_eq!(workflow["agent"], agents.contains(&format!("{id} ")), "{id}");
    }
    assert!(!sandbox.flow(["start"]).exits(2).stderr.contains("scout"));
    sandbox.flow(["start", "scout", "--id", "r1"]).ok();
}

#[test]
fn a_recipe_of_the_cookbook_is_a_topic_of_its_own() {
    let sandbox = Sandbox::new();
    let cookbook = sandbox.flow(["help", "cookbook"]).ok().stdout;
    for (name, heading) in [
        ("claude-code", "## Claude Code in two minutes\n"),
        ("codex", "## Codex in two minutes\n"),
        ("ci", "## CI\n"),
        ("todo", "## From TODO.md or beads\n"),
        ("make", "## Tests that were seen, with make or just\n"),
        ("worktrees", "## Several worktrees\n"),
        ("old-runs", "## Old runs\n"),
        ("first-workflow", "## Your first workflow\n"),
    ] {
        let recipe = sandbox.flow(["help", name]).ok().stdout;
        assert!(recipe.starts_with(heading) && cookbook.contains(&recipe), "{name}: {recipe}");
        assert_eq!(recipe.matches("\n## ").count(), 0, "{name}");
    }
}

#[test]
fn a_new_workflow_is_valid_and_replaces_no_file() {
    let sandbox = Sandbox::new();
    sandbox.flow(["workflow", "new", "write-docs"]).ok();
    sandbox.flow(["workflow", "check", "write-docs"]).ok();
    let file = sandbox.path(".flow/workflows/write-docs.workflow.yaml");
    let mine = std::fs::read_to_string(&file).unwrap().replace("id: check", "id: read");
    std::fs::write(&file, &mine).unwrap();
    let made = sandbox.flow(["workflow", "new", "build"]).ok().stdout;
    assert!(made.ends_with("\n`flow start build` takes it instead of the workflow that flow ships\n"), "{made}");
    let refused = sandbox.flow(["workflow", "new", "write-docs", "--json"]).exits(1).error();
    assert_eq!(refused["code"], "workflow_exists");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), mine);
    sandbox.flow(["workflow", "new", "../escape"]).exits(2);
    sandbox.flow(["doctor"]).ok();
}

#[test]
fn every_command_has_a_manual_page() {
    let sandbox = Sandbox::new();
    let told = sandbox.flow(["man", "--dir", "man1"]).ok().stdout;
    let mut written = BTreeSet::new();
    for entry in std::fs::read_dir(sandbox.path("man1")).unwrap() {
        written.insert(entry.unwrap().file_name().into_string().unwrap());
    }
    assert_eq!(told, format!("{} pages are in man1\n", written.len()));
    let mut wanted: BTreeSet<_> =
        all_commands().iter().map(|path| format!("flow-{}.1", path.replace(' ', "-"))).collect();
    wanted.insert("flow.1".to_owned());
    assert_eq!(written, wanted);
    let page = sandbox.flow(["man", "workflow", "check"]).ok().stdout;
    assert_eq!(std::fs::read_to_string(sandbox.path("man1/flow-workflow-check.1")).unwrap(), page);
    assert!(page.contains(".TH flow-workflow-check 1") && page.contains(".SH EXAMPLES"), "{page}");
    sandbox.flow(["man", "nothing"]).exits(2);
    let start = sandbox.flow(["man", "start"]).ok().stdout;
    assert!(start.contains(r"[\fB\-\-issue\fR \fI<ISSUE>\fR]"), "{start}");
    assert!(start.contains(r"[\fB\-C\fR|\fB\-\-project\fR \fI<DIR>\fR]"), "{start}");
    assert!(start.contains(r"[\fB\-\-another\fR]"), "{start}");
    // The list of variables is no paragraph.
    let flow = sandbox.flow(["man"]).ok().stdout;
    let (_, extra) = flow.split_once(".SH EXTRA\n").unwrap();
    assert!(extra.starts_with(".nf\nExit status:\n") && extra.contains("\n.fi\n"), "{extra}");
}

#[test]
fn a_topic_that_is_taken_for_a_command_is_named_as_one() {
    let sandbox = Sandbox::new();
    for topic in ["ci", "tutorial", "json"] {
        let told = format!("it is a topic: `flow help {topic}`");
        let error = sandbox.flow([topic, "--json"]).exits(2).error();
        assert!(error["help"].as_str().unwrap().starts_with(&told), "{error}");
        assert!(sandbox.flow([topic]).exits(2).stderr.contains(&format!("  tip: {told}\n")), "{topic}");
        assert_eq!(sandbox.flow(["man", topic, "--json"]).exits(2).error()["help"], told);
        let page = sandbox.flow(["help", topic]).ok().stdout;
        assert_eq!(sandbox.flow(["help", topic, "--json"]).ok().stdout, page, "{topic}");
    }
}

#[test]
fn sentences_of_all_pages_fit_into_forty_columns_and_commands_stay_whole() {
    let sandbox = Sandbox::new();
    sandbox
        .flow(["start", "start-issue", "--id", "r1", "--goal", "The importer loses the last row of every file"])
        .ok();
    sandbox.record("r1", "preflight", "look-at-the-tree");
    sandbox.flow(["exec", "--id", "find-the-cause", "--", "git", "--version"]).ok();
    sandbox.flow(["start", "debug", "--id", "r2"]).ok();
    sandbox.flow(["block", "r2", "--reason", "waiting for access to the machines for staging"]).ok();
    for line in [
        "hud",
        "show r1",
        "resume r1",
        "resume r2",
        "verify",
        "verify --evidence",
        "attention",
        "start",
        "watch --once",
        "evidence r2",
        "doctor",
        "sessions",
        "complete r1",
        "show nosuch",
        "record-activity --run-id r1 --id b",
        "help tutorial",
        "help glossary",
        "help hosts",
    ] {
        let mut command = sandbox.flow_command();
        command.args(line.split(' ')).env("COLUMNS", "40").env("LC_ALL", "C.UTF-8");
        let answer = run(command, "");
        let mut is_code = false;
        for shown in answer.stdout.lines().chain(answer.stderr.lines()) {
            is_code ^= shown.starts_with("```");
            // A word, such as a link, is not broken, and neither is what stands in backticks.
            let longest = shown.split(' ').chain(shown.split('`')).map(str::len).max().unwrap_or_default();
            let is_whole = is_code || shown.contains("flow ") || shown.starts_with("    ") || longest > 30;
            assert!(shown.chars().count() <= 40 || is_whole, "{line}: {shown}");
        }
    }
    for topic in ["tutorial", "cookbook", "glossary", "durability"] {
        let mut command = sandbox.flow_command();
        command.args(["help", topic]).env("LC_ALL", "C");
        let page = run(command, "").ok().stdout;
        assert!(page.is_ascii(), "{topic}: {:?}", page.lines().find(|line| !line.is_ascii()));
    }
}
