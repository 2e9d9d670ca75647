//! Which file runs which command.

use crate::cli::args::{Checks, Command, Everyday, Hosts, Look, People, Workflows};
use crate::cli::cmd::checks::{doctor, man, prune, validate, verify};
use crate::cli::cmd::commands::{exec, replay, trust};
use crate::cli::cmd::hosts::{hook, hooks, hud, mcp, session_end, sessions, setup};
use crate::cli::cmd::look::{attention, evidence, export, log, report, serve, show, wait, watch};
use crate::cli::cmd::{
    approve, demo, drive, emit, fork, init, interview, list, mode, next, record, remote, resume, set, start, status,
    workflow,
};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::runs::{Context, StatusVerb, schema_text};

/// Runs one command.
pub(in crate::cli) fn run(cx: &Context, command: Command, out: &mut Out) -> Exit {
    // A host waits for its hooks, and looks at a status line all the time.
    let offline = cx.offline();
    let ended = match command {
        Command::Everyday(Everyday::Start(args)) => start::run(cx, args, out),
        Command::Everyday(Everyday::RecordActivity(args)) => record::run(cx, *args, out),
        Command::Checks(Checks::Exec(args)) => exec::run(cx, *args, out),
        Command::Checks(Checks::Replay(args)) => replay::run(cx, args, out),
        Command::Everyday(Everyday::Resume(args)) => resume::run(cx, args, out),
        Command::Workflows(Workflows::Next(run)) => next::next(cx, run, out),
        Command::Workflows(Workflows::Advance(args)) => next::advance(cx, args, out),
        Command::Everyday(Everyday::Block(args)) => status::run(cx, StatusVerb::Block, args, out),
        Command::Everyday(Everyday::Complete(args)) => status::complete(cx, args, out),
        Command::Everyday(Everyday::List(args)) => list::run(cx, args, out),
        Command::People(People::Approve(args)) => approve::run(cx, true, args, out),
        Command::People(People::Reject(args)) => approve::run(cx, false, args, out),
        Command::People(People::Unblock(args)) => status::run(cx, StatusVerb::Unblock, args, out),
        Command::People(People::Cancel(args)) => status::run(cx, StatusVerb::Cancel, args, out),
        Command::People(People::Fail(args)) => status::run(cx, StatusVerb::Fail, args, out),
        Command::People(People::Reopen(args)) => status::reopen(cx, args, out),
        Command::People(People::Fork(args)) => fork::run(cx, args, out),
        Command::People(People::Set(args)) => set::run(cx, args, out),
        Command::People(People::Trust(args)) => trust::run(cx, &args, out),
        Command::Everyday(Everyday::Attention(args)) => attention::run(cx, &args, out),
        Command::Everyday(Everyday::Show(args)) => show::run(cx, args, out),
        Command::Look(Look::Log(args)) => log::run(cx, args, out),
        Command::Look(Look::Watch(args)) => watch::run(cx, args, out),
        Command::Look(Look::Serve(args)) => serve::run(cx, args, out),
        Command::Look(Look::Wait(args)) => wait::run(cx, args, out),
        Command::Look(Look::Evidence(args)) => evidence::run(cx, args, out),
        Command::Look(Look::Export(args)) => export::run(cx, args, out),
        Command::Look(Look::Report(args)) => report::run(cx, args, out),
        Command::Look(Look::Sessions) => sessions::run(cx, out),
        Command::Hosts(Hosts::Setup(args)) => setup::run(cx, &args, out),
        Command::Hosts(Hosts::Hooks(command)) => hooks::run(cx, command, out),
        Command::Hosts(Hosts::Hook(args)) => Ok(hook::run(&offline, &args, out)),
        Command::Hosts(Hosts::SessionEnd(args)) => Ok(session_end::run(cx, args, out)),
        Command::Hosts(Hosts::Hud(args)) => hud::run(&offline, args, out),
        Command::Hosts(Hosts::Mcp(args)) => mcp::run(cx, &args, out),
        Command::Workflows(Workflows::Workflow(command)) => workflow::run(cx, command, out),
        Command::Workflows(Workflows::Emit(args)) => emit::run(cx, *args, out),
        Command::Workflows(Workflows::Drive(args)) => drive::run(cx, *args, out),
        Command::Workflows(Workflows::Mode(command)) => mode::run(cx, command, out),
        Command::Workflows(Workflows::Interview(command)) => interview::run(cx, *command, out),
        Command::Checks(Checks::Demo(args)) => demo::run(cx, args, out),
        Command::Checks(Checks::Init(args)) => init::init(cx, &args, out),
        Command::Checks(Checks::Remote(command)) => remote::run(cx, command, out),
        Command::People(People::Prune(args)) => prune::run(cx, args, out),
        Command::Checks(Checks::Validate { target }) => validate::run(cx, target.as_deref(), out),
        Command::Checks(Checks::Doctor(args)) => doctor::run(cx, args, out),
        Command::Checks(Checks::Verify(run)) => verify::run(cx, run, out),
        Command::Checks(Checks::Schema { document }) => Ok(out.plain(schema_text(document.into()))),
        Command::Checks(Checks::Completions { shell }) => init::completions(shell, out),
        Command::Checks(Checks::Man(args)) => man::run(cx, &args, out),
    };
    out.exit_of(ended)
}
