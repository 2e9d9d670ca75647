//! The files that runs refer to: evidence by its name, and registered artifacts. No path of a file system is made of an
//! address: the run has to refer to the file, and the store opens it.

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::picture::page::file_page;
use crate::runs::{EvidenceFile, FeedRun, FileContent, Result};
use crate::web::server::answer::{WebResult, file, refused};
use crate::web::server::guard::Visitor;
use crate::web::server::live::Live;
use crate::web::server::respond::{
    BelowProject, RawQuery, ServerState, asked, page_from_reader, page_of, unreadable, with_run,
};

/// How many bytes of a file one answer has.
const PART: usize = 1 << 20;
/// The largest image that is sent as a whole.
const IMAGE: u64 = 8 << 20;
/// How many bytes of a text a page shows.
const SHOWN: usize = 256 << 10;

/// Which file, and from which byte on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileQuery {
    evidence: Option<String>,
    artifact: Option<String>,
    #[serde(default)]
    from: u64,
}

impl FileQuery {
    fn file(&self) -> WebResult<EvidenceFile> {
        match (&self.evidence, &self.artifact) {
            (Some(name), None) => Ok(EvidenceFile::Evidence(name.clone())),
            (None, Some(path)) => Ok(EvidenceFile::Artifact(path.clone())),
            _ => Err(unreadable("the query names no file: it has either `evidence` or `artifact`")),
        }
    }
}

/// A part of a file, or the whole of an image.
fn part(run: &FeedRun<'_>, file: &EvidenceFile, from: u64) -> Result<FileContent> {
    let found = run.content(file, from, PART)?;
    // An image that is cut shows nothing, a text shows its beginning.
    let is_whole_image = from == 0 && found.image.is_some() && (PART as u64..=IMAGE).contains(&found.len);
    if is_whole_image { run.content(file, 0, usize::try_from(IMAGE).unwrap_or(PART)) } else { Ok(found) }
}

pub(super) async fn raw(State(live): ServerState, Path((project, run)): BelowProject, query: RawQuery) -> Response {
    page_from_reader(live, move |live| match found(live, &project, &run, query) {
        Ok(response) => response,
        Err(problem) => refused(live.hide.in_problem(problem)),
    })
    .await
}

fn found(live: &Live, project: &str, run: &str, query: RawQuery) -> WebResult<Response> {
    let wanted: FileQuery = asked(query)?;
    let named = wanted.file()?;
    let found = with_run(live, project, run, |run, _| part(run, &named, wanted.from))?;
    Ok(file(found.image, found.bytes, wanted.from, found.len))
}

pub(super) async fn shown(
    State(live): ServerState,
    Extension(visitor): Extension<Visitor>,
    Path((project, run)): BelowProject,
    query: RawQuery,
) -> Response {
    page_of(live, visitor, "This file", move |live| {
        let named = asked::<FileQuery>(query)?.file()?;
        with_run(live, &project, &run, |found, _| {
            Ok(file_page(&project, found.id(), &named, &found.content(&named, 0, SHOWN)?))
        })
    })
    .await
}
