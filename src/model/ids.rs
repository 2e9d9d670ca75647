//! Names that are safe as file names and keys, and the two counters of a run.

use std::fmt;
use std::str::FromStr;

use icu_normalizer::DecomposingNormalizerBorrowed as DecomposingNormalizer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use thiserror::Error;

use crate::model::as_text::as_text;
use crate::model::limits;

/// A name that is not valid, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the {what} {name:?} {reason}")]
pub struct BadName {
    /// The kind of name: `run id`, `activity id`, …
    pub what: &'static str,
    /// The name, as given.
    pub name: String,
    /// What is wrong, as the end of a sentence.
    pub reason: String,
}

fn bad(what: &'static str, name: &str, reason: impl Into<String>) -> BadName {
    let name = if name.len() > 80 {
        // A message repeats the name, which may be any text.
        let cut = name.floor_char_boundary(80);
        format!("{}…", &name[..cut])
    } else {
        name.to_owned()
    };
    BadName { what, name, reason: reason.into() }
}

/// Whether Windows reserves the name for a device, with any extension.
fn is_reserved(name: &str) -> bool {
    // Windows ignores what follows the first dot.
    let stem = name.split('.').next().unwrap_or_default();
    let Some((device, number)) = stem.split_at_checked(3) else { return false };
    match number.as_bytes() {
        [] => ["con", "prn", "aux", "nul"].iter().any(|reserved| device.eq_ignore_ascii_case(reserved)),
        [b'1'..=b'9'] => device.eq_ignore_ascii_case("com") || device.eq_ignore_ascii_case("lpt"),
        _ => false,
    }
}

/// A set of letters and digits.
#[derive(Clone, Copy)]
enum Letters {
    /// Lower-case ASCII letters and digits.
    Small,
    /// ASCII letters and digits.
    Ascii,
    /// Letters and digits of any script.
    Any,
}

/// A set of characters.
#[derive(Clone, Copy)]
enum Characters {
    /// Letters and digits, and the given ASCII characters.
    Word(Letters, &'static str),
    /// Printable ASCII characters without blanks.
    Graphic,
    /// All characters but control characters.
    Text,
}

impl Characters {
    fn has(self, c: char) -> bool {
        match self {
            Self::Word(letters, more) => {
                let is_letter = match letters {
                    Letters::Small => c.is_ascii_lowercase() || c.is_ascii_digit(),
                    Letters::Ascii => c.is_ascii_alphanumeric(),
                    Letters::Any => c.is_alphanumeric(),
                };
                // The further characters are ASCII. A search for a `char` takes longer than all else in a long list.
                is_letter || more.bytes().any(|more| char::from(more) == c)
            }
            Self::Graphic => c.is_ascii_graphic(),
            Self::Text => !c.is_control(),
        }
    }

    /// The set as a regular expression. If `more` has a hyphen, it must come last.
    fn class(self) -> String {
        match self {
            Self::Word(Letters::Small, more) => format!("[a-z0-9{more}]"),
            Self::Word(Letters::Ascii, more) => format!("[A-Za-z0-9{more}]"),
            Self::Word(Letters::Any, more) => format!(r"[\p{{Alphabetic}}\p{{N}}{more}]"),
            Self::Graphic => "[!-~]".to_owned(),
            Self::Text => r"\P{Cc}".to_owned(),
        }
    }
}

/// The rule for a kind of name.
struct Rule {
    /// The kind of name, for messages.
    what: &'static str,
    /// The maximum length in bytes.
    max: usize,
    /// The allowed first characters.
    first: Characters,
    /// The allowed other characters.
    rest: Characters,
    /// The allowed characters as text, for messages.
    allowed: &'static str,
    /// A further check; returns what is wrong.
    also: fn(&str) -> Option<&'static str>,
}

impl Rule {
    const fn new(what: &'static str, max: usize, [first, rest]: [Characters; 2], allowed: &'static str) -> Self {
        Self { what, max, first, rest, allowed, also: |_| None }
    }

    /// Names of letters and digits, and of these ASCII characters: `first` where they begin, and `rest` behind that.
    const fn of(
        what: &'static str,
        max: usize,
        letters: Letters,
        first: &'static str,
        rest: &'static str,
        allowed: &'static str,
    ) -> Self {
        Self::new(what, max, [Characters::Word(letters, first), Characters::Word(letters, rest)], allowed)
    }

    fn check(&self, name: &str) -> Result<(), BadName> {
        let Self { what, max, first, rest, allowed, also } = self;
        let Some(head) = name.chars().next() else {
            return Err(bad(what, name, "is empty"));
        };
        if name.len() > *max {
            return Err(bad(what, name, format!("is longer than {max} bytes")));
        }
        // All rules allow lower-case ASCII letters and digits. Testing them first makes long lists fast.
        if let Some(odd) = name.chars().find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || rest.has(*c))) {
            return Err(bad(what, name, format!("contains {odd:?}; allowed are {allowed}")));
        }
        if !first.has(head) {
            return Err(bad(what, name, format!("starts with {head:?}; allowed are {allowed}")));
        }
        match also(name) {
            Some(reason) => Err(bad(what, name, reason)),
            None => Ok(()),
        }
    }

    /// The rule as a regular expression, for schemas.
    fn pattern(&self) -> String {
        format!("^{}{}*$", self.first.class(), self.rest.class())
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $rule:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
        #[serde(transparent)]
        #[schemars(extend("pattern" = Self::RULE.pattern(), "maxLength" = Self::RULE.max))]
        pub struct $name(#[schemars(with = "String")] SmolStr);

        impl $name {
            const RULE: Rule = $rule;

            /// Checks `name`.
            ///
            /// # Errors
            /// [`BadName`] if the name breaks a rule in the description of the type.
            pub fn new(name: impl Into<SmolStr>) -> Result<Self, BadName> {
                let name = name.into();
                Self::RULE.check(&name)?;
                Ok(Self(name))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadName;
            fn from_str(name: &str) -> Result<Self, BadName> {
                Self::new(name)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                // Not by way of a `String`: most names fit into a `SmolStr` without an allocation.
                Self::new(SmolStr::deserialize(from)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

impl RunId {
    /// The id without the time with which flow begins the ids that it makes.
    #[must_use]
    pub fn name(&self) -> &str {
        const TIME: &str = "0000-00-00T000000Z-";
        let Some((time, name)) = self.as_str().split_at_checked(TIME.len()) else { return self.as_str() };
        for (byte, form) in time.bytes().zip(TIME.bytes()) {
            let is_like = if form == b'0' { byte.is_ascii_digit() } else { byte == form };
            if !is_like {
                return self.as_str();
            }
        }
        // A caller may give an id that is only a time.
        if name.is_empty() { self.as_str() } else { name }
    }
}

name_type!(
    /// The id of a run: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`, without a trailing dot, and not a device name of Windows.
    /// It is the name of the run's directory. `flow start` makes `<compact UTC time>-<slug>` (FlowRun); callers may
    /// give a UUID (rp1).
    RunId,
    Rule {
        also: |name| match name {
            // Windows drops it, so two ids would name one directory.
            _ if name.ends_with('.') => Some("ends with a dot"),
            _ if is_reserved(name) => Some("is a device name on Windows"),
            _ => None,
        },
        ..Rule::of(
            "run id",
            128,
            Letters::Ascii,
            "",
            "._-",
            "letters, digits, `.`, `_` and `-`, with a letter or digit first",
        )
    }
);

name_type!(
    /// The name of a mode: `[a-z0-9][a-z0-9_-]{0,63}` (RCS). It is a part of its file's name.
    ModeName,
    Rule::of(
        "mode",
        64,
        Letters::Small,
        "",
        "_-",
        "small letters, digits, `_` and `-`, with a letter or digit first",
    )
);

name_type!(
    /// The id of an activity: `[a-z0-9][a-z0-9_-]*`, at most 200 bytes (FlowRun). Several records may have the same id.
    ActivityId,
    Rule::of(
        "activity id",
        200,
        Letters::Small,
        "",
        "_-",
        "lower-case letters, digits, `_` and `-`, with a letter or digit first",
    )
);

name_type!(
    /// The id of an agent session: `[A-Za-z0-9_-]{1,64}`.
    SessionId,
    Rule::of("session id", 64, Letters::Ascii, "_-", "_-", "letters, digits, `_` and `-`")
);

name_type!(
    /// The id of a workflow: `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`. It is the stem of its file's name.
    WorkflowId,
    Rule::of(
        "workflow id",
        128,
        Letters::Ascii,
        "",
        "._-",
        "letters, digits, `.`, `_` and `-`, with a letter or digit first",
    )
);

name_type!(
    /// The name of a phase, step or state of a workflow. Letters of any script, digits, `_`, `-`, `.` and `:` (a
    /// namespaced step, rp1); at most 200 bytes.
    StateName,
    Rule::of(
        "phase",
        200,
        Letters::Any,
        "_",
        "_.:-",
        "letters, digits, `_`, `-`, `.` and `:`, with a letter, digit or `_` first",
    )
);

impl StateName {
    /// The phase of work of which none is known.
    #[must_use]
    pub fn unknown() -> Self {
        Self::new("unknown").expect("BUG: the name is not valid")
    }

    /// The agent of a namespaced step: `task-builder` of `task-builder:building`.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        // The step itself may have further colons.
        self.as_str().split_once(':').map(|(agent, _)| agent)
    }
}

name_type!(
    /// A unit of work within a step, such as a task (rp1): any text without control characters, 1 to 200 bytes.
    Unit,
    Rule::new("unit", 200, [Characters::Text; 2], "all characters but control characters")
);

name_type!(
    /// The id of an operation, by which a retry is recognised: a ULID that flow makes, or the caller's idempotency key.
    /// 1 to 200 printable ASCII characters without blanks.
    EventId,
    Rule::new("operation id", 200, [Characters::Graphic; 2], "printable ASCII characters without blanks")
);

/// The position of an event in its run's log: 1, 2, 3, … without gaps. 0 is the position before the first event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of an activity in its run: 1, 2, 3, …, shown with at least three digits. No number is used twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[schemars(transparent, extend("pattern" = format!("^[0-9]{{{},}}$", Self::DIGITS)))]
pub struct Number(#[schemars(with = "String")] pub u64);

impl Number {
    const DIGITS: usize = 3;

    /// The number after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The name of the activity's file in `activities/`.
    #[must_use]
    pub fn file_name(self, id: &ActivityId) -> String {
        format!("{self}-{id}.yaml")
    }

    /// The number in the name of an activity's file. A number of another program may be larger than any of flow's.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        let (number, _) = name.strip_suffix(".yaml")?.split_once('-')?;
        let number: Self = number.parse().ok()?;
        if number.0 <= limits::COUNTER { Some(number) } else { None }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0digits$}", self.0, digits = Self::DIGITS)
    }
}

impl FromStr for Number {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

as_text!(Serialize for Number);
as_text!(Deserialize for Number);

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Turns a text into a slug of `[a-z0-9-]`, at most `max` bytes, without `-` at its ends; `None` if nothing is left. Latin
/// letters lose their marks: `Größe` is `grosse`.
#[must_use]
pub fn slug(text: &str, max: usize) -> Option<String> {
    let mut slug = String::new();
    let parts = DecomposingNormalizer::new_nfd();
    for c in parts.normalize_iter(text.chars().flat_map(char::to_lowercase)) {
        // Only ASCII is added, so every place is the end of a character.
        if slug.len() == max {
            break;
        }
        if let Some(letters) = without_marks(c) {
            slug.push_str(&letters[..letters.len().min(max - slug.len())]);
        } else if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { None } else { Some(slug.to_owned()) }
}

/// What stands for a mark of the letter before it, and for small letters that have no parts.
fn without_marks(c: char) -> Option<&'static str> {
    match c {
        '\u{300}'..='\u{36f}' => Some(""),
        'ß' => Some("ss"),
        'æ' => Some("ae"),
        'œ' => Some("oe"),
        'ø' => Some("o"),
        'đ' | 'ð' => Some("d"),
        'ł' => Some("l"),
        'ı' => Some("i"),
        'þ' => Some("th"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ids_are_safe_file_names() {
        for good in ["2026-05-20T143000Z-issue-42", "run-1", "run-A", "550e8400-e29b-41d4-a716-446655440000", "a"] {
            assert!(RunId::new(good).is_ok(), "{good}");
        }
        for evil in [
            "", ".", "..", "../x", "a/b", "a\\b", ".x", "-x", "a\nb", "a\u{202e}b", "CON", "aux.yaml", "x.", "é",
            "a b", "a\0",
        ] {
            assert!(RunId::new(evil).is_err(), "{evil:?}");
        }
        assert!(RunId::new("x".repeat(128)).is_ok());
        assert!(RunId::new("x".repeat(129)).is_err());
    }

    #[test]
    fn activity_ids_follow_flowrun() {
        assert!(ActivityId::new("a".repeat(200)).is_ok());
        assert!(ActivityId::new("a".repeat(201)).is_err());
        for evil in ["", "Foo", "-a", "_a", "a.b", "a/b", "a\nb"] {
            assert!(ActivityId::new(evil).is_err(), "{evil:?}");
        }
    }

    #[test]
    fn numbers_have_three_digits_and_grow() {
        let id = ActivityId::new("x").unwrap();
        assert_eq!(Number(1).file_name(&id), "001-x.yaml");
        assert_eq!(Number(1000).file_name(&id), "1000-x.yaml");
    }

    #[test]
    fn slugs_keep_only_what_a_run_id_may_hold() {
        assert_eq!(slug("Fix the Crash!  (now)", 40).as_deref(), Some("fix-the-crash-now"));
        assert_eq!(slug("日本語", 40), None);
        assert_eq!(slug("abc def", 4).as_deref(), Some("abc"));
        assert_eq!(slug("Über die Größe — Łódź, İzmir, cœur", 60).as_deref(), Some("uber-die-grosse-lodz-izmir-coeur"));
        assert_eq!(slug("aß", 2).as_deref(), Some("as"));
    }
}
