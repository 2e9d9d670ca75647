//! The only way to files: names and bytes, no documents.
//!
//! Everything that reads or writes files runs over one trait, [`Disk`]. [`Os`] is the real implementation; tests bring
//! others, which remember what a power cut may still take, fail when they shall, or break a promise on purpose.
//! `Dir` is a checked handle over it: a directory that is held open plus one name, and no symbolic link is followed.

mod dir;
mod document;
mod error;
mod fault;
mod file_system;
pub mod inspect;
mod lock;
mod named;
mod os;

pub use dir::Trust;
pub(crate) use dir::{Dir, File, NEW_FILE, flush, read_exact_at, read_up_to, write_all};
pub(crate) use document::read_document;
pub use document::{DocumentPlace, Guard, update_document};
pub use error::{DiskError, Hazard, Operation};
pub use fault::{DocumentError, DocumentFault};
pub use file_system::{Answer, Disk, DiskDir, DiskFile, Errno, FileType, Links, Open, Rename, Stat, Wait};
pub(crate) use lock::{FileLock, Taken};
pub(crate) use named::{append_line, read_named, read_plain};
pub use os::Os;
