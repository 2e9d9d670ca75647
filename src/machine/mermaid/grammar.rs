//! The grammar of a diagram's line.
//!
//! ```text
//! line       = transition | state | ignored
//! transition = end "-->" end [ ":" label ]
//! end        = "[*]" | id [ ":::" class ]
//! state      = id [ ":" text ]
//!            | "state" id [ ":" text ]
//!            | "state" "\"" text "\"" "as" id
//!            | "state" id "<<choice>>"
//! id         = ( letter | digit | "_" | "." )+
//! comment    = ( "%%" | "#" ) text                    behind blanks, wherever a token can stand
//! label      = text                                    without a `;` that has an arrow behind it
//! ```

use crate::machine::check::shown;
use crate::machine::lines::SourceLine;
use crate::machine::mermaid::lexer::{Kind, Token, Tokens};
use crate::machine::mermaid::reader::Reader;
use crate::machine::mermaid::words::{is_id, quoted, read, suggested_id};
use crate::machine::{Diagnostic, Name};

/// A parsed line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    /// Lines that say nothing about states and transitions, or an unsupported feature: what to tell about them, and
    /// where they end.
    Skipped(Option<Diagnostic>, Until),
    /// A state.
    State(StateDeclaration),
    /// A transition. Its label is ignored if one end is `[*]`.
    Transition { from: End, to: End, label: Option<String> },
}

impl Statement {
    /// A line that has no part in the states of the diagram, and needs no warning.
    const NOTHING: Self = Self::Skipped(None, Until::HereAlready);
}

/// A declared state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StateDeclaration {
    pub(super) name: Name,
    pub(super) label: Option<String>,
    /// An earlier text of the same line, which the label replaces.
    pub(super) replaced: Option<String>,
    pub(super) kind: Option<String>,
}

impl StateDeclaration {
    fn bare(name: Name) -> Self {
        Self { name, label: None, replaced: None, kind: None }
    }
}

/// An end of a transition.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum End {
    /// `[*]`
    Star(Name),
    State(Name),
}

/// Where lines to skip end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// On their first line.
    HereAlready,
    /// At `end note`.
    EndNote,
    /// At the quotation mark that closes a text.
    Quote,
    /// At the first `}` from this byte of the line on.
    Close(usize),
    /// At the `}` that closes it.
    Brace,
}

pub(super) type ParseResult<T> = Result<T, Box<Diagnostic>>;

/// Words that Mermaid does not accept as ids.
const RESERVED: [&str; 6] = ["class", "click", "default", "note", "state", "style"];

/// Parses a line.
///
/// # Errors
/// The first problem of the line.
pub(super) fn statement(line: SourceLine<'_>) -> ParseResult<Statement> {
    let mut tokens = Tokens::new(line.text);
    let Some(first) = tokens.next() else { return Ok(Statement::NOTHING) };
    let reader = Reader { line };
    if reader.text(&first).starts_with("//") {
        return Err(reader.slashes(&first));
    }
    if let Some(semicolon) = reader.another_statement() {
        return Err(reader.semicolon(&semicolon));
    }
    match first.kind {
        Kind::Word => match reader.directive(reader.text(&first), tokens.clone()) {
            Some(directive) => directive,
            None => reader.states(&first, tokens),
        },
        Kind::Star => reader.states(&first, tokens),
        Kind::OtherArrow if reader.text(&first) == "--" => Ok(reader.unsupported(&first, "concurrent region (`--`)")),
        Kind::Close => Err(reader.error("mermaid_syntax", &first, "this `}` closes nothing")),
        Kind::Quoted => Err(reader.quoted_id(&first)),
        Kind::Open => Ok(reader.composite(&first, tokens)),
        Kind::Arrow | Kind::OtherArrow | Kind::Colon | Kind::Class | Kind::Stereotype => {
            let message = format!("a line cannot begin with `{}`", reader.text(&first));
            Err(reader.error("mermaid_syntax", &first, message))
        }
    }
}

impl Reader<'_> {
    fn unsupported(&self, at: &Token, what: &str) -> Statement {
        self.unsupported_until(at, what, Until::HereAlready)
    }

    fn unsupported_until(&self, at: &Token, what: &str, until: Until) -> Statement {
        let message = format!("unsupported state diagram feature: {what}");
        let problem = Diagnostic::error("unsupported_feature", &self.name(at), message).with_help(
            "flow reads states and transitions between them; `flow help workflows` shows what else it reads",
        );
        Statement::Skipped(Some(problem), until)
    }

    /// A line that begins with a keyword of Mermaid; `None` if the word is a state's id.
    fn directive(&self, word: &str, tokens: Tokens<'_>) -> Option<ParseResult<Statement>> {
        let next = tokens.peek();
        let next_kind = next.as_ref().map(|next| next.kind);
        let head = Tokens::new(self.line.text).next()?;
        let whole = Token { kind: Kind::Word, range: head.range.start..tokens.rest().end };
        let is_followed = matches!(next_kind, Some(Kind::Word | Kind::Quoted));
        let rest = self.line.text[tokens.rest()].to_ascii_lowercase();
        // Mermaid reads its words in any case. Nearly all of them may be ids, too: what stands behind them decides.
        Some(Ok(match word.to_ascii_lowercase().as_str() {
            "state" if is_followed || word == "state" => return Some(self.declaration(&head, tokens)),
            "note" if is_followed => return Some(self.note(&head, tokens)),
            // Mermaid reads nothing behind the direction.
            "direction" if next_kind == Some(Kind::Word) => match rest.split_whitespace().next() {
                Some("tb" | "bt" | "lr" | "rl") => {
                    let message = "`direction` only says how the diagram is drawn; flow ignores it";
                    let warning = Diagnostic::warning("direction_ignored", &self.name(&whole), message);
                    Statement::Skipped(Some(warning), Until::HereAlready)
                }
                _ => self.unsupported(&whole, "this direction; it can be TB, BT, LR or RL, and says nothing to flow"),
            },
            "classdef" | "class" | "style" | "click" if matches!(next_kind, Some(Kind::Word | Kind::Star)) => {
                Statement::NOTHING
            }
            "acctitle" | "accdescr" if next_kind == Some(Kind::Colon) => Statement::NOTHING,
            "accdescr" if next_kind == Some(Kind::Open) => Statement::Skipped(None, Until::Close(next?.range.end)),
            "hide" if rest.starts_with("empty") => Statement::NOTHING,
            "scale" if rest.starts_with(|c: char| c.is_ascii_digit()) => Statement::NOTHING,
            lower if lower.starts_with("statediagram") => {
                let message = format!("a second `{word}`; one diagram has one");
                return Some(Err(self.error("second_header", &head, message)));
            }
            _ => return None,
        }))
    }

    /// `note …`, after the keyword. A note is for readers of the diagram, so a run can follow the diagram without it.
    fn note(&self, word: &Token, mut tokens: Tokens<'_>) -> ParseResult<Statement> {
        let warning = Diagnostic::warning("note_ignored", &self.line.whole(), "a note is for readers; flow ignores it");
        let (first, second) = (tokens.next(), tokens.next());
        let (first_text, second_text) = (self.text_of(first.as_ref()), self.text_of(second.as_ref()));
        let until = if first_text.starts_with('"') {
            // A text without its second quotation mark goes on below.
            if first.as_ref().is_some_and(|first| !self.is_closed(first)) {
                Some(Until::Quote)
            } else {
                second_text.eq_ignore_ascii_case("as").then_some(Until::HereAlready)
            }
        } else if ["left", "right"].iter().any(|side| first_text.eq_ignore_ascii_case(side)) {
            let is_on_one_line = tokens.any(|token| token.kind == Kind::Colon);
            let until = if is_on_one_line { Until::HereAlready } else { Until::EndNote };
            second_text.eq_ignore_ascii_case("of").then_some(until)
        } else {
            None
        };
        let Some(until) = until else {
            let help = "write `note right of STATE : text`, or `note left of STATE`, the text below it and `end note`";
            return Err(self.helped("mermaid_syntax", word, "this is not a note as Mermaid writes it", help));
        };
        Ok(Statement::Skipped(Some(warning), until))
    }

    /// `state …`, after the keyword.
    fn declaration(&self, word: &Token, mut tokens: Tokens<'_>) -> ParseResult<Statement> {
        let Some(first) = tokens.next() else {
            return Err(self.error("mermaid_syntax", word, "`state` needs the id of a state"));
        };
        if self.opens_composite(&first, tokens.clone()) {
            return Ok(self.composite(&first, tokens));
        }
        let (id, label) = match first.kind {
            Kind::Arrow | Kind::Colon => return Err(self.reserved(word)),
            Kind::Quoted if !self.is_closed(&first) => {
                let what = "a quoted text over several lines; write it on one";
                return Ok(self.unsupported_until(&first, what, Until::Quote));
            }
            Kind::Quoted => {
                let text = self.text(&first).trim_matches('"');
                let (word, id) = (tokens.next(), tokens.next());
                let Some(id) = id.filter(|_| self.text_of(word.as_ref()).eq_ignore_ascii_case("as")) else {
                    let help = format!("write `state \"{text}\" as {}`", suggested_id(text));
                    return Err(self.helped("mermaid_syntax", &first, "a quoted text needs `as` and an id", help));
                };
                (id, Some(read(text).into_owned()))
            }
            _ => (first, None),
        };
        if id.kind == Kind::Quoted {
            let as_id = suggested_id(self.text(&id).trim_matches('"'));
            let help = format!("write `state {} as {as_id}`", quoted(&label.unwrap_or_default()));
            return Err(self.helped("bad_state_name", &id, "a state's id is not written in quotation marks", help));
        }
        let name = self.id(&id)?;
        let mut declared = StateDeclaration { label, ..StateDeclaration::bare(name) };
        match tokens.next() {
            None => {}
            Some(token) if token.kind == Kind::Colon => {
                let text = self.description(&id, &token, &tokens)?;
                declared.replaced = declared.label.take_if(|_| text.is_some());
                declared.label = text.or(declared.label);
            }
            Some(token) if token.kind == Kind::Stereotype => {
                if !self.is_choice(&token) {
                    return Ok(self.unsupported_kind(&token));
                }
                declared.kind = Some("choice".to_owned());
                self.end(&id, tokens)?;
            }
            Some(token) if token.kind == Kind::Class => self.end(&id, tokens)?,
            Some(token) if token.kind == Kind::Arrow => return Err(self.reserved(word)),
            Some(token) if self.is_quoted_behind(&token, &tokens) => {
                let words = &self.line.text[tokens.rest()];
                let help = format!("write `state {} as {}`", shown(words), self.text(&id));
                return Err(self.helped("mermaid_syntax", &token, "a quoted text stands before `as` and the id", help));
            }
            Some(token) => return Err(self.word_behind(&id, &token, declared.label.as_deref(), &tokens)),
        }
        Ok(Statement::State(declared))
    }

    /// Whether a quoted text ends in its line.
    fn is_closed(&self, quoted: &Token) -> bool {
        let text = self.text(quoted);
        text.len() > 1 && text.ends_with('"')
    }

    /// Whether `as "text"` stands here, which belongs before the id.
    fn is_quoted_behind(&self, word: &Token, tokens: &Tokens<'_>) -> bool {
        let next = tokens.peek();
        self.text(word).eq_ignore_ascii_case("as") && next.is_some_and(|next| next.kind == Kind::Quoted)
    }

    /// Whether a stereotype says that a state is a choice.
    fn is_choice(&self, stereotype: &Token) -> bool {
        self.kind_in(stereotype).eq_ignore_ascii_case("choice")
    }

    fn kind_in(&self, stereotype: &Token) -> &str {
        self.text(stereotype).trim_matches(['<', '>', '[', ']']).trim()
    }

    fn unsupported_kind(&self, stereotype: &Token) -> Statement {
        self.unsupported(stereotype, &format!("{} state (`{}`)", self.kind_in(stereotype), self.text(stereotype)))
    }

    /// Whether a line `state …` begins a composite state. That is unsupported as a whole, so nothing else about the line
    /// is checked. Behind a colon, braces in pairs belong to the description.
    fn opens_composite(&self, first: &Token, tokens: Tokens<'_>) -> bool {
        let (mut described, mut last) = (false, first.clone());
        for token in std::iter::once(first.clone()).chain(tokens) {
            described |= token.kind == Kind::Colon;
            if token.kind == Kind::Open && !described {
                return true;
            }
            last = token;
        }
        last.kind == Kind::Open
    }

    fn composite(&self, id: &Token, mut tokens: Tokens<'_>) -> Statement {
        let closes = tokens.any(|token| token.kind == Kind::Close);
        let until = if closes { Until::HereAlready } else { Until::Brace };
        let what =
            if self.text(id).ends_with('@') { "shape of a state (`@{ … }`)" } else { "nested/composite state" };
        self.unsupported_until(id, what, until)
    }

    fn reserved(&self, word: &Token) -> Box<Diagnostic> {
        let text = self.text(word);
        let message = format!("`{text}` is a word of Mermaid's own and cannot be a state's id");
        self.helped("reserved_word", word, message, format!("use another id: `state \"{text}\" as {text}_`"))
    }

    /// A line that begins with a state or `[*]`.
    fn states(&self, first: &Token, mut tokens: Tokens<'_>) -> ParseResult<Statement> {
        if let Some(several) = self.several_ends() {
            return Err(several);
        }
        // Check the arrow first: if it is wrong, nothing else about the line is certain.
        let Some(next) = tokens.find(|token| token.kind != Kind::Class) else {
            return match self.ending(first)? {
                End::State(name) => Ok(Statement::State(StateDeclaration::bare(name))),
                End::Star(_) => {
                    let help = "write `[*] --> state` for a beginning and `state --> [*]` for an end";
                    Err(self.helped("mermaid_syntax", first, "`[*]` alone says nothing", help))
                }
            };
        };
        match next.kind {
            Kind::Arrow => self.transition(first, &next, tokens),
            Kind::OtherArrow if !has_target(&tokens) => Err(self.arrow_without_target(first, &next)),
            Kind::OtherArrow => Err(self.label_within(first, &next, tokens).unwrap_or_else(|| self.other_arrow(&next))),
            Kind::Colon if first.kind == Kind::Word => {
                let name = self.id(first)?;
                let label = self.description(first, &next, &tokens)?;
                Ok(Statement::State(StateDeclaration { label, ..StateDeclaration::bare(name) }))
            }
            Kind::Open => Ok(self.composite(first, tokens)),
            Kind::Stereotype if !self.is_choice(&next) => Ok(self.unsupported_kind(&next)),
            Kind::Stereotype => {
                let help = format!("write `state {} {}`", self.text(first), self.text(&next));
                Err(self.helped("mermaid_syntax", &next, "only a line that begins with `state` can say this", help))
            }
            _ => Err(self.blank_in_id(first, &next)),
        }
    }

    fn transition(&self, from: &Token, arrow: &Token, mut tokens: Tokens<'_>) -> ParseResult<Statement> {
        let Some(to) = tokens.next().filter(|to| to.kind != Kind::Colon) else { return Err(self.leads_nowhere(arrow)) };
        if let Some((label, target)) = self.between_bars(&to) {
            return Err(self.label_behind(from, &to, label, target));
        }
        let (from, target) = (self.ending(from)?, to);
        let to = self.ending(&target)?;
        let label = match tokens.find(|token| token.kind != Kind::Class) {
            None => None,
            Some(colon) if colon.kind == Kind::Colon => self.label(&tokens),
            Some(arrow) if matches!(arrow.kind, Kind::Arrow | Kind::OtherArrow) => {
                let message = "a transition has two ends; write the next one on a line of its own";
                return Err(self.error("mermaid_syntax", &arrow, message));
            }
            Some(other) if tokens.clone().any(|token| token.kind == Kind::Arrow) => {
                let message =
                    format!("`{}` begins another statement; write each on a line of its own", self.text(&other));
                return Err(self.error("mermaid_syntax", &other, message));
            }
            Some(other) => return Err(self.blank_in_id(&target, &other)),
        };
        Ok(Statement::Transition { from, to, label })
    }

    /// Parses a token as an end of a transition.
    fn ending(&self, token: &Token) -> ParseResult<End> {
        match token.kind {
            Kind::Star => Ok(End::Star(self.name(token))),
            Kind::Quoted => Err(self.quoted_id(token)),
            _ => self.id(token).map(End::State),
        }
    }

    /// Parses a token as the id of a state.
    fn id(&self, token: &Token) -> ParseResult<Name> {
        let text = self.text(token);
        if RESERVED.contains(&text) || text.starts_with("stateDiagram") {
            return Err(self.reserved(token));
        }
        if text.starts_with("[H]") || text.starts_with("[H*]") {
            let message = format!("unsupported state diagram feature: history (`{text}`)");
            return Err(self.error("unsupported_feature", token, message));
        }
        let Some(odd) = text.chars().find(|&c| !is_id(c)) else { return Ok(self.name(token)) };
        if text.trim_end_matches(';').chars().all(is_id) {
            return Err(self.semicolon(token));
        }
        Err(self.odd_id(token, odd))
    }

    /// The text after the colon of a state.
    fn description(&self, id: &Token, colon: &Token, tokens: &Tokens<'_>) -> ParseResult<Option<String>> {
        let rest = tokens.rest();
        let text = &self.line.text[rest.clone()];
        // Without blanks around the colon, this is probably meant as an agent's step in a transition.
        if text.contains("-->") && id.range.end == colon.range.start && colon.range.end == rest.start {
            let whole = Token { kind: Kind::Word, range: id.range.start..rest.end };
            let id = format!("{}:{}", self.text(id), text.split_whitespace().next().unwrap_or_default());
            let message = format!("`{id}` cannot be a state's id: it has `:`, behind which a description begins");
            let help = "steps of an agent (`agent:step`) belong into the agent's own diagram";
            return Err(self.helped("bad_state_name", &whole, message, help));
        }
        debug_assert_eq!(colon.kind, Kind::Colon);
        Ok(self.label(tokens))
    }

    /// The text after a colon. That of a transition may have an arrow in it.
    fn label(&self, tokens: &Tokens<'_>) -> Option<String> {
        let text = &self.line.text[tokens.rest()];
        if text.is_empty() { None } else { Some(read(text).into_owned()) }
    }

    /// The end of a line that declares the state `id`.
    fn end(&self, id: &Token, mut tokens: Tokens<'_>) -> ParseResult<()> {
        let Some(token) = tokens.next() else { return Ok(()) };
        if token.kind == Kind::Colon {
            let help =
                format!("write `{} : {}` on a line of its own", self.text(id), shown(&self.line.text[tokens.rest()]));
            return Err(self.helped("mermaid_syntax", &token, "this line has no text of the state", help));
        }
        let message = format!("`{}` is one word too many", shown(self.text(&token)));
        Err(self.error("mermaid_syntax", &token, message))
    }
}

/// Whether something that can be a state stands behind an arrow.
fn has_target(tokens: &Tokens<'_>) -> bool {
    tokens.peek().is_some_and(|next| next.kind != Kind::Colon)
}
