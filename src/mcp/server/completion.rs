//! Completion of what a person types as a run's id, in an argument of a prompt or the address of a resource.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference};

use crate::mcp::server::prompts::{self, invalid};
use crate::mcp::server::resources::{self, failed};
use crate::model::Explain;
use crate::runs::{self, Context, ListFilter};

/// The ids of runs that begin with the typed text, newest first.
pub(super) fn complete(cx: &Context, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let run = match &request.r#ref {
        Reference::Prompt(prompt) if prompts::exists(&prompt.name) => prompts::RUN,
        Reference::Resource(template) if resources::is_template(&template.uri) => resources::RUN,
        Reference::Prompt(prompt) => return Err(invalid(format!("there is no prompt {:.60}", prompt.name))),
        Reference::Resource(other) => return Err(invalid(format!("there is no template {:.200}", other.uri))),
        _ => return Err(invalid("only prompts and resources have arguments to complete".to_owned())),
    };
    let typed = &request.argument;
    if typed.name != run {
        return Err(invalid(format!("it has no argument {:.60}; it has {run}", typed.name)));
    }
    let listed =
        runs::list_looking_at(cx, &ListFilter::default(), 0).map_err(|error| failed(cx, &[], &error.problem()))?;
    let mut ids: Vec<_> = listed.runs.iter().map(|listed| listed.run.head.run_id.to_string()).collect();
    ids.retain(|id| id.starts_with(&typed.value));
    let total = ids.len();
    // The protocol takes no more in one answer.
    ids.truncate(CompletionInfo::MAX_VALUES);
    let is_cut = total > ids.len();
    let info = CompletionInfo::with_pagination(ids, u32::try_from(total).ok(), is_cut);
    info.map(CompleteResult::new).map_err(|why| ErrorData::internal_error(why, None))
}
