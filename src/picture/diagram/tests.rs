use std::collections::HashSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::machine::{Form, StateTypes, compile_text};

fn compiled(form: Form, text: &str) -> Machine {
    let checked = compile_text(form, text, "w", &StateTypes::default());
    checked.machine.unwrap_or_else(|| panic!("{text}\n{:?}", checked.diagnostics))
}

/// A machine from the transitions `a>b:label a>c`, which begins in the first state and ends in `last`.
fn machine(transitions: &str) -> Machine {
    let first = transitions.split('>').next().unwrap_or_default();
    let mut text = format!("stateDiagram-v2\n[*] --> {first}\n");
    for one in transitions.split(' ') {
        let (ends, label) = one.split_once(':').unwrap_or((one, ""));
        let colon = if label.is_empty() { "" } else { " : " };
        let _ = writeln!(text, "{}{colon}{}", ends.replace('>', " --> "), label.replace('_', " "));
    }
    compiled(Form::Mermaid, &format!("{text}last --> [*]\n"))
}

fn name(text: &str) -> StateName {
    StateName::new(text).unwrap()
}

/// A diagram in short: its size, its nodes with their places, and its edges with their corners.
fn brief(diagram: &Diagram) -> String {
    let mut text = format!("{} × {}\n", diagram.width, diagram.height);
    for (at, node) in diagram.nodes.iter().enumerate() {
        let DiagramNode { kind, label, x, y, width, .. } = node;
        let _ = writeln!(text, "{at} {kind:?} {label:?} {x},{y} {width}");
    }
    for DiagramEdge { from, to, label, points } in &diagram.edges {
        let label = label.as_ref().map(|label| format!(" {:?} {},{}", label.text, label.x, label.y));
        let _ = writeln!(text, "{from}>{to}{} {points:?}", label.unwrap_or_default());
    }
    text
}

#[test]
fn a_workflow_is_placed_from_its_begin_to_its_end() {
    let machine = machine("plan>code code>verify:done verify>code:failed code>code verify>last");
    insta::assert_snapshot!(brief(&diagram(&machine, &[])), @r##"
    132.9 × 338
    0 Begin "" 50.3,8 14
    1 State "plan" 13,54 88.4
    2 State "code" 11.7,116 91.2
    3 State "verify" 8,192 98.5
    4 State "last" 14.4,254 85.7
    5 End "" 50.3,316 14
    0>1 [[57.3, 22.0], [57.3, 54.0]]
    1>2 [[57.3, 84.0], [57.3, 116.0]]
    2>3 "done" 89.4,162 [[84.4, 146.0], [84.4, 192.0]]
    3>2 "failed" 35.1,162 [[30.1, 192.0], [30.1, 146.0]]
    2>2 [[102.9, 123.5], [124.9, 123.5], [124.9, 138.5], [102.9, 138.5]]
    3>4 [[57.3, 222.0], [57.3, 254.0]]
    4>5 [[57.3, 284.0], [57.3, 316.0]]
    "##);
}

#[test]
fn the_same_machine_gives_the_same_diagram() {
    let machine = machine("a>b b>c c>a:again a>d d>b b>d:x b>d:y d>d:more d>last c>last a>last last>a");
    let first = diagram(&machine, &[]);
    for _ in 0..20 {
        assert_eq!(diagram(&machine, &[]), first);
    }
}

#[test]
fn transitions_between_the_same_states_are_one_edge_with_their_labels() {
    let machine = machine("a>b:passed a>b a>b:skipped b>a:failed_because_a_check_did_not_pass b>last");
    let diagram = diagram(&machine, &[]);
    let labels = diagram.edges.iter().map(|edge| edge.label.as_ref().map(|label| label.text.as_str()));
    assert_eq!(
        labels.collect::<Vec<_>>(),
        [None, Some("passed, skipped"), Some("failed because a check…"), None, None]
    );
}

#[test]
fn a_long_label_is_told_about_a_state_and_its_name_is_shown() {
    let text =
        "stateDiagram-v2\n[*] --> plan\nplan : There is a list of steps that a person could follow\nplan --> [*]";
    let diagram = diagram(&compiled(Form::Mermaid, text), &[]);
    let node = &diagram.nodes[1];
    assert_eq!(node.label, "plan");
    assert_eq!(node.about.as_deref(), Some("There is a list of steps that a person could follow"));
}

/// A machine of states `s0`, `s1`, … that begins in the first one and ends in the last one.
fn numbered(states: usize, transitions: &[(usize, usize)]) -> Machine {
    let all: Vec<Value> = (0..states).map(|at| json!({"name": format!("s{at}")})).collect();
    let ways = transitions.iter().map(|(from, to)| json!({"from": format!("s{from}"), "to": format!("s{to}")}));
    let value = json!({
        "id": "w", "version": 1, "notation": "graph", "states": all, "initial": ["s0"],
        "terminal": [format!("s{}", states - 1)], "transitions": ways.collect::<Vec<_>>(),
    });
    Machine::from_value(&value).unwrap()
}

/// States in a row, from every tenth of which a transition leads back.
fn row(states: usize) -> Machine {
    let mut transitions: Vec<_> = (1..states).map(|at| (at - 1, at)).collect();
    transitions.extend((5..states).step_by(10).map(|at| (at, at - 5)));
    numbered(states, &transitions)
}

fn names(diagram: &Diagram) -> Vec<&str> {
    diagram.nodes.iter().filter_map(|node| node.name.as_ref().map(StateName::as_str)).collect()
}

#[test]
fn of_a_large_machine_only_the_neighbourhood_is_drawn() {
    let whole = diagram(&row(150), &[]);
    assert_eq!((whole.left_out, names(&whole).len()), (0, 150));
    let large = row(151);
    let start = diagram(&large, &[]);
    assert_eq!((start.left_out, names(&start).len()), (91, 60));
    assert!(names(&start).contains(&"s0") && start.nodes[0].kind == NodeKind::Begin);
    let near = diagram(&large, &[name("s75")]);
    assert_eq!((near.left_out, names(&near).len()), (91, 60));
    assert!(["s60", "s75", "s90"].iter().all(|state| names(&near).contains(state)), "{:?}", names(&near));
    assert!(near.nodes.iter().all(|node| node.kind == NodeKind::State), "neither begins nor ends here");
    assert_eq!(diagram(&large, &[name("elsewhere")]), start);
}

#[test]
fn as_many_long_lines_are_drawn_as_can_be_placed_soon() {
    let ways = |states: usize| (1..states).flat_map(|at| [(at - 1, at), (at, 0)]).collect::<Vec<_>>();
    assert_eq!(diagram(&numbered(40, &ways(40)), &[]).left_out, 0);
    let many = diagram(&numbered(150, &ways(150)), &[name("s149")]);
    assert_eq!(many.left_out, 105);
    assert!(names(&many).contains(&"s149"));
}

#[test]
fn a_thicket_is_thinned_until_it_can_be_placed() {
    let everywhere: Vec<_> = (0..60).flat_map(|from| (0..60).map(move |to| (from, to))).collect();
    let thicket = diagram(&numbered(60, &everywhere), &[name("s30")]);
    assert!(names(&thicket).contains(&"s30"));
    assert_eq!(names(&thicket).len() + thicket.left_out, 60);
    assert!(thicket.edges.len() <= 302 && thicket.left_out > 0, "{} {}", thicket.edges.len(), thicket.left_out);
}

/// Names and labels that try to break a picture.
const HOSTILE: [&str; 8] = [
    "ok",
    "",
    "<script>alert(1)</script>",
    "\u{1b}[31mred\u{202e}txet\u{0}",
    "שלום עולם",
    "尋ねる尋ねる尋ねる尋ねる尋ねる尋ねる尋ねる",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
];
const NAMES: [&str; 4] = ["s", "尋ねる", "שלום", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW"];

prop_compose! {
    fn machines()(
        states in 1..20_usize,
    )(
        labels in proptest::collection::vec((0..4_usize, 0..8_usize), states),
        initial in proptest::collection::hash_set(0..states, 1..=states.min(3)),
        terminal in proptest::collection::hash_set(0..states, 0..=states.min(3)),
        ways in proptest::collection::vec((0..states, 0..states, 0..8_usize), 0..40),
    ) -> Machine {
        let names: Vec<String> = labels.iter().zip(0..).map(|((name, _), at)| format!("{}{at}", NAMES[*name])).collect();
        let state = |(name, (_, label)): (&String, &(usize, usize))| json!({"name": name, "label": HOSTILE[*label]});
        let way = |(from, to, label): &(usize, usize, usize)| {
            json!({"from": names[*from], "to": names[*to], "label": HOSTILE[*label]})
        };
        let value = json!({
            "id": "w", "version": 1, "notation": "graph",
            "states": names.iter().zip(&labels).map(state).collect::<Vec<_>>(),
            "initial": initial.iter().map(|at| &names[*at]).collect::<Vec<_>>(),
            "terminal": terminal.iter().map(|at| &names[*at]).collect::<Vec<_>>(),
            "transitions": ways.iter().map(way).collect::<Vec<_>>(),
        });
        Machine::from_value(&value).unwrap()
    }
}

/// Left, top, right and lower side.
type Sides = [f64; 4];

fn sides(x: f64, y: f64, width: f64, height: f64) -> Sides {
    [x, y, x + width, y + height]
}

/// The nodes, then the labels.
fn boxes(diagram: &Diagram) -> Vec<Sides> {
    let nodes = diagram.nodes.iter().map(|node| sides(node.x, node.y, node.width, node.height));
    let labels = diagram.edges.iter().filter_map(|edge| edge.label.as_ref());
    nodes.chain(labels.map(|label| sides(label.x, label.y, label.width, label.height))).collect()
}

fn overlap(a: Sides, b: Sides) -> bool {
    // Sides are rounded to a tenth of a pixel.
    let slack = 0.2;
    a[0] + slack < b[2] && b[0] + slack < a[2] && a[1] + slack < b[3] && b[1] + slack < a[3]
}

/// Whether a line from `a` to `b` passes over a box: tried at many points of it.
fn crosses(a: [f64; 2], b: [f64; 2], one: Sides) -> bool {
    let slack = 0.2;
    (0..=64).any(|at| {
        let part = f64::from(at) / 64.0;
        let [x, y] = [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part];
        one[0] + slack < x && x + slack < one[2] && one[1] + slack < y && y + slack < one[3]
    })
}

proptest! {
    #[test]
    fn no_line_crosses_a_state_or_a_label(machine in machines()) {
        let diagram = diagram(&machine, &[]);
        let boxes = boxes(&diagram);
        for edge in &diagram.edges {
            for (at, one) in boxes.iter().enumerate() {
                // A line may pass over the corners of the square around the circle where it ends.
                let is_own = at == edge.from || at == edge.to;
                let crosses = edge.points.windows(2).any(|line| crosses(line[0], line[1], *one));
                prop_assert!(is_own || !crosses, "{edge:?} {one:?}\n{}", brief(&diagram));
            }
        }
    }

    #[test]
    fn every_machine_gets_a_diagram_in_which_nothing_lies_on_something_else(machine in machines()) {
        let diagram = diagram(&machine, &[]);
        prop_assert_eq!(diagram.left_out, 0);
        let boxes = boxes(&diagram);
        for (at, one) in boxes.iter().enumerate() {
            for other in &boxes[..at] {
                prop_assert!(!overlap(*one, *other), "{one:?} {other:?}\n{}", brief(&diagram));
            }
        }
        let points = diagram.edges.iter().flat_map(|edge| &edge.points).map(|&[x, y]| sides(x, y, 0.0, 0.0));
        for one in boxes.iter().copied().chain(points) {
            prop_assert!(one.iter().all(|side| side.is_finite()));
            let is_inside = one[0] >= 0.0 && one[1] >= 0.0 && one[2] <= diagram.width && one[3] <= diagram.height;
            prop_assert!(is_inside, "{one:?}\n{}", brief(&diagram));
        }
    }

    #[test]
    fn every_transition_has_its_edge(machine in machines()) {
        let diagram = diagram(&machine, &[]);
        let at = |at: usize| diagram.nodes[at].name.as_ref();
        let edges: HashSet<_> = diagram.edges.iter().map(|edge| (at(edge.from), at(edge.to))).collect();
        prop_assert_eq!(edges.len(), diagram.edges.len());
        for one in machine.transitions() {
            prop_assert!(edges.contains(&(Some(&one.from), Some(&one.to))));
        }
        for name in machine.initial() {
            prop_assert!(edges.contains(&(None, Some(name))));
        }
        for name in machine.terminal() {
            prop_assert!(edges.contains(&(Some(name), None)));
        }
        prop_assert!(diagram.edges.iter().all(|edge| edge.points.len() > 1));
    }
}
