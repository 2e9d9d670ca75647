//! One file for each command: it turns arguments into a request, and a report into text.

mod approve;
mod attention;
mod doctor;
mod drive;
mod emit;
mod evidence;
mod export;
mod hook;
mod hooks;
mod hud;
mod init;
mod interview;
mod list;
mod log;
mod mcp;
mod mode;
mod next;
mod record;
mod resume;
mod serve;
mod session_end;
mod sessions;
mod set;
mod setup;
mod show;
mod start;
mod status;
mod stdin;
mod validate;
mod verify;
mod wait;
mod watch;
mod workflow;
mod worktrees;

use crate::cli::args::{Command, RunArg};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::runs::{self, Context, StatusVerb};

/// Finds the run that a reading command is about. If the command line names none, a line on standard error says which
/// run was chosen and why; for the only one that can be meant, only when the answer itself does not say (`says_which`).
fn meant(cx: &Context, run: RunArg, out: &Out, says_which: bool) -> Result<Option<String>, Exit> {
    let meant = runs::meant_run(cx, run.name().as_deref(), None).map_err(|error| out.error(&error))?;
    if let Some(why) = meant.why.filter(|_| !meant.is_sure || !says_which) {
        out.aside(&format!("{} ({why})\n", meant.run_id));
    }
    Ok(Some(meant.run_id.to_string()))
}

/// Runs one command.
pub(super) fn run(cx: &Context, command: Command, out: &mut Out) -> Exit {
    match command {
        Command::Init => init::init(cx, out),
        Command::Start(args) => start::run(cx, args, out),
        Command::RecordActivity(args) => record::run(cx, *args, out),
        Command::Emit(args) => emit::run(cx, *args, out),
        Command::Next(args) => next::next(cx, args, out),
        Command::Advance(args) => next::advance(cx, args, out),
        Command::Drive(args) => drive::run(cx, *args, out),
        Command::Approve(args) => approve::run(cx, true, args, out),
        Command::Reject(args) => approve::run(cx, false, args, out),
        Command::Block(args) => status::run(cx, StatusVerb::Block, args, out),
        Command::Unblock(args) => status::run(cx, StatusVerb::Unblock, args, out),
        Command::Complete(args) => status::complete(cx, args, out),
        Command::Fail(args) => status::run(cx, StatusVerb::Fail, args, out),
        Command::Cancel(args) => status::run(cx, StatusVerb::Cancel, args, out),
        Command::Reopen(args) => status::reopen(cx, args, out),
        Command::Set(args) => set::run(cx, args, out),
        Command::SessionEnd(args) => session_end::run(cx, args, out),
        Command::Hook(args) => hook::run(cx, &args, out),
        Command::Hud(args) => hud::run(cx, args, out),
        Command::Setup(args) => setup::run(cx, &args, out),
        Command::Hooks(args) => hooks::run(cx, args, out),
        Command::Mcp(args) => mcp::run(cx, &args, out),
        Command::Serve(args) => serve::run(cx, args, out),
        Command::Watch(args) => watch::run(cx, args, out),
        Command::Resume(args) => resume::run(cx, args, out),
        Command::Attention(args) => attention::run(cx, &args, out),
        Command::Sessions => sessions::run(cx, out),
        Command::Wait(args) => wait::run(cx, args, out),
        Command::Evidence(args) => evidence::run(cx, args, out),
        Command::List(args) => list::run(cx, args, out),
        Command::Show(args) => show::run(cx, args, out),
        Command::Log(args) => log::run(cx, args, out),
        Command::Export(args) => export::run(cx, args, out),
        Command::Validate(args) => validate::run(cx, &args, out),
        Command::Doctor(args) => doctor::run(cx, args, out),
        Command::Verify(args) => verify::run(cx, args, out),
        Command::Workflow(args) => workflow::run(cx, args.command, out),
        Command::Mode(args) => mode::run(cx, args.command, out),
        Command::Interview(args) => interview::run(cx, *args, out),
        Command::Schema(args) => init::schema(&args, out),
        Command::Completions(args) => init::completions(&args, out),
        Command::Man => init::man(out),
    }
}
