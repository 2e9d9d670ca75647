//! Parts of Markdown documents that several rooms look for.

pub(in crate::model) mod fence;
pub(in crate::model) mod front_matter;
