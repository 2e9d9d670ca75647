//! `hook`: called by agents' hosts, so it always exits 0, and soon.

use std::time::Instant;

use crate::cli::args::HookArgs;
use crate::cli::cmd::stdin::{SHORT_WAIT, WAIT, given};
use crate::cli::exit::Exit;
use crate::cli::out::Out;
use crate::hooks::{self, Call};
use crate::runs::{Context, StopOptions};

pub(in crate::cli::cmd) fn run(cx: &Context, args: &HookArgs, out: &mut Out) -> Exit {
    let stop = StopOptions { continues: args.may_go_on, gates: args.gates };
    let call = Call { host: &args.host, event: &args.event, stop };
    let begun = Instant::now();
    let given = given(if args.event == "session-end" { SHORT_WAIT } else { WAIT });
    let cx = &cx.having_waited(begun.elapsed());
    // The exit status stays 0 even if the host has stopped reading.
    out.plain(&hooks::hook(cx, call, &given));
    Exit::Done
}
