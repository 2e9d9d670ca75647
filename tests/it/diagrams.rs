//! Diagrams that flow writes, read by Mermaid itself.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Lack, Sandbox, run, skipped};

/// Reads `[text, …]` and answers `[[states as [id, words], transitions], …]`.
const READER: &str = r#"
    const from = require('module').createRequire(process.argv[1] + '/');
    const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
    const plain = (text) => text
      .replace(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCodePoint(Number(code)))
      .replace(/ﬂ°quot¶ß/g, '"').replace(/&gt;/g, '>');
    const read = async (mermaid, text) => {
      await mermaid.parse(text);
      const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
      const states = [...db.getStates()].filter(([id]) => id !== 'root_start' && id !== 'root_end');
      return [states.map(([id, state]) => [id, (state.descriptions ?? []).map(plain).join()]), db.getRelations().length];
    };
    (async () => {
      const { JSDOM } = from('jsdom');
      globalThis.window = new JSDOM('').window;
      globalThis.document = window.document;
      const { default: mermaid } = await import(from.resolve('mermaid'));
      const all = [];
      for (const text of texts) all.push(await read(mermaid, text));
      console.log(JSON.stringify(all));
    })().catch((error) => { console.error(error); process.exit(1); });
"#;

/// Names and texts that Mermaid reads as something else.
const NAMES: [&str; 14] = [
    "fan-out", "class", "Scale", "href", "accTitle", "root_start", "stateDiagram", "stateDiagram-v2", "note", "end",
    "classDef", "default_", "direction", "完了",
];
const TEXTS: [&str; 14] = [
    "stop; then \"go\"",
    "see http://x/y",
    "a --> b",
    "direction LR",
    "#quot; # %% x",
    "<b>x</b> & `y`",
    "style x:#a;",
    "[*]",
    "{ }",
    "note: end note",
    "it's",
    "é, (x) 100% = $1",
    "accTitle: x %%{init: {}}%% y",
    "x -- y",
];

#[test]
fn mermaid_reads_what_is_drawn_as_it_was_meant() {
    // FLOW_MERMAID names a directory in which `npm install mermaid jsdom` was run.
    let Some(packages) = std::env::var_os("FLOW_MERMAID") else {
        let lack = Lack::of("mermaid", "FLOW_MERMAID names no directory with mermaid");
        return skipped("mermaid_reads_what_is_drawn_as_it_was_meant", &lack);
    };
    let sandbox = Sandbox::new();
    let state = |at: usize| {
        let next = NAMES.get(at + 1).into_iter().collect::<Vec<_>>();
        json!({ "type": "agent", "description": TEXTS[at], "transition": { "next": next } })
    };
    let states: serde_json::Map<_, _> =
        NAMES.iter().enumerate().map(|(at, name)| ((*name).into(), state(at))).collect();
    let awkward = json!({ "initial": NAMES[0], "states": states });
    std::fs::write(sandbox.path("awkward.graph.yaml"), awkward.to_string()).unwrap();
    let listed = sandbox.flow(["workflow", "list", "--json"]).ok().json();
    let shipped = listed["workflows"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
    let names: Vec<_> = ["awkward.graph.yaml".to_owned()].into_iter().chain(shipped).collect();
    let drawn = names.iter().map(|name| sandbox.flow(["workflow", "graph", name, "--mermaid"]).ok().stdout);
    let drawn: Vec<_> = drawn.collect();
    let mut node = Command::new("node");
    node.arg("-e").arg(READER).arg(packages);
    let read = run(node, &json!(drawn).to_string()).ok().json();
    for ((name, text), read) in names.iter().zip(&drawn).zip(read.as_array().unwrap()) {
        let meant = sandbox.flow(["workflow", "check", name, "--json"]).ok().json();
        let count = |key: &str| meant[key].as_array().unwrap().len();
        let states = read[0].as_array().unwrap();
        assert_eq!(states.len(), count("states"), "{read}\n{text}");
        assert_eq!(read[1], count("transitions") + count("initial") + count("terminal"), "{read}\n{text}");
    }
    let words: Vec<&Value> = read[0][0].as_array().unwrap().iter().map(|state| &state[1]).collect();
    assert_eq!(words, TEXTS);
}

/// Lines that say nothing about transitions, or look like lines that do.
const DRAWN: [&str; 18] = [
    "note right of a : text",
    "note left of a\n b --> c\n state d {\nend note",
    "Note Right Of a : x",
    "note right of a:b --> c",
    "note right of a\n: b --> c",
    "note right of a\nnote left of b\n  End Note",
    "note left of a\nend notes\nb --> c\nend note",
    "note \"floating b --> c\" as N1",
    "note \"over\nb --> c\nlines\" as N1",
    "accDescr { b --> c }",
    "accDescr {\n b --> c\n x { }",
    "accTitle: b --> c",
    "%%{init: {\n'theme': 'dark'\n}}%%",
    "%% b --> c",
    "scale 350 width\nhide empty description",
    "classDef loud fill:#f9f\nclass a loud",
    "click a \"http://x\" \"b --> c\"",
    "direction LR",
];

#[test]
fn flow_leaves_out_of_a_diagram_what_mermaid_leaves_out() {
    let Some(packages) = std::env::var_os("FLOW_MERMAID") else {
        let lack = Lack::of("mermaid", "FLOW_MERMAID names no directory with mermaid");
        return skipped("flow_leaves_out_of_a_diagram_what_mermaid_leaves_out", &lack);
    };
    let sandbox = Sandbox::new();
    let texts: Vec<_> =
        DRAWN.iter().map(|drawn| format!("stateDiagram-v2\n[*] --> a\n{drawn}\na --> z\nz --> [*]\n")).collect();
    let mut node = Command::new("node");
    node.arg("-e").arg(READER).arg(packages);
    let read = run(node, &json!(texts).to_string()).ok().json();
    for (text, read) in texts.iter().zip(read.as_array().unwrap()) {
        std::fs::write(sandbox.path("w.mmd"), text).unwrap();
        let flow = sandbox.flow(["workflow", "check", "w.mmd", "--json"]).ok().json();
        let names: Vec<_> = flow["states"].as_array().unwrap().iter().map(|state| &state["name"]).collect();
        let theirs: Vec<_> = read[0].as_array().unwrap().iter().map(|state| &state[0]).collect();
        assert_eq!(names, theirs, "{text}");
        let count = |key: &str| flow[key].as_array().unwrap().len();
        assert_eq!(read[1], count("transitions") + count("initial") + count("terminal"), "{text}");
    }
}
