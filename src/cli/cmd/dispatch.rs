//! Which file runs which command.

use crate::cli::args::{Checks, Command, Everyday, Hosts, Look, People, Workflows};
use crate::cli::cmd::checks::{doctor, validate, verify};
use crate::cli::cmd::hosts::{hook, hooks, hud, mcp, session_end, sessions, setup};
use crate::cli::cmd::look::{attention, evidence, export, log, serve, show, wait, watch};
use crate::cli::cmd::{
    approve, drive, emit, init, interview, list, mode, next, record, resume, set, start, status, workflow,
};
use crate::cli::exit::Exit;
use crate::cli::out::{Ended, Out};
use crate::runs::{Context, StatusVerb, schema_text};

/// Runs one command.
pub(in crate::cli) fn run(cx: &Context, command: Command, out: &mut Out) -> Exit {
    let ended = match command {
        Command::Everyday(command) => every_day(cx, command, out),
        Command::People(command) => for_people(cx, command, out),
        Command::Look(command) => for_reading(cx, command, out),
        Command::Hosts(command) => for_host(cx, command, out),
        Command::Workflows(command) => workflows(cx, command, out),
        Command::Checks(command) => check(cx, command, out),
    };
    out.exit_of(ended)
}

fn every_day(cx: &Context, command: Everyday, out: &mut Out) -> Ended {
    match command {
        Everyday::Start(args) => start::run(cx, args, out),
        Everyday::RecordActivity(args) => record::run(cx, *args, out),
        Everyday::Resume(args) => resume::run(cx, args, out),
        Everyday::Next(run) => next::next(cx, run, out),
        Everyday::Advance(args) => next::advance(cx, args, out),
        Everyday::Block(args) => status::run(cx, StatusVerb::Block, args, out),
        Everyday::Complete(args) => status::complete(cx, args, out),
        Everyday::List(args) => list::run(cx, args, out),
    }
}

fn for_people(cx: &Context, command: People, out: &mut Out) -> Ended {
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

fn for_reading(cx: &Context, command: Look, out: &mut Out) -> Ended {
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

fn for_host(cx: &Context, command: Hosts, out: &mut Out) -> Ended {
    match command {
        Hosts::Setup(args) => setup::run(cx, &args, out),
        Hosts::Hooks(command) => hooks::run(cx, command, out),
        Hosts::Hook(args) => Ok(hook::run(cx, &args, out)),
        Hosts::SessionEnd(args) => Ok(session_end::run(cx, args, out)),
        Hosts::Hud(args) => hud::run(cx, args, out),
        Hosts::Mcp(args) => mcp::run(cx, &args, out),
    }
}

fn workflows(cx: &Context, command: Workflows, out: &mut Out) -> Ended {
    match command {
        Workflows::Workflow(command) => workflow::run(cx, command, out),
        Workflows::Emit(args) => emit::run(cx, *args, out),
        Workflows::Drive(args) => drive::run(cx, *args, out),
        Workflows::Mode(command) => mode::run(cx, command, out),
        Workflows::Interview(command) => interview::run(cx, *command, out),
    }
}

fn check(cx: &Context, command: Checks, out: &mut Out) -> Ended {
    match command {
        Checks::Init => init::init(cx, out),
        Checks::Validate { target } => validate::run(cx, target.as_deref(), out),
        Checks::Doctor(args) => doctor::run(cx, args, out),
        Checks::Verify(run) => verify::run(cx, run, out),
        Checks::Schema { document } => Ok(out.plain(schema_text(document.into()))),
        Checks::Completions { shell } => init::completions(shell, out),
        Checks::Man => init::man(out),
    }
}
