//! The screen, in builds with the feature `watch`.
//!
//! `state` says what a key does and `view` what is shown, without a terminal; `draw` puts a page on a frame. The loop in
//! `event_loop` waits for keys, hints and signals, and draws only when something changed.

mod clipboard;
mod draw;
mod event_loop;
mod key;
mod notifier;
mod page;
mod pending;
mod state;
mod terminal;
mod view;

pub use event_loop::screen;

#[cfg(test)]
mod tests;
