//! Evidence in Markdown as part of a page. Other people wrote it, so nothing in it becomes markup but what Markdown
//! itself means: HTML is shown as text, pictures are named, and only addresses on the web are links.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Alignment, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::picture::words::clean_lines;

/// A document with tables, task lists and struck text.
pub(super) fn rendered(text: &str) -> Markup {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut links = Vec::new();
    let events = Parser::new_ext(text, options).filter_map(|event| harmless(event, &mut links));
    let mut markup = String::new();
    html::push_html(&mut markup, events);
    PreEscaped(markup)
}

/// The event without what could be more than text. `links` has for each open link whether it is one.
fn harmless<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    Some(match event {
        Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => Event::Text(cleaned(&text).into()),
        Event::Code(code) => Event::Code(cleaned(&code).into()),
        // HTML begins no block of its own, so it stands in a paragraph.
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
            let is_link = dest_url.starts_with("https://") || dest_url.starts_with("http://");
            // Its end has no address, so it is decided here whether that is left out, too.
            links.push(is_link);
            return is_link.then(|| Event::Start(Tag::Link { link_type, dest_url, title: "".into(), id }));
        }
        Event::End(TagEnd::Link) => return links.pop().filter(|&is_link| is_link).map(|_| event),
        Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
        Event::Start(Tag::Image { .. }) => Event::Text("[picture: ".into()),
        Event::End(TagEnd::Image) => Event::Text("]".into()),
        // A column that is aligned would need `style=`.
        Event::Start(Tag::Table(columns)) => Event::Start(Tag::Table(vec![Alignment::None; columns.len()])),
        // The page has a heading of its own above it.
        Event::Start(Tag::Heading { level, .. }) => {
            Event::Start(Tag::Heading { level: below(level), id: None, classes: Vec::new(), attrs: Vec::new() })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        other => other,
    })
}

fn below(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + 1).unwrap_or(HeadingLevel::H6)
}

fn cleaned(text: &str) -> String {
    let end = if text.ends_with('\n') { "\n" } else { "" };
    clean_lines(text) + end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        rendered(text).into_string()
    }

    #[test]
    fn markdown_becomes_headings_lists_tables_and_code() {
        let text = "# Times\n\n- [x] *faster*\n\n| a | b |\n|--:|---|\n| 1 | `2` |\n\n```sh\nflow list\n```\n";
        insta::assert_snapshot!(shown(text), @r#"
        <h2>Times</h2>
        <ul>
        <li>☑ <em>faster</em></li>
        </ul>
        <table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
        <tr><td>1</td><td><code>2</code></td></tr>
        </tbody></table>
        <pre><code class="language-sh">flow list
        </code></pre>
        "#);
    }

    #[test]
    fn nothing_that_others_wrote_becomes_markup_a_picture_or_a_strange_link() {
        let text = "<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> b\n\n[x](javascript:alert(1)) \
                    [y](data:text/html,z \"t\") [w](/demo/runs/r1) <https://example.com/?a=\"b\"&c> ![p](https://a.example/p.png)\n\n\
                    <div style=\"a\">\n\n# b {#id .class onclick=x}\n";
        insta::assert_snapshot!(shown(text), @r#"
        <p>&lt;script&gt;alert(1)&lt;/script&gt;
        </p>
        <p>a &lt;img src=x onerror=alert(1)&gt; b</p>
        <p>x y w <a href="https://example.com/?a=%22b%22&amp;c">https://example.com/?a="b"&amp;c</a> [picture: p]</p>
        <p>&lt;div style="a"&gt;
        </p>
        <h2>b {#id .class onclick=x}</h2>
        "#);
    }

    #[test]
    fn marks_that_turn_text_around_are_replaced_in_code_and_outside() {
        let turned = shown("a\u{202e}b `c\u{202e}d`\n\n    e\u{202e}f\n");
        assert!(!turned.contains('\u{202e}'), "{turned}");
        assert_eq!(turned.matches('\u{fffd}').count(), 3, "{turned}");
    }

    proptest::proptest! {
        /// Every tag of the answer is one that Markdown knows, whatever the text is.
        #[test]
        fn only_known_tags_come_out(text in r#"([ \n#*_`<>\[\]()!|:a-z"'&;=/~-]|<script|</div>|<img |javascript:|https://x\.example/){0,60}"#) {
            let known = ["p", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del", "code", "pre", "ul", "ol", "li",
                "blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "a"];
            for tag in shown(&text).split('<').skip(1) {
                let name: String = tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
                proptest::prop_assert!(known.contains(&name.as_str()), "{} in {}", name, tag);
                let attributes = tag.split('>').next().unwrap().split_whitespace().skip(1);
                for attribute in attributes.filter(|word| word.contains('=')) {
                    let name = attribute.split('=').next().unwrap();
                    proptest::prop_assert!(["href", "start", "class"].contains(&name), "{}", tag);
                }
            }
        }
    }
}
