//! A valid policy: every pair of modes has exactly one rule.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::{Flaw, ModeName};
use crate::modes::policy::document::ModeEntry;
use crate::modes::policy::{PolicyDocument, read_outcome};

/// The kind of a mode. Planning comes before execution; the way back is never automatic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It investigates and plans.
    Planning,
    /// It changes things.
    Execution,
}

/// A condition under which a hand-over is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The review of the source had no findings, so there is nothing to plan again.
    ReviewClean,
}

/// What happens when a mode is requested while another one is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They may not be active together.
    Apart,
    /// They may be active together.
    Beside,
    /// The active mode hands over and is completed, unless the condition holds.
    HandsOff(Option<Condition>),
}

/// A mode of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// Its name.
    pub name: ModeName,
    /// Planning or execution.
    pub kind: Kind,
    /// Other names, in lower case.
    pub aliases: Vec<String>,
    /// Fields of its file when it begins.
    pub start: Map<String, Value>,
    /// The phases while it is active; if there are none, any text is valid.
    pub phases: Vec<String>,
    /// The phases in which it has ended.
    pub terminal_phases: Vec<String>,
    /// Other names for phases.
    pub phase_aliases: BTreeMap<String, String>,
}

impl Mode {
    fn unruled(name: ModeName) -> Self {
        Self {
            name,
            kind: Kind::Execution,
            aliases: Vec::new(),
            start: Map::new(),
            phases: Vec::new(),
            terminal_phases: Vec::new(),
            phase_aliases: BTreeMap::new(),
        }
    }
}

/// The rules about which modes may be active together. The empty policy has no modes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    modes: Vec<Mode>,
    /// A row for each active mode, with a column for each requested mode.
    relations: Vec<Vec<Relation>>,
    namespaces: Vec<String>,
    skills: Vec<String>,
}

/// The skill that ends every mode. No mode can have this name.
pub(super) const CANCEL: &str = "cancel";
/// Words that cannot be names of modes, so that active modes can always be ended.
const RESERVED: [&str; 3] = [CANCEL, "clear", "skill-active"];

impl Policy {
    /// Checks a document: every name is known and has one meaning, every pair of modes has one rule, overlaps are
    /// symmetric, and every mode can be left.
    ///
    /// # Errors
    /// All problems of the document.
    pub fn build(document: PolicyDocument) -> Result<Self, Vec<Flaw>> {
        let mut flaws = Vec::new();
        let modes = modes(&document.modes, &mut flaws);
        words(&document, &mut flaws);
        let index: BTreeMap<&str, usize> =
            document.modes.iter().enumerate().rev().map(|(at, mode)| (mode.name.as_str(), at)).collect();
        let count = document.modes.len();
        let mut relations = vec![vec![Relation::Apart; count]; count];
        let find = |name: &str, pointer: String, flaws: &mut Vec<Flaw>| {
            let found = index.get(name).copied();
            if found.is_none() {
                flaws.push(Flaw::at(pointer, format!("there is no mode `{name}`")));
            }
            found
        };
        for (nth, [one, other]) in document.overlaps.iter().enumerate() {
            let place = |side: usize| format!("/overlaps/{nth}/{side}");
            let all: Vec<usize> = (0..count).collect();
            let mut side = |name: &str, at: usize| match name {
                "*" => all.clone(),
                name => find(name, place(at), &mut flaws).into_iter().collect(),
            };
            let (left, right) = (side(one, 0), side(other, 1));
            if one == other {
                flaws.push(Flaw::at(format!("/overlaps/{nth}"), format!("`{one}` overlaps with itself")));
            }
            for (&a, &b) in left.iter().flat_map(|a| right.iter().map(move |b| (a, b))).filter(|(a, b)| a != b) {
                relations[a][b] = Relation::Beside;
                relations[b][a] = Relation::Beside;
            }
        }
        for (nth, handoff) in document.handoffs.iter().enumerate() {
            let pointer = format!("/handoffs/{nth}");
            let from = find(&handoff.from, format!("{pointer}/from"), &mut flaws);
            let to = find(&handoff.to, format!("{pointer}/to"), &mut flaws);
            let (Some(from), Some(to)) = (from, to) else { continue };
            let pair = format!("`{}` to `{}`", handoff.from, handoff.to);
            match relations[from][to] {
                _ if from == to => flaws.push(Flaw::at(pointer, format!("`{}` hands over to itself", handoff.from))),
                Relation::Apart => relations[from][to] = Relation::HandsOff(handoff.unless),
                Relation::Beside => {
                    flaws.push(Flaw::at(pointer, format!("{pair} is an overlap as well; only one of them can hold")));
                }
                Relation::HandsOff(_) => flaws.push(Flaw::at(pointer, format!("{pair} is decided twice"))),
            }
        }
        if !flaws.is_empty() {
            return Err(flaws);
        }
        let small = |words: Vec<String>| words.into_iter().map(|word| word.to_ascii_lowercase()).collect();
        Ok(Self { modes, relations, namespaces: small(document.namespaces), skills: small(document.skills) })
    }

    /// Adds modes without rules, so that they can be ended.
    #[must_use]
    pub fn and_unruled(mut self, names: impl IntoIterator<Item = ModeName>) -> Self {
        for name in names {
            if self.mode(&name).is_none() {
                self.modes.push(Mode::unruled(name));
            }
        }
        let count = self.modes.len();
        self.relations.resize_with(count, Vec::new);
        self.relations.iter_mut().for_each(|row| row.resize(count, Relation::Apart));
        self
    }

    /// The modes, in the order of the document.
    #[must_use]
    pub fn modes(&self) -> &[Mode] {
        &self.modes
    }

    /// The mode with this name.
    #[must_use]
    pub fn mode(&self, name: &ModeName) -> Option<&Mode> {
        self.modes.iter().find(|mode| mode.name == *name)
    }

    /// The mode with this name or alias, in any case, with or without blanks around it.
    #[must_use]
    pub fn named(&self, word: &str) -> Option<&Mode> {
        let word = word.trim().to_ascii_lowercase();
        self.modes.iter().find(|mode| mode.name.as_str() == word || mode.aliases.contains(&word))
    }

    /// What happens when `requested` is requested while `active` is active; none if a name is unknown.
    #[must_use]
    pub fn relation(&self, active: &ModeName, requested: &ModeName) -> Option<Relation> {
        let at = |name: &ModeName| self.modes.iter().position(|mode| mode.name == *name);
        Some(self.relations[at(active)?][at(requested)?])
    }

    /// Prefixes that a skill may have.
    #[must_use]
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// Skills that are not modes.
    #[must_use]
    pub fn skills(&self) -> &[String] {
        &self.skills
    }
}

fn modes(entries: &[ModeEntry], flaws: &mut Vec<Flaw>) -> Vec<Mode> {
    let mut modes = Vec::new();
    for (nth, entry) in entries.iter().enumerate() {
        let pointer = format!("/modes/{nth}");
        let name = match ModeName::new(entry.name.as_str()) {
            Ok(name) => name,
            Err(error) => {
                flaws.push(Flaw::at(format!("{pointer}/name"), error.to_string()));
                continue;
            }
        };
        check_start(entry, &pointer, flaws);
        check_phases(entry, &pointer, flaws);
        modes.push(Mode {
            name,
            kind: entry.kind,
            aliases: entry.aliases.iter().map(|alias| alias.to_ascii_lowercase()).collect(),
            start: entry.start.clone(),
            phases: entry.phases.clone(),
            terminal_phases: entry.terminal_phases.clone(),
            phase_aliases: small_keys(&entry.phase_aliases),
        });
    }
    modes
}

fn small_keys(words: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    words.iter().map(|(word, phase)| (word.to_ascii_lowercase(), phase.clone())).collect()
}

/// Fields that flow itself writes when a mode begins and ends.
const OWN_FIELDS: [&str; 13] = [
    "active",
    "mode",
    "session_id",
    "session_ended_at",
    "session_holder",
    "run_id",
    "started_at",
    "updated_at",
    "completed_at",
    "lifecycle_outcome",
    "terminal_outcome",
    "run_outcome",
    "error",
];

/// Checks that the fields of a beginning mode do not mean an end, and include none that flow fills.
fn check_start(entry: &ModeEntry, pointer: &str, flaws: &mut Vec<Flaw>) {
    for field in entry.start.keys().filter(|field| OWN_FIELDS.contains(&field.as_str())) {
        flaws.push(Flaw::at(format!("{pointer}/start/{field}"), format!("`{field}` is for flow to fill")));
    }
    let tells_an_end = |phase: &str| {
        let state = Map::from_iter([("current_phase".to_owned(), Value::from(phase))]);
        read_outcome(&state).outcome.is_some()
    };
    let start = entry.start.get("current_phase").and_then(Value::as_str);
    if let Some(start) = start.filter(|start| tells_an_end(start)) {
        let message = format!("`{start}` means that `{}` has ended", entry.name);
        flaws.push(Flaw::at(format!("{pointer}/start/current_phase"), message));
    }
    for (nth, phase) in entry.phases.iter().enumerate().filter(|(_, phase)| tells_an_end(phase)) {
        let message =
            format!("`{phase}` means that `{}` has ended, so it cannot be a phase of an active mode", entry.name);
        flaws.push(Flaw::at(format!("{pointer}/phases/{nth}"), message));
    }
}

/// Checks that a mode with phases can begin in one of them and end in one of them.
fn check_phases(entry: &ModeEntry, pointer: &str, flaws: &mut Vec<Flaw>) {
    let name = &entry.name;
    if entry.phases.is_empty() && entry.terminal_phases.is_empty() {
        if !entry.phase_aliases.is_empty() {
            flaws.push(Flaw::at(format!("{pointer}/phase_aliases"), format!("`{name}` has no phases to rename")));
        }
        return;
    }
    if entry.terminal_phases.is_empty() {
        let message = format!("`{name}` can never be left: it has phases, and none of `terminal_phases`");
        flaws.push(Flaw::at(pointer, message));
    }
    let start = entry.start.get("current_phase").and_then(Value::as_str);
    if !start.is_some_and(|phase| entry.phases.iter().any(|known| known == phase)) {
        let message = format!("`{name}` has to begin in one of its phases: `start` needs such a `current_phase`");
        flaws.push(Flaw::at(pointer, message));
    }
    for phase in entry.phases.iter().filter(|phase| entry.terminal_phases.contains(phase)) {
        flaws.push(Flaw::at(format!("{pointer}/terminal_phases"), format!("`{phase}` is a phase at work as well")));
    }
    let all = || entry.phases.iter().chain(&entry.terminal_phases);
    let mut words = BTreeSet::new();
    for (alias, phase) in &entry.phase_aliases {
        if !words.insert(alias.to_ascii_lowercase()) {
            let message = format!("`{alias}` is there twice, in large and small letters");
            flaws.push(Flaw::at(format!("{pointer}/phase_aliases/{alias}"), message));
        }
        let at = format!("{pointer}/phase_aliases/{alias}");
        let known = |phase: &String| entry.phases.contains(phase) || entry.terminal_phases.contains(phase);
        if !known(phase) {
            flaws.push(Flaw::at(at, format!("`{name}` has no phase `{phase}`")));
        } else if all().any(|phase| phase.eq_ignore_ascii_case(alias)) {
            flaws.push(Flaw::at(at, format!("`{alias}` is a phase itself")));
        }
    }
}

/// Checks that every word in a prompt has one meaning.
fn words(document: &PolicyDocument, flaws: &mut Vec<Flaw>) {
    let mut seen = BTreeSet::new();
    let mut take = |word: &str, pointer: String| {
        let word = word.to_ascii_lowercase();
        if RESERVED.contains(&word.as_str()) {
            flaws.push(Flaw::at(pointer, format!("`{word}` is reserved: what is active can always be ended")));
        } else if !seen.insert(word.clone()) {
            flaws.push(Flaw::at(pointer, format!("`{word}` is taken already")));
        }
    };
    for (nth, mode) in document.modes.iter().enumerate() {
        take(&mode.name, format!("/modes/{nth}/name"));
    }
    for (nth, mode) in document.modes.iter().enumerate() {
        for (alias, word) in mode.aliases.iter().enumerate() {
            take(word, format!("/modes/{nth}/aliases/{alias}"));
        }
    }
    for (nth, skill) in document.skills.iter().enumerate() {
        take(skill, format!("/skills/{nth}"));
    }
}
