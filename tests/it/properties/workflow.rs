//! A workflow definition: a machine or an error, and every problem is somewhere in the text.

use flowrun::machine::{Diagnostic, Form, Machine, Notation, StateTypes, compile_text, picture, render, write};

use super::text::assert_inside;

/// The input is a text in the phases notation.
pub fn holds(bytes: &[u8]) {
    holds_of(Form::Phases, bytes);
}

/// The input is a text in this form.
pub fn holds_of(form: Form, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let checked = compile_text(form, text, "fallback", &StateTypes::with(["planner"]));
    let errors = checked.diagnostics.iter().any(Diagnostic::is_error);
    assert_ne!(checked.machine.is_some(), errors, "{:?}", checked.diagnostics);
    for diagnostic in &checked.diagnostics {
        assert_inside(text, diagnostic.place, &diagnostic.message);
        assert!(text.get(diagnostic.span.clone()).is_some(), "{:?} is no part of the text", diagnostic.span);
        assert!(!diagnostic.message.is_empty() && diagnostic.message.len() < 2000, "{}", diagnostic.message);
        let shown = render("x.workflow.yaml", text, diagnostic, false);
        assert!(shown.contains(diagnostic.code) && !shown.contains('\u{1b}'), "{shown}");
    }
    if let Some(machine) = checked.machine {
        check(&machine);
    }
}

fn check(machine: &Machine) {
    assert!(!machine.states().is_empty() && !machine.initial().is_empty());
    for name in machine.initial().iter().chain(machine.terminal()) {
        assert!(machine.contains(name), "{name}");
    }
    for transition in machine.transitions() {
        assert!(machine.contains(&transition.from) && machine.contains(&transition.to), "{transition:?}");
        assert!(machine.successors(&transition.from).any(|one| one == transition), "{transition:?}");
    }
    let pinned = machine.to_value();
    let back = Machine::from_value(&pinned).expect("what was pinned can be read");
    assert_eq!(back, *machine, "{pinned}");
    assert_eq!(back.digest(), machine.digest());
    assert!(machine.differences(&back).is_empty());
    for (notation, form) in
        [(Notation::Mermaid, Form::Mermaid), (Notation::Graph, Form::Graph), (Notation::Phases, Form::Phases)]
    {
        let written = write(machine, notation, Some("What it is for"));
        let again = compile_text(form, &written.text, machine.id().as_str(), &StateTypes::default());
        let again = again.machine.unwrap_or_else(|| panic!("{}\n{:?}", written.text, again.diagnostics));
        if written.losses.is_empty() {
            assert_eq!(again.differences(machine), [], "{}", written.text);
        }
    }
    assert!(!picture(machine).is_empty());
}
