//! Whether what a caller says about the outcome of work can be true.

use crate::engine::Refusal;
use crate::model::Activity;
use crate::runs::record::RecordRequest;

/// Refuses a status that the exit code contradicts, if the caller gives one of them and does not say why. Work may be done
/// well although a command fails, such as a test that is expected to fail; the summary tells later readers so.
///
/// # Errors
/// [`Refusal::ExitCode`].
pub(super) fn refuse_contradiction(activity: &Activity, request: &RecordRequest) -> Result<(), Refusal> {
    let Some(exit_code) = contradiction(activity) else { return Ok(()) };
    let is_explained = request.summary.as_ref().is_some_and(|summary| !summary.trim().is_empty());
    if is_explained || is_of_document(request) {
        return Ok(());
    }
    Err(Refusal::ExitCode { status: activity.status(), exit_code })
}

/// Warnings about what cannot be true in a document that someone else wrote. It is recorded as it stands.
pub(super) fn doubts(activity: &Activity, request: &RecordRequest) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Some(exit_code) = contradiction(activity).filter(|_| is_of_document(request)) {
        let status = activity.status();
        doubts.push(format!("the document contradicts itself: its status is {status}, and its exit code {exit_code}"));
    }
    if let Some((started, completed)) = activity.ends_before_it_began() {
        doubts.push(format!("the work ends at {completed}, before it began at {started}"));
    }
    doubts
}

/// The exit code, if the status contradicts it.
fn contradiction(activity: &Activity) -> Option<i64> {
    activity.exit_code().filter(|&code| activity.status().contradicts(code))
}

/// Whether status and exit code are those of the caller's document, so that no option could be left out.
fn is_of_document(request: &RecordRequest) -> bool {
    request.source.is_some() && request.status.is_none() && request.exit_code.is_none()
}
