//! The skills of a prompt: only what somebody said, and each once.

use std::sync::LazyLock;

use flowrun::catalog::Catalog;
use flowrun::machine::prose;
use flowrun::modes::policy::{Policy, Skill, Skills, find_skills, plan};
use flowrun::modes::policy_of;

static POLICY: LazyLock<Policy> =
    LazyLock::new(|| policy_of(&Catalog::new(std::sync::Arc::new(flowrun::disk::Os), None)).unwrap().0);

/// The input is the prompt.
pub fn holds(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).replace('\0', " ");
    let said = prose(&text);
    let mut end = 0;
    for piece in said.iter().flatten() {
        assert!(end <= piece.start && text.get(piece.clone()).is_some(), "{piece:?} behind {end}");
        end = piece.end;
    }
    let skills = find_skills(&POLICY, &text, &said).asked;
    let small = text.to_lowercase();
    for (at, skill) in skills.iter().enumerate() {
        assert!(!skills[..at].contains(skill), "{skill:?} twice");
        let mode = POLICY.modes().iter().find(|mode| matches!(skill, Skill::Mode(name) if *name == mode.name));
        let aliases = mode.map(|mode| mode.aliases.clone()).unwrap_or_default();
        let mut words = aliases.iter().map(String::as_str).chain([skill.as_str()]);
        let spelled = |word: &str| word.split('-').all(|part| small.contains(part)) && small.contains('$');
        assert!(words.any(spelled), "nobody said {skill:?}");
    }
    let plan = plan(&POLICY, &skills);
    let modes = skills.iter().filter(|skill| matches!(skill, Skill::Mode(_))).count();
    assert_eq!(plan.modes.len() + plan.deferred.len(), modes);
    // The same text as code says nothing.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let code = format!("{fence}\n{text}\n{fence}\n");
    assert_eq!(find_skills(&POLICY, &code, &prose(&code)), Skills::default(), "code asks for skills");
}
