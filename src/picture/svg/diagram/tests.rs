use super::*;
use crate::machine::{Form, Machine, StateTypes, compile_text};
use crate::picture::diagram;

const START_ISSUE: &str = include_str!("../../../../workflows/start-issue.workflow.yaml");

fn compiled(form: Form, text: &str) -> Machine {
    let checked = compile_text(form, text, "w", &StateTypes::default());
    checked.machine.unwrap_or_else(|| panic!("{text}\n{:?}", checked.diagnostics))
}

fn marks<const N: usize>(states: [(&str, u64, Progress); N]) -> Marks {
    let mark = |(name, visits, progress)| (StateName::new(name).unwrap(), Mark { visits, progress });
    Marks { prefix: "w-".to_owned(), states: states.into_iter().map(mark).collect() }
}

/// The picture with an element on each line.
fn lines(svg: &str) -> String {
    svg.replace("><", ">\n<").replace("\n</", "</")
}

#[test]
fn a_workflow_is_drawn_with_the_marks_of_a_run() {
    let marks = marks([
        ("preflight", 1, Progress::Done),
        ("explore", 0, Progress::Skipped),
        ("plan", 1, Progress::Done),
        ("code", 2, Progress::Here(Tone::Doubt)),
    ]);
    let diagram = diagram(&compiled(Form::Phases, START_ISSUE), &[]);
    insta::assert_snapshot!(lines(&diagram_svg(&diagram, &marks).into_string()), @r##"
    <svg xmlns="http://www.w3.org/2000/svg" class="diagram" role="img" aria-label="State diagram with 5 states; the run is in code (in doubt)" width="132.4" height="386" viewBox="0 0 132.4 386" font-family="system-ui, sans-serif" font-size="12" fill="currentColor">
    <title>State diagram with 5 states; the run is in code (in doubt)</title>
    <defs>
    <marker id="w-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">
    <path class="arrow" d="M0 0L8 4L0 8z"></path></marker></defs>
    <path class="edge" d="M66.2 22L66.2 54" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <path class="edge" d="M66.2 84L66.2 116" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <path class="edge" d="M66.2 146L66.2 178" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <path class="edge" d="M73.2 208L73.2 240" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <path class="edge" d="M73.2 270L73.2 302" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <path class="edge" d="M59.2 240L59.2 208" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <path class="edge" d="M59.2 302L59.2 270" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <path class="edge" d="M66.2 332L66.2 364" fill="none" stroke="currentColor" marker-end="url(#w-arrow)"></path>
    <circle class="begin" cx="66.2" cy="15" r="7"></circle>
    <g class="node done">
    <title>preflight: done; The issue is open and readable, the working tree is clean, and the branch for the work exists.</title>
    <rect x="8" y="54" width="116.4" height="30" rx="6" fill="none" stroke="currentColor" stroke-width="1"></rect>
    <text x="66.2" y="73.2" text-anchor="middle">✓ preflight</text></g>
    <g class="node skipped">
    <title>explore: skipped; The parts of the code that the issue touches are known, and every open question about its meaning is answered or written down.</title>
    <rect x="11.7" y="116" width="109.1" height="30" rx="6" fill="none" stroke="currentColor" stroke-width="1" stroke-dasharray="4 3"></rect>
    <text x="66.3" y="135.2" text-anchor="middle">– explore</text></g>
    <g class="node done">
    <title>plan: done; There is a list of steps with a check for each acceptance criterion, and a person could follow it without asking.</title>
    <rect x="22" y="178" width="88.4" height="30" rx="6" fill="none" stroke="currentColor" stroke-width="1"></rect>
    <text x="66.2" y="197.2" text-anchor="middle">✓ plan</text></g>
    <g class="node here doubt">
    <title>code: the run is here, in doubt; visited 2 times; Every step of the plan is committed, with a test that failed before it and passes after it.</title>
    <rect x="20.6" y="240" width="91.2" height="30" rx="6" fill="none" stroke="currentColor" stroke-width="3"></rect>
    <text x="66.2" y="259.2" text-anchor="middle">◆ code ×2</text></g>
    <g class="node untouched">
    <title>verify: The whole test suite passes, the change was seen working, and evidence for every acceptance criterion is recorded.</title>
    <rect x="16.9" y="302" width="98.5" height="30" rx="6" fill="none" stroke="currentColor" stroke-width="1"></rect>
    <text x="66.2" y="321.2" text-anchor="middle">verify</text></g>
    <g class="end">
    <circle cx="66.2" cy="371" r="7" fill="none" stroke="currentColor"></circle>
    <circle cx="66.2" cy="371" r="3.5"></circle></g></svg>
    "##);
}

#[test]
fn every_mark_has_a_shape_and_words_besides_its_colour() {
    let diagram = diagram(&compiled(Form::Mermaid, "stateDiagram-v2\n[*] --> a\na --> [*]"), &[]);
    let drawn = |visits, progress| diagram_svg(&diagram, &marks([("a", visits, progress)])).into_string();
    for (visits, progress, class, title, text) in [
        (0, Progress::Untouched, "untouched", "a", "a"),
        (1, Progress::Done, "done", "a: done", "✓ a"),
        (100, Progress::Done, "done", "a: done; visited 100 times", "✓ a ×99+"),
        (0, Progress::Skipped, "skipped", "a: skipped", "– a"),
        (1, Progress::Here(Tone::Waits), "here need", "a: the run is here, waits for you", "▲ a"),
        (1, Progress::Here(Tone::Doubt), "here doubt", "a: the run is here, in doubt", "◆ a"),
        (1, Progress::Here(Tone::LeftBehind), "here bad", "a: the run is here, left behind", "○ a"),
        (2, Progress::Here(Tone::Work), "here run", "a: the run is here, at work; visited 2 times", "● a ×2"),
        (1, Progress::Here(Tone::Ready), "here dim", "a: the run is here, can go on", "◦ a"),
        (1, Progress::HereDone(Tone::Ready), "here done", "a: the run is here, its work is done, can go on", "✓ a"),
        (1, Progress::HereDone(Tone::Waits), "here need", "a: the run is here, its work is done, waits for you", "✓ a"),
        (1, Progress::Here(Tone::Damaged), "here bad", "a: the run is here, damaged", "✕ a"),
    ] {
        let svg = drawn(visits, progress);
        for part in [format!("\"node {class}\""), format!("<title>{title}</title>"), format!(">{text}</text>")] {
            assert!(svg.contains(&part), "{part}\n{svg}");
        }
    }
    let several = marks([("a", 1, Progress::Here(Tone::Work)), ("b", 1, Progress::Here(Tone::Waits))]);
    let svg = diagram_svg(&diagram, &several).into_string();
    assert!(svg.contains("State diagram with 1 state; the run is in a (at work), b (waits for you)"), "{svg}");
}

#[test]
fn what_a_definition_says_stays_text() {
    let text = "stateDiagram-v2\n[*] --> a\na : <script>\"x\"</script>\na --> b : <b>&\u{202e}'\nb --> [*]";
    let diagram = diagram(&compiled(Form::Mermaid, text), &[]);
    let marks = Marks { prefix: "\"><script>".to_owned(), ..Marks::default() };
    let svg = diagram_svg(&diagram, &marks).into_string();
    assert!(svg.contains("&lt;script&gt;&quot;x&quot;&lt;/script&gt;") && svg.contains("&lt;b&gt;&amp; '"), "{svg}");
    assert!(!svg.contains("<script") && !svg.contains(" style=") && !svg.contains('\u{202e}'), "{svg}");
}
