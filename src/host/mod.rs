//! Access to the machine: clock, randomness, environment, processes, git.
//!
//! Only this module asks the system for any of these. All other code gets the values as arguments, so that it can be
//! tested without a machine and decides the same way on a retry. The values are information for people and evidence for
//! decisions. A fact that is not available is absent or `Unknown`, never an error and never a guess.
//!
//! Two variables make a command repeatable in tests: `__FLOW_NOW` (see [`Clock`]) and `__FLOW_SEED` (see [`Ids`]).

mod agents;
mod call;
mod child;
mod clock;
#[cfg(feature = "network")]
mod cloud;
mod dialog;
mod env;
mod exec;
mod git;
mod group;
#[cfg(feature = "network")]
mod http;
mod ids;
mod known;
mod output;
mod pass_on;
mod path;
mod process;
mod script;
mod setting;
mod signal;
mod stream;
mod tree;
#[cfg_attr(not(any(feature = "serve", feature = "watch")), path = "no_watch.rs")]
mod watch;
mod workers;

pub use agents::{Agent, HostSigns};
pub(crate) use call::call;
#[cfg(feature = "serve")]
pub(crate) use call::open_in_browser;
#[doc(hidden)]
pub use child::Job;
pub(crate) use child::{CommandEnd, CommandResult};
pub use clock::{BadNow, Clock};
#[cfg(feature = "network")]
pub use cloud::CloudEnv;
pub(crate) use dialog::ProgramQuestion;
pub use env::Env;
pub(crate) use env::secrets;
pub use exec::{CutShort, Execute, ExecuteEnd, ExecuteOutput, ExecutedCommand};
pub use git::{
    AskedForChanges, AskedForFiles, BareRepository, CommitCopy, EditedFiles, Git, Head, IndexedFile, IndexedFiles,
    MessageOf, NamedObject, PushOutcome, RefChange, TreeChanges, TreeFiles, UnlistedRules, WorkingTree, is_commit_id,
};
pub(crate) use git::{GitFacts, GitRef, is_own_path};
#[cfg(feature = "network")]
pub use http::{HttpAnswer, HttpClient, HttpFault, HttpRequest};
pub use ids::Ids;
#[cfg(feature = "serve")]
pub(crate) use ids::{SECRET, secret};
pub use known::{AgentHost, Handler, Hooks, HostEvent, HostHome, Rules, Shape, Trust, Wire};
pub(crate) use output::{columns, completed_word, reader_left, wants_ascii};
pub use pass_on::PassOn;
pub(crate) use path::without_dots;
pub use process::{BadHolder, Holder, Liveness};
pub(crate) use process::{boot_id, processes_with};
pub(crate) use script::{Script, empty_directory, is_found, own_program, parent_process};
pub use setting::{BadSetting, Setting};
pub(crate) use signal::{SignalWatch, end_by, signal_that_came};
#[cfg(feature = "watch")]
pub(crate) use signal::{note_stops, stop};
pub(crate) use stream::open_stream;
#[doc(hidden)]
pub use tree::{InputFiles, InputGlobs, KnownTree, Tree, read_tree};
pub(crate) use tree::{TREE_CACHE_BEGINS, checkout_place};
pub(crate) use watch::Watcher;
