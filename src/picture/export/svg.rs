//! The timeline as a file of its own.

use crate::engine::Timeline;
use crate::picture::page::STYLE;
use crate::picture::timeline::timeline_alone;

/// What does not depend on colours.
const SHAPES: &str = "text { font: 12px system-ui, sans-serif } text.within { font-size: 11px } .rule, .stay { fill: none } \
    .folds { stroke-width: 1.2 } .hatch { stroke-width: 3 } .waits { stroke-width: 2 } \
    .mark { stroke-width: 3; paint-order: stroke } ";
/// The colours, by the names that the style sheet of pages gives them.
const COLOURS: &str = ".paper, .waits { fill: --paper } text { fill: --ink } .mark, .unit { fill: --faint } .mark { stroke: --paper } \
    .rule { stroke: --rule } .stay { stroke: --faint } .folds { stroke: --faint } .hatch, .doubt { stroke: --doubt } .done { fill: --done } \
    .failed { fill: --bad } .running { fill: --work } .skipped, .left { fill: --faint } .waits { stroke: --need }";

/// The picture, with the colours of pages for light and for dark surroundings.
pub(super) fn write(timeline: &Timeline) -> String {
    let [light, dark] = colours();
    let style = format!("{SHAPES}{light} @media (prefers-color-scheme: dark) {{ {dark} }}");
    format!("{}\n", in_xml(&timeline_alone(timeline, &style).into_string()))
}

/// The rules with light and with dark colours. Programs that draw pictures know neither variables nor `light-dark()`.
fn colours() -> [String; 2] {
    let (mut in_light, mut in_dark) = (COLOURS.to_owned(), COLOURS.to_owned());
    for line in STYLE.lines() {
        if let Some(rule) = line.trim().strip_suffix(");")
            && let Some((name, values)) = rule.split_once(": light-dark(")
            && let Some((light, dark)) = values.split_once(", ")
        {
            in_light = in_light.replace(name, light);
            in_dark = in_dark.replace(name, dark);
        }
    }
    [in_light, in_dark]
}

/// The text without characters that XML does not allow.
fn in_xml(text: &str) -> String {
    text.replace(
        |c: char| matches!(c, '\u{fffe}' | '\u{ffff}') || c.is_control() && !matches!(c, '\t' | '\n' | '\r'),
        "\u{fffd}",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_is_one_of_the_pages() {
        let [light, dark] = colours();
        assert!(light.contains(".failed { fill: #ad2318 }") && dark.contains(".failed { fill: #ff9f96 }"));
        assert!(!light.contains("--") && !dark.contains("--"));
    }

    #[test]
    fn what_xml_forbids_is_replaced() {
        assert_eq!(in_xml("a\u{ffff}\u{1}\u{85}b\tc\n"), "a\u{fffd}\u{fffd}\u{fffd}b\tc\n");
    }
}
