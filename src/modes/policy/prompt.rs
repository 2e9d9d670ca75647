//! Skills that a prompt requests: `$blueprint`, `$rcs:team`.
//!
//! ```text
//! token := "$" name ( ":" name )*        name := letter ( letter | digit | "-" )*, in any case
//! block := token ( blank+ token )*
//! ```
//!
//! A block is a request at the beginning of the prompt or of a line, or after a word of starting. It is none in code, in
//! something quoted or pasted, in a question, after a denial or a word of ending, and after any other word. Only the
//! first block that is a request counts. Unknown names in it are ignored; if it consists of unknown names only, the
//! prompt requests nothing.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::model::ModeName;
use crate::modes::policy::table::CANCEL;
use crate::modes::policy::words::{PromptLines, Scan, Sense, SkillToken};
use crate::modes::policy::{ModeKind, Policy};

/// A skill that a prompt requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skill {
    /// A mode.
    Mode(ModeName),
    /// `cancel`: end all modes.
    Cancel,
    /// A skill that is not a mode.
    Other(String),
}

impl Skill {
    /// Its canonical name, even if an alias was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Mode(mode) => mode.as_str(),
            Self::Cancel => CANCEL,
            Self::Other(name) => name,
        }
    }
}

impl Serialize for Skill {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl JsonSchema for Skill {
    fn schema_name() -> Cow<'static, str> {
        "Skill".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A skill that a prompt names: a mode, the end of all modes, or a skill without a mode.",
        })
    }
}

/// What to do for the skills of a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Whether all active modes end.
    pub cancel: bool,
    /// Modes to request, in this order.
    pub modes: Vec<ModeName>,
    /// Modes that have to wait until later.
    pub deferred: Vec<ModeName>,
}

/// Decides what to do for the skills of one prompt. The end of all modes comes first. If planning and execution are
/// requested together, execution has to wait.
#[must_use]
pub fn plan(policy: &Policy, skills: &[Skill]) -> Plan {
    let mut modes = Vec::new();
    for skill in skills {
        if let Skill::Mode(mode) = skill {
            modes.push(mode.clone());
        }
    }
    if skills.contains(&Skill::Cancel) {
        return Plan { cancel: true, modes: Vec::new(), deferred: modes };
    }
    let has_execution = modes.iter().any(|name| policy.has_kind(name, ModeKind::Execution));
    let planning = modes.iter().position(|name| policy.has_kind(name, ModeKind::Planning));
    match planning {
        Some(first) if has_execution => {
            let mut deferred = modes;
            let kept = deferred.remove(first);
            Plan { cancel: false, modes: vec![kept], deferred }
        }
        _ => Plan { cancel: false, modes, deferred: Vec::new() },
    }
}

/// The skills in a prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skills {
    /// The skills of the first block, each once.
    pub asked: Vec<Skill>,
    /// How each of them was written.
    pub typed: Vec<String>,
    /// Tokens that are not known skills, anywhere in the prompt.
    pub unknown: Vec<String>,
    /// Skills that are named and not requested.
    pub told: Vec<NamedSkill>,
}

/// A skill that a prompt names without requesting it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSkill {
    /// What the name stands for.
    pub skill: Skill,
    /// How it was written.
    pub typed: String,
    /// Why it is not requested.
    pub why: Why,
}

/// Why a skill that a prompt names is not requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// This word denies it.
    Denied(String),
    /// It stands beside a word of ending.
    Ending,
    /// These words behind it take it back, or speak of it.
    Behind(String),
    /// It follows words that do not begin it.
    Mentioned,
}

/// Finds the skills that `text` requests. `prose` has the ranges of the author's own words, a list for each paragraph.
/// Takes time proportional to the text.
#[must_use]
pub fn find_skills(policy: &Policy, text: &str, prose: &[Vec<Range<usize>>]) -> Skills {
    let mut skills = Skills::default();
    let lines = PromptLines::of(text);
    // The end of the last token, and how its block is meant.
    let mut block: Option<(usize, Sense)> = None;
    let (mut has_begun, mut is_over) = (false, false);
    for SkillToken { at, sense } in prose.iter().flat_map(|paragraph| Scan::new(text, &lines, paragraph)) {
        let word = &text[at.start + 1..at.end];
        let sense = match block {
            // A token directly after another one belongs to its block, unless it is code.
            Some((end, of_block)) if is_gap(text, end..at.start) && sense != Sense::Code => of_block,
            _ => {
                // Only the first block that is a request counts.
                is_over |= has_begun;
                sense
            }
        };
        block = Some((at.end, sense));
        has_begun |= sense == Sense::Request;
        let Some(skill) = skill(policy, word) else {
            if sense != Sense::Code {
                skills.pass_over(word);
            }
            continue;
        };
        // To end something with `$cancel` is to request it.
        if skill == Skill::Cancel && sense == Sense::Ending && !is_over {
            skills.report(skill, word, Why::Mentioned);
            continue;
        }
        match sense {
            Sense::Request if !is_over => skills.ask(skill, word),
            Sense::Denied(by) if !has_begun => {
                skills.report(skill, word, Why::Denied(by.chars().take(40).collect()));
            }
            Sense::Ending => skills.report(skill, word, Why::Ending),
            Sense::Behind(by) if !has_begun => {
                skills.report(skill, word, Why::Behind(by.chars().take(40).collect()));
            }
            Sense::Mention if !has_begun => skills.report(skill, word, Why::Mentioned),
            _ => {}
        }
    }
    // The author of a request knows how to request; a mention beside it needs no hint.
    skills.told.retain(|named| skills.asked.is_empty() || named.why != Why::Mentioned);
    skills
}

/// Whether there are blanks between two tokens, and nothing else.
fn is_gap(text: &str, gap: Range<usize>) -> bool {
    !gap.is_empty() && text[gap].trim().is_empty()
}

impl Skills {
    fn ask(&mut self, skill: Skill, word: &str) {
        if self.asked.contains(&skill) {
            return;
        }
        self.told.retain(|named| named.skill != skill);
        self.asked.push(skill);
        self.typed.push(word.to_owned());
    }

    /// Notes a skill that is named and not requested.
    fn report(&mut self, skill: Skill, word: &str, why: Why) {
        if self.told.iter().all(|named| named.skill != skill) && !self.asked.contains(&skill) {
            self.told.push(NamedSkill { skill, typed: word.to_owned(), why });
        }
    }

    /// Notes a word that names no skill.
    fn pass_over(&mut self, word: &str) {
        if self.unknown.len() < TOLD && !self.unknown.iter().any(|one| one == word) {
            self.unknown.push(word.to_owned());
        }
    }
}

/// The highest number of unknown words that are kept.
const TOLD: usize = 20;

impl Policy {
    /// The skill that a misspelt word certainly means; none for words that are common in prose and shells, such as
    /// `HOME` and `form`.
    #[must_use]
    pub fn meant_by(&self, word: &str) -> Option<&str> {
        let plain = word.rsplit(':').next().unwrap_or(word);
        if !plain.contains(|c: char| c.is_ascii_lowercase()) {
            return None;
        }
        let plain = plain.to_ascii_lowercase();
        let mut names: Vec<&str> = Vec::new();
        for mode in self.modes() {
            names.push(mode.name.as_str());
            names.extend(mode.aliases.iter().map(String::as_str));
        }
        names.extend(self.skills().iter().map(String::as_str));
        names.push(CANCEL);
        names.retain(|name| is_near(name, &plain));
        names.into_iter().min_by_key(|name| strsim::osa_distance(name, &plain))
    }
}

/// Whether `word` is `name`, misspelt.
fn is_near(name: &str, word: &str) -> bool {
    let has_same_letters = letters(name) == letters(word);
    // With another letter, a short word is another word.
    if name.len() < 6 && name.len() == word.len() && !has_same_letters {
        return false;
    }
    let most = if name.len() < 8 { 1 } else { 2 };
    let distance = strsim::osa_distance(name, word);
    // The first letter is seldom mistyped; two letters that were exchanged may be the first ones.
    (1..=most).contains(&distance) && (has_same_letters || name.as_bytes().first() == word.as_bytes().first())
}

/// The letters of a word, sorted.
fn letters(word: &str) -> Vec<u8> {
    let mut letters = word.as_bytes().to_vec();
    letters.sort_unstable();
    letters
}

/// Whether the author requests a skill, known or not.
#[must_use]
pub fn names_skills(text: &str, prose: &[Vec<Range<usize>>]) -> bool {
    let lines = PromptLines::of(text);
    prose.iter().any(|paragraph| Scan::new(text, &lines, paragraph).any(|token| token.sense == Sense::Request))
}

fn skill(policy: &Policy, name: &str) -> Option<Skill> {
    let name = name.to_ascii_lowercase();
    let plain = match name.split_once(':') {
        Some((space, rest)) if policy.namespaces().iter().any(|known| known == space) => rest,
        // Without a known namespace, a colon belongs to the name.
        _ => &name,
    };
    if plain == CANCEL {
        return Some(Skill::Cancel);
    }
    if !plain.contains(':')
        && let Some(mode) = policy.named(plain)
    {
        return Some(Skill::Mode(mode.name.clone()));
    }
    // A command of a skill is a skill of its own: `$forge:progression`.
    let joined = plain.replace(':', "-");
    if policy.skills().contains(&joined) { Some(Skill::Other(joined)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::policy::PolicyDocument;

    fn policy() -> Policy {
        let mode =
            |name: &str, kind: &str, alias: &str| serde_json::json!({ "name": name, "kind": kind, "aliases": [alias] });
        let document = serde_json::json!({
            "modes": [mode("blueprint", "planning", "plan"), mode("team", "execution", "crew"), mode("forge", "execution", "f")],
            "namespaces": ["rcs"],
            "skills": ["analyze", "forge-progression"],
        });
        let document: PolicyDocument = serde_json::from_value(document).unwrap();
        Policy::build(document).unwrap()
    }

    /// The skills in a text that is all prose.
    fn found(text: &str) -> Vec<String> {
        let whole = vec![vec![0..text.len()]];
        find_skills(&policy(), text, &whole).asked.iter().map(|skill| skill.as_str().to_owned()).collect()
    }

    #[test]
    fn the_first_block_counts_wherever_it_stands() {
        assert_eq!(found("$blueprint $team\n\t$forge go"), ["blueprint", "team", "forge"]);
        assert_eq!(found("please run $forge now"), ["forge"]);
        assert_eq!(found("Use $blueprint then $forge"), ["blueprint"]);
        assert_eq!(found("$team, $forge"), ["team"]);
        assert_eq!(found("$team $TEAM $crew $Plan"), ["team", "blueprint"]);
    }

    #[test]
    fn names_that_nobody_knows_are_passed_over_inside_of_a_block_only() {
        assert_eq!(found("$unknown $forge"), ["forge"]);
        assert_eq!(found("$HOME is set, $forge"), [""; 0]);
        assert_eq!(found("$rcs:blueprint $rcs:unknown $forge"), ["blueprint", "forge"]);
        assert_eq!(found("$other:team"), [""; 0]);
        assert_eq!(found("$forge:progression"), ["forge-progression"]);
        assert_eq!(found("$rcs:forge:progression"), ["forge-progression"]);
    }

    #[test]
    fn a_misspelt_skill_is_told_from_what_prose_is_full_of() {
        let policy = policy();
        for (word, meant) in [
            ("bluprint", Some("blueprint")),
            ("Bluepirnt", Some("blueprint")),
            ("rcs:bluprint", Some("blueprint")),
            ("froge", Some("forge")),
            ("taem", Some("team")),
            ("teams", Some("team")),
            ("analyse", Some("analyze")),
            ("cancle", Some("cancel")),
            ("HOME", None),
            ("TEAMS", None),
            ("term", None),
            ("force", None),
            ("form", None),
            ("foo", None),
            ("x", None),
            ("unknown", None),
        ] {
            assert_eq!(policy.meant_by(word), meant, "{word}");
        }
        let text = "$HOME costs $5, $bluprint $forge $bluprint, then $taem";
        let whole = vec![vec![0..text.len()]];
        assert_eq!(find_skills(&policy, text, &whole).unknown, ["HOME", "bluprint", "taem"]);
    }

    #[test]
    fn a_token_is_a_word_of_its_own() {
        for text in
            ["US$team", "$team_x", "$5", "\\$team", "$$team", "$", "a_$team", "$ team", "$team$forge", "($team) do it"]
        {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        assert_eq!(found("$forge로 해줘"), ["forge"]);
        assert_eq!(found("$team: do it"), ["team"]);
    }

    #[test]
    fn what_is_quoted_or_denied_is_not_asked_for() {
        for text in [
            "\"$team\" is quoted",
            "“$team” too",
            "'$team' too",
            "don't use $team here",
            "don’t use $team",
            "without $team",
            "You can't use $team",
            "cannot use $team",
            "stop $team",
            "it isn’t $team",
            "please do not, under any circumstances, take $team",
            "never $team",
            "you must not run: $team",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        assert_eq!(found("Do not run $blueprint; use $team"), ["team"]);
        assert_eq!(found("don't wait, use $team"), ["team"]);
        assert_eq!(found("Do not commit yet\n  $team do it"), ["team"]);
        assert_eq!(found("it's \"quoted\", so use $team"), ["team"]);
        assert_eq!(found("an unclosed \" mark, then $team"), ["team"]);
        assert_eq!(found("not only that: use $team"), ["team"]);
        assert_eq!(found("fix the \"cannot find module\" error with $team"), ["team"]);
    }

    #[test]
    fn a_denied_skill_is_told_with_the_word_that_denies_it() {
        let text = "The build doesn't work, please fix it with $forge. Never $team";
        let whole = vec![vec![0..text.len()]];
        let skills = find_skills(&policy(), text, &whole);
        let denied = |typed: &str, by: &str| {
            let skill = skill(&policy(), typed).unwrap();
            NamedSkill { skill, typed: typed.to_owned(), why: Why::Denied(by.to_owned()) }
        };
        assert_eq!(skills.told, [denied("forge", "doesn't"), denied("team", "Never")]);
        assert_eq!(skills.asked, []);
        let text = "Don't $team.\n$forge it, but do not let $forge run forever, and never $blueprint";
        let whole = vec![vec![0..text.len()]];
        let skills = find_skills(&policy(), text, &whole);
        assert_eq!((skills.asked.len(), skills.told.len()), (1, 1), "{skills:?}");
    }

    #[test]
    fn planning_goes_before_execution_and_the_end_before_everything() {
        let policy = policy();
        let planned = |words: &[&str]| {
            let skills: Vec<_> = words.iter().filter_map(|word| skill(&policy, word)).collect();
            let plan = plan(&policy, &skills);
            let names = |modes: &[ModeName]| modes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            format!("{}{}/{}", if plan.cancel { "!" } else { "" }, names(&plan.modes), names(&plan.deferred))
        };
        assert_eq!(planned(&["team", "forge", "blueprint"]), "blueprint/team forge");
        assert_eq!(planned(&["team", "forge"]), "team forge/");
        assert_eq!(planned(&["blueprint", "analyze"]), "blueprint/");
        assert_eq!(planned(&["team", "cancel"]), "!/team");
    }
}
