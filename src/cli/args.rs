//! The tree of arguments. Doc comments are the help texts.

/// An argument with the values of a type of the library.
macro_rules! value_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident),* $(,)? } -> $into:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, ValueEnum)]
        pub(crate) enum $name { $(#[doc(hidden)] $variant),* }

        impl From<$name> for $into {
            fn from(arg: $name) -> Self {
                match arg { $($name::$variant => Self::$variant),* }
            }
        }
    };
}

mod change;
mod emit;
mod exec;
mod hosts;
mod interview;
mod look;
mod mode;
mod prune;
mod remote;
mod shared;
mod usage;
mod values;
mod workflow;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cli::{complete, topics};
use crate::model::{ActivityId, EventId, Issue, RunId, SessionId, StateName};
use crate::runs::{Advance, ListStatus};

pub(super) use change::{ApproveArgs, CompleteArgs, ReasonArgs, ReopenArgs, SetArgs, StatusArgs};
pub(super) use emit::EmitArgs;
pub(super) use exec::{ExecArgs, ReplayArgs, TrustArgs};
use hosts::HOOK_TIMES;
pub(super) use hosts::{HookArgs, HooksCommand, HudArgs, McpArgs, SessionEndArgs, SetupArgs, ToolsArg};
pub(super) use interview::{AnswerSource, BeginArgs, InterviewCommand};
use look::SortArg;
pub(super) use look::{
    EvidenceArgs, ExportArgs, LogArgs, ReportArgs, ReportFormatArg, ServeArgs, ShowArgs, VerifyArgs, WaitArgs,
    WatchArgs,
};
pub(super) use mode::{ModeCommand, ReviewArg, ScopeArgs};
pub(super) use prune::PruneArgs;
pub(super) use remote::RemoteCommand;
pub(super) use shared::{CallerArgs, RunArg};
use usage::UsageArgs;
use values::{ONLY_NEXT, advance, command_of_type, pull_request, seconds, text, time, time_limit, whole};
pub(super) use workflow::WorkflowCommand;

/// A logbook for long agent work
///
/// Your agent records each step; any later session asks `flow resume` what is safe to do next. A run is a directory in
/// .flow/runs: run.yaml for people, numbered activity files, and a log that neither a kill nor a power cut can break.
#[derive(Debug, Parser)]
#[command(name = "flow", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = format!("{EXIT_CODES}\n\n{}", topics::LIST.trim_end()))]
pub struct Cli {
    #[command(flatten)]
    pub(super) everywhere: Everywhere,
    #[command(subcommand)]
    pub(super) command: Command,
}

// Options that every command takes.
#[derive(Debug, Args)]
pub(super) struct Everywhere {
    /// The project's directory [default: found from the working directory upwards]
    #[arg(short = 'C', long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub(super) project: Option<PathBuf>,
    /// Answer with one JSON object
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
    /// How long to wait for other writers [default: 30; 90 for a run in a git remote]
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds, help_heading = EVERYWHERE)]
    pub(super) lock_timeout: Option<Duration>,
}

/// Heading of the options that every command takes.
const EVERYWHERE: &str = "Options of every command";

const EXIT_CODES: &str = "\
Exit status:
  0 done   1 refused by a rule   2 usage   3 nothing there   4 a person is needed   5 held, retry
  65 damaged data   74 input or output failed, retry with the same --id   77 unsafe path refused

Environment:
  FLOW_DIR, FLOW_RUN, FLOW_SESSION, FLOW_EPOCH, FLOW_RUN_TOKEN, FLOW_LOCK_TIMEOUT, FLOW_HOLDER_PID,
  FLOW_TRUST_OWNER, FLOW_HOOK_CONTINUE, FLOW_CHOOSE_MODEL, FLOW_CHOOSE_KEY, NO_COLOR
Given to the commands of a driver:
  FLOW_DRIVEN_RUN, FLOW_DRIVEN_STATE, FLOW_DRIVEN_DIR, FLOW_SESSION, FLOW_EPOCH
Given to the commands of `flow exec`:
  FLOW_EXEC_DIR, FLOW_EXEC_NUMBER";

// The commands, in the groups in which help lists them.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    #[command(flatten)]
    Everyday(Everyday),
    #[command(flatten)]
    People(People),
    #[command(flatten)]
    Look(Look),
    #[command(flatten)]
    Hosts(Hosts),
    #[command(flatten)]
    Workflows(Workflows),
    #[command(flatten)]
    Checks(Checks),
}

/// The title of a group, whether it has the command of this name, and what adds it to the tree.
type Group = (&'static str, fn(&str) -> bool, fn(clap::Command) -> clap::Command);

impl Command {
    /// The groups: their titles in help, and what is in them.
    pub(super) const GROUPS: [Group; 6] = [
        ("Every day", Everyday::has_subcommand, Everyday::augment_subcommands),
        ("What people decide", People::has_subcommand, People::augment_subcommands),
        ("Look", Look::has_subcommand, Look::augment_subcommands),
        ("Agents' hosts", Hosts::has_subcommand, Hosts::augment_subcommands),
        ("Workflows, modes and interviews", Workflows::has_subcommand, Workflows::augment_subcommands),
        ("Checks, and what is done once", Checks::has_subcommand, Checks::augment_subcommands),
    ];

    /// Whether the process lives as long as the session that holds the run: true of a `drive` that makes its own
    /// session.
    pub(super) fn is_driver(&self) -> bool {
        matches!(self, Self::Workflows(Workflows::Drive(args)) if args.session.is_none())
    }

    /// Whether it is about the working directory, wherever the session works: it begins or installs something there, or finds
    /// the session's project by itself.
    pub(super) fn begins_here(&self) -> bool {
        matches!(self, Self::Hosts(_) | Self::Checks(Checks::Init(_) | Checks::Demo(_)) | Self::Look(Look::Serve(_)))
    }
}

impl Cli {
    /// The part of the tree that has the command `word`: to build all of it takes longer than anything else that happens
    /// before a command runs. It parses a right command line as the whole tree does. Without such a command, it has none.
    pub(super) fn part(word: &str) -> clap::Command {
        let tree = Everywhere::augment_args(clap::Command::new("flow").version(env!("CARGO_PKG_VERSION")));
        match Command::GROUPS.iter().find(|(_, has, _)| has(word)) {
            Some((_, _, augment)) => augment(tree.subcommand_required(true)),
            None => tree,
        }
    }
}

// The commands of every day.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Everyday {
    /// Start a run and print its id
    Start(StartArgs),
    /// Record a piece of work
    RecordActivity(Box<RecordArgs>),
    /// Show the next safe action
    Resume(ResumeArgs),
    /// Show the runs that need a person
    ///
    /// They wait for one, are in doubt, or were left behind.
    Attention(AttentionArgs),
    /// List runs, newest first
    List(ListArgs),
    /// Show one run, now or as it was
    Show(ShowArgs),
    /// Mark a run as waiting for a person
    Block(StatusArgs),
    /// Complete a run whose work is done
    Complete(CompleteArgs),
}

// What people decide, and what they change.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum People {
    /// Approve what a gate waits for; only a person can
    ///
    /// At a terminal that no agent began.
    Approve(ApproveArgs),
    /// Reject what a gate waits for; only a person can
    ///
    /// At a terminal that no agent began, and with the reason.
    Reject(ApproveArgs),
    /// Unblock a blocked run
    Unblock(StatusArgs),
    /// Cancel a run
    Cancel(StatusArgs),
    /// Fail a run
    Fail(StatusArgs),
    /// Reopen a run that is over
    Reopen(ReopenArgs),
    /// Go on from an event of a run, in a new one
    ///
    /// The run itself stays as it is.
    Fork(ForkArgs),
    /// Change what a run is about, and its limits
    Set(SetArgs),
    /// Move runs that are over out of the project, or remove them
    ///
    /// Shows them first, and asks before it removes them. Their ids are never used again.
    Prune(PruneArgs),
    /// Accept the commands that this project names
    ///
    /// Shows those of `commands` in `.flow/config.yaml`, which `flow exec NAME` runs from then on, as they are now.
    Trust(TrustArgs),
}

// Ways to look at runs.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Look {
    /// Show what happened to a run
    Log(LogArgs),
    /// Watch the runs in the terminal, live
    Watch(WatchArgs),
    /// Serve a live dashboard to this machine's browsers
    ///
    /// Until the process ends.
    Serve(ServeArgs),
    /// Wait until a run is over or needs a person
    ///
    /// Exits 0 if the run is completed, 1 if it failed or was cancelled, 3 if it is gone, 4 if it needs a person, 5 if
    /// --timeout runs out, 65 if it is damaged.
    Wait(WaitArgs),
    /// List evidence and artifacts, and whether they are there
    Evidence(EvidenceArgs),
    /// Write a run as a diagram, page, trace or events
    ///
    /// For other programs, or to keep.
    Export(ExportArgs),
    /// Tell a pull request or the next agent what came of a run
    ///
    /// What was done, seen, decided and left open. The same bytes as long as nothing more is recorded.
    Report(ReportArgs),
    /// Show the sessions that work here, and what they hold
    ///
    /// The runs that they hold, their modes, and whether they live.
    Sessions,
}

// What sets flow up in hosts of agents, and what they call.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Hosts {
    /// Set flow up for the agents' hosts on this machine
    ///
    /// Shows every change, asks, and can take all of it out again.
    Setup(SetupArgs),
    /// Install hooks, a plugin or skills in agents' hosts
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// Answer an event of an agent's host (for hooks)
    ///
    /// Whatever happens, it exits 0.
    #[command(after_help = HOOK_TIMES)]
    Hook(HookArgs),
    /// Mark the runs of a session that ended (for hooks)
    ///
    /// The next session then finds them. Whatever becomes of them, it exits 0.
    SessionEnd(SessionEndArgs),
    /// Show the session's run and modes in one line
    ///
    /// For the status line of an agent's host.
    Hud(HudArgs),
    /// Serve runs as tools of agents' hosts (MCP)
    ///
    /// Over the Model Context Protocol, until standard input ends.
    Mcp(McpArgs),
}

// Workflows and what drives them, modes, interviews.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Workflows {
    /// List, show, check, draw and convert workflows
    #[command(subcommand)]
    Workflow(WorkflowCommand),
    /// Show the states that a run can go to next
    ///
    /// With a schema for a model's structured output.
    Next(RunArg),
    /// Move a run on, and complete the state that it leaves
    ///
    /// The state to which it comes is begun: do its work, and record that.
    Advance(AdvanceArgs),
    /// Report on a step of a workflow
    ///
    /// Prints the result as JSON.
    Emit(Box<EmitArgs>),
    /// Run a graph by a command for each type of state
    ///
    /// And a way to choose the next state.
    Drive(Box<DriveArgs>),
    /// Long-lived skills of a session, and which fit together
    #[command(subcommand)]
    Mode(ModeCommand),
    /// Questions whose answers are kept safe in a document
    #[command(subcommand)]
    Interview(Box<InterviewCommand>),
}

// Checks, repairs, and what is done once.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Checks {
    /// Run a command, and record how it ended and on which files
    Exec(Box<ExecArgs>),
    /// Run recorded commands again, and compare
    ///
    /// Shows them first, and asks. How it compares is recorded in the run.
    Replay(ReplayArgs),
    /// Watch flow at work in an example project
    Demo(DemoArgs),
    /// Create .flow, or add what is missing in it
    Init(InitArgs),
    /// Share the runs of this project with other machines
    #[command(subcommand)]
    Remote(RemoteCommand),
    /// Find what is wrong with a file, a run or the project
    Validate {
        /// A file, a directory, or a run [default: the whole project]
        #[arg(add = complete::runs_and_files())]
        target: Option<String>,
    },
    /// Find what is wrong with .flow, and repair it when asked
    Doctor(DoctorArgs),
    /// Prove that a run's files are what its log says
    ///
    /// Byte for byte.
    Verify(VerifyArgs),
    /// Print the JSON Schema of a document
    Schema {
        /// Which document
        document: SchemaArg,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print or write manual pages
    ///
    /// Prints the page of flow, or that of a command.
    Man(ManArgs),
}

// Arguments of `demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Where to make the example project: a new or empty directory [default: a new temporary one]
    #[arg(value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// Make a project with many runs in different states, instead of showing one run from start to end
    #[arg(long)]
    pub(super) board: bool,
}

// Arguments of `start`.
#[derive(Debug, Args)]
pub(super) struct StartArgs {
    /// The workflow; without it, `flow start` lists them
    #[arg(add = complete::workflows())]
    pub(super) workflow: Option<String>,
    /// The issue that the run is about: its number, its key (PROJ-123), or its URL
    #[arg(long, value_name = "ISSUE")]
    pub(super) issue: Option<Issue>,
    /// The pull request that the run is about
    #[arg(long, value_name = "N", value_parser = pull_request)]
    pub(super) pr: Option<u64>,
    /// The goal that the run serves
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) goal: Option<String>,
    /// The branch [default: git's]
    #[arg(long, value_name = "NAME")]
    pub(super) branch: Option<String>,
    /// The repository [default: git's]
    #[arg(long, value_name = "NAME")]
    pub(super) repo: Option<String>,
    /// The decision journal [default: .decisions/issue-N.md, in a project that has .decisions]
    #[arg(long, value_name = "PATH")]
    pub(super) journal: Option<String>,
    /// The end of the run id [default: from issue, pull request or goal]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) slug: Option<String>,
    /// Where to begin [default: the workflow's first phase]
    #[arg(long, value_name = "PHASE", add = complete::phases())]
    pub(super) phase: Option<StateName>,
    /// The session that holds the run [env: FLOW_SESSION]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(super) session: Option<SessionId>,
    /// The whole run id [default: the time and the slug]
    #[arg(long, value_name = "ID")]
    pub(super) id: Option<RunId>,
    /// Start even if a run about the same issue or pull request is open
    #[arg(long)]
    pub(super) another: bool,
    /// Start it in this checkout alone, where the project shares its runs
    #[arg(long)]
    pub(super) local: bool,
    /// Make .flow in the home directory, if there is none
    #[arg(long)]
    pub(super) here: bool,
}

// Arguments of `fork`.
#[derive(Debug, Args)]
pub(super) struct ForkArgs {
    /// The run to go on from
    #[arg(value_name = "RUN", add = complete::runs())]
    pub(super) run: String,
    /// The event after which to go on [default: the last one]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub(super) at: Option<u64>,
    /// The whole id of the fork [default: the time and the run's id]
    #[arg(long, value_name = "ID")]
    pub(super) id: Option<RunId>,
    /// Why
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) reason: Option<String>,
    /// Follow the workflow as it is defined now
    #[arg(long)]
    pub(super) workflow_now: bool,
    /// The session that holds the fork [env: FLOW_SESSION]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(super) session: Option<SessionId>,
    /// Fork a shared run in this checkout alone, where the fork of any other run is already
    #[arg(long)]
    pub(super) local: bool,
}

// Arguments of `man`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The command: `start`, or `workflow check`
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub(super) command: Vec<String>,
    /// Write all pages into this directory
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
}

// Arguments of `init`.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// Add the JSON Schemas of the documents, for editors; run.yaml of new runs names its own
    #[arg(long)]
    pub(super) schemas: bool,
    /// Make .flow in the home directory
    #[arg(long)]
    pub(super) here: bool,
}

// Arguments of `record-activity`.
#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    /// The run: its id, issue or pull request, the beginning or end of its id, or @latest [default: FLOW_RUN, the
    /// session's, or the only open one of the branch or of all]
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(super) run_id: Option<String>,
    /// A FlowActivity document; `-` reads standard input. The options below override it
    #[arg(long, value_name = "FILE")]
    pub(super) activity_file: Option<PathBuf>,
    /// The activity's id; an idempotency key: repeating a command with the same id has no further effect
    #[arg(long, value_name = "ID")]
    pub(super) id: Option<ActivityId>,
    /// The phase [default: the current one]
    #[arg(long, value_name = "PHASE", add = complete::phases())]
    pub(super) phase: Option<StateName>,
    /// What kind of work it was [default: task]
    #[arg(long = "type", value_name = "TYPE")]
    pub(super) kind: Option<KindArg>,
    /// The status [default: what the exit code says: failed unless it is 0; passed without one]
    #[arg(long, value_name = "STATUS")]
    pub(super) status: Option<ActivityStatusArg>,
    /// A title for people
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) name: Option<String>,
    /// The result
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) summary: Option<String>,
    /// How sure the result is
    #[arg(long, value_name = "LEVEL")]
    pub(super) confidence: Option<ConfidenceArg>,
    /// Evidence: a file of the run's evidence/ or of the project, a web address or other text; may be repeated
    #[arg(long, value_name = "REF")]
    pub(super) evidence: Vec<String>,
    /// A changed file; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(super) file: Vec<String>,
    /// The exit status of a command. A status that it contradicts needs --summary
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<i64>)]
    pub(super) exit_code: Option<i64>,
    /// When the work began (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) started_at: Option<String>,
    /// Then move the run on: to PHASE, or to the only phase that can follow
    #[arg(long, value_name = "PHASE", num_args = 0..=1, default_missing_value = ONLY_NEXT, value_parser = advance)]
    #[arg(add = complete::phases())]
    pub(super) advance: Option<Advance>,
    /// A failed or blocked activity of the same phase that this work settles; may be repeated
    #[arg(long, value_name = "ID")]
    pub(super) settles: Vec<ActivityId>,
    /// Why the run may leave a phase whose work is not done; logged, and shown from then on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) skip_reason: Option<String>,
    #[command(flatten)]
    pub(super) usage: UsageArgs,
    #[command(flatten)]
    pub(super) caller: CallerArgs,
}

// Arguments of `advance`.
#[derive(Debug, Args)]
pub(super) struct AdvanceArgs {
    #[command(flatten)]
    pub(super) run: RunArg,
    /// The state [default: the only one that can follow]
    #[arg(long, value_name = "STATE", add = complete::following())]
    pub(super) to: Option<StateName>,
    /// The result of the state that the run leaves
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) summary: Option<String>,
    /// An idempotency key: repeating a command with the same id has no further effect
    #[arg(long, value_name = "ID")]
    pub(super) id: Option<EventId>,
    #[command(flatten)]
    pub(super) caller: CallerArgs,
}

// Arguments of `drive`.
#[derive(Debug, Args)]
pub(super) struct DriveArgs {
    /// A file, or the name of a workflow
    #[arg(add = complete::workflows())]
    pub(super) graph: String,
    /// The run [default: the open one of this workflow, or a new one]
    #[arg(long, value_name = "RUN", add = complete::runs())]
    pub(super) run_id: Option<String>,
    /// The command for a type of state; may be repeated. It gets the context as JSON on standard input, and what it prints
    /// is recorded
    #[arg(long, value_name = "TYPE=COMMAND", value_parser = command_of_type)]
    pub(super) on: Vec<(String, String)>,
    /// The directory in which commands run [default: where the run was first driven; for a new run, the working directory]
    #[arg(long, value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
    /// A type of state whose work a person does, as with the type `user`; a command for it comes first. May be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub(super) types: Vec<String>,
    /// A command that chooses among several states: the choices on standard input, {"next_state": "NAME"} on standard output
    #[arg(long, value_name = "COMMAND", conflicts_with = "choose_url")]
    pub(super) choose: Option<String>,
    /// An OpenAI-compatible endpoint that chooses among several states [env: FLOW_CHOOSE_MODEL, FLOW_CHOOSE_KEY]
    #[arg(long, value_name = "URL")]
    pub(super) choose_url: Option<String>,
    /// The highest number of states to run
    #[arg(long, value_name = "N", default_value = "100", value_parser = whole::<u64>)]
    pub(super) max_iter: u64,
    /// The time limit of one command
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = time_limit)]
    pub(super) timeout: Duration,
    /// The goal of a new run
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) goal: Option<String>,
    /// The session that drives [env: FLOW_SESSION] [default: a new one]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(super) session: Option<SessionId>,
}

// Arguments of `resume`.
#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// The run [default: FLOW_RUN, the session's, the only open one of the branch or of all, or the one that changed last]
    #[arg(add = complete::runs())]
    pub(super) run: Option<String>,
    /// The same as RUN
    #[arg(long, value_name = "RUN", conflicts_with = "run", add = complete::runs())]
    pub(super) run_id: Option<String>,
    /// Show all completed activities, not only the last 20
    #[arg(long)]
    pub(super) all: bool,
    /// Name the open runs of the repository's other worktrees, not only their number
    #[arg(long)]
    pub(super) worktrees: bool,
    /// Hold the run from now on, unless another live session does
    #[arg(long)]
    pub(super) claim: bool,
    /// Hold the run from now on, even if another session holds it
    #[arg(long, conflicts_with = "claim")]
    pub(super) take_over: bool,
    /// The session that asks [env: FLOW_SESSION]
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(super) session: Option<SessionId>,
}

// Arguments of `attention`.
#[derive(Debug, Args)]
pub(super) struct AttentionArgs {
    /// Show the other open runs as well
    #[arg(long)]
    pub(super) all: bool,
    /// Wait until a run needs a person
    #[arg(long, conflicts_with = "all")]
    pub(super) wait: bool,
    /// Call this program for each run that comes to need a person, with the run in FLOW_RUN, and go on waiting; without a
    /// shell, so the rest of the line is its arguments
    #[arg(long, value_name = "CMD", num_args = 1.., allow_hyphen_values = true, requires = "wait")]
    pub(super) exec: Vec<OsString>,
}

// Arguments of `list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only runs that need a person; `flow attention` shows what they need
    #[arg(long)]
    pub(super) attention: bool,
    /// Name all open runs of the repository's other worktrees, not only the five newest of each
    #[arg(long)]
    pub(super) worktrees: bool,
    /// Only runs with this status; may be repeated
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    pub(super) status: Vec<ListStatus>,
    /// Only runs about this feature
    #[arg(long, value_name = "NAME")]
    pub(super) feature: Option<String>,
    /// Only runs with this text in their id, workflow, phase, goal, feature or reason, or about this issue ('#42')
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = text)]
    pub(super) search: Option<String>,
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME", add = complete::workflows())]
    pub(super) workflow: Option<String>,
    /// Only runs that this session holds
    #[arg(long, value_name = "ID", add = complete::sessions())]
    pub(super) session: Option<SessionId>,
    /// Only runs that changed since then: a time (2026-05-20) or an age (90m, 12h, 7d, 2w)
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
    /// The order: those that were started last come first, or those that changed last
    #[arg(long, value_name = "ORDER", default_value = "started")]
    pub(super) sort: SortArg,
    /// Add up the tokens, costs and times that the work of the runs used
    #[arg(long)]
    pub(super) usage: bool,
    /// Show at most N runs [default: 20, all with --json]
    #[arg(long, short = 'n', value_name = "N", value_parser = whole::<u64>)]
    pub(super) limit: Option<u64>,
}

// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Only this run [default: the project and all of its runs]
    #[arg(add = complete::runs())]
    pub(super) run: Option<String>,
    /// Repair what can be repaired; nothing is deleted: what is in the way goes to .quarantine
    #[arg(long)]
    pub(super) repair: bool,
    /// Show what --repair would do, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Warnings count as errors
    #[arg(long)]
    pub(super) strict: bool,
    /// Look at the repository's other worktrees as well
    #[arg(long, conflicts_with = "run")]
    pub(super) worktrees: bool,
}

value_enum!(
    /// An activity's status.
    ActivityStatusArg { Pending, Running, Passed, Failed, Skipped, Blocked } -> crate::model::ActivityStatus
);
value_enum!(
    /// An activity's type.
    KindArg { Bash, Skill, Agent, Task, Gate, Evaluation, External } -> crate::model::ActivityType
);
value_enum!(
    /// A document that has a schema.
    SchemaArg { Run, Activity, Workflow, Modes, Interview, InterviewReply, Event } -> crate::runs::DocumentKind
);

value_enum!(
    /// How sure a result is.
    ConfidenceArg { High, Medium, Low } -> crate::model::Confidence
);

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;

    #[test]
    fn every_text_may_begin_with_a_hyphen_and_no_option_is_taken_for_one() {
        fn texts(command: &clap::Command, path: &str, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                let takes = |name: &str| arg.get_value_names().is_some_and(|names| names.iter().any(|one| one == name));
                if ["TEXT", "QUESTION", "TOPIC"].into_iter().any(takes) {
                    assert!(arg.is_allow_hyphen_values_set() || arg.is_last_set(), "{path} {}", arg.get_id());
                    found.push(format!("{path} {}", arg.get_id()));
                }
            }
            command.get_subcommands().for_each(|sub| texts(sub, &format!("{path} {}", sub.get_name()), found));
        }
        let mut found = Vec::new();
        let mut tree = Cli::command();
        tree.build();
        texts(&tree, "flow", &mut found);
        assert!(found.len() >= 14, "{found:?}");
        let read = |args: &[&str]| Cli::try_parse_from(args);
        for line in [
            &["flow", "block", "r1", "--reason", "- a\n- b"][..],
            &["flow", "record-activity", "--id", "a", "--summary", "-1 degrees", "--json"],
            &["flow", "interview", "answer", "doc.md", "- bullet"],
            &["flow", "interview", "answer", "doc.md", "-", "--json"],
            &["flow", "block", "r1", "--reason=- x"],
        ] {
            read(line).unwrap();
        }
        for line in [&["flow", "block", "r1", "--reason", "--json"][..], &["flow", "start", "debug", "--goal", "-C"]] {
            let told = read(line).unwrap_err().to_string();
            assert!(told.contains("looks like an option"), "{told}");
        }
    }

    #[test]
    fn a_part_of_the_tree_parses_a_right_line_as_the_whole_tree_does() {
        let parsed = |tree: clap::Command, line: &str| {
            let mut matches = tree.try_get_matches_from(line.split(' '))?;
            Cli::from_arg_matches_mut(&mut matches).map(|cli| format!("{cli:?}"))
        };
        for name in Cli::command().get_subcommands().map(clap::Command::get_name) {
            let part = Cli::part(name);
            assert!(part.find_subcommand(name).is_some() && part.get_subcommands().count() < 12, "{name}");
        }
        for line in [
            "flow -C /p start debug --issue 4 --json",
            "flow record-activity --id a --status passed --lock-timeout 3",
            "flow list --status blocked",
            "flow workflow show debug",
            "flow mode list --all",
            "flow --json hook codex stop --continue",
            "flow doctor --repair",
        ] {
            let word = line.split(' ').find(|word| Cli::command().find_subcommand(word).is_some()).unwrap();
            assert_eq!(parsed(Cli::part(word), line).unwrap(), parsed(Cli::command(), line).unwrap(), "{line}");
        }
        for line in ["flow --version", "flow -V"] {
            let told = |tree| parsed(tree, line).unwrap_err().to_string();
            assert_eq!(told(Cli::part("")), told(Cli::command()));
        }
    }
}
