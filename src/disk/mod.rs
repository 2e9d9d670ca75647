//! The only way to files: names and bytes, no documents.
//!
//! All reads and writes go through one trait, [`Disk`]. [`Os`] is the real implementation. Tests use others, which know
//! what a power cut may still lose, fail on demand, or break a promise on purpose. `Dir` is a checked handle on top of
//! it: an open directory plus one name, without following symbolic links.

mod bounded_log;
mod dir;
mod document;
mod document_dir;
mod document_lock;
mod error;
mod fault;
mod file_system;
mod holders;
pub mod inspect;
mod lock;
mod named;
mod os;
mod rights;
mod root;
mod threads;
mod unflushed;

pub(crate) use bounded_log::append_bounded;
pub(crate) use dir::{Dir, File, NEW_FILE, USER, flush, read_exact_at, read_up_to, write_all};
pub use dir::{FilePart, Trust};
pub use document::{Absence, DocumentPlace, edit_document, update_document};
pub(crate) use document::{read_document, settle_document};
pub use document_lock::Guard;
pub use error::{DiskError, Hazard, Operation};
pub(crate) use error::{make_it_yours, owner_in_words};
pub use fault::{DocumentError, DocumentFault};
pub use file_system::{Answer, Disk, DiskDir, DiskFile, Errno, FileType, Links, Open, Rename, Stat, Wait};
pub(crate) use holders::{is_running, lock_holder};
pub(crate) use lock::{FileLock, LockOutcome};
pub(crate) use named::{append_line, read_named, read_plain};
pub use os::Os;
pub(crate) use root::{NoRoot, root_of};
pub(crate) use threads::{Processors, both};
pub(crate) use unflushed::{overwrite_unflushed, replace_unflushed, sweep_unflushed};
