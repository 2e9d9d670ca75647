//! YAML files that are not workflows of flow. One sentence tells that; the problems that flow would find in them say
//! nothing to their authors.

use std::collections::BTreeSet;

use crate::codec::{Node, Tree, YamlError, YamlFault};
use crate::machine::diagnostic::{FOREIGN, NOT_A_WORKFLOW, yaml_problem};
use crate::machine::{Diagnostic, Name};
use crate::model::limits;

/// How to write a workflow, for the file of the workflow `id`, which is not one.
pub(super) fn how(id: &str) -> String {
    // To print the one that cannot be used would end here again.
    let shipped = if id == "debug" { "release" } else { "debug" };
    format!("`flow help workflows` shows how to write one, and `flow workflow show {shipped} --source` prints one")
}

/// What a file is that nothing shows to be one.
const NOT_OURS: &str = "this is not a workflow of flow";

/// Keys at the top of a workflow of flow.
const OWN: [&str; 4] = ["phases", "states", "initial", "types"];

/// A system that is known by keys at the top of its files.
struct System {
    /// Its file, with an article.
    name: &'static str,
    /// Keys at the top, all of which must be there.
    top: &'static [&'static str],
    /// Keys of the mappings below them, one of which must be there; any if this is empty.
    below: &'static [&'static str],
    /// Whether the keys at the top may hold lists.
    lists: bool,
    /// Whether they have to hold lists of texts.
    texts: bool,
}

const fn system(name: &'static str, top: &'static [&'static str], below: &'static [&'static str]) -> System {
    System { name, top, below, lists: true, texts: false }
}

impl System {
    const fn without_lists(self) -> Self {
        Self { lists: false, ..self }
    }

    const fn of_texts(self) -> Self {
        Self { texts: true, ..self }
    }
}

/// The first one that fits counts.
const SYSTEMS: &[System] = &[
    system("a GitHub Actions workflow", &["on", "jobs"], &[]),
    system("a GitHub action", &["runs"], &["using"]),
    system("an OpenAPI description", &["openapi"], &[]),
    system("an OpenAPI description", &["swagger"], &[]),
    system("an AsyncAPI description", &["asyncapi"], &[]),
    system("an AWS Step Functions state machine", &["StartAt", "States"], &[]),
    system("an AWS Step Functions state machine", &["startAt", "states"], &[]),
    system("an AWS CloudFormation template", &["AWSTemplateFormatVersion"], &[]),
    system("an AWS CloudFormation template", &["Resources"], &[]),
    system("an AWS CodeBuild specification", &["version", "phases"], &["install", "pre_build", "build", "post_build"]),
    system("a Serverless Framework service", &["service", "provider"], &[]),
    system("a Serverless Workflow", &["document", "do"], &[]),
    system("a Serverless Workflow", &["specVersion", "states"], &[]),
    system("a Serverless Workflow", &["start", "states"], &["stateName", "actionMode", "actions", "dataConditions"]),
    system("an n8n workflow", &["nodes", "connections"], &[]),
    system("a Bitbucket pipeline", &["pipelines"], &[]),
    system("a Drone pipeline", &["kind", "steps"], &[]),
    system("a Concourse pipeline", &["jobs", "resources"], &[]),
    system("an Azure pipeline", &["pool"], &["vmImage", "name"]),
    system("an Azure pipeline", &["trigger", "steps"], &[]),
    system("an Azure pipeline", &["trigger", "jobs"], &[]),
    system("an Azure pipeline", &["trigger", "stages"], &[]),
    system("a CircleCI configuration", &["version", "jobs"], &["docker", "machine", "macos", "executor"]),
    system("a CircleCI configuration", &["version", "workflows"], &[]),
    system("a Travis CI configuration", &["language", "script"], &[]),
    system("a Travis CI configuration", &["language", "stages"], &[]),
    system("a Google App Engine configuration", &["handlers"], &["script"]),
    system("a GitLab CI pipeline", &["stages"], &[]).of_texts(),
    system("a DVC pipeline", &["stages"], &["cmd"]),
    system("a configuration of a Temporal server", &["persistence", "services"], &[]),
    system("a Woodpecker pipeline", &["services", "steps"], &["image"]),
    system("a Docker Compose file", &["services"], &["image", "build"]).without_lists(),
    system("a Kestra flow", &["namespace", "tasks"], &[]),
    system("a Conductor workflow", &["tasks", "schemaVersion"], &[]),
    system("a Taskfile", &["version", "tasks"], &[]).without_lists(),
    system("a Taskfile", &["version", "includes"], &[]).without_lists(),
    system("a Google Cloud workflow", &["main"], &["steps"]),
    system("a Windmill flow", &["value"], &["modules"]),
    system("a Buildkite pipeline", &["steps"], &["label", "plugins", "wait", "block"]),
    system("a Google Cloud Build configuration", &["steps"], &["entrypoint"]),
    system("a Google Cloud Build configuration", &["steps", "images"], &[]),
    system("a Google Cloud Build configuration", &["steps", "substitutions"], &[]),
    system("a Dagu workflow", &["steps"], &["depends", "executor", "call"]),
    system("a Dagu workflow", &["schedule", "steps"], &[]),
    system("a Dagster workspace", &["load_from"], &["python_module", "python_file", "python_package", "grpc_server"]),
    system("an SCXML state machine", &["scxml"], &[]),
    system("a Sismic statechart", &["statechart"], &["root state", "preamble"]),
    system("a Dify app", &["app", "workflow"], &["graph"]),
    system("a Symfony configuration", &["framework"], &["workflows"]),
    system("a Prefect project", &["prefect-version"], &[]),
    system("a Prefect project", &["deployments"], &["entrypoint"]),
    system("a Home Assistant automation", &["alias", "trigger", "action"], &[]),
    system("a Home Assistant automation", &["alias", "triggers", "actions"], &[]),
];

/// Keys that only tasks of Ansible have, and its most common modules.
const TASK: [&str; 5] = ["changed_when", "failed_when", "delegate_to", "become_user", "with_items"];
const MODULES: [&str; 11] =
    ["apt", "command", "copy", "dnf", "file", "include_tasks", "package", "service", "shell", "template", "yum"];

/// The document, if it may be a workflow of flow; otherwise what is wrong with it. A text that is not read as YAML may
/// belong to another system: those use more of YAML. `types` are the types of states that tell a graph whose states are
/// at the top, and `id` is the workflow's id.
pub(super) fn refuse_foreign(
    text: &str,
    parsed: Result<Node, YamlError>,
    types: &BTreeSet<String>,
    id: &str,
) -> Result<Node, Box<Diagnostic>> {
    let problem = match parsed {
        Ok(root) => match of_document(&root, types) {
            Some(problem) => problem,
            None => return Ok(root),
        },
        Err(error) => of_unread(&ForeignKeys::of_text(text), error),
    };
    Err(Box::new(if problem.is_of_another_kind() { problem.with_help(how(id)) } else { problem }))
}

/// What is wrong with a text that is not read as YAML.
fn of_unread(outline: &ForeignKeys<'_>, error: YamlError) -> Diagnostic {
    if let Some(name) = outline.system() {
        return looks_like(name, &Name::nowhere(""));
    }
    // Other systems have tags of their own, of which a reader of flow's files has nothing to say.
    if error.fault == YamlFault::Tag && !outline.is_own() && !outline.below.contains(&"transition") {
        return told(NOT_A_WORKFLOW, &Name::nowhere(""), NOT_OURS);
    }
    yaml_problem(error)
}

/// What shows that a document is not a workflow of flow.
fn of_document(root: &Node, types: &BTreeSet<String>) -> Option<Diagnostic> {
    // In the flat form of a graph, the states are at the top, under any names.
    if root.entries().iter().any(|(_, body)| body.get("transition").is_some()) {
        return None;
    }
    let outline = ForeignKeys::of_document(root);
    let at = match &root.tree {
        Tree::Null => return None,
        Tree::Mapping(entries) => Name::of_node(&entries.first()?.0),
        _ => Name::of_node(root),
    };
    if let Some(name) = outline.system() {
        return Some(looks_like(name, &at));
    }
    if outline.is_own() || are_states(root.entries(), types) {
        return None;
    }
    let kind = outline.value("kind");
    let what = if kind.starts_with("Flow") {
        format!("this is a document of the kind `{kind}`, not a workflow")
    } else {
        NOT_OURS.to_owned()
    };
    Some(told(NOT_A_WORKFLOW, &at, &what))
}

/// Whether the entries at the top may be states of which none says what follows. Many files have a `type` somewhere, so
/// it has to be one of a state, and nothing but mappings stands beside it.
fn are_states(entries: &[(Node, Node)], types: &BTreeSet<String>) -> bool {
    let mut has_type = false;
    for (key, body) in entries {
        if !matches!(body.tree, Tree::Mapping(_)) && key.text() != Some("description") {
            return false;
        }
        has_type |= body.get("type").and_then(Node::text).is_some_and(|kind| types.contains(kind));
    }
    has_type
}

fn looks_like(name: &str, at: &Name) -> Diagnostic {
    told(FOREIGN, at, &format!("this looks like {name}, not a workflow of flow"))
}

fn told(code: &'static str, at: &Name, what: &str) -> Diagnostic {
    Diagnostic::error(code, at, format!("{what}: that has `phases:`, or `initial:` and `states:`"))
}

/// The keys of a document, as far as they show which system it belongs to.
#[derive(Default)]
struct ForeignKeys<'a> {
    /// Whether it is a list; then the keys are those of its items.
    is_list: bool,
    /// The keys at the top, each with its value if that is a text.
    top: Vec<(&'a str, Option<&'a str>)>,
    /// Those that hold a list.
    lists: Vec<&'a str>,
    /// Those that hold a list of texts.
    texts: Vec<&'a str>,
    /// The keys of the mappings below them.
    below: Vec<&'a str>,
    /// Whether a state names what follows, as in flow's graphs.
    has_transition: bool,
    /// Whether a state has a type.
    has_type: bool,
    /// Whether a state lists its transitions, as in several libraries.
    has_transitions: bool,
    /// Whether a state has what only those of `XState` have, such as events.
    has_events: bool,
}

/// Whether a state is one of `XState`: it names events, what it calls, or a type that only that has.
fn is_of_xstate(state: &Node) -> bool {
    let has_events = matches!(state.get("on"), Some(Node { tree: Tree::Mapping(_), .. }));
    let is_called = ["invoke", "onDone", "always", "after"].iter().any(|key| state.get(key).is_some());
    let kind = state.get("type").and_then(Node::text).unwrap_or_default();
    has_events || is_called || ["atomic", "compound", "final", "history", "parallel"].contains(&kind)
}

impl<'a> ForeignKeys<'a> {
    fn of_document(root: &'a Node) -> Self {
        let mut outline = Self { is_list: matches!(root.tree, Tree::Sequence(_)), ..Self::default() };
        let items = if outline.is_list { root.items() } else { std::slice::from_ref(root) };
        // The first ones tell enough, and a hostile list may be long.
        for (key, value) in items.iter().take(limits::VIOLATIONS).flat_map(Node::entries) {
            let name = key.text().unwrap_or_default();
            outline.top.push((name, value.text()));
            if matches!(value.tree, Tree::Sequence(_)) {
                outline.lists.push(name);
                if value.items().iter().all(|item| item.text().is_some()) {
                    outline.texts.push(name);
                }
            }
            for inner in std::iter::once(value).chain(value.items()).take(limits::VIOLATIONS) {
                outline.below.extend(inner.entries().iter().filter_map(|(key, _)| key.text()));
            }
            if ["services", "stages"].contains(&name) {
                // Several systems have them. What one of them has tells which.
                for (_, service) in value.entries() {
                    outline.below.extend(service.entries().iter().filter_map(|(key, _)| key.text()));
                }
            }
        }
        let Some(states) = root.get("states") else { return outline };
        for (_, state) in states.entries() {
            outline.has_transition |= state.get("transition").is_some();
            outline.has_type |= state.get("type").is_some();
            outline.has_transitions |= matches!(state.get("transitions"), Some(Node { tree: Tree::Sequence(_), .. }));
            outline.has_events |= is_of_xstate(state);
        }
        outline
    }

    /// The keys of the first document in a text, found by their indentation.
    fn of_text(text: &'a str) -> Self {
        let mut outline = Self::default();
        let (mut is_first, mut is_first_below) = (true, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim_end();
            if line.is_empty() {
                continue;
            }
            if line.starts_with("---") {
                // Above the first line it opens the document; below, it begins the next one.
                if !is_first {
                    break;
                }
                continue;
            }
            if is_first {
                outline.is_list = line.starts_with("- ");
            }
            is_first = false;
            // The keys of a list's items stand behind its dashes.
            let item = line.strip_prefix("- ").or_else(|| line.strip_prefix("  "));
            let at_top = if outline.is_list { item } else { Some(line) };
            let is_below = at_top.is_none_or(|line| line.starts_with([' ', '-']));
            if is_below && is_first_below && line.trim_start().starts_with('-') {
                outline.lists.extend(outline.top.last().map(|(key, _)| *key));
                if !line.contains(':') {
                    outline.texts.extend(outline.top.last().map(|(key, _)| *key));
                }
            }
            is_first_below = !is_below;
            let Some((key, value)) = line.trim_start_matches([' ', '-']).split_once(':') else { continue };
            let (key, value) = (bare(key), bare(value));
            if is_below {
                outline.below.push(key);
            } else {
                outline.top.push((key, (!value.is_empty()).then_some(value)));
                if value.starts_with('[') && !value.contains('{') {
                    outline.texts.push(key);
                }
            }
        }
        outline
    }

    fn has(&self, key: &str) -> bool {
        self.top.iter().any(|(known, _)| *known == key)
    }

    /// The text behind a key at the top; empty if there is none.
    fn value(&self, key: &str) -> &'a str {
        for (known, value) in &self.top {
            if *known == key {
                return value.unwrap_or_default();
            }
        }
        ""
    }

    /// Whether it tries to be a workflow of flow.
    fn is_own(&self) -> bool {
        let kind = self.value("kind");
        let is_named = self.value("apiVersion").starts_with("flow.") && !kind.starts_with("Flow");
        !self.is_list && (is_named || kind.starts_with("FlowWorkflow") || OWN.iter().any(|key| self.has(key)))
    }

    /// The system that it belongs to, with an article.
    fn system(&self) -> Option<&'static str> {
        if self.is_list {
            return self.system_of_list();
        }
        let (version, kind) = (self.value("apiVersion"), self.value("kind"));
        if kind.starts_with("Flow") || version.starts_with("flow.") {
            return None;
        }
        if !version.is_empty() && !kind.is_empty() {
            return Some(match version.split('/').next().unwrap_or_default() {
                "argoproj.io" if kind.contains("Workflow") => "an Argo workflow",
                "tekton.dev" => "a Tekton pipeline",
                "skaffold" => "a Skaffold configuration",
                "backstage.io" => "a Backstage descriptor",
                _ => "a Kubernetes manifest",
            });
        }
        // `on` holds settings in a graph of flow, too, but there `transition` says what follows.
        if self.has_events && !self.has_transition {
            return Some("an XState machine");
        }
        if ["parallel", "compound"].contains(&self.value("type")) && self.has("states") && !self.has_transition {
            return Some("an XState machine");
        }
        if self.is_of_another_library() {
            return Some("a state machine of another library");
        }
        let Some(known) = SYSTEMS.iter().find(|system| self.is_of(system)) else {
            return self.has_jobs_of_gitlab().then_some("a GitLab CI pipeline");
        };
        // Systems that have no key of flow's own do not lay claim to a file that has one.
        let names_own = known.top.iter().any(|key| OWN.contains(key));
        (names_own || !OWN.iter().any(|key| self.has(key))).then_some(known.name)
    }

    /// The system that a list belongs to.
    fn system_of_list(&self) -> Option<&'static str> {
        if self.has("hosts") || self.has("import_playbook") {
            return Some("an Ansible playbook");
        }
        if self.has("alias") && (self.has("trigger") || self.has("triggers")) {
            return Some("a list of Home Assistant automations");
        }
        // A `when` is in many lists; with the name of a module it is a task.
        let is_task = TASK.iter().any(|key| self.has(key))
            || self.top.iter().any(|(key, _)| key.starts_with("ansible."))
            || self.has("when") && MODULES.iter().any(|key| self.has(key));
        is_task.then_some("a list of Ansible tasks")
    }

    /// Whether scripts stand below keys of any names, and not as other systems have them.
    fn has_jobs_of_gitlab(&self) -> bool {
        for (key, _) in &self.top {
            if key.ends_with("task") || ["steps", "jobs", "language"].contains(key) || OWN.contains(key) {
                return false;
            }
        }
        self.below.contains(&"script")
    }

    /// Whether the transitions stand in one list, or in each state. In a graph of flow that is a typing error, and a state
    /// has a type.
    fn is_of_another_library(&self) -> bool {
        if self.has_transition || self.has_type {
            return false;
        }
        let is_list_of_events = self.has("initial") && self.lists.contains(&"events") && !self.has("states");
        self.has_transitions || self.has("states") && self.has("transitions") || is_list_of_events
    }

    fn is_of(&self, system: &System) -> bool {
        system.top.iter().all(|key| self.has(key))
            && (!system.texts || system.top.iter().all(|key| self.texts.contains(key)))
            && (system.lists || !system.top.iter().any(|key| self.lists.contains(key)))
            && (system.below.is_empty() || system.below.iter().any(|key| self.below.contains(key)))
    }
}

/// A key or value without blanks and quotation marks.
fn bare(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use crate::machine::{Form, StateTypes, compile_text};

    /// What is reported about a file.
    fn told(name: &str, text: &str) -> Vec<(&'static str, String)> {
        let checked = compile_text(Form::of_file(name, text), text, "w", &StateTypes::default());
        assert!(checked.machine.is_none(), "{text}");
        checked.diagnostics.into_iter().map(|one| (one.code, one.message)).collect()
    }

    #[test]
    fn a_file_of_another_system_is_told_in_one_sentence() {
        for (text, name) in [
            (
                "name: CI\non: [push]\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n    - run: make\n",
                "a GitHub Actions workflow",
            ),
            ("name: x\ndescription: y\nruns:\n  using: composite\n  steps: []\n", "a GitHub action"),
            ("services:\n  web:\n    image: nginx\n    ports: ['80:80']\nvolumes: {}\n", "a Docker Compose file"),
            ("persistence: {}\nservices:\n  history: {}\n", "a configuration of a Temporal server"),
            ("x-a: &a\n  restart: always\nservices:\n  web:\n    <<: *a\n    build: .\n", "a Docker Compose file"),
            ("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\nspec: {}\n", "a Kubernetes manifest"),
            ("apiVersion: v1\nkind: Service\n---\napiVersion: v1\nkind: Secret\n", "a Kubernetes manifest"),
            (
                "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {}\nspec: {entrypoint: a}\n",
                "an Argo workflow",
            ),
            ("apiVersion: tekton.dev/v1\nkind: Pipeline\nspec: {}\n", "a Tekton pipeline"),
            (
                "name: daily\nschedule: '0 1 * * *'\nsteps:\n  - name: a\n    command: echo\n    depends: [b]\n",
                "a Dagu workflow",
            ),
            ("steps:\n  - echo hello\nschedule: '@daily'\n", "a Dagu workflow"),
            ("- hosts: all\n  tasks:\n  - name: ping\n    ping:\n", "an Ansible playbook"),
            ("---\n- name: web\n  hosts: web\n  roles: [nginx]\n", "an Ansible playbook"),
            ("---\n- name: web\n  hosts: &all web\n  roles: [nginx]\n", "an Ansible playbook"),
            ("openapi: 3.1.0\ninfo: {title: x}\npaths: {}\n", "an OpenAPI description"),
            ("stages: [build]\ncompile:\n  stage: build\n  script: [make]\n", "a GitLab CI pipeline"),
            ("image: rust\ntest:\n  script:\n  - cargo test\n", "a GitLab CI pipeline"),
            ("runtime: python27\nhandlers:\n- url: /\n  script: main.app\n", "a Google App Engine configuration"),
            (".a: &a\n  image: rust\ntest:\n  <<: *a\n  script: !reference [.b, script]\n", "a GitLab CI pipeline"),
            ("document: {dsl: 1.0.0}\ndo:\n- a: {call: http}\n", "a Serverless Workflow"),
            ("id: x\nspecVersion: '0.8'\nstart: a\nstates:\n- name: a\n  type: operation\n", "a Serverless Workflow"),
            (
                "{\"StartAt\": \"a\", \"States\": {\"a\": {\"Type\": \"Pass\", \"End\": true}}}",
                "an AWS Step Functions state machine",
            ),
            (
                "{\"name\": \"x\", \"nodes\": [{\"type\": \"n8n-nodes-base.set\"}], \"connections\": {}}",
                "an n8n workflow",
            ),
            ("version: 2.1\njobs: {build: {docker: []}}\nworkflows: {}\n", "a CircleCI configuration"),
            ("trigger: [main]\npool: {vmImage: ubuntu-latest}\nsteps:\n- script: echo\n", "an Azure pipeline"),
            ("id: a\nnamespace: b\ntasks:\n- id: c\n  type: io.kestra.Log\n", "a Kestra flow"),
            ("version: '3'\ntasks:\n  build: {cmds: [make]}\n", "a Taskfile"),
            (
                "service: shop\nprovider: {name: aws}\nfunctions:\n  f: {handler: a.b}\n",
                "a Serverless Framework service",
            ),
            ("version: '3'\nincludes:\n  web: ./web\n", "a Taskfile"),
            ("version: '3'\nvars: &v {a: 1}\ntasks:\n  build:\n    - make\n", "a Taskfile"),
            ("steps:\n- name: gcr.io/x\n  entrypoint: sh\n", "a Google Cloud Build configuration"),
            (
                "initial: a\nstates:\n  a:\n    transitions: [{event: go, target: b}]\n  b: {final: true}\n",
                "a state machine of another library",
            ),
            ("version: 0.2\nphases:\n  build:\n    commands: [make]\n", "an AWS CodeBuild specification"),
            ("initial: a\nstates:\n  a: {on: {GO: b}}\n  b: {type: final}\n", "an XState machine"),
        ] {
            for file in ["x.yaml", "x.workflow.yaml"] {
                let expected = format!(
                    "this looks like {name}, not a workflow of flow: that has `phases:`, or `initial:` and `states:`"
                );
                assert_eq!(told(file, text), [("foreign_workflow", expected)], "{file}: {text}");
            }
        }
    }

    #[test]
    fn state_machines_and_stages_of_other_systems_are_told_apart() {
        for (text, name) in [
            ("load_from:\n  - python_module: my_pkg\n", "a Dagster workspace"),
            ("scxml:\n  initial: a\n  state:\n  - {id: a}\n", "an SCXML state machine"),
            ("statechart:\n  name: x\n  root state: {name: a}\n", "a Sismic statechart"),
            ("app: {mode: workflow}\nkind: app\nversion: 0.1.3\nworkflow: {graph: {nodes: []}}\n", "a Dify app"),
            ("framework:\n  workflows:\n    blog: {places: [a, b]}\n", "a Symfony configuration"),
            ("name: x\nprefect-version: 2.0\n", "a Prefect project"),
            ("name: x\ndeployments: [{name: y, entrypoint: f.py:flow}]\n", "a Prefect project"),
            ("alias: x\ntrigger: [{platform: state}]\naction: []\nmode: single\n", "a Home Assistant automation"),
            ("- id: '1'\n  alias: x\n  triggers: []\n", "a list of Home Assistant automations"),
            ("- name: x\n  apt: {name: nginx}\n  when: y\n", "a list of Ansible tasks"),
            ("- name: x\n  ansible.builtin.apt: {name: nginx}\n", "a list of Ansible tasks"),
            (
                "states: [a, b]\ntransitions:\n- {trigger: t, source: a, dest: b}\n",
                "a state machine of another library",
            ),
            (
                "states:\n  initial: a\n  end: b\ntransitions:\n- {source: a, target: b}\n",
                "a state machine of another library",
            ),
            ("initial: a\nevents:\n- {name: go, src: [a], dst: b}\n", "a state machine of another library"),
            ("startAt: a\nstates:\n  a: {type: Pass, next: b}\n", "an AWS Step Functions state machine"),
            (
                "initial: a\nstates:\n  a: {type: atomic, invoke: {src: f, onDone: b}}\n  b: {type: final}\n",
                "an XState machine",
            ),
            ("initial: a\nstates:\n  a: {after: {1000: b}}\n  b: {}\n", "an XState machine"),
            (
                "{\"initial\": \"a\", \"states\": {\"a\": {\"always\": \"b\"}, \"b\": {\"type\": \"history\"}}}",
                "an XState machine",
            ),
            ("id: x\ntype: parallel\nstates:\n  a: {initial: b, states: {b: {}}}\n", "an XState machine"),
            ("stages:\n  prepare:\n    cmd: make\n    deps: [a]\n", "a DVC pipeline"),
            (".a: &a\n  image: rust\nstages:\n- build\nb:\n  <<: *a\n", "a GitLab CI pipeline"),
            (".a: &a\n  image: rust\nstages: [build]\nb:\n  <<: *a\n", "a GitLab CI pipeline"),
        ] {
            let expected = format!("this looks like {name}, not a workflow of flow");
            let (code, message) = &told("x.yaml", text)[0];
            assert!(*code == "foreign_workflow" && message.starts_with(&expected), "{text}: {message}");
        }
    }

    #[test]
    fn a_mapping_without_any_key_of_a_workflow_is_told_in_one_sentence() {
        for (text, what) in [
            ("name: x\ntitle: y\nitems: [a, b]\n", "this is not a workflow of flow"),
            ("kind: Recipe\ningredients: []\n", "this is not a workflow of flow"),
            ("researcher:\n  role: x\n  goal: y\n", "this is not a workflow of flow"),
            ("name: my-app\nrepository:\n  type: git\n  url: x\n", "this is not a workflow of flow"),
            ("database: {type: postgres, host: x}\ncache: {type: redis}\n", "this is not a workflow of flow"),
            ("name: my-app\nowner: {type: user, name: x}\n", "this is not a workflow of flow"),
            ("name: x\nservices:\n  web: {project: ./src, host: app}\n", "this is not a workflow of flow"),
            ("services:\n- type: web\n  image: {url: x}\n", "this is not a workflow of flow"),
            ("version: 1\ntasks:\n- name: x\n  ping:\n", "this is not a workflow of flow"),
            ("steps:\n- name: x\n  action: y\n  args: [z]\n", "this is not a workflow of flow"),
            ("- name: install\n  apt: {name: x}\n", "this is not a workflow of flow"),
            ("- initial: true\n  states: [a]\n", "this is not a workflow of flow"),
            ("[{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]", "this is not a workflow of flow"),
            ("stages:\n- name: a\n  steps: [make]\n", "this is not a workflow of flow"),
            ("stages: {a: {owner: x}}\n", "this is not a workflow of flow"),
            ("steps:\n- id: a\n  command: make\n", "this is not a workflow of flow"),
            ("version: 1\njobs:\n  a: {owner: x}\n", "this is not a workflow of flow"),
            ("linux_task:\n  script: make\n", "this is not a workflow of flow"),
            ("only a text\n", "this is not a workflow of flow"),
            ("automation: !include automations.yaml\n", "this is not a workflow of flow"),
            ("- alias: x\n  initial: !secret y\n", "this is not a workflow of flow"),
            ("nav:\n- format: !!python/name:a.b\n", "this is not a workflow of flow"),
            (
                "apiVersion: flow.synapti.ai/v1\nkind: FlowRun\n",
                "this is a document of the kind `FlowRun`, not a workflow",
            ),
        ] {
            for file in ["x.yaml", "x.workflow.yaml"] {
                let expected = format!("{what}: that has `phases:`, or `initial:` and `states:`");
                assert_eq!(told(file, text), [("not_a_workflow", expected)], "{file}: {text}");
            }
        }
    }

    #[test]
    fn what_tries_to_be_a_workflow_keeps_its_own_problems() {
        for (text, code) in [
            ("initial: a\nservices: {}\nstates: {a: {}}\n", "missing_type"),
            ("kind: FlowWorkflow\n", "schema"),
            ("phases: []\nsteps: [{run: x}]\n", "schema"),
            ("states: [a, b]\ninitial: a\n", "states_not_mapping"),
            ("transitions: x\nstates: {a: {type: agent}, b: {}}\n", "missing_type"),
            ("initial: events\nevents: {type: agent}\nb: {}\n", "missing_type"),
            ("a: {type: agent, transition: {next: [b]}}\n", "next_unknown"),
            ("build: {type: tool, script: make, transition: {next: [b]}}\nservices: {type: agent}\n", "next_unknown"),
            ("apiVersion: flow.synapti.ai/v1\nphase: []\n", "schema"),
            ("a: {type: agent}\nb: {}\n", "missing_type"),
            ("initial: a\na: {type: git}\nb: {}\n", "missing_type"),
            ("initial: a\nstates: {a: {type: agent, transitions: [b]}, b: {}}\n", "missing_type"),
            ("initial: a\nstates: {a: {transitions: {next: b}}}\n", "missing_type"),
            ("a:\n  type: agent\n  transition: {next: !x b}\n", "unsafe_tag"),
        ] {
            assert!(told("x.yaml", text).iter().any(|(found, _)| *found == code), "{text}: {:?}", told("x.yaml", text));
        }
    }
}
