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

use crate::cli::args::{Checks, Command, Everyday, Hosts, Look, People, RunArg, Workflows};
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
        Command::Everyday(command) => every_day(cx, command, out),
        Command::People(command) => for_people(cx, command, out),
        Command::Look(command) => look(cx, command, out),
        Command::Hosts(command) => for_host(cx, command, out),
        Command::Workflows(command) => workflows(cx, command, out),
        Command::Checks(command) => check(cx, command, out),
    }
}

fn every_day(cx: &Context, command: Everyday, out: &mut Out) -> Exit {
    match command {
        Everyday::Start(args) => start::run(cx, args, out),
        Everyday::RecordActivity(args) => record::run(cx, *args, out),
        Everyday::Resume(args) => resume::run(cx, args, out),
        Everyday::Next(args) => next::next(cx, args, out),
        Everyday::Advance(args) => next::advance(cx, args, out),
        Everyday::Block(args) => status::run(cx, StatusVerb::Block, args, out),
        Everyday::Complete(args) => status::complete(cx, args, out),
        Everyday::List(args) => list::run(cx, args, out),
    }
}

fn for_people(cx: &Context, command: People, out: &mut Out) -> Exit {
    match command {
        People::Approve(args) => approve::run(cx, true, args, out),
        People::Reject(args) => approve::run(cx, false, args, out),
        People::Unblock(args) => status::run(cx, StatusVerb::Unblock, args, out),
        People::Cancel(args) => status::run(cx, StatusVerb::Cancel, args, out),
        People::Fail(args) => status::run(cx, StatusVerb::Fail, args, out),
        People::Reopen(args) => status::reopen(cx, args, out),
        People::Set(args) => set::run(cx, args, out),
    }
}

fn look(cx: &Context, command: Look, out: &mut Out) -> Exit {
    match command {
        Look::Attention(args) => attention::run(cx, &args, out),
        Look::Show(args) => show::run(cx, args, out),
        Look::Log(args) => log::run(cx, args, out),
        Look::Watch(args) => watch::run(cx, args, out),
        Look::Serve(args) => serve::run(cx, args, out),
        Look::Wait(args) => wait::run(cx, args, out),
        Look::Evidence(args) => evidence::run(cx, args, out),
        Look::Export(args) => export::run(cx, args, out),
        Look::Sessions => sessions::run(cx, out),
    }
}

fn for_host(cx: &Context, command: Hosts, out: &mut Out) -> Exit {
    match command {
        Hosts::Setup(args) => setup::run(cx, &args, out),
        Hosts::Hooks(args) => hooks::run(cx, args, out),
        Hosts::Hook(args) => hook::run(cx, &args, out),
        Hosts::SessionEnd(args) => session_end::run(cx, args, out),
        Hosts::Hud(args) => hud::run(cx, args, out),
        Hosts::Mcp(args) => mcp::run(cx, &args, out),
    }
}

fn workflows(cx: &Context, command: Workflows, out: &mut Out) -> Exit {
    match command {
        Workflows::Workflow(args) => workflow::run(cx, args.command, out),
        Workflows::Emit(args) => emit::run(cx, *args, out),
        Workflows::Drive(args) => drive::run(cx, *args, out),
        Workflows::Mode(args) => mode::run(cx, args.command, out),
        Workflows::Interview(args) => interview::run(cx, *args, out),
    }
}

fn check(cx: &Context, command: Checks, out: &mut Out) -> Exit {
    match command {
        Checks::Init => init::init(cx, out),
        Checks::Validate(args) => validate::run(cx, &args, out),
        Checks::Doctor(args) => doctor::run(cx, args, out),
        Checks::Verify(args) => verify::run(cx, args, out),
        Checks::Schema(args) => init::schema(&args, out),
        Checks::Completions(args) => init::completions(&args, out),
        Checks::Man => init::man(out),
    }
}
