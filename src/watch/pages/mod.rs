//! Pages as lines: reports in, text out. No page knows whether it is printed or shown on a screen.

mod diagram;
mod list;
mod log;
mod run;

pub(super) use diagram::diagram;
pub(super) use list::{list, list_title};
pub(super) use log::log;
pub(super) use run::run;

#[cfg(test)]
pub(super) use list::tests::cards;
