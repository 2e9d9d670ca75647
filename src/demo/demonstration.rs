//! A demonstration: where it takes place, and what it leaves there.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::demo::board;
use crate::demo::player::{DemoLine, Player, is_there};
use crate::demo::story;
use crate::host::{empty_directory, is_found, own_program};
use crate::model::{Kind, Problem, RunId, Suggestion, quoted};
use crate::runs::{self, Context, ListFilter};

/// Which demonstration to give.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DemoRequest {
    /// The directory of the project, new or empty; otherwise one for temporary files.
    pub dir: Option<PathBuf>,
    /// A project with runs of every group, instead of the story of one run.
    pub board: bool,
}

/// The report of `demo`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DemoReport {
    /// The directory of the project.
    pub path: PathBuf,
    /// The runs in it, newest first.
    pub runs: Vec<RunId>,
    /// Commands that show them.
    pub look: Vec<Suggestion>,
}

/// Makes a project to throw away, and shows flow at work in it. Calls `tell` with everything that happens.
///
/// # Errors
/// `no_git` if the shell does not find git, `demo_not_empty` if something is in the directory, `demo_failed` if flow did not answer
/// as it should, `io_error` if the directory cannot be made or no shell runs.
pub fn demo(cx: &Context, request: &DemoRequest, tell: &mut dyn FnMut(DemoLine<'_>)) -> runs::Result<DemoReport> {
    if !is_there("git")? {
        let message = "the demonstration takes place in a git repository, and `git` is not on the PATH";
        return Err(Problem::new(Kind::NotFound, "no_git", message)
            .help("install git; in a project without git, all but what looks at commits and changes works")
            .into());
    }
    let path = directory(cx, request.dir.as_deref())?;
    let mut player = Player { dir: &path, before: naming_flow(cx)?, is_begun: false, is_brief: request.board, tell };
    if request.board {
        board::fill(&mut player, cx.now())?;
    } else {
        story::play(&mut player)?;
    }
    let listed = runs::list_looking_at(&cx.working_in(&path), &ListFilter::default(), 0)?;
    let runs = listed.runs.into_iter().map(|listed| listed.run.head.run_id).collect();
    let place = path.to_string_lossy().into_owned();
    let look = ["watch", "serve"].map(|verb| Suggestion::flow(verb).in_project(Some(&place)));
    Ok(DemoReport { path, runs, look: look.to_vec() })
}

/// Makes the directory of the project.
fn directory(cx: &Context, asked: Option<&Path>) -> runs::Result<PathBuf> {
    let whole = match asked {
        Some(dir) => Some(cx.absolute(dir)?),
        None => None,
    };
    let error = match empty_directory(whole.as_deref(), "flow-demo-") {
        Ok(path) => return Ok(path),
        Err(error) => error,
    };
    let problem = match asked {
        Some(dir) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            Problem::new(Kind::Refused, "demo_not_empty", format!("the directory {} is not empty", dir.display()))
                .help("name a new directory, or none for a temporary one")
        }
        Some(dir) => Problem::new(Kind::Io, "io_error", format!("cannot make the directory {}", dir.display()))
            .help("name another one")
            .caused_by(&error),
        None => Problem::new(Kind::Io, "io_error", "cannot make a directory for temporary files")
            .help("name one: `flow demo DIR`")
            .caused_by(&error),
    };
    Err(problem.into())
}

/// The command that makes `flow` mean this program in a shell; none if it does already.
fn naming_flow(cx: &Context) -> runs::Result<Option<String>> {
    let program = match own_program() {
        Ok(program) => program,
        Err(error) => {
            return Err(Problem::new(Kind::Io, "io_error", "cannot tell where this program is")
                .caused_by(&error)
                .into());
        }
    };
    if is_found("flow", cx.env.path.as_ref(), &program) {
        return Ok(None);
    }
    Ok(Some(format!("flow() {{ {} \"$@\"; }}", quoted(&program.to_string_lossy()))))
}
