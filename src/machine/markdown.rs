//! A state machine in a Markdown document (rp1): the first state diagram in the section `## STATE-MACHINE`.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::codec;
use crate::machine::diagnostic::ABSENT;
use crate::machine::foreign::how;
use crate::machine::lines::SourceLine;
use crate::machine::{Diagnostic, Name, mermaid};
use crate::model::behind_front_matter;

/// The text of the section's heading.
const HEADING: &str = "STATE-MACHINE";

/// What makes a diagram text that stands in an element of HTML.
const TAG: &str = "<…>";

/// The lines of the diagram, if there is one, and problems of the document.
pub(super) fn find(text: &str) -> (Option<Vec<SourceLine<'_>>>, Vec<Diagnostic>) {
    let outline = Outline::read(text);
    let Some(section) = outline.sections.first() else {
        return (None, vec![outline.no_section()]);
    };
    let mut warnings = Vec::new();
    if let Some(second) = outline.sections.get(1) {
        let message = format!("there is one `## {HEADING}` already; flow reads the first one");
        warnings.push(Diagnostic::warning("second_state_machine", &second.heading, message));
    }
    let mut diagrams = section.blocks.iter().filter(|block| block.is_diagram());
    let Some(block) = diagrams.next() else {
        warnings.push(section.no_diagram());
        return (None, warnings);
    };
    if let Some(second) = diagrams.next() {
        let message = "the section has a state diagram already; flow reads the first one";
        warnings.push(Diagnostic::warning("second_state_machine", &second.fence, message));
    }
    let other = block.lines.iter().find(|line| line.text.trim_start().starts_with(&block.mark()));
    if other.is_some() || !block.is_closed {
        let message = match other {
            Some(other) => {
                format!("the fence of this code block is not closed before the next one, in line {}", other.place.line)
            }
            None => {
                "the fence of this code block is never closed, so the rest of the document belongs to it".to_owned()
            }
        };
        let help = format!("close it with {} on a line of its own", block.mark());
        warnings.push(Diagnostic::error("unclosed_fence", &block.fence, message).with_help(help));
        return (None, warnings);
    }
    if block.fence.text.starts_with('~') {
        let message = "other readers of state machines look for a fence of backticks";
        let help = "write ```mermaid";
        warnings.push(Diagnostic::warning("tilde_fence", &block.fence, message).with_help(help));
    }
    (Some(block.lines.clone()), warnings)
}

/// The parts of a document that matter here.
#[derive(Default)]
struct Outline<'a> {
    sections: Vec<Section<'a>>,
    /// Headings that are similar to the right one.
    near: Vec<Near>,
    /// A state diagram outside of the section.
    stray: Option<Name>,
}

/// A section with the heading `## STATE-MACHINE`.
struct Section<'a> {
    heading: Name,
    blocks: Vec<Block<'a>>,
    /// The beginning of a diagram that is in no code block.
    bare: Option<Name>,
    /// The beginning of a diagram that is text, and what makes it that.
    hidden: Option<(Name, &'static str)>,
}

/// A heading that is similar to the right one. Many documents have such headings, so it is only taken for a mistake when
/// a diagram stands below it.
struct Near {
    heading: Name,
    level: usize,
    is_open: bool,
    has_diagram: bool,
}

/// A code block.
struct Block<'a> {
    /// The line with the opening fence.
    fence: Name,
    is_mermaid: bool,
    is_closed: bool,
    lines: Vec<SourceLine<'a>>,
}

impl<'a> Outline<'a> {
    fn read(text: &'a str) -> Self {
        let lines = SourceLine::all(text);
        let body = behind_front_matter(text);
        let mut outline = Self::default();
        let mut open = false;
        // Headings in quotations and lists do not begin sections, and quoted code is an example.
        let (mut nested, mut quoted, mut code) = (0_usize, 0_usize, false);
        let mut events = Parser::new(&text[body..]).into_offset_iter();
        while let Some((event, range)) = events.next() {
            let range = body + range.start..body + range.end;
            match event {
                Event::Start(Tag::BlockQuote(_)) => quoted += 1,
                Event::End(TagEnd::BlockQuote(_)) => quoted -= 1,
                Event::Start(Tag::List(_)) => nested += 1,
                Event::End(TagEnd::List(_)) => nested -= 1,
                Event::Start(Tag::Heading { level, .. }) if nested == 0 && quoted == 0 => {
                    let title = heading_text(&mut events);
                    let heading = name(&lines, &range);
                    // Before the heading itself is noted: it ends the sections of its own level, too.
                    outline.close_near(level as usize);
                    if level == HeadingLevel::H2 && title == HEADING {
                        outline.sections.push(Section { heading, blocks: Vec::new(), bare: None, hidden: None });
                        open = true;
                        continue;
                    }
                    // A heading of a lower level stays in the section.
                    open = open && level > HeadingLevel::H2;
                    if is_similar(&title) {
                        outline.near.push(Near::new(heading, level as usize));
                    }
                }
                Event::Start(Tag::CodeBlock(_)) if quoted > 0 => {
                    code = true;
                    outline.hides(open, &text[range.clone()], &lines, &range, ">");
                }
                Event::Start(Tag::HtmlBlock) => {
                    let html = &text[range.clone()];
                    let mark = if html.trim_start().starts_with("<!--") { "<!--" } else { TAG };
                    outline.hides(open, html, &lines, &range, mark);
                }
                Event::End(TagEnd::CodeBlock) => code = false,
                // Hashes without a blank after them do not make a heading.
                Event::Text(text)
                    if !code && quoted == 0 && text.starts_with('#') && is_similar(text.trim_start_matches('#')) =>
                {
                    let level = text.len() - text.trim_start_matches('#').len();
                    outline.near.push(Near::new(name(&lines, &range), level));
                }
                // Without a fence, or between lines of colons as in Azure DevOps.
                Event::Text(text) if !code && quoted == 0 && mermaid::is_header(text.trim()) => {
                    outline.below_near();
                    if open && let Some(section) = outline.sections.last_mut() {
                        section.bare.get_or_insert_with(|| name(&lines, &range));
                    }
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    code = true;
                    let block = Block::read(&lines, &range, &kind);
                    if looks_like_diagram(&block.lines) {
                        outline.below_near();
                    }
                    if open && let Some(section) = outline.sections.last_mut() {
                        section.blocks.push(block);
                    } else if block.is_diagram() {
                        outline.stray.get_or_insert(block.fence);
                    }
                }
                _ => {}
            }
        }
        outline
    }

    /// Notes a diagram in the open section that is only text, since it stands behind `mark`.
    fn hides(&mut self, open: bool, hidden: &str, lines: &[SourceLine<'_>], range: &Range<usize>, mark: &'static str) {
        if open
            && hidden.contains("stateDiagram")
            && let Some(section) = self.sections.last_mut()
        {
            section.hidden.get_or_insert_with(|| (name(lines, range), mark));
        }
    }

    /// Notes that a heading of this level begins: the sections of lower ones end.
    fn close_near(&mut self, level: usize) {
        for near in &mut self.near {
            near.is_open = near.is_open && near.level < level;
        }
    }

    /// Notes that a diagram stands here.
    fn below_near(&mut self) {
        for near in &mut self.near {
            near.has_diagram |= near.is_open;
        }
    }

    fn no_section(self) -> Diagnostic {
        // A heading that was meant explains more than a diagram that stands alone.
        if let Some(near) = self.near.iter().find(|near| near.has_diagram) {
            let message = format!("`{}` is not the heading of a state machine", near.heading.text);
            let mut help = format!("write `## {HEADING}`, with two hashes and in capitals");
            if let Some(odd) = look_alike(&near.heading.text) {
                help += &format!("; it has U+{:04X} here, which only looks like what belongs there", u32::from(odd));
            }
            return Diagnostic::error("misplaced_state_machine", &near.heading, message).with_help(help);
        }
        let message = format!("the document has no section `## {HEADING}`");
        match self.stray {
            Some(stray) => Diagnostic::error(ABSENT, &stray, message)
                .with_help(format!("this diagram is read when it stands below a heading `## {HEADING}`")),
            None => Diagnostic::error(ABSENT, &Name::nowhere(""), message)
                .with_help(format!("write that heading, and below it a block of Mermaid; {}", how(""))),
        }
    }
}

impl Near {
    fn new(heading: Name, level: usize) -> Self {
        Self { heading, level, is_open: true, has_diagram: false }
    }
}

impl Section<'_> {
    fn no_diagram(&self) -> Diagnostic {
        let code = "misplaced_state_machine";
        let message = "the section has no code block with a `stateDiagram-v2`";
        if let Some(block) = self.blocks.iter().find(|block| !block.is_mermaid && looks_like_diagram(&block.lines)) {
            return Diagnostic::error(code, &block.fence, message).with_help("open this code block with ```mermaid");
        }
        if let Some(block) = self.blocks.iter().find(|block| block.is_mermaid) {
            return Diagnostic::error(code, &block.fence, message)
                .with_help("this diagram is of another kind; it would have to begin with `stateDiagram-v2`");
        }
        if let (None, Some((at, mark))) = (&self.bare, &self.hidden) {
            let message = format!("the diagram of the section stands behind `{mark}`, so it is text");
            let help = match *mark {
                TAG => "leave a blank line between the tag and the code block".to_owned(),
                mark => format!("take `{mark}` away"),
            };
            return Diagnostic::error(code, at, message).with_help(help);
        }
        Diagnostic::error(code, self.bare.as_ref().unwrap_or(&self.heading), message)
            .with_help("put the diagram below the heading, between ```mermaid and ```")
    }
}

impl<'a> Block<'a> {
    fn read(lines: &[SourceLine<'a>], range: &Range<usize>, kind: &CodeBlockKind<'_>) -> Self {
        let first = lines.partition_point(|line| line.offset + line.text.len() < range.start);
        let end = lines.partition_point(|line| line.offset < range.end);
        let own = &lines[first.min(end)..end];
        let CodeBlockKind::Fenced(info) = kind else {
            return Self { fence: name(lines, range), is_mermaid: false, is_closed: true, lines: own.to_vec() };
        };
        let language = info.split(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
        let mut block = Self {
            fence: name(lines, range),
            is_mermaid: language.eq_ignore_ascii_case("mermaid"),
            is_closed: false,
            lines: own.get(1..).unwrap_or_default().to_vec(),
        };
        let mark = block.mark();
        // The parser ends a block at the end of the text, too.
        if let Some(last) = block.lines.last() {
            let last = last.text.trim();
            let rest = last.trim_start_matches(&mark[..1]);
            if rest.is_empty() && last.len() >= mark.len() {
                block.is_closed = true;
                block.lines.pop();
            }
        }
        block
    }

    fn is_diagram(&self) -> bool {
        self.is_mermaid && mermaid::is_state_diagram(&self.lines)
    }

    /// The backticks or tildes of the opening fence.
    fn mark(&self) -> String {
        let mark = self.fence.text.trim_start_matches(|c| c != '`' && c != '~');
        let len = mark.find(|c| !mark.starts_with(c)).unwrap_or(mark.len());
        mark[..len].to_owned()
    }
}

/// Whether this is a diagram, maybe after a line that was meant to be a fence.
fn looks_like_diagram(lines: &[SourceLine<'_>]) -> bool {
    mermaid::is_state_diagram(lines) || lines.get(1..).is_some_and(mermaid::is_state_diagram)
}

/// The first line of `range`, without blanks at its ends.
fn name(lines: &[SourceLine<'_>], range: &Range<usize>) -> Name {
    let at = lines.partition_point(|line| line.offset + line.text.len() < range.start);
    match lines.get(at) {
        Some(line) => line.whole(),
        None => Name::nowhere(""),
    }
}

/// The text of a heading whose start event was just read.
pub(crate) fn heading_text<'a>(events: &mut impl Iterator<Item = (Event<'a>, Range<usize>)>) -> String {
    let mut title = String::new();
    for (event, _) in events {
        match event {
            Event::End(TagEnd::Heading(_)) => break,
            Event::Text(text) | Event::Code(text) => title.push_str(&text),
            Event::SoftBreak | Event::HardBreak => title.push(' '),
            _ => {}
        }
    }
    title
}

/// Whether the heading may have been meant as the right one. A number before it and attributes in braces are ignored.
fn is_similar(title: &str) -> bool {
    let title = title.split('{').next().unwrap_or_default().trim_start_matches(|c: char| !c.is_alphabetic());
    let letters = title.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    // Longer ones differ by more than a typing error, and a heading may be as long as the document.
    codec::is_typing_error(&letters.take(16).collect::<String>(), "statemachine")
}

/// The dashes that look like a hyphen.
const DASHES: &str = "\u{ad}\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}\u{fe58}\u{fe63}\u{ff0d}";

/// A character of a heading that cannot be told from a hyphen, a blank or nothing by looking at it.
fn look_alike(heading: &str) -> Option<char> {
    heading.chars().find(|c| DASHES.contains(*c) || !c.is_ascii() && (c.is_whitespace() || is_hidden(*c)))
}

/// Whether a character takes no room.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{CompiledText, Form, StateTypes, compile_text, render};

    const DIAGRAM: &str = "stateDiagram-v2\n[*] --> scan\nscan --> [*]\n";

    fn check(text: &str) -> CompiledText {
        compile_text(Form::Markdown, text, "w", &StateTypes::default())
    }

    /// The codes and lines of what is reported about a document, behind `true` when it gives the machine of the diagram.
    fn found(text: &str) -> (bool, Vec<(&'static str, usize)>) {
        let checked = check(text);
        if let Some(machine) = &checked.machine {
            assert_eq!(machine.states()[0].name.as_str(), "scan", "{text}");
        }
        (checked.machine.is_some(), checked.diagnostics.iter().map(|one| (one.code, one.place.line)).collect())
    }

    #[test]
    fn the_diagram_of_the_section_is_found() {
        let block = format!("```mermaid\n{DIAGRAM}```\n");
        let other = "```mermaid\ngraph TD\n%% not a stateDiagram-v2\nA-->B\n```\n";
        let example =
            format!("````markdown\n## STATE-MACHINE\n```mermaid\n{}```\n````\n", DIAGRAM.replace("scan", "x"));
        for text in [
            format!("---\nname: x\n---\n# T\n\n## STATE-MACHINE\n\n{block}\n## Next\ntext\n"),
            format!("## STATE-MACHINE\n{}", block.trim_end()),
            format!("\u{feff}## STATE-MACHINE\n{block}"),
            format!("## STATE-MACHINE ##\r\n\r\n{}", block.replace('\n', "\r\n")),
            format!("## STATE-MACHINE\n### Diagram\n{block}"),
            format!("## STATE-MACHINE\n{other}{block}"),
            format!("## STATE-MACHINE\n{example}{block}"),
            format!("{example}\n## STATE-MACHINE\n{block}"),
            format!("> ## STATE-MACHINE\n\n<!--\n## STATE-MACHINE\n-->\n\n## STATE-MACHINE\n{block}"),
            format!("## STATE-MACHINE\n```bash\n## comment\n```\n{block}"),
            format!("## STATE-MACHINE\n````mermaid\n{DIAGRAM}````\n"),
            format!("## STATE-MACHINE\n```Mermaid {{theme=dark}}\n{DIAGRAM}```\n"),
            format!("## STATE-MACHINE\n``` mermaid\n{DIAGRAM}```\n"),
            format!("## STATE-MACHINE\n  ```mermaid\n  {}  ```\n", DIAGRAM.replace('\n', "\n  ")),
            format!("## STATE-MACHINE\n1. Look:\n   ```mermaid\n   {}   ```\n", DIAGRAM.replace('\n', "\n   ")),
        ] {
            assert_eq!(found(&text), (true, vec![]), "{text}");
        }
    }

    #[test]
    fn near_misses_are_told_with_their_place() {
        let block = format!("```mermaid\n{DIAGRAM}```\n");
        for (text, code, line) in [
            (format!("# T\n\n### STATE-MACHINE\n{block}"), "misplaced_state_machine", 3),
            (format!("## State Machine\n{block}"), "misplaced_state_machine", 1),
            (format!("T\n=\n\nSTATE-MACHINE\n===\n{block}"), "misplaced_state_machine", 4),
            (format!("# T\n\n##STATE-MACHINE\n{block}"), "misplaced_state_machine", 3),
            (format!("## STATE-MACHNE\n{block}"), "misplaced_state_machine", 1),
            (format!("## STATE-MACHINE {{#sm}}\n{block}"), "misplaced_state_machine", 1),
            (format!("## 3. STATE-MACHINE\n{block}"), "misplaced_state_machine", 1),
            (format!("## 10.2 State machines:\n\ntext\n\n#### A\n{block}"), "misplaced_state_machine", 1),
            (format!("## 🔁 STATE-MACHINE\n{block}"), "misplaced_state_machine", 1),
            (format!("## State machine\n```\n{DIAGRAM}```\n"), "misplaced_state_machine", 1),
            (format!("## State machine\n::: mermaid\n{DIAGRAM}:::\n"), "misplaced_state_machine", 1),
            (format!("## STATE-MACHINE\n::: mermaid\n{DIAGRAM}:::\n"), "misplaced_state_machine", 3),
            (format!("## State machine\n\n## State machine\n{block}"), "misplaced_state_machine", 3),
            ("# T\n\n```\n##STATE-MACHINE\n```\n\n## Estate matching\n".to_owned(), ABSENT, 1),
            ("## STATE-MACHINE\n\ntext\n\n## Next\n".to_owned(), "misplaced_state_machine", 1),
            (format!("## STATE-MACHINE\n## Next\n{block}"), "misplaced_state_machine", 1),
            (format!("## STATE-MACHINE\n```\n{DIAGRAM}```\n"), "misplaced_state_machine", 2),
            (
                format!("## STATE-MACHINE\n\n    ```mermaid\n    {}", DIAGRAM.replace('\n', "\n    ")),
                "misplaced_state_machine",
                3,
            ),
            ("## STATE-MACHINE\n```mermaid\ngraph TD\nA --> B\n```\n".to_owned(), "misplaced_state_machine", 2),
            (format!("## STATE-MACHINE\n```mermaid\n{DIAGRAM}"), "unclosed_fence", 2),
            (format!("## STATE-MACHINE\n```mermaid\n{DIAGRAM}\nLook:\n\n```bash\nls\n```\n"), "unclosed_fence", 2),
            (format!("## STATE-MACHINE\n````mermaid\n{DIAGRAM}```\n"), "unclosed_fence", 2),
            (format!("# T\n{block}"), ABSENT, 2),
            ("# T\n\n## Other\n".to_owned(), ABSENT, 1),
            (String::new(), ABSENT, 1),
        ] {
            assert_eq!(found(&text), (false, vec![(code, line)]), "{text}");
            assert_eq!(check(&text).is_absent(), code == ABSENT);
        }
        let text = format!("# T\n\n### STATE-MACHINE\n{block}");
        insta::assert_snapshot!(render("SKILL.md", &text, &check(&text).diagnostics[0], false), @r"
        error[misplaced_state_machine]: `### STATE-MACHINE` is not the heading of a state machine
         --> SKILL.md:3:1
          |
        3 | ### STATE-MACHINE
          | ^^^^^^^^^^^^^^^^^
          |
          = help: write `## STATE-MACHINE`, with two hashes and in capitals
        ");
    }

    #[test]
    fn a_character_that_only_looks_like_the_right_one_is_named() {
        for (heading, odd) in [
            ("## STATE\u{2011}MACHINE", "U+2011"),
            ("## STATE\u{2010}MACHINE", "U+2010"),
            ("## STATE\u{2012}MACHINE", "U+2012"),
            ("## STATE\u{ad}MACHINE", "U+00AD"),
            ("## STATE-\u{200b}MACHINE", "U+200B"),
            ("##\u{a0}STATE-MACHINE", "U+00A0"),
            ("## STATE\u{a0}MACHINE", "U+00A0"),
        ] {
            let text = format!("# T\n\n{heading}\n\n```mermaid\n{DIAGRAM}```\n");
            let checked = check(&text);
            let one = &checked.diagnostics[0];
            assert_eq!(
                (one.code, one.place.line, checked.diagnostics.len()),
                ("misplaced_state_machine", 3, 1),
                "{text}"
            );
            let help = one.help.as_deref().unwrap();
            assert!(help.contains(&format!("it has {odd} here")), "{heading:?}: {help}");
        }
    }

    #[test]
    fn a_diagram_that_is_only_text_is_told_with_what_makes_it_that() {
        let block = format!("```mermaid\n{DIAGRAM}```\n");
        for (text, mark) in [
            (format!("## STATE-MACHINE\n\n> {}", block.replace('\n', "\n> ")), ">"),
            (format!("## STATE-MACHINE\n\n<!--\n{block}-->\n"), "<!--"),
        ] {
            let checked = check(&text);
            let message = format!("the diagram of the section stands behind `{mark}`, so it is text");
            assert_eq!(checked.diagnostics[0].message, message, "{text}");
            assert_eq!((checked.diagnostics[0].place.line, checked.diagnostics.len()), (3, 1), "{text}");
        }
    }

    #[test]
    fn a_heading_that_is_like_the_right_one_is_nothing_without_a_diagram_below_it() {
        let block = format!("```mermaid\n{DIAGRAM}```\n");
        let drawing = "```\n[idle] --> [busy]\n```\n";
        for (text, line) in [
            ("# D\n\n## State Tracking\n\nNote progress.\n".to_owned(), 1),
            ("# D\n\n### State Linkage\n".to_owned(), 1),
            (format!("# D\n\n## State Machine\n{drawing}"), 1),
            ("## State Machine\n```mermaid\ngraph TD\nA --> B\n```\n".to_owned(), 1),
            ("##STATE-MACHINE\n\ntext\n".to_owned(), 1),
            ("### STATE-MACHINE\n\nIt is written as `stateDiagram-v2`.\n".to_owned(), 1),
            (format!("## State machine\n\ntext\n\n## Drawing\n{block}"), 6),
            (format!("### State machine\n\n# Drawing\n{block}"), 4),
            (format!("## State machine\n\n> {}", block.replace('\n', "\n> ")), 1),
            // This heading is about something else, whatever stands below it.
            (format!("## State Tracking\n{block}"), 2),
        ] {
            assert_eq!(found(&text), (false, vec![(ABSENT, line)]), "{text}");
            assert!(check(&text).is_absent(), "{text}");
        }
    }

    #[test]
    fn what_is_left_out_is_told() {
        let block = format!("```mermaid\n{DIAGRAM}```\n");
        let second = block.replace("scan", "late");
        for (text, code, line) in [
            (format!("## STATE-MACHINE\n~~~mermaid\n{DIAGRAM}~~~\n"), "tilde_fence", 2),
            (format!("## STATE-MACHINE\n{block}{second}"), "second_state_machine", 7),
            (format!("## STATE-MACHINE\n{block}## STATE-MACHINE\n{second}"), "second_state_machine", 7),
        ] {
            assert_eq!(found(&text), (true, vec![(code, line)]), "{text}");
        }
    }

    #[test]
    fn problems_of_the_diagram_have_their_place_in_the_document() {
        let text = "---\nname: x\n---\n\n## STATE-MACHINE\n\n- Diagram:\n\n  ```mermaid\n  stateDiagram-v2\n  [*] --> é-b\n  ```\n";
        let checked = check(text);
        let one = &checked.diagnostics[0];
        assert_eq!((one.place.line, one.place.column, &text[one.span.clone()]), (11, 11, "é-b"));
    }

    proptest::proptest! {
        #[test]
        fn any_document_ends_in_a_machine_or_an_error(
            text in "(## STATE-MACHINE\n|```mermaid\n|stateDiagram-v2\n|\\[\\*\\] --> a\n|```\n|~~~\n|> |- |  |---\n|<!--\n|\\\\|\\[|é\n){0,14}"
        ) {
            let checked = check(&text);
            proptest::prop_assert_eq!(checked.machine.is_some(), !checked.diagnostics.iter().any(Diagnostic::is_error));
            for one in &checked.diagnostics {
                proptest::prop_assert!(text.get(one.span.clone()).is_some(), "{:?}", one);
            }
        }
    }
}
