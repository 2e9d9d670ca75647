//! Random documents, questions and answers, made of what Markdown and scratch pads are made of.

use proptest::prelude::*;

use crate::properties::interview::{BETWEEN, holds};
use crate::support::scaled;

/// What may mean something to somebody.
const PIECES: [&str; 62] = [
    "word",
    "Ärger",
    "任务",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " ",
    "   ",
    "    ",
    "\t",
    "#",
    "## ",
    "### ",
    "### Q3: x\n",
    "## Scratch Pad\n",
    "**Asked**:",
    "**Answer**: ",
    "**Skipped:**",
    "**",
    "*",
    "_",
    "`",
    "```\n",
    "~~~\n",
    "````",
    "<!--",
    "-->",
    "<!-- End scratch pad -->",
    "<!-- Mode: CREATE -->\n",
    "<div>\n",
    "</div>",
    "<script>",
    "<?",
    "<![CDATA[",
    "---\n",
    "===\n",
    "- ",
    "1. ",
    "> ",
    ">",
    "\\",
    "\\#",
    "\\\\",
    "&#7;",
    "&#38;",
    "&amp;",
    "&",
    "\u{7}",
    "\u{1b}[31m",
    "\0",
    "\u{202e}",
    "\u{2028}",
    "\u{85}",
    "\u{feff}",
    "[x]: ",
    "![a](b)",
    "|a|b|\n|-|-|\n",
    "a\n",
    "<<<<<<< HEAD\n",
    "_TBD_",
];

fn text(pieces: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let piece = prop_oneof![9 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    proptest::collection::vec(piece, pieces).prop_map(|pieces| pieces.concat().replace(BETWEEN, ""))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: scaled(2_500, 10_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_comes_back_and_every_document_stays(
        // A line of hyphens at the beginning opens metadata, which one in an answer would close: such an answer is refused.
        document in text(0..20).prop_filter("open metadata", |text| !text.starts_with("---")),
        said in proptest::collection::vec(text(1..14), 1..10),
    ) {
        holds([vec![document], said].concat().join(BETWEEN).as_bytes());
    }
}
