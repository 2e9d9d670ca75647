//! Skills that a prompt requests: `$blueprint`, `$rcs:team`.
//!
//! ```text
//! token := "$" name ( ":" name )*        name := letter ( letter | digit | "-" )*, in any case
//! block := token ( blank+ token )*
//! ```
//!
//! A token counts if it is separate from the words around it, and if the author says it: it is not in code, in a
//! quotation or between quotation marks, not escaped, and not after "do not" or "without" in the same clause. Only the
//! first block counts, wherever it is. Unknown names in it are ignored; if it consists of unknown names only, the
//! prompt requests nothing.

use std::borrow::Cow;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::model::ModeName;
use crate::modes::policy::table::CANCEL;
use crate::modes::policy::{Kind, Policy};

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
    let modes = skills.iter().filter_map(|skill| match skill {
        Skill::Mode(mode) => Some(mode.clone()),
        _ => None,
    });
    let modes: Vec<ModeName> = modes.collect();
    if skills.contains(&Skill::Cancel) {
        return Plan { cancel: true, modes: Vec::new(), deferred: modes };
    }
    let is = |name: &ModeName, kind: Kind| policy.mode(name).is_some_and(|mode| mode.kind == kind);
    let planning = modes.iter().position(|name| is(name, Kind::Planning));
    match planning.filter(|_| modes.iter().any(|name| is(name, Kind::Execution))) {
        None => Plan { cancel: false, modes, deferred: Vec::new() },
        Some(first) => {
            let mut deferred = modes;
            let kept = deferred.remove(first);
            Plan { cancel: false, modes: vec![kept], deferred }
        }
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
    /// Skills before the first block that a negation forbids, each with the negating word.
    pub denied: Vec<(Skill, String)>,
}

/// Finds the skills of the first block of tokens in `text`. `prose` has the ranges of the author's own words, a list
/// for each paragraph. Takes time proportional to the text.
#[must_use]
pub fn find_skills(policy: &Policy, text: &str, prose: &[Vec<Range<usize>>]) -> Skills {
    let mut skills = Skills::default();
    let (mut end, mut is_over) = (None, false);
    for paragraph in prose {
        for Token { at, denied } in Scan::new(text, paragraph) {
            let word = &text[at.start + 1..at.end];
            let known = skill(policy, word);
            if let Some(denies) = denied {
                if end.is_none()
                    && let Some(skill) = known.filter(|skill| skills.denied.iter().all(|(one, _)| one != skill))
                {
                    skills.denied.push((skill, denies.chars().take(40).collect()));
                }
                continue;
            }
            let follows = |end: usize| end < at.start && text[end..at.start].chars().all(char::is_whitespace);
            if known.is_none() && skills.unknown.len() < TOLD && !skills.unknown.iter().any(|one| one == word) {
                skills.unknown.push(word.to_owned());
            }
            is_over |= end.is_some_and(|end| !follows(end));
            end = Some(at.end);
            if let Some(skill) = known.filter(|skill| !is_over && !skills.asked.contains(skill)) {
                skills.denied.retain(|(denied, _)| *denied != skill);
                skills.asked.push(skill);
                skills.typed.push(word.to_owned());
            }
        }
    }
    skills
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
        let letters = |word: &str| {
            let mut letters: Vec<u8> = word.bytes().collect();
            letters.sort_unstable();
            letters
        };
        let is_near = |name: &&str| {
            let is_turned = letters(name) == letters(&plain);
            let distance = strsim::osa_distance(name, &plain);
            // With another letter, a short word is another word.
            let is_another = name.len() < 6 && name.len() == plain.len() && !is_turned;
            let most = if name.len() < 8 { 1 } else { 2 };
            (1..=most).contains(&distance)
                && !is_another
                && (is_turned || name.as_bytes().first() == plain.as_bytes().first())
        };
        let names = self
            .modes()
            .iter()
            .flat_map(|mode| std::iter::once(mode.name.as_str()).chain(mode.aliases.iter().map(String::as_str)));
        let names = names.chain(self.skills().iter().map(String::as_str)).chain([CANCEL]);
        names.filter(is_near).min_by_key(|name| strsim::osa_distance(name, &plain))
    }
}

/// Whether the author names a skill, to request or to forbid it.
#[must_use]
pub fn names_skills(text: &str, prose: &[Vec<Range<usize>>]) -> bool {
    prose.iter().any(|paragraph| Scan::new(text, paragraph).next().is_some())
}

/// A `$word` in the author's own words.
struct Token<'a> {
    /// Its range, with the `$`.
    at: Range<usize>,
    /// The word by which its clause negates it.
    denied: Option<&'a str>,
}

fn skill(policy: &Policy, name: &str) -> Option<Skill> {
    let name = name.to_ascii_lowercase();
    let plain = match name.split_once(':') {
        Some((space, rest)) if policy.namespaces().iter().any(|known| known == space) => rest,
        _ => &name,
    };
    if plain == CANCEL {
        return Some(Skill::Cancel);
    }
    if let Some(mode) = policy.named(plain).filter(|_| !plain.contains(':')) {
        return Some(Skill::Mode(mode.name.clone()));
    }
    // A command of a skill is a skill of its own: `$forge:progression`.
    let joined = plain.replace(':', "-");
    policy.skills().contains(&joined).then_some(Skill::Other(joined))
}

/// Finds the tokens of one paragraph that count.
struct Scan<'a> {
    text: &'a str,
    pieces: &'a [Range<usize>],
    /// The next byte to read, in the first of `pieces`.
    at: usize,
    /// The word by which the current clause negates what it names.
    denied: Option<&'a str>,
    /// The end of the current quotation.
    quoted_to: usize,
    /// Whether the previous word is an auxiliary, so that a `not` after it negates.
    after_do: bool,
    /// Whether a comma follows the previous word.
    after_comma: bool,
    /// The end of the current line.
    line_end: usize,
    /// Closing marks that are missing in the rest of the line, each with the end of that line.
    unclosed: Vec<(char, usize)>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, pieces: &'a [Range<usize>]) -> Self {
        let at = pieces.first().map_or(0, |piece| piece.start);
        let (after_do, after_comma) = (false, false);
        Self { text, pieces, at, denied: None, quoted_to: 0, after_do, after_comma, line_end: at, unclosed: Vec::new() }
    }

    /// Updates the negation after a word. A comma alone does not end a negation ("do not, please, run …"), but another
    /// request does.
    fn hear(&mut self, said: &'a str) {
        let word = said.to_lowercase().replace('’', "'");
        let denies = match word.as_str() {
            "dont" | "cannot" | "without" | "never" | "avoid" | "stop" => true,
            "not" => self.after_do,
            word => word.ends_with("n't"),
        };
        match word.as_str() {
            _ if denies => self.denied = Some(said),
            "but" | "instead" => self.denied = None,
            "use" | "run" | "start" | "enable" | "launch" | "invoke" | "activate" | "resume" | "continue" | "just"
                if self.after_comma =>
            {
                self.denied = None;
            }
            _ => {}
        }
        let auxiliary = ["do", "does", "did", "should", "must", "shall", "will", "can", "please"];
        self.after_do = auxiliary.contains(&word.as_str());
        self.after_comma = false;
    }

    /// The end of a quotation that begins at `at` with `open`; none if it is not a quotation. A quotation ends on its
    /// line.
    fn quotation(&mut self, at: usize, open: char) -> Option<usize> {
        let close = match open {
            '"' => '"',
            '“' => '”',
            '«' => '»',
            '‘' => '’',
            // An apostrophe inside a word is not a quotation mark.
            '\'' if !self.text[..at].chars().next_back().is_some_and(char::is_alphanumeric) => '\'',
            _ => return None,
        };
        if at >= self.line_end {
            self.line_end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
            self.unclosed.clear();
        }
        let missing = (close, self.line_end);
        if self.unclosed.contains(&missing) {
            return None;
        }
        let body = at + open.len_utf8();
        let ends =
            |end: &usize| close != '\'' || !self.text[end + 1..].chars().next().is_some_and(char::is_alphanumeric);
        let mut found = self.text[body..self.line_end].match_indices(close).map(|(end, _)| body + end);
        let end = found.find(ends);
        if end.is_none() {
            self.unclosed.push(missing);
        }
        end.map(|end| end + close.len_utf8())
    }

    /// The end of the token whose `$` is at `at`; none if it is not a token.
    fn token(&self, at: usize) -> Option<usize> {
        let before = self.text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '\\' | '$')) {
            return None;
        }
        let bytes = self.text.as_bytes();
        let mut end = at + 1;
        loop {
            if !bytes.get(end)?.is_ascii_alphabetic() {
                return None;
            }
            end += bytes[end..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
            if bytes.get(end) != Some(&b':') || !bytes.get(end + 1).is_some_and(u8::is_ascii_alphabetic) {
                break;
            }
            end += 1;
        }
        (bytes.get(end) != Some(&b'_')).then_some(end)
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let piece = self.pieces.first()?.clone();
            let Some(c) = self.text.get(self.at..piece.end).and_then(|rest| rest.chars().next()) else {
                self.pieces = &self.pieces[1..];
                self.at = self.at.max(self.pieces.first()?.start);
                continue;
            };
            let at = self.at;
            if c.is_alphabetic() {
                let inside = |c: &char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '_');
                let word: usize = self.text[at..piece.end].chars().take_while(inside).map(char::len_utf8).sum();
                self.at = at + word;
                // Quoted words do not negate anything.
                if at >= self.quoted_to {
                    self.hear(&self.text[at..at + word]);
                }
                continue;
            }
            self.at = at + c.len_utf8();
            if at < self.quoted_to {
                continue;
            }
            match c {
                '.' | ';' | '!' | '?' | '—' => self.denied = None,
                ',' => self.after_comma = true,
                '$' => {
                    if let Some(end) = self.token(at) {
                        self.at = end;
                        // A line that begins with a token is a new request.
                        let line = self.text[..at].trim_end_matches([' ', '\t']);
                        if line.ends_with('\n') {
                            self.denied = None;
                        }
                        return Some(Token { at: at..end, denied: self.denied });
                    }
                }
                open => {
                    if let Some(end) = self.quotation(at, open) {
                        self.quoted_to = end;
                    }
                }
            }
        }
    }
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
        for text in ["US$team", "$team_x", "$5", "\\$team", "$$team", "$", "a_$team", "$ team"] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        assert_eq!(found("$team$forge"), ["team"]);
        assert_eq!(found("$forge로 해줘"), ["forge"]);
        assert_eq!(found("($team) do it"), ["team"]);
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
        assert_eq!(found("it's \"quoted\", so $team"), ["team"]);
        assert_eq!(found("an unclosed \" mark, $team"), ["team"]);
        assert_eq!(found("not only that: $team"), ["team"]);
        assert_eq!(found("fix the \"cannot find module\" error with $team"), ["team"]);
    }

    #[test]
    fn a_denied_skill_is_told_with_the_word_that_denies_it() {
        let text = "The build doesn't work, please fix it with $forge. Never $team";
        let whole = vec![vec![0..text.len()]];
        let skills = find_skills(&policy(), text, &whole);
        let denied = skills.denied.iter().map(|(skill, word)| format!("{} {word}", skill.as_str()));
        assert_eq!(denied.collect::<Vec<_>>(), ["forge doesn't", "team Never"]);
        assert_eq!(skills.asked, []);
        let text = "Don't $team. $forge it, but do not let $forge run forever, and never $blueprint";
        let whole = vec![vec![0..text.len()]];
        let skills = find_skills(&policy(), text, &whole);
        assert_eq!((skills.asked.len(), skills.denied.len()), (1, 1), "{skills:?}");
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
