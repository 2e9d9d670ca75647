//! The carrier of a bucket: an object store whose writes may have conditions.
//!
//! | object | written | what it has |
//! |---|---|---|
//! | `logs/<key>/<position>` | if there is none | the lines of a commit, behind those since the last multiple of 64 |
//! | `open/<key>` | before the first event, and after each commit | how far an open run is; it may lag behind |
//! | `over/<key>` | after the last event; then `open/<key>` goes | how far a run is that is over |
//! | `work/<digest>` | if there is none, or it is still the one that was read | which run is about something |
//!
//! The first one is the commit. Of all writers at one position the server lets one have it, and no writer replaces it. An
//! object there that is no whole commit is void: it stands for nothing, and is replaced if it is still the one that
//! was read. Nothing rests on a clock, but that a signature counts for some minutes.
//!
//! What rests on the other three kinds is cheap to find again: a reader that misses a hint is behind until the next commit,
//! and its own commit is refused then.

mod address;
mod carrier;
mod credentials;
mod log;
mod objects;
mod profile;
mod requests;
mod work;

pub use address::S3Place;
pub use carrier::S3Carrier;
