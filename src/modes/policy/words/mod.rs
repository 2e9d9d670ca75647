//! The words of a prompt: which `$word` is a request, and which only stands in a sentence, in code or in a paste.

mod behind;
mod lists;
mod pasted;
mod quoted;
mod scan;
mod sentence;

pub(super) use pasted::PromptLines;
pub(super) use scan::{Scan, SkillToken};
pub(super) use sentence::Sense;
