//! Messages about modes.

use crate::model::{Explain as _, Help, ModeName, Scope, Suggestion};
use crate::modes::policy::{Denial, DenialKind, NamedSkill, Policy, Skill, Why};
use crate::modes::state::{Active, Board, ModeRefusal};
use crate::modes::state_dir::Sessions;

/// Why a mode cannot begin, and how to make room for it (RCS).
pub(super) fn denial(board: &Board, scope: &Scope, requested: &str, denial: &Denial, verb: &str) -> String {
    let (why, how) = (denied(board, scope, requested, denial, verb), room(board, scope, denial));
    format!("{why} {how}")
}

/// How to make room for a mode that is denied.
pub(super) fn room(board: &Board, scope: &Scope, denial: &Denial) -> Help {
    let mut help = Help::from(match denial.kind {
        DenialKind::Rollback => "First clear current state and retry if this action is intended: ",
        DenialKind::Overlap => "To make room: ",
    });
    // Each in the scope of the file that makes the mode active.
    for (nth, mode) in denial.blockers.iter().enumerate() {
        help = help + if nth == 0 { "" } else { ", then " } + clear_command(mode, &owner_of(board, scope, mode));
    }
    help
}

/// Why a mode cannot begin.
pub(super) fn denied(board: &Board, scope: &Scope, requested: &str, denial: &Denial, verb: &str) -> String {
    let be = if denial.active.len() == 1 { "is" } else { "are" };
    let is_all_of_root = denial.active.iter().all(|mode| owner_of(board, scope, mode) == Scope::Root);
    let whose = match scope {
        Scope::Root => String::new(),
        Scope::Session(_) if is_all_of_root => " in every session".to_owned(),
        Scope::Session(session) => format!(" in session {session}"),
    };
    let first = format!("Cannot {verb} {requested}: {} {be} already active{whose}.", in_one_phrase(&denial.active));
    let second = match denial.kind {
        DenialKind::Rollback => "Execution-to-planning rollback auto-complete is not allowed.".to_owned(),
        DenialKind::Overlap => {
            let mut together: Vec<&str> = denial.active.iter().map(ModeName::as_str).collect();
            together.push(requested);
            format!("Unsupported workflow overlap: {}. Current state is unchanged.", together.join(" + "))
        }
    };
    format!("{first} {second}")
}

/// Whether `typed` is an alias of a mode, and not just its name in another case or with a namespace.
pub(super) fn is_alias(mode: &str, typed: &str) -> bool {
    let plain = typed.trim().to_ascii_lowercase();
    // `rcs:team` is `team` itself.
    plain != mode && !plain.ends_with(&format!(":{mode}"))
}

/// The name of a mode as it was typed, with its meaning if that is an alias.
pub(super) fn named(mode: &ModeName, typed: &str) -> String {
    if is_alias(mode.as_str(), typed) { format!("{} ({mode})", typed.trim()) } else { mode.to_string() }
}

/// The message for a prompt that requests modes which cannot be active together.
pub(super) fn conflict(skills: &[String]) -> String {
    format!(
        "The prompt asks for ${}, which cannot be active together, and nothing began. Choose one: `${}`",
        skills.join(" and $"),
        skills.join("` or `$")
    )
}

/// Why a skill that the prompt names did not begin, and how to begin or end it.
pub(super) fn named_only(named: &NamedSkill) -> String {
    let (skill, typed) = (named.skill.as_str(), &named.typed);
    match &named.why {
        Why::Denied(word) => format!("${skill} is not taken up: {word:?} stands before it in the same clause"),
        Why::Behind(words) => format!("${skill} is not taken up: {words:?} stands behind it"),
        Why::Ending => format!("${typed} was neither begun nor ended: `$cancel` at the beginning of a line ends modes"),
        Why::Mentioned if named.skill == Skill::Cancel => {
            format!("${typed} ends nothing here: write it at the beginning of a line to end the session's modes")
        }
        Why::Mentioned => format!("${typed} begins nothing here: write it at the beginning of a line to begin it"),
    }
}

/// The hint for a word that looks like a misspelt skill.
pub(super) fn misspelt(policy: &Policy, word: &str) -> Option<String> {
    let meant = policy.meant_by(word)?;
    // Its namespace may be of any length.
    let word: String = word.chars().take(60).collect();
    Some(format!("`${word}` is not a skill; nothing was done: did you mean `${meant}`?"))
}

/// The scope of the file that counts for `mode` in `scope`.
fn owner_of(board: &Board, scope: &Scope, mode: &ModeName) -> Scope {
    board.seen(scope, mode).map_or_else(|| scope.clone(), |(owner, _)| owner)
}

/// The command that removes the file of a mode.
pub(crate) fn clear_command(mode: &ModeName, scope: &Scope) -> Suggestion {
    command("clear", mode, scope)
}

/// A command about a mode that names its scope, so that it means the same in every session.
pub(super) fn command(verb: &str, mode: &ModeName, scope: &Scope) -> Suggestion {
    let command = Suggestion::flow(format!("mode {verb}")).value(mode);
    match scope {
        Scope::Root => command.flag("root"),
        Scope::Session(session) => command.option("session", session),
    }
}

/// Warnings about modes of the root scope that a session sees and does not end.
pub(super) fn active_for_all(active: &[Active], scope: &Scope) -> Vec<String> {
    let mut warnings = Vec::new();
    for one in active {
        if one.scope != *scope {
            let command = command("cancel", &one.mode, &one.scope);
            warnings.push(format!("{} is active in every session: `{command}` ends it", one.mode));
        }
    }
    warnings
}

/// Warnings about modes whose files cannot be read, so that flow cannot tell whether they are active.
pub(super) fn unknown(modes: &[Active]) -> Vec<String> {
    let mut warnings = Vec::new();
    for Active { mode, scope } in modes {
        let clear = clear_command(mode, scope);
        warnings.push(format!(
            "the file of {mode} cannot be read, so flow cannot tell whether it is active: `{clear}` removes the file"
        ));
    }
    warnings
}

/// That a file says of a mode that it is active, and the policy does not have that mode.
pub(crate) fn stranger(mode: &ModeName, scope: &Scope) -> String {
    let clear = clear_command(mode, scope);
    format!("its file says that {mode} is active, and the policy has no such mode; `{clear}` ends it")
}

/// Warnings about sessions whose directories cannot be read.
pub(super) fn closed(sessions: &Sessions) -> Vec<String> {
    let closed = sessions.closed.iter();
    closed.map(|(session, why)| format!("the modes of session {session} cannot be read: {}", why.one_line())).collect()
}

/// The name of a refusal in reports.
pub(super) fn kind(refusal: &ModeRefusal) -> &'static str {
    match refusal {
        ModeRefusal::Denied { denial, .. } => match denial.kind {
            DenialKind::Rollback => "rollback",
            DenialKind::Overlap => "overlap",
        },
        ModeRefusal::Unreadable { .. } => "unreadable_state",
        ModeRefusal::Lifecycle { .. } | ModeRefusal::Field { .. } => "invalid_field",
    }
}

/// The names in one phrase: `a, b, and c`.
pub(super) fn in_one_phrase(modes: &[ModeName]) -> String {
    let names: Vec<&str> = modes.iter().map(ModeName::as_str).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [one, two] => format!("{one} and {two}"),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}
