//! What a run knows of the command that drives it, and how `resume` advises it from anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Answer, Sandbox, run};

const GRAPH: &str = "\
initial: one
states:
  one: {type: agent, transition: {next: [two]}}
  two: {type: agent, transition: {next: [done]}}
  done: {type: terminal}
";

/// Another graph, of which a run that began with the first one would be told.
const OTHER: &str =
    "initial: zero\nstates:\n  zero: {type: agent, transition: {next: [done]}}\n  done: {type: terminal}\n";

struct Project(Sandbox);

impl Project {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.flow(["init"]).ok();
        for dir in ["sub", "sub/deep", "other"] {
            std::fs::create_dir(sandbox.path(dir)).unwrap();
        }
        Self(sandbox)
    }

    fn write(&self, file: &str, graph: &str) {
        std::fs::write(self.0.path(file), graph).unwrap();
    }

    fn flow(&self, from: &str, args: &[&str]) -> Answer {
        let mut command = self.0.flow_command();
        command.current_dir(self.0.path(from)).args(args);
        run(command, "")
    }

    /// What `resume` says, called in `from`.
    fn resumed(&self, from: &str, more: &[&str]) -> Value {
        self.flow(from, &[more, &["resume", "r1", "--json"]].concat()).json()
    }

    /// The command that drives the run once more, as `resume` advises it in `from`.
    #[track_caller]
    fn advised(&self, from: &str, more: &[&str]) -> String {
        let resumed = self.resumed(from, more);
        let first = &resumed["next"]["alternatives"][0];
        let when = "you drive it further, with the same commands";
        assert_eq!(first["when"], when, "{resumed}");
        first["command"].as_str().unwrap().to_owned()
    }

    /// Runs a command line in `from`.
    fn shell(&self, from: &str, line: &str) -> Answer {
        let path = PathBuf::from(env!("CARGO_BIN_EXE_flow"));
        let paths = format!("{}:{}", path.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let mut shell: Command = self.0.command("sh");
        shell.env("PATH", paths).current_dir(self.0.path(from)).args(["-c", line]);
        run(shell, "")
    }
}

const ONCE: [&str; 6] = ["--run-id", "r1", "--on", "agent=echo a", "--max-iter", "1"];

#[test]
fn the_advised_command_names_the_same_graph_wherever_it_is_asked_for() {
    let places = ["", "sub", "sub/deep", "other"];
    for (from, file, is_at) in [
        ("sub", "../g.yaml", "g.yaml"),
        ("sub", "g.yaml", "sub/g.yaml"),
        ("", "g.yaml", "g.yaml"),
        ("", "bare", "bare"),
    ] {
        for at in places {
            let project = Project::new();
            places.iter().for_each(|place| project.write(&Path::new(place).join("g.yaml").to_string_lossy(), OTHER));
            project.write(is_at, GRAPH);
            project.flow(from, &[&["drive", file][..], &ONCE].concat()).exits(4);
            let command = project.advised(at, &[]);
            let ended = project.shell(at, &command);
            assert_eq!(ended.code, Some(0), "{file} in {from:?}, resumed in {at:?}: {command}\n{ended:?}");
            assert_eq!(project.0.activity_files("r1").len(), 3, "{command}");
        }
    }
}

#[test]
fn a_graph_below_the_caller_is_named_from_there_and_any_other_by_its_whole_path() {
    let project = Project::new();
    project.write("sub/g.yaml", GRAPH);
    project.flow("sub", &[&["drive", "../sub/./g.yaml"][..], &ONCE].concat()).exits(4);
    assert!(project.0.read("r1", "run.yaml").contains("drive: flow drive sub/g.yaml --run-id r1"));
    for (from, file) in [("", "sub/g.yaml"), ("sub", "g.yaml")] {
        let command = project.advised(from, &[]);
        assert_eq!(command, format!("flow drive {file} --run-id r1 --on 'agent=echo a'"));
    }
    let whole = project.0.path("sub/g.yaml");
    let command = project.advised("other", &[]);
    assert_eq!(command, format!("flow drive {} --run-id r1 --on 'agent=echo a'", whole.display()));
}

#[test]
fn outside_of_the_project_the_advised_command_names_it() {
    let project = Project::new();
    let outside = tempfile::tempdir().unwrap();
    let (root, place) = (project.0.root(), outside.path().to_str().unwrap());
    let in_project = ["-C", root.to_str().unwrap()];
    std::fs::write(outside.path().join("g.yaml"), GRAPH).unwrap();
    project.flow(place, &[&in_project[..], &["drive", "g.yaml"], &ONCE].concat()).exits(4);
    let command = project.advised(place, &in_project);
    assert_eq!(command, format!("flow -C {} drive g.yaml --run-id r1 --on 'agent=echo a'", root.display()));
    project.shell(place, &format!("{command} --max-iter 1")).exits(4);
    // The graph is not in the project, and is found from there as well.
    let command = project.advised("sub", &[]);
    project.shell("sub", &command).ok();
}

#[test]
fn a_workflow_that_is_driven_by_its_name_is_advised_by_its_name() {
    let project = Project::new();
    project.write(".flow/workflows/job.graph.yaml", GRAPH);
    project.flow("sub", &[&["drive", "job"][..], &ONCE].concat()).exits(4);
    let command = project.advised("other", &[]);
    assert_eq!(command, "flow drive job --run-id r1 --on 'agent=echo a'");
    project.shell("other", &command).ok();
}

#[test]
fn a_run_knows_the_command_of_its_last_driver_also_when_no_state_begins() {
    let project = Project::new();
    project.write("g.yaml", GRAPH);
    let drive = |agent: &str| project.flow("", &["drive", "g.yaml", "--run-id", "r1", "--on", agent]);
    drive("agent=echo '{\"not_ready\": \"OLD\"}'").exits(4);
    drive("agent=echo '{\"not_ready\": \"NEW\"}'").exits(4);
    let command = project.advised("", &[]);
    assert!(command.contains("NEW") && !command.contains("OLD"), "{command}");
}

#[test]
fn a_command_that_does_not_fit_takes_the_place_of_the_one_before() {
    let project = Project::new();
    project.write("g.yaml", GRAPH);
    let drive = |agent: &str| {
        let args = ["drive", "g.yaml", "--run-id", "r1", "--on", agent, "--max-iter", "1"];
        project.flow("", &args);
    };
    drive("agent=echo OLD");
    assert!(project.advised("", &[]).contains("echo OLD"));
    drive("agent=echo NEW\nexit 1");
    let resumed = project.resumed("", &[]);
    assert!(!resumed.to_string().contains("flow drive g.yaml"), "{resumed}");
    let note = "it is not known by which commands the run is driven: those of the last driver do not fit into one line";
    assert!(resumed["notes"].as_array().unwrap().contains(&note.into()), "{resumed}");
    // One that fits is known again.
    drive("agent=echo THIRD; exit 1");
    assert!(project.advised("", &[]).contains("echo THIRD"));
    assert!(!project.resumed("", &[]).to_string().contains("it is not known"), "{}", project.resumed("", &[]));
    project.0.assert_sound("r1");
}
