//! `validate` judges files as the commands do that use them.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::Sandbox;

const DIAGRAM: &str = "stateDiagram-v2\n[*] --> a\na --> [*]\n";

/// A document with the section of a state machine.
fn document(diagram: &str) -> String {
    format!("# X\n\n## STATE-MACHINE\n\n```mermaid\n{diagram}```\n")
}

fn write(sandbox: &Sandbox, file: &str, text: &str) {
    let path = sandbox.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The files that are not valid.
fn refused(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let report = sandbox.flow([&["validate", "--json"][..], args].concat()).exits(1).json();
    let files = report["files"].as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_whole_project_has_its_skills_agents_and_directories_of_definitions() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    assert_eq!(sandbox.flow(["validate"]).ok().stdout, "no file was checked: nothing here is a document of flow\n");
    let files = [
        (".claude/agents/helper.md", document(DIAGRAM)),
        (".claude/skills/look/SKILL.md", document(DIAGRAM)),
        ("defs/graph.yaml", "initial: a\nstates: {a: {type: terminal}}\n".to_owned()),
        ("defs/own.mmd", DIAGRAM.to_owned()),
    ];
    for (file, text) in &files {
        write(&sandbox, file, text);
    }
    // Neither is a definition.
    write(&sandbox, ".claude/skills/plain/SKILL.md", "# Plain\n");
    write(&sandbox, "defs/values.yml", "a: 1\n");
    write(&sandbox, ".flow/config.yaml", "definitions: [defs]\n");
    assert_eq!(sandbox.flow(["validate"]).ok().stdout, "5 files checked, all valid\n");
    for (file, text) in &files {
        let broken = text.replace("[*] --> a", "[*] -> a").replace("initial: a", "initial: z");
        write(&sandbox, file, &broken);
    }
    let names = files.map(|(file, _)| file);
    assert_eq!(refused(&sandbox, &[]), names);
    assert_eq!(refused(&sandbox, &["."]), names);
    assert_eq!(refused(&sandbox, &[".claude/skills"]), names[1..2]);
    assert_eq!(refused(&sandbox, &[".claude/agents"]), names[..1]);
    assert_eq!(refused(&sandbox, &["defs"]), names[2..]);
    for file in names {
        assert_eq!(refused(&sandbox, &[file]), [file]);
    }
}

#[test]
fn a_definition_that_the_catalog_refuses_for_its_name_is_not_valid() {
    let sandbox = Sandbox::new();
    sandbox.flow(["init"]).ok();
    let text = "apiVersion: flow.synapti.ai/v1\nkind: FlowWorkflow\nmetadata: {id: other}\nphases: [{id: a}]\n";
    write(&sandbox, ".flow/workflows/mine.workflow.yaml", text);
    sandbox.flow(["start", "mine"]).exits(1);
    let told = sandbox.flow(["validate"]).exits(1).stdout;
    insta::assert_snapshot!(told, @r"
    .flow/workflows/mine.workflow.yaml:3:16: the file is named after `mine` and defines `other` (write `id: mine`, or rename the file to `other.workflow.yaml`)
    1 file checked, 1 not valid
    ");
}

#[test]
fn a_directory_is_walked_for_documents_of_flow_alone() {
    let sandbox = Sandbox::new();
    write(&sandbox, ".github/workflows/ci.yaml", "on: [push]\njobs: {a: {runs-on: x, steps: []}}\n");
    write(&sandbox, "agents/README.md", "# Agents\n");
    symlink("README.md", sandbox.path("agents/CLAUDE.md")).unwrap();
    write(&sandbox, "skills/one/README.md", "# One\n");
    symlink("skills", sandbox.path("linked")).unwrap();
    let nothing = "no file was checked: nothing here is a document of flow\n";
    assert_eq!(sandbox.flow(["validate", "."]).ok().stdout, nothing);
    assert_eq!(sandbox.flow(["validate", "linked"]).ok().stdout, nothing);
    write(&sandbox, "skills/one/SKILL.md", &document(DIAGRAM));
    symlink("skills/one/SKILL.md", sandbox.path("one.md")).unwrap();
    assert_eq!(sandbox.flow(["validate", "linked"]).ok().stdout, "1 file checked, all valid\n");
    assert_eq!(sandbox.flow(["validate", "one.md"]).ok().stdout, "1 file checked, all valid\n");
    // Below .flow, a link is one to a file that flow does not follow.
    sandbox.flow(["init"]).ok();
    symlink("../agents/README.md", sandbox.path(".flow/README.md")).unwrap();
    assert_eq!(refused(&sandbox, &["."]), [".flow/README.md"]);
    assert_eq!(refused(&sandbox, &[]), [".flow/README.md"]);
}

#[test]
fn a_file_without_a_kind_of_flow_is_judged_as_workflow_check_does() {
    let sandbox = Sandbox::new();
    let flat = "a: {type: agent, transition: {next: [b]}}\nb: {type: terminal}\n";
    let quoted = "\"initial\": a\n\"states\": {a: {type: terminal}}\n";
    for text in [flat, quoted, DIAGRAM] {
        let file = if text == DIAGRAM { "x.mmd" } else { "x.yaml" };
        write(&sandbox, file, text);
        sandbox.flow(["workflow", "check", file]).ok();
        assert_eq!(sandbox.flow(["validate", file]).ok().stdout, "1 file checked, all valid\n");
    }
    for (text, what) in [
        ("on: [push]\njobs: {build: {}}\n", "this looks like a GitHub Actions workflow, not a workflow of flow"),
        ("apiVersion: v1\nkind: ConfigMap\n", "this looks like a Kubernetes manifest, not a workflow of flow"),
        ("apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n", "this looks like a Kubernetes manifest"),
        ("kind: Recipe\n", "this is not a workflow of flow"),
        ("apiVersion: flow.synapti.ai/v1\nkind: FlowRunn\n", "`kind` must be FlowRun, FlowActivity, FlowWorkflow"),
        ("apiVersion: flow.synapti.ai/v1\nkind: FlowRun\n", "metadata"),
    ] {
        write(&sandbox, "x.yaml", text);
        let told = sandbox.flow(["validate", "x.yaml"]).exits(1).stdout;
        assert!(told.contains(what), "{text}: {told}");
    }
}

#[test]
fn a_copied_run_is_not_valid_and_an_empty_name_names_nothing() {
    let sandbox = Sandbox::new();
    sandbox.flow(["start", "debug", "--id", "r1"]).ok();
    crate::support::Tree::of(&sandbox.run_dir("r1")).restore(&sandbox.run_dir("r2"));
    let copied = [".flow/runs/r2/run.yaml"];
    assert_eq!(refused(&sandbox, &["r2"]), copied);
    assert_eq!(refused(&sandbox, &[".flow/runs/r2"]), copied);
    assert_eq!(refused(&sandbox, &[]), copied);
    sandbox.flow(["validate", "r1"]).ok();
    // Elsewhere than in a directory of runs, its name says nothing.
    fs::copy(sandbox.run_dir("r1").join("run.yaml"), sandbox.path("other.yaml")).unwrap();
    sandbox.flow(["validate", "other.yaml"]).ok();
    let error = sandbox.flow(["validate", "", "--json"]).exits(2).error();
    assert_eq!(error["message"], "the name of the file or run is empty");
}
