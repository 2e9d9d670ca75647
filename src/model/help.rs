//! What a user can do now, as words and commands.

use std::fmt;
use std::ops::Add;

use crate::model::as_text::as_text;
use crate::model::suggestion::Suggestion;

/// A sentence with commands in it: `Help::from("go on with it: ") + Suggestion::flow("resume").value(run)`. Each user
/// interface shows the commands in its own way; `Display`, which reports use as well, puts them between backticks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Help(Vec<HelpPart>);

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HelpPart {
    Words(String),
    Command(Suggestion),
}

impl Help {
    /// Whether it has no words and no commands.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its commands, in order.
    pub fn commands(&self) -> impl Iterator<Item = &Suggestion> {
        self.0.iter().filter_map(|part| match part {
            HelpPart::Command(command) => Some(command),
            HelpPart::Words(_) => None,
        })
    }

    /// The sentence, with its words as `say` and each command as `show` writes them.
    pub fn shown(&self, say: impl Fn(&str) -> String, show: impl Fn(&Suggestion) -> String) -> String {
        let mut sentence = String::new();
        for part in &self.0 {
            sentence += &match part {
                HelpPart::Words(words) => say(words),
                HelpPart::Command(command) => show(command),
            };
        }
        sentence
    }

    /// The same for a caller who has to name the project in each command.
    #[must_use]
    pub fn in_project(self, project: Option<&str>) -> Self {
        let parts = self.0.into_iter().map(|part| match part {
            HelpPart::Command(command) => HelpPart::Command(command.in_project(project)),
            words @ HelpPart::Words(_) => words,
        });
        Self(parts.collect())
    }
}

impl From<&str> for Help {
    fn from(words: &str) -> Self {
        Self::from(words.to_owned())
    }
}

impl From<String> for Help {
    fn from(words: String) -> Self {
        // Without words there is no help: see `is_empty`.
        Self(if words.is_empty() { Vec::new() } else { vec![HelpPart::Words(words)] })
    }
}

impl From<Suggestion> for Help {
    fn from(command: Suggestion) -> Self {
        Self(vec![HelpPart::Command(command)])
    }
}

impl<T: Into<Self>> Add<T> for Help {
    type Output = Self;

    fn add(mut self, more: T) -> Self {
        self.0.extend(more.into().0);
        self
    }
}

impl<T: Into<Help>> Add<T> for Suggestion {
    type Output = Help;

    fn add(self, more: T) -> Help {
        Help::from(self) + more
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            HelpPart::Words(words) => f.write_str(words),
            HelpPart::Command(command) => write!(f, "`{command}`"),
        })
    }
}

as_text!(Serialize for Help);
as_text!(JsonSchema for Help, { "type": "string", "description": "What to do now; commands stand between backticks." });

/// The question whether a similar name was meant, as the beginning of a help; empty without one.
pub(crate) fn did_you_mean(near: Option<impl fmt::Display>) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`? "),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_a_sentence_name_the_project_for_a_caller_elsewhere() {
        let help = Help::from("go on with it: ") + Suggestion::flow("resume").value("r1") + ", or leave it";
        assert_eq!(help.to_string(), "go on with it: `flow resume r1`, or leave it");
        let there = help.in_project(Some("/home/me/parser"));
        assert_eq!(there.to_string(), "go on with it: `flow -C /home/me/parser resume r1`, or leave it");
    }
}
