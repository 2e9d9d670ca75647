//! The line of a diagram that is being parsed, and what is reported about one that is wrong: with what to write.

use crate::codec;
use crate::machine::check::shown;
use crate::machine::lines::SourceLine;
use crate::machine::mermaid::lexer::{Kind, Token, Tokens, is_comment};
use crate::machine::mermaid::words::{ends_entity, is_id, is_invisible, is_mark, named, quoted, suggested_id};
use crate::machine::{Diagnostic, Name};

/// The characters of an id, for messages.
const IDS: &str = "ids are letters, digits, `_` and `.`";

/// The line that is being parsed.
pub(super) struct Reader<'a> {
    pub(super) line: SourceLine<'a>,
}

impl Reader<'_> {
    pub(super) fn text(&self, token: &Token) -> &str {
        &self.line.text[token.range.clone()]
    }

    pub(super) fn text_of(&self, token: Option<&Token>) -> &str {
        token.map_or("", |token| self.text(token))
    }

    pub(super) fn name(&self, token: &Token) -> Name {
        self.line.name(token.range.clone())
    }

    pub(super) fn error(&self, code: &'static str, at: &Token, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, &self.name(at), message))
    }

    pub(super) fn helped(
        &self,
        code: &'static str,
        at: &Token,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(code, &self.name(at), message).with_help(help))
    }

    pub(super) fn leads_nowhere(&self, arrow: &Token) -> Box<Diagnostic> {
        self.error("mermaid_syntax", arrow, "the transition leads nowhere: a state is missing")
    }

    /// What is reported about `a-- : text`, whose dashes belong to the id, and `a -- : text`.
    pub(super) fn arrow_without_target(&self, first: &Token, arrow: &Token) -> Box<Diagnostic> {
        if first.kind == Kind::Word && first.range.end == arrow.range.start {
            return self.odd_id(&Token { kind: Kind::Word, range: first.range.start..arrow.range.end }, '-');
        }
        self.leads_nowhere(arrow)
    }

    /// What is reported about a transition with several states at one end, as flowcharts have it.
    pub(super) fn several_ends(&self) -> Option<Box<Diagnostic>> {
        let text = self.line.text;
        let mut tokens = Tokens::new(text);
        let arrow = tokens.find(|token| matches!(token.kind, Kind::Arrow | Kind::Colon))?;
        if arrow.kind == Kind::Colon {
            return None;
        }
        let mut end = arrow.range.end;
        for token in tokens {
            if token.kind == Kind::Colon {
                break;
            }
            end = token.range.end;
        }
        let (from, to) = (ends_in(&text[..arrow.range.start])?, ends_in(&text[arrow.range.end..end])?);
        let (from, to) = match (&from[..], &to[..]) {
            ([_], [_]) => return None,
            ([from], [one, other, ..]) => ([*from, *from], [*one, *other]),
            ([one, other, ..], [to, ..]) => ([*one, *other], [*to, *to]),
            _ => return None,
        };
        let line = |nth: usize| format!("`{} --> {}`", shown(from[nth]), shown(to[nth]));
        let message = "a transition leads from one state to one other";
        let help = format!("write each on a line of its own: {}, {}", line(0), line(1));
        Some(self.helped("mermaid_syntax", &arrow, message, help))
    }

    pub(super) fn other_arrow(&self, arrow: &Token) -> Box<Diagnostic> {
        let text = self.text(arrow);
        let help = match text {
            "<--" | "<-" => "write the transition the other way round, with `-->`",
            _ => "write `-->`",
        };
        self.helped("bad_arrow", arrow, format!("`{text}` is not an arrow of a state diagram"), help)
    }

    /// The label in `|label| target`, and what stands behind it.
    pub(super) fn between_bars(&self, first: &Token) -> Option<(&str, &str)> {
        self.line.text[first.range.start..].strip_prefix('|')?.split_once('|')
    }

    /// What is reported about `from -- label --> target`.
    pub(super) fn label_within(&self, from: &Token, dashes: &Token, mut tokens: Tokens<'_>) -> Option<Box<Diagnostic>> {
        let arrow = tokens.find(|token| token.kind == Kind::Arrow)?;
        let label = &self.line.text[dashes.range.end..arrow.range.start];
        (self.text(dashes) == "--").then(|| self.label_behind(from, dashes, label, &self.line.text[arrow.range.end..]))
    }

    /// What is reported about a label as flowcharts have it.
    pub(super) fn label_behind(&self, from: &Token, at: &Token, label: &str, target: &str) -> Box<Diagnostic> {
        let target = target.split_whitespace().next().unwrap_or("STATE");
        let help = format!("write `{} --> {} : {}`", self.text(from), shown(target), shown(label.trim()));
        self.helped("mermaid_syntax", at, "the label of a transition stands behind its target", help)
    }

    pub(super) fn slashes(&self, at: &Token) -> Box<Diagnostic> {
        self.helped("mermaid_syntax", at, "`//` does not begin a comment", "a comment begins with `%%`")
    }

    pub(super) fn quoted_id(&self, token: &Token) -> Box<Diagnostic> {
        let text = self.text(token).trim_matches('"');
        let help = format!("write `state {} as {}` and use the id", quoted(text), suggested_id(text));
        self.helped("bad_state_name", token, "a state's id is not written in quotation marks", help)
    }

    pub(super) fn odd_id(&self, token: &Token, odd: char) -> Box<Diagnostic> {
        let text = self.text(token);
        if self.is_meant_as_star(token) {
            let message = "a beginning or an end is not written like this";
            return self.helped("mermaid_syntax", token, message, "write `[*]`");
        }
        let message = format!("`{}` cannot be a state's id: it has {}", shown(text), named(odd));
        if is_invisible(odd) {
            return self.helped("bad_state_name", token, message, "remove this character, which cannot be seen");
        }
        let marks = if is_mark(odd) { ", without combining marks and joiners" } else { "" };
        let (text, id) = (quoted(text), suggested_id(text));
        let help = format!("{IDS}{marks}; write `state {text} as {id}` and use `{id}`");
        self.helped("bad_state_name", token, message, help)
    }

    /// The `;` behind which another transition stands, which Mermaid reads as one even where this line has a text. Without
    /// an arrow behind it, a `;` belongs to the text.
    pub(super) fn another_statement(&self) -> Option<Token> {
        let text = self.line.text;
        let mut tokens = Tokens::new(text);
        let end = loop {
            let read = tokens.rest();
            match tokens.next().map(|token| token.kind) {
                Some(Kind::Colon) => break text.len(),
                // What stands in a composite state is not read.
                Some(Kind::Open) => return None,
                Some(_) => {}
                // A comment may follow.
                None => break read.start,
            }
        };
        // `state "a; b --> c" as d`
        let quoted = Tokens::new(text).take(2).find(|token| token.kind == Kind::Quoted);
        let begin = quoted.map_or(0, |quoted| quoted.range.end);
        let mut semicolons = text.get(begin..end)?.match_indices(';').map(|(at, _)| begin + at);
        let at = semicolons.find(|&at| !ends_entity(&text[..at]) && text[at..end].contains("-->"))?;
        Some(Token { kind: Kind::Word, range: at..at + 1 })
    }

    pub(super) fn semicolon(&self, token: &Token) -> Box<Diagnostic> {
        let begin = token.range.start + self.text(token).find(';').unwrap_or_default();
        let behind = self.line.text[begin..].trim_start_matches([';', ' ', '\t']);
        if behind.is_empty() || is_comment(behind) {
            return self.helped("mermaid_syntax", token, "a line has no `;` at its end", "leave out the `;`");
        }
        let message = "a line has one statement, and no `;` between two";
        let is_in_text = Tokens::new(&self.line.text[..begin]).any(|token| token.kind == Kind::Colon);
        let or_entity = if is_in_text { "; in a text, write `;` as `#59;`" } else { "" };
        self.helped("mermaid_syntax", token, message, format!("write each statement on a line of its own{or_entity}"))
    }

    /// Whether `(*)`, `[ * ]`, `[start]` or the like stands there.
    fn is_meant_as_star(&self, token: &Token) -> bool {
        if token.kind == Kind::Star {
            return false;
        }
        let rest = &self.line.text[token.range.start..];
        let inside = match rest.chars().next() {
            Some('[') => rest[1..].split_once(']'),
            Some('(') => rest[1..].split_once(')'),
            _ => return self.text(token) == "*",
        };
        let word = inside.map_or("", |(inside, _)| inside).trim_matches(['(', ' ', '\t']).to_ascii_lowercase();
        ["*", "start", "end", "begin", "stop", "initial", "final"].contains(&&*word)
    }

    /// What is reported about a line that begins with a word of another kind of diagram, where a transition would stand.
    fn line_of_other_diagram(&self, first: &Token, second: &Token) -> Option<Box<Diagnostic>> {
        let text = self.line.text;
        let is_transition = Tokens::new(text).any(|token| matches!(token.kind, Kind::Arrow | Kind::OtherArrow));
        if is_transition || !text[..first.range.start].trim().is_empty() {
            return None;
        }
        let (word, two) = (self.text(first), self.text(second));
        let (message, help) = match word.to_ascii_lowercase().as_str() {
            "end" if two.eq_ignore_ascii_case("note") => (
                "this `end note` ends no note".to_owned(),
                "remove it, or begin the note above with `note right of STATE`".to_owned(),
            ),
            "title" => {
                let title = shown(text[second.range.start..].trim());
                ("a state diagram has no line with a title".to_owned(), format!("write `%% {title}`"))
            }
            "linkstyle" => (format!("`{word}` belongs to flowcharts"), "leave the line out".to_owned()),
            "link" | "links" => (
                format!("`{word}` belongs to other diagrams"),
                "leave the line out, or write `click STATE href \"URL\"`".to_owned(),
            ),
            _ => return None,
        };
        Some(self.helped("mermaid_syntax", first, message, help))
    }

    pub(super) fn blank_in_id(&self, first: &Token, second: &Token) -> Box<Diagnostic> {
        let (one, two) = (self.text(first), self.text(second));
        if let Some(foreign) = self.line_of_other_diagram(first, second) {
            return foreign;
        }
        if self.is_meant_as_star(first) {
            return self.odd_id(first, '[');
        }
        // Some editors replace `-->` by such characters.
        if two.chars().all(|c| "→⟶⇒➔➜–—-=>".contains(c)) {
            return self.other_arrow(second);
        }
        if two.starts_with(';') {
            return self.semicolon(second);
        }
        if two.starts_with("//") {
            return self.slashes(second);
        }
        if first.kind == Kind::Star {
            let message = format!("`{}` does not belong behind `[*]`", shown(two));
            return self.helped("mermaid_syntax", second, message, "write each statement on a line of its own");
        }
        if second.kind == Kind::Stereotype {
            let help = format!("write `state {one} {two}` on a line of its own, and `{one}` alone here");
            return self.helped("mermaid_syntax", second, "only a line that begins with `state` can say this", help);
        }
        // No blank stands between them in `a{b}`.
        if first.range.end == second.range.start
            && let Some(odd) = two.chars().next()
        {
            let rest = &self.line.text[second.range.start..];
            let end = second.range.start + rest.find(char::is_whitespace).unwrap_or(rest.len());
            return self.odd_id(&Token { kind: Kind::Word, range: first.range.start..end }, odd);
        }
        let message = format!("`{}` follows a state's id, which has no blanks", shown(two));
        let both = format!("{} {}", shown(one), shown(two));
        let help = match codec::similar(one, ["state"].into_iter()) {
            Some(meant) => format!("did you mean `{meant} {}`?", shown(two)),
            None => format!("write `state {} as {}` and use the id", quoted(&both), suggested_id(&both)),
        };
        self.helped("bad_state_name", second, message, help)
    }

    /// What is reported about something behind the id of `state …` that does not belong there.
    pub(super) fn word_behind(
        &self,
        id: &Token,
        word: &Token,
        label: Option<&str>,
        tokens: &Tokens<'_>,
    ) -> Box<Diagnostic> {
        let (one, two) = (self.text(id), self.text(word));
        if word.kind == Kind::OtherArrow && id.range.end == word.range.start {
            return self.odd_id(&Token { kind: Kind::Word, range: id.range.start..word.range.end }, '-');
        }
        let next = tokens.peek();
        let (label, id) = match (label, next) {
            _ if word.kind != Kind::Word => return self.blank_in_id(id, word),
            (Some(label), _) => (label, suggested_id(&format!("{one} {two}"))),
            (None, Some(next)) if two.eq_ignore_ascii_case("as") => (one, suggested_id(self.text(&next))),
            (None, _) => return self.blank_in_id(id, word),
        };
        let message = format!("`{}` follows a state's id, which has no blanks", shown(two));
        self.helped("bad_state_name", word, message, format!("write `state {} as {id}`", quoted(label)))
    }
}

/// The states in a list such as `a, b` or `a & b`; none if something else stands there.
fn ends_in(text: &str) -> Option<Vec<&str>> {
    let mut ends = Vec::new();
    for end in text.split([',', '&']).map(str::trim) {
        if end.is_empty() || end != "[*]" && !end.chars().all(is_id) {
            return None;
        }
        ends.push(end);
    }
    Some(ends)
}
