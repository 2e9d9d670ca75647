//! The states to which an agent can go, and what it chose.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::machine::Machine;
use crate::model::{StateName, bare_reply};

/// The name under which the end of a run is among the choices, as diagrams write it. No state can be called so.
pub const END: &str = "[*]";

/// The description of the end of a run.
const END_TEXT: &str = "The run ends here";

/// The states that can follow, with their descriptions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Choices {
    /// Their names, in the order of the definition, without repeats.
    pub tt: Vec<StateName>,
    /// Their descriptions in the same order; empty if a state has none.
    pub td: Vec<String>,
    /// Whether the run can also end, and who chooses is asked for that as well. Then [`END`] is one of the choices.
    #[serde(skip)]
    pub end: bool,
}

/// What a reply chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// This state follows.
    State(StateName),
    /// The run ends.
    End,
}

/// Why a reply does not name a state that can follow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadReply {
    /// It does not match the schema.
    #[error("the reply is not a JSON object with the text `next_state`: {0}")]
    Shape(String),
    /// It names a state that cannot follow.
    #[error("`{chosen}` is not among the states that can follow: {}", allowed.join(", "))]
    NotAllowed {
        /// The state that it names.
        chosen: String,
        /// The states that can follow.
        allowed: Vec<String>,
    },
}

/// The next state, as far as no one has to choose it.
#[derive(Debug, Clone, PartialEq)]
pub enum ForcedMove {
    /// Only one state can follow, or the current state named one that can.
    Next(StateName),
    /// The run ends: nothing can follow where it may end, or the current state named the end.
    End,
    /// Several states can follow, or one can where the run may end too, so someone has to choose.
    Open,
    /// No state can follow, and the run may not end.
    DeadEnd,
    /// The current state named a state to which no transition leads.
    Undeclared(String),
}

impl Choices {
    /// The states that can follow `from`, or in which a run can begin.
    #[must_use]
    pub fn of(machine: &Machine, from: Option<&StateName>) -> Self {
        let mut choices = Self::default();
        let targets = match from {
            Some(from) => machine.next_of(from),
            None => machine.initial().to_vec(),
        };
        for name in targets {
            let text = machine.state(&name).and_then(|state| state.description.as_ref().or(state.label.as_ref()));
            choices.td.push(text.cloned().unwrap_or_default());
            choices.tt.push(name);
        }
        choices
    }

    /// The states that can follow `from`, and the end of the run if it may end there.
    #[must_use]
    pub fn with_end(machine: &Machine, from: &StateName) -> Self {
        Self { end: machine.is_terminal(from), ..Self::of(machine, Some(from)) }
    }

    /// The names to choose from with their descriptions, the end among them.
    #[must_use]
    pub fn described(&self) -> Vec<(&str, &str)> {
        // A caller of the library may describe only some.
        let texts = self.td.iter().map(String::as_str).chain(std::iter::repeat(""));
        let mut all: Vec<_> = self.tt.iter().map(StateName::as_str).zip(texts).collect();
        if self.end {
            all.push((END, END_TEXT));
        }
        all
    }

    /// The names to choose from.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.described().into_iter().map(|(name, _)| name).collect()
    }

    /// The choices as a command gets them: `tt` and `td`, with the end among them.
    #[must_use]
    pub fn offer(&self) -> Value {
        let (names, texts): (Vec<_>, Vec<_>) = self.described().into_iter().unzip();
        json!({ "tt": names, "td": texts })
    }

    /// A JSON Schema of the reply, for a model's structured output; `None` if nothing can follow.
    #[must_use]
    pub fn schema(&self) -> Option<Value> {
        if self.tt.is_empty() {
            return None;
        }
        let lines = self.described().into_iter().map(|(name, text)| match text {
            "" => name.to_owned(),
            text => format!("{name}: {text}"),
        });
        Some(json!({
            "type": "object",
            "properties": {
                "next_state": {
                    "type": "string",
                    "enum": self.names(),
                    "description": lines.collect::<Vec<_>>().join("\n"),
                },
            },
            "required": ["next_state"],
            "additionalProperties": false,
        }))
    }

    /// The next state if no one has to choose. `named` is the state that the current one named itself.
    #[must_use]
    pub fn forced(&self, named: Option<&str>) -> ForcedMove {
        match (named, self.tt.as_slice()) {
            (_, []) if !self.end => ForcedMove::DeadEnd,
            (Some(named), _) => match self.choice(named) {
                Some(Choice::State(name)) => ForcedMove::Next(name),
                Some(Choice::End) => ForcedMove::End,
                None => ForcedMove::Undeclared(named.to_owned()),
            },
            (None, []) => ForcedMove::End,
            (None, [only]) if !self.end => ForcedMove::Next(only.clone()),
            (None, _) => ForcedMove::Open,
        }
    }

    /// The choice of this name.
    fn choice(&self, named: &str) -> Option<Choice> {
        if self.end && named == END {
            return Some(Choice::End);
        }
        self.tt.iter().find(|name| name.as_str() == named).map(|name| Choice::State(name.clone()))
    }

    /// What a reply chooses. The reply may be in a code fence.
    ///
    /// # Errors
    /// [`BadReply`], whose message tells a model what to correct.
    pub fn read(&self, reply: &str) -> Result<Choice, BadReply> {
        // Models put words and a code fence around what they were asked for.
        let bare = bare_reply(reply);
        if bare.is_empty() {
            return Err(BadReply::Shape("it is empty".to_owned()));
        }
        let value: Value = serde_json::from_str(bare).map_err(|_| BadReply::Shape("it is not JSON".to_owned()))?;
        if !value.is_object() {
            return Err(BadReply::Shape("it is not an object".to_owned()));
        }
        let Some(chosen) = value["next_state"].as_str() else {
            return Err(BadReply::Shape("it has no such text".to_owned()));
        };
        match self.choice(chosen) {
            Some(choice) => Ok(choice),
            None => Err(BadReply::NotAllowed {
                // The model may have answered with a whole text.
                chosen: chosen.chars().take(80).collect(),
                allowed: self.names().into_iter().map(str::to_owned).collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(names: &[&str]) -> Choices {
        let tt = names.iter().map(|name| StateName::new(*name).unwrap()).collect();
        Choices { tt, td: vec![String::new(); names.len()], end: false }
    }

    #[test]
    fn one_way_needs_no_choice_and_none_is_a_dead_end() {
        let only = choices(&["a"]);
        assert_eq!(only.forced(None), ForcedMove::Next(only.tt[0].clone()));
        assert_eq!(choices(&[]).forced(None), ForcedMove::DeadEnd);
        let two = choices(&["a", "b"]);
        assert_eq!(two.forced(None), ForcedMove::Open);
        assert_eq!(two.forced(Some("b")), ForcedMove::Next(two.tt[1].clone()));
        assert_eq!(two.forced(Some("c")), ForcedMove::Undeclared("c".to_owned()));
    }

    #[test]
    fn a_reply_names_a_state_that_can_follow_or_says_what_is_wrong() {
        let two = choices(&["a", "b"]);
        for good in
            ["{\"next_state\":\"b\"}", "```json\n{\"next_state\":\"b\"}\n```", " ```\n{\"next_state\": \"b\"}``` "]
        {
            assert_eq!(two.read(good), Ok(Choice::State(two.tt[1].clone())), "{good}");
        }
        for bad in
            ["", "null", "b", "[]", "{}", "{\"next_state\":1}", "{\"next_state\":\"A\"}", "{\"next_state\":\"c\"}"]
        {
            assert!(two.read(bad).is_err(), "{bad}");
        }
        let words = two.read("{\"next_state\":\"c\"}").unwrap_err().to_string();
        assert_eq!(words, "`c` is not among the states that can follow: a, b");
    }

    #[test]
    fn the_end_is_one_of_the_choices_where_the_run_may_end() {
        let open = Choices { end: true, ..choices(&["a"]) };
        assert_eq!(open.forced(None), ForcedMove::Open);
        assert_eq!(open.forced(Some("[*]")), ForcedMove::End);
        assert_eq!(open.read("{\"next_state\":\"[*]\"}"), Ok(Choice::End));
        assert_eq!(open.schema().unwrap()["properties"]["next_state"]["enum"], json!(["a", "[*]"]));
        assert_eq!(open.offer(), json!({ "tt": ["a", "[*]"], "td": ["", "The run ends here"] }));
        let words = open.read("{\"next_state\":\"c\"}").unwrap_err().to_string();
        assert_eq!(words, "`c` is not among the states that can follow: a, [*]");
        assert_eq!(Choices { end: true, ..choices(&[]) }.forced(None), ForcedMove::End);
        let closed = choices(&["a", "b"]);
        assert_eq!(closed.forced(Some("[*]")), ForcedMove::Undeclared("[*]".to_owned()));
        assert!(closed.read("{\"next_state\":\"[*]\"}").is_err());
    }

    #[test]
    fn the_schema_allows_what_can_follow_and_nothing_else() {
        let schema = choices(&["a", "b"]).schema().unwrap();
        assert_eq!(schema["properties"]["next_state"]["enum"], json!(["a", "b"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(choices(&[]).schema(), None);
    }
}
