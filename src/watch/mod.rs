//! The runs in a terminal: `flow watch`. No rule lives here: everything shown is what the feed of [`crate::runs`] says.
//!
//! A page is a list of lines (`pages/`), made of reports without a terminal. `--once` prints it; the screen (`screen/`)
//! shows a part of it and makes it again when the feed changes. What a key does is decided without a terminal as well. What a
//! person does about a run (`acts`) goes through the verbs of [`crate::runs`].

#[cfg_attr(not(feature = "watch"), allow(dead_code, reason = "the screen uses it"))]
mod acts;
mod feed;
#[cfg_attr(not(feature = "watch"), allow(dead_code, unused_imports, reason = "the screen uses the rest"))]
mod line;
#[cfg_attr(not(feature = "watch"), allow(dead_code, unused_imports, reason = "the screen uses the rest"))]
mod pages;
#[cfg_attr(not(feature = "watch"), path = "no_screen.rs")]
mod screen;
#[cfg_attr(not(feature = "watch"), allow(dead_code, unused_imports, reason = "the screen uses the rest"))]
mod shown;
mod watching;

pub use feed::{follow, once, snapshot};
pub use screen::screen;
pub use watching::{WatchMessage, Watching};
