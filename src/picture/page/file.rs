//! The page of a file that a run refers to: evidence, or an artifact.

use maud::{Markup, html};

use crate::model::{RunId, percent_encoded};
use crate::picture::page::document::{Page, Part};
use crate::picture::page::markdown::rendered;
use crate::picture::page::pieces::{page_title, run_link};
use crate::picture::words::{clean, clean_lines, count};
use crate::runs::{EvidenceFile, FileContent};

/// The address of a file below that of its run, such as `file?evidence=tests.txt`.
pub(super) fn file_address(file: &EvidenceFile) -> String {
    match file {
        EvidenceFile::Evidence(name) => format!("file?evidence={}", percent_encoded(name)),
        EvidenceFile::Artifact(path) => format!("file?artifact={}", percent_encoded(path)),
    }
}

/// The page of a file: its text, or the image that it is. Anything else is only named.
#[must_use]
pub fn file_page(project: &str, run: &RunId, file: &EvidenceFile, content: &FileContent) -> Page {
    let (EvidenceFile::Evidence(name) | EvidenceFile::Artifact(name)) = file;
    let raw = format!("/api/v1/{project}/runs/{run}/{}", file_address(file));
    let size = usize::try_from(content.len).unwrap_or(usize::MAX);
    let main = html! {
        p.dim.about { (match file { EvidenceFile::Evidence(_) => "Evidence", EvidenceFile::Artifact(_) => "Artifact" })
            " of " (run_link(project, run)) " · " (count(size)) " bytes" }
        h1 { (clean(name)) }
        @match (content.image, content.text()) {
            // The script loads it: a browser would ask for it without the token.
            (Some(_), _) => img.shown data-src=(raw) alt=(clean(name));,
            (None, Some(text)) => {
                @if is_markdown(name) {
                    div.scroll tabindex="0" role="region" aria-label="Content" { article.document { (rendered(text)) } }
                    details { summary { "As it was written" } (as_text(text, "Content as it was written")) }
                } @else {
                    (as_text(text, "Content"))
                }
                @if content.len > content.bytes.len() as u64 { p.dim { "The first " (count(content.bytes.len())) " bytes." } }
            }
            (None, None) => p.dim { "It is neither text nor an image that is shown here." },
        }
    };
    Page { title: page_title(name, Some(project)), main, part: Part::Runs, project: Some(project.to_owned()) }
}

fn is_markdown(name: &str) -> bool {
    [".md", ".markdown"].iter().any(|end| name.to_ascii_lowercase().ends_with(end))
}

fn as_text(text: &str, label: &str) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { pre { (clean_lines(text)) } } }
}
