//! Pages as lines: reports in, text out. No page knows whether it is printed or shown on a screen.

mod diagram;
mod list;
mod log;
mod questions;
mod run;
mod sessions;

pub(super) use diagram::diagram;
pub(super) use list::{list, list_title};
pub(super) use log::log;
pub(super) use questions::questions;
pub(super) use run::run;
pub(super) use sessions::sessions;

#[cfg(test)]
pub(super) use list::tests::cards;
