//! A valid policy: every pair of modes has exactly one rule.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::model::{Flaw, ModeName};
use crate::modes::policy::document::{HandoffEntry, ModeEntry};
use crate::modes::policy::{Mode, ModeKind, PolicyDocument, Relation, read_outcome, text_of};

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
        check_words(&document, &mut flaws);
        let count = document.modes.len();
        // What the document does not mention is denied.
        let relations = vec![vec![Relation::Apart; count]; count];
        let mut rules = Rules { entries: &document.modes, relations, flaws };
        // Overlaps first: a hand-over of the same pair is the mistake to report.
        for (nth, pair) in document.overlaps.iter().enumerate() {
            rules.add_overlap(nth, pair);
        }
        for (nth, handoff) in document.handoffs.iter().enumerate() {
            rules.add_handoff(nth, handoff);
        }
        let Rules { relations, flaws, .. } = rules;
        if !flaws.is_empty() {
            return Err(flaws);
        }
        Ok(Self { modes, relations, namespaces: lower(&document.namespaces), skills: lower(&document.skills) })
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
        for row in &mut self.relations {
            row.resize(count, Relation::Apart);
        }
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
        Some(self.relations[self.row_of(active)?][self.row_of(requested)?])
    }

    /// The row of a mode in the table, which is also its column.
    fn row_of(&self, name: &ModeName) -> Option<usize> {
        self.modes.iter().position(|mode| mode.name == *name)
    }

    /// Whether the policy has this mode, and it is of this kind.
    pub(super) fn has_kind(&self, name: &ModeName, kind: ModeKind) -> bool {
        matches!(self.mode(name), Some(mode) if mode.kind == kind)
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

/// The table while it is filled from a document, and what is wrong with the document.
struct Rules<'d> {
    entries: &'d [ModeEntry],
    relations: Vec<Vec<Relation>>,
    flaws: Vec<Flaw>,
}

impl Rules<'_> {
    fn row_of(&mut self, name: &str, pointer: String) -> Option<usize> {
        // The first of two modes with one name counts; the other one is a flaw of its own.
        let row = self.entries.iter().position(|entry| entry.name == name);
        if row.is_none() {
            self.flaws.push(Flaw::at(pointer, format!("there is no mode `{name}`")));
        }
        row
    }

    /// The rows that one side of an overlap means.
    fn rows_of(&mut self, name: &str, pointer: String) -> Vec<usize> {
        if name == "*" { (0..self.entries.len()).collect() } else { self.row_of(name, pointer).into_iter().collect() }
    }

    fn add_overlap(&mut self, nth: usize, [one, other]: &[String; 2]) {
        let left = self.rows_of(one, format!("/overlaps/{nth}/0"));
        let right = self.rows_of(other, format!("/overlaps/{nth}/1"));
        if one == other {
            self.flaws.push(Flaw::at(format!("/overlaps/{nth}"), format!("`{one}` overlaps with itself")));
        }
        for &a in &left {
            // `*` means every other mode, not the mode itself.
            for &b in right.iter().filter(|&&b| b != a) {
                self.relations[a][b] = Relation::Beside;
                self.relations[b][a] = Relation::Beside;
            }
        }
    }

    fn add_handoff(&mut self, nth: usize, HandoffEntry { from: source, to: target, unless }: &HandoffEntry) {
        let pointer = format!("/handoffs/{nth}");
        let from = self.row_of(source, format!("{pointer}/from"));
        let to = self.row_of(target, format!("{pointer}/to"));
        let (Some(from), Some(to)) = (from, to) else { return };
        let pair = format!("`{source}` to `{target}`");
        let message = match self.relations[from][to] {
            _ if from == to => format!("`{source}` hands over to itself"),
            Relation::Beside => format!("{pair} is an overlap as well; only one of them can hold"),
            Relation::HandsOff(_) => format!("{pair} is decided twice"),
            Relation::Apart => {
                self.relations[from][to] = Relation::HandsOff(*unless);
                return;
            }
        };
        self.flaws.push(Flaw::at(pointer, message));
    }
}

/// Words of a policy, in lower case, as they are compared.
fn lower(words: &[String]) -> Vec<String> {
    words.iter().map(|word| word.to_ascii_lowercase()).collect()
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
        let ModeEntry { kind, start, phases, terminal_phases, phase_aliases, .. } = entry.clone();
        let phase_aliases = phase_aliases.into_iter().map(|(word, phase)| (word.to_ascii_lowercase(), phase)).collect();
        let aliases = lower(&entry.aliases);
        modes.push(Mode { name, kind, aliases, start, phases, terminal_phases, phase_aliases });
    }
    modes
}

/// Fields that flow itself writes when a mode begins and ends.
const OWN_FIELDS: [&str; 13] = [
    "active", "mode", "session_id", "session_ended_at", "session_holder", "run_id", "started_at", "updated_at",
    "completed_at", "lifecycle_outcome", "terminal_outcome", "run_outcome", "error",
];

/// Checks that the fields of a beginning mode do not mean an end, and include none that flow fills.
fn check_start(entry: &ModeEntry, pointer: &str, flaws: &mut Vec<Flaw>) {
    for field in entry.start.keys().filter(|field| OWN_FIELDS.contains(&field.as_str())) {
        flaws.push(Flaw::at(format!("{pointer}/start/{field}"), format!("`{field}` is for flow to fill")));
    }
    if let Some(start) = text_of(&entry.start, "current_phase")
        && is_end(start)
    {
        let message = format!("`{start}` means that `{}` has ended", entry.name);
        flaws.push(Flaw::at(format!("{pointer}/start/current_phase"), message));
    }
    for (nth, phase) in entry.phases.iter().enumerate() {
        if is_end(phase) {
            let message =
                format!("`{phase}` means that `{}` has ended, so it cannot be a phase of an active mode", entry.name);
            flaws.push(Flaw::at(format!("{pointer}/phases/{nth}"), message));
        }
    }
}

/// Whether a phase alone says that its mode has ended.
fn is_end(phase: &str) -> bool {
    let state = Map::from_iter([("current_phase".to_owned(), Value::from(phase))]);
    read_outcome(&state).outcome.is_some()
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
    let starts_in_phase = matches!(text_of(&entry.start, "current_phase"), Some(start) if entry.phases.iter().any(|phase| phase == start));
    if !starts_in_phase {
        let message = format!("`{name}` has to begin in one of its phases: `start` needs such a `current_phase`");
        flaws.push(Flaw::at(pointer, message));
    }
    for phase in entry.phases.iter().filter(|phase| entry.terminal_phases.contains(phase)) {
        flaws.push(Flaw::at(format!("{pointer}/terminal_phases"), format!("`{phase}` is a phase at work as well")));
    }
    let mut words = BTreeSet::new();
    for (alias, phase) in &entry.phase_aliases {
        let at = format!("{pointer}/phase_aliases/{alias}");
        // Aliases are compared in lower case, so one of the two would never count.
        if !words.insert(alias.to_ascii_lowercase()) {
            let message = format!("`{alias}` is there twice, in large and small letters");
            flaws.push(Flaw::at(&at, message));
        }
        if !entry.phases.contains(phase) && !entry.terminal_phases.contains(phase) {
            flaws.push(Flaw::at(at, format!("`{name}` has no phase `{phase}`")));
        } else if entry.phases.iter().chain(&entry.terminal_phases).any(|phase| phase.eq_ignore_ascii_case(alias)) {
            flaws.push(Flaw::at(at, format!("`{alias}` is a phase itself")));
        }
    }
}

/// Checks that every word in a prompt has one meaning.
fn check_words(document: &PolicyDocument, flaws: &mut Vec<Flaw>) {
    let mut words: Vec<(&str, String)> = Vec::new();
    for (nth, mode) in document.modes.iter().enumerate() {
        words.push((&mode.name, format!("/modes/{nth}/name")));
    }
    // Behind all names, so that a word which is a name and an alias is reported at the alias.
    for (nth, mode) in document.modes.iter().enumerate() {
        for (alias, word) in mode.aliases.iter().enumerate() {
            words.push((word, format!("/modes/{nth}/aliases/{alias}")));
        }
    }
    for (nth, skill) in document.skills.iter().enumerate() {
        words.push((skill, format!("/skills/{nth}")));
    }
    let mut seen = BTreeSet::new();
    for (word, pointer) in words {
        let word = word.to_ascii_lowercase();
        if RESERVED.contains(&word.as_str()) {
            flaws.push(Flaw::at(pointer, format!("`{word}` is reserved: what is active can always be ended")));
        } else if !seen.insert(word.clone()) {
            flaws.push(Flaw::at(pointer, format!("`{word}` is taken already")));
        }
    }
}
