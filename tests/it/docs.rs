//! The documentation against the program: what it names exists, what it counts is right, what it shows is valid.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use flowrun::cli::Cli;
use flowrun::codec::{SEAL_BYTES, digest, seal, unseal};
use flowrun::model::limits;

use crate::support::Sandbox;

/// Every page, by its path in the repository.
const PAGES: [&str; 18] = [
    "README.md", "CHANGELOG.md", "docs/cookbook.md", "docs/glossary.md", "docs/tutorial.md", "docs/doctor.md",
    "docs/drive.md", "docs/durability.md", "docs/errors.md", "docs/export.md", "docs/format.md", "docs/hosts.md",
    "docs/interviews.md", "docs/json.md", "docs/mcp.md", "docs/modes.md", "docs/reports.md", "docs/workflows.md",
];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fenced blocks of a page: language and text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    for line in page.lines() {
        let fence = line.len() - line.trim_start_matches('`').len();
        match &mut open {
            // A longer fence holds shorter ones.
            Some((len, language, text)) if *len == fence => {
                blocks.push((std::mem::take(language), std::mem::take(text)));
                open = None;
            }
            Some((_, _, text)) => *text += &format!("{line}\n"),
            None if fence >= 3 => open = Some((fence, line[fence..].to_owned(), String::new())),
            None => {}
        }
    }
    blocks
}

/// The page without its fenced blocks.
fn prose(page: &str) -> String {
    let mut inside = false;
    let mut prose = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            prose += &format!("{line}\n");
        }
    }
    prose
}

/// The spans of code in the prose of a page.
fn spans(page: &str) -> Vec<String> {
    prose(page).split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of the first table behind `heading`, without its head; cells without code marks.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let at = page.find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let rows = page[at..].lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().replace('`', "")).collect();
    rows.skip(2).map(cells).collect()
}

fn column(rows: &[Vec<String>], at: usize) -> Vec<String> {
    rows.iter().map(|row| row[at].clone()).collect()
}

/// The string literals of a source text that could be codes, each with what stands before it.
fn literals(source: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = source[from..].find('"').map(|at| from + at) {
        let Some(close) = source[open + 1..].find('"').map(|at| open + 1 + at) else { break };
        let word = &source[open + 1..close];
        let is_code = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-89".contains(&byte));
        if is_code {
            found.push((&source[..open], word));
        }
        from = if is_code || !word.contains('\n') { close + 1 } else { open + 1 };
    }
    found
}

/// `Name = status` of the exit statuses.
fn statuses() -> BTreeMap<String, u8> {
    let source = read("src/cli/exit.rs");
    let pairs =
        source.lines().filter_map(|line| line.trim().strip_prefix("Self::")?.strip_suffix(',')?.split_once(" => "));
    let statuses: BTreeMap<_, _> =
        pairs.filter_map(|(name, status)| Some((name.to_owned(), status.parse().ok()?))).collect();
    assert_eq!(statuses.len(), 9, "{statuses:?}");
    statuses
}

#[test]
fn every_error_code_is_explained_with_its_status() {
    let statuses = statuses();
    let mut codes: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
    for source in crate::tidy::sources() {
        let words: Vec<_> = source.code.split([' ', '\n', '(', ')']).filter(|word| !word.is_empty()).collect();
        // A code stands behind its kind: `Kind::Refused, "run_open"`.
        for pair in words.windows(2) {
            let kind = pair[0].strip_prefix("Kind::").and_then(|kind| kind.strip_suffix(','));
            let code = pair[1].trim_end_matches(',').strip_prefix('"').and_then(|code| code.strip_suffix('"'));
            if let (Some(kind), Some(code)) = (kind, code)
                && !code.is_empty()
            {
                codes.entry(code.to_owned()).or_default().insert(statuses[kind]);
            }
        }
    }
    let rows = table(&read("docs/errors.md"), "## Codes");
    let explained: BTreeSet<_> = column(&rows, 0).into_iter().collect();
    assert_eq!(explained.len(), rows.len(), "a code is there twice");
    assert_eq!(explained, codes.keys().cloned().collect());
    for row in rows {
        let numbers: Vec<u8> = row[1].split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        let known = &codes[&row[0]];
        assert!(known.iter().all(|number| numbers.contains(number)), "{}: {numbers:?}, not {known:?}", row[0]);
    }
}

#[test]
fn exit_statuses_are_those_of_the_program() {
    let known = statuses();
    let rows = table(&read("docs/errors.md"), "## Exit statuses");
    let named: BTreeMap<_, _> = rows.iter().map(|row| (row[1].clone(), row[0].parse().unwrap())).collect();
    assert_eq!(named, known);
    let rows = table(&read("docs/tutorial.md"), "## Exit statuses");
    let listed: Vec<u8> = column(&rows, 0).iter().map(|status| status.parse().unwrap()).collect();
    let mut known: Vec<_> = known.into_values().collect();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn verdicts_are_those_of_the_program() {
    let source = read("src/engine/verdict.rs");
    let start = source.find("pub enum Verdict {").unwrap();
    let names = &source[start..start + source[start..].find("\n    }\n").unwrap()];
    let known: Vec<_> = literals(names).into_iter().map(|(_, name)| name.to_owned()).collect();
    assert_eq!(column(&table(&read("docs/tutorial.md"), "## What resume answers"), 0), known);
}

#[test]
fn event_types_are_those_of_the_program() {
    let source = read("src/model/event.rs");
    let start = source.find("\nevent_types! {").unwrap();
    let names = &source[start..start + source[start..].find("\n}\n").unwrap()];
    let known: Vec<_> = literals(names).into_iter().map(|(_, name)| name.to_owned()).collect();
    assert_eq!(known.len(), 17, "{known:?}");
    let rows = table(&read("docs/format.md"), "### Event types");
    assert_eq!(column(&rows, 0), known);
    // Members are those of the schema.
    let schema: serde_json::Value = serde_json::from_str(&read("schemas/v1/event.schema.json")).unwrap();
    let text = schema.to_string();
    for row in rows {
        for member in row[1].split([',', ';', ' ']).filter(|word| word.contains('_') || *word == "machine") {
            assert!(text.contains(&format!("\"{member}\"")), "{}: {member}", row[0]);
        }
    }
}

#[test]
fn findings_are_those_of_the_program() {
    let source = read("src/doctor/codes.rs");
    let rows = source.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split_once("\", Severity::"));
    let known: Vec<_> =
        rows.map(|(code, rest)| (code.to_owned(), rest.trim_end_matches("),").to_lowercase())).collect();
    assert!(known.len() > 50, "{known:?}");
    let explained = table(&read("docs/doctor.md"), "## Findings");
    let explained: Vec<_> = explained.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!(explained, known);
    // Each is found by a test.
    let files = [
        "it/doctor.rs",
        "it/git_moves.rs",
        "it/seams.rs",
        "it/remote.rs",
        "it/remote_refs.rs",
        "it/remote_trouble.rs",
        "conformance/in_bucket.rs",
    ];
    let tests: String = files.map(|file| read(&format!("tests/{file}"))).concat();
    let untested: Vec<_> = known.iter().filter(|(code, _)| !tests.contains(&format!("\"{code}\""))).collect();
    assert_eq!(untested, [&("doubtful_file_system".to_owned(), "warning".to_owned())], "tested in its own file");
}

#[test]
fn findings_about_hooks_are_those_of_the_program() {
    let managed = read("src/hooks/settings/managed.rs");
    let sources = [read("src/hooks/settings/doctor.rs"), managed.clone()];
    let source: String = sources.iter().map(|source| source.split("#[cfg(test)]").next().unwrap()).collect();
    // A code is the first argument of a call, or of a pair.
    let first = literals(&source).into_iter().filter(|(before, _)| before.trim_end().ends_with(['(', ':']));
    let settings = ["disableAllHooks", "allowManagedHooksOnly", "/hooksConfig/enabled"];
    let words = [&["host", "scope", "install", "uninstall", "setup", "plugin", "features"][..], &settings].concat();
    let known: BTreeSet<_> = first.map(|(_, code)| code.to_owned()).filter(|code| !words.contains(&&**code)).collect();
    let explained = column(&table(&read("docs/hosts.md"), "### What the doctor finds"), 0);
    assert_eq!(explained.len(), known.len(), "a code is there twice");
    let tests = read("tests/it/host_doctor.rs") + &managed;
    assert!(explained.iter().all(|code| tests.contains(&format!("\"{code} "))), "each is found by a test");
    assert_eq!(explained.into_iter().collect::<BTreeSet<_>>(), known);
}

#[test]
fn limits_are_those_of_the_program() {
    macro_rules! known {
        ($($name:ident)*) => { [$((stringify!($name), limits::$name as u64)),*] };
    }
    let known = known![FULL_RUN_BYTES RUN_BYTES ACTIVITY_BYTES EVIDENCE_BYTES LINE_BYTES LOG_BYTES GAP_BYTES GAP_LINES NAME_BYTES WORKFLOW_BYTES MARKDOWN_BYTES STATES TRANSITIONS JOURNAL_BYTES INTERVIEW_BYTES ANSWER_BYTES QUESTIONS HOOK_BYTES SETTINGS_BYTES EXPORT_BYTES MESSAGE_BYTES MESSAGE_DEPTH
        MODE_BYTES SHOWN_SESSIONS
        CACHE_BYTES PRUNED_BYTES TAIL_BYTES YAML_DEPTH YAML_NODES RUN_NODES COUNTER VIOLATIONS SKIPPED];
    let source = read("src/model/limits.rs");
    let declared = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    assert_eq!(declared.collect::<Vec<_>>(), known.map(|(name, _)| name));
    let rows = table(&read("docs/format.md"), "## Limits");
    let written: Vec<_> = rows.iter().map(|row| (row[0].as_str(), row[1].parse().unwrap())).collect();
    assert_eq!(written, known);
}

#[test]
fn the_worked_checksum_verifies() {
    let page = read("docs/format.md");
    let lines: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("    {\"v\":1,")).collect();
    let [sealed, covered] = lines.as_slice() else { panic!("{lines:?}") };
    let (sealed, covered) = (format!("{{\"v\":1,{sealed}"), format!("{{\"v\":1,{covered}"));
    let object = unseal(sealed.as_bytes()).unwrap();
    assert_eq!(seal(&object), format!("{sealed}\n"));
    let crc = digest(covered.as_bytes());
    let (len, crc) = crc.split_once('-').unwrap();
    assert_eq!(sealed, format!("{covered},\"crc\":\"{crc}\"}}"));
    assert!(page.contains(&format!("these {len} bytes")) && page.contains(&format!("CRC-32C is `{crc}`")));
    assert_eq!(digest(b"123456789"), "9-e3069283");
    assert!(page.contains("is `e3069283`"));
    assert!(page.contains(&format!("The last {SEAL_BYTES} bytes")));
}

#[test]
fn examples_are_valid_documents() {
    let sandbox = Sandbox::new();
    let mut checked = 0;
    for page in PAGES {
        for (language, text) in blocks(&read(page)) {
            match language.as_str() {
                "yaml" if !text.contains("apiVersion") => {
                    fs::write(sandbox.path("example.yaml"), &text).unwrap();
                    let answer = sandbox.flow(["workflow", "check", "example.yaml", "--json"]).ok().json();
                    assert_eq!(answer["diagnostics"], serde_json::json!([]), "{page}: {text}");
                    checked += 1;
                }
                "markdown" => {
                    fs::write(sandbox.path("example.md"), &text).unwrap();
                    let answer = sandbox.flow(["workflow", "check", "example.md", "--json"]).ok().json();
                    assert_eq!(answer["diagnostics"], serde_json::json!([]), "{page}: {text}");
                    checked += 1;
                }
                "yaml" => {
                    fs::write(sandbox.path("example.yaml"), &text).unwrap();
                    let answer = sandbox.flow(["validate", "example.yaml"]);
                    assert_eq!(answer.code, Some(0), "{page}: {}\n{text}", answer.stdout);
                    checked += 1;
                }
                "json" => {
                    serde_json::from_str::<serde_json::Value>(&text)
                        .unwrap_or_else(|error| panic!("{page}: {error}\n{text}"));
                    checked += 1;
                }
                "rust" => {
                    // Examples are compiled, so a block that stands in one of them is right.
                    let lines = |text: &str| text.lines().map(|line| format!("{}\n", line.trim())).collect::<String>();
                    let examples =
                        ["examples/custom_state.rs", "examples/durable_agent.rs", "examples/record_and_resume.rs"];
                    let text_lines = lines(&text);
                    assert!(
                        examples.iter().any(|example| lines(&read(example)).contains(&text_lines)),
                        "{page}: in no example:\n{text}"
                    );
                    checked += 1;
                }
                "console" | "sh" => {}
                other => panic!("{page}: a block in {other:?} is checked by nobody"),
            }
        }
    }
    assert!(checked >= 6, "{checked}");
}

/// Help texts by command, fetched once.
struct Help<'a> {
    sandbox: &'a Sandbox,
    texts: BTreeMap<String, Option<String>>,
}

impl Help<'_> {
    fn of(&mut self, words: &[&str]) -> Option<String> {
        let key = words.join(" ");
        if !self.texts.contains_key(&key) {
            let answer = self.sandbox.flow(["help"].iter().chain(words));
            self.texts.insert(key.clone(), (answer.code == Some(0)).then_some(answer.stdout));
        }
        self.texts[&key].clone()
    }

    fn all(&mut self) -> String {
        let mut all = self.of(&[]).unwrap();
        let of_modes = ["request", "write", "list"].map(|command| ["mode", command]);
        let of_interviews =
            ["start", "answer", "skip", "finish", "abandon", "run"].map(|command| ["interview", command]);
        let of_hooks = ["install", "uninstall", "plugin", "skill"].map(|command| ["hooks", command]);
        let nested = [["workflow", "show"], ["workflow", "adopt"]];
        for nested in nested.iter().chain(&of_modes).chain(&of_interviews).chain(&of_hooks) {
            all += &self.of(nested).unwrap();
        }
        for command in Cli::command().get_subcommands() {
            all.extend(self.of(&[command.get_name()]));
        }
        all
    }
}

/// What follows each `flow ` in a line, up to where a shell would end the command.
fn commands(code: &str) -> Vec<String> {
    let starts = code.match_indices("flow ").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        before.is_none_or(|c| " ($`'".contains(c))
    });
    let rests = starts.map(|(at, found)| &code[at + found.len()..]);
    rests.map(|rest| rest.split(['|', ';', ')', '\'', '<', '>', '`']).next().unwrap().to_owned()).collect()
}

#[test]
fn commands_and_options_exist() {
    let sandbox = Sandbox::new();
    let mut help = Help { sandbox: &sandbox, texts: BTreeMap::new() };
    let all = help.all();
    let mut checked = 0;
    for page in PAGES {
        let text = read(page);
        let mut code: Vec<String> = spans(&text);
        for (language, block) in blocks(&text) {
            let lines =
                block.lines().filter(|line| language == "sh" || line.starts_with("$ ") || line.contains("`flow "));
            code.extend(lines.map(str::to_owned));
        }
        for span in &code {
            for command in commands(span) {
                let words: Vec<_> = command.split_whitespace().collect();
                let Some(first) = words.first().filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
                else {
                    continue;
                };
                let path = match (*first, words.get(1)) {
                    ("help", _) => &[][..],
                    ("workflow" | "mode" | "interview" | "hooks" | "remote", Some(_)) => &words[..2],
                    _ => &words[..1],
                };
                let known = help.of(path).unwrap_or_else(|| panic!("{page}: there is no `flow {}`", path.join(" ")));
                // Behind `--` there are none.
                let options = words.iter().take_while(|word| **word != "--").filter(|word| word.starts_with("--"));
                for option in options.map(|word| word.split('=').next().unwrap()) {
                    let is_known = known.split_whitespace().any(|word| word == option);
                    assert!(is_known, "{page}: `flow {command}`: no {option}");
                }
                checked += 1;
            }
            // An option on its own.
            let option = span.split([' ', '=']).next().unwrap();
            if option.starts_with("--") && option != "-->" {
                assert!(all.split_whitespace().any(|word| word == option), "{page}: no command has {option}");
                checked += 1;
            }
        }
        for variable in text.split(|c: char| !(c.is_ascii_uppercase() || c == '_')).filter(|w| w.starts_with("FLOW_")) {
            // Those of the tests are no business of the program.
            assert!(
                all.contains(variable) || variable.starts_with("FLOW_TEST_"),
                "{page}: {variable} is not in the help"
            );
        }
    }
    assert!(checked > 80, "{checked}");
}

#[test]
fn links_lead_somewhere() {
    for page in PAGES {
        let text = prose(&read(page));
        let here = PathBuf::from(page);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
            let path = if path.is_empty() { here.clone() } else { here.parent().unwrap().join(path) };
            assert!(repository().join(&path).is_file(), "{page}: {target}");
            let Some(anchor) = anchor else { continue };
            let linked = prose(&read(path.to_str().unwrap()));
            let slug = |heading: &str| -> String {
                let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
                heading.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
            };
            let found = linked.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor);
            assert!(found, "{page}: {target}");
        }
    }
}

#[test]
fn workflows_are_those_that_are_shipped() {
    let sandbox = Sandbox::new();
    let page = read("docs/workflows.md");
    let rows = table(&page, "## Shipped workflows");
    let diagrams = table(&page, "### Skills and agents");
    let listed = sandbox.flow(["workflow", "list", "--json"]).ok().json();
    let ids = listed["workflows"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
    let both = rows.iter().map(|row| (row, " → ")).chain(diagrams.iter().map(|row| (row, ", "))).collect::<Vec<_>>();
    assert_eq!(both.iter().map(|(row, _)| row[0].clone()).collect::<BTreeSet<_>>(), ids.collect());
    for (row, between) in both {
        let shown = sandbox.flow(["workflow", "show", &row[0], "--json"]).ok().json();
        let phases = shown["states"].as_array().unwrap().iter().map(|state| state["name"].as_str().unwrap());
        assert_eq!(row[1], phases.collect::<Vec<_>>().join(between));
    }
    // The codes of its table are those that a definition can have.
    let mut known = BTreeSet::new();
    let files = [
        "machine/check.rs",
        "machine/diagnostic.rs",
        "machine/foreign.rs",
        "machine/form.rs",
        "machine/graph.rs",
        "machine/markdown.rs",
        "machine/mermaid/diagram.rs",
        "machine/mermaid/grammar.rs",
        "machine/mermaid/reader.rs",
        "machine/mermaid/statements.rs",
        "machine/phases.rs",
        "machine/requires.rs",
        "machine/unread.rs",
        "catalog/find.rs",
        "catalog/folder.rs",
    ];
    for file in files {
        let source = read(&format!("src/{file}"));
        let source = source.split("#[cfg(test)]").next().unwrap();
        let reports = [
            "error(",
            "warning(",
            "helped(",
            "invalid(text,",
            "invalid(String::new(),",
            "&one.from,",
            "&one.to,",
            "source.initial, \"initial\",",
            "source.terminal, \"terminal\",",
            "source.gates, \"gated\",",
            "refer(state,",
            "told(",
            "YamlFault::Apostrophe =>",
            "YamlFault::Documents =>",
            "YamlFault::Tag =>",
            "const ABSENT: &str =",
            "const FOREIGN: &str =",
            "const NOT_A_WORKFLOW: &str =",
            "const GATE_UNREAD: &str =",
            "let code =",
        ];
        let codes = literals(source)
            .into_iter()
            .filter(|(before, _)| reports.iter().any(|call| before.trim_end().ends_with(call)));
        known.extend(codes.map(|(_, code)| code.to_owned()));
    }
    let explained: BTreeSet<_> = column(&table(&page, "## Checking one"), 0).into_iter().collect();
    assert_eq!(explained, known);
}

/// The source files of the program.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn what_the_program_says_names_pages_that_a_user_of_the_binary_has() {
    let sandbox = Sandbox::new();
    let help = sandbox.flow(["help"]).ok().stdout;
    let (mut topics, mut named) = (BTreeSet::new(), BTreeSet::new());
    let (_, list) = help.split_once("Topics, for `flow help TOPIC`:\n").unwrap();
    for line in list.lines() {
        topics.insert(line.trim().split_once(": ").unwrap().0.to_owned());
    }
    for topic in &topics {
        let page = read(&format!("docs/{topic}.md"));
        for word in [format!("{topic}.md"), format!("docs/{topic}.md")] {
            assert_eq!(sandbox.flow(["help", &word]).ok().stdout, page);
        }
    }
    assert_eq!(sandbox.flow(["help", "workflows"]).ok().stdout, read("docs/workflows.md"));
    // A command comes before a topic of the same name, and the list says how the topic is reached.
    assert!(sandbox.flow(["help", "doctor"]).ok().stdout.contains("Usage: flow doctor"));
    for file in sources(&repository().join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        let said = text.split("#[cfg(test)]\nmod tests").next().unwrap().lines();
        for line in said.filter(|line| !line.trim_start().starts_with("//")) {
            let pages = line
                .split("docs/")
                .skip(1)
                .filter(|rest| rest.split([' ', '"', '`']).next().is_some_and(|name| name.ends_with(".md")));
            assert_eq!(pages.count(), 0, "{}: {line}", file.display());
            for rest in line.split("flow help ").skip(1).chain(line.split("flow(\"help ").skip(1)) {
                let word = rest.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap();
                named.insert(word.to_owned());
            }
        }
    }
    named.retain(|word| !word.is_empty() && word != "TOPIC" && word.chars().all(|c| c.is_lowercase() || c == '-'));
    assert!(named.contains("workflows"), "{named:?}");
    for word in named {
        sandbox.flow(["help", &word]).ok();
    }
    let wrong = sandbox.flow(["help", "worfklows"]).exits(2).stderr;
    insta::assert_snapshot!(wrong, @r"
    error: unrecognized subcommand 'worfklows'

      tip: did you mean `flow help workflows`?

    Usage: flow [OPTIONS] <COMMAND>

    For more information, try 'flow --help'.
    ");
    assert!(
        sandbox.flow(["help", "nonsense"]).exits(2).stderr.contains("tip: `flow help` lists all commands and topics")
    );
}
