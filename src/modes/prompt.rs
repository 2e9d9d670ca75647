//! `mode prompt`: requests the modes of a prompt's skills, all of them or none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::codec::parse_foreign_json;
use crate::machine::prose;
use crate::model::{ModeName, Scope, SessionId, mode_file};
use crate::modes::change::{self, Cause, ModeDecision, change_modes, wake_modes};
use crate::modes::end::policy_to_end;
use crate::modes::error::{Error, Result};
use crate::modes::load::{ModeScope, board, names, scope_of};
use crate::modes::policy::{Plan, Policy, Skill, Skills, Why, find_skills, names_skills, plan};
use crate::modes::state::{ModeDraft, ModeRefusal, RequestDetails};
use crate::modes::{definition, say};
use crate::runs;
use crate::runs::context::{Context, OpenedProject};
use crate::store::Project;

/// A prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModePromptRequest {
    /// The text of the prompt.
    pub text: String,
    /// The scope of the modes.
    #[serde(default)]
    pub scope: ModeScope,
}

impl ModePromptRequest {
    /// Reads the payload that a hook gets on standard input, or the plain text of a prompt. A scope that the caller
    /// names takes precedence over the session in the payload. Other input does not name any skill.
    ///
    /// # Errors
    /// `invalid_document` when the payload is cut off, or has no valid session: its modes must not go to the root
    /// scope instead.
    pub fn read(input: &str, scope: ModeScope) -> Result<Self> {
        // A payload that is cut off is one, too.
        let is_payload = input.trim_start().starts_with('{')
            && ["\"prompt\"", "\"session_id\""].iter().any(|field| input.contains(field));
        let hook = match parse_foreign_json(input) {
            Ok(Value::Object(hook)) => hook,
            Err(why) if is_payload => return Err(bad_payload(format!("it is not JSON: {why}"))),
            _ => return Ok(Self { text: input.to_owned(), scope }),
        };
        let text = match first_field(&hook, &["prompt", "user_prompt", "userPrompt"]) {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        };
        if scope != ModeScope::default() {
            return Ok(Self { text, scope });
        }
        let session = match first_field(&hook, &["session_id", "sessionId"]) {
            Some(Value::String(session)) => {
                Some(SessionId::new(session.as_str()).map_err(|why| bad_payload(why.to_string()))?)
            }
            Some(_) => return Err(bad_payload("its session is not a string".to_owned())),
            None if text.contains('$') => return Err(bad_payload("it names no session".to_owned())),
            // A prompt without a skill asks for nothing.
            None => None,
        };
        Ok(Self { text, scope: ModeScope { session, ..scope } })
    }
}

/// The first of these fields that has a value. Hosts call the same thing by different names.
fn first_field<'h>(hook: &'h Map<String, Value>, names: &[&str]) -> Option<&'h Value> {
    names.iter().filter_map(|name| hook.get(*name)).find(|value| !value.is_null())
}

fn bad_payload(why: String) -> Error {
    runs::Error::input_json("the payload of the hook", why).into()
}

/// The result of carrying out a plan.
struct PromptEffects {
    active: Vec<ModeName>,
    completed: Vec<ModeName>,
    cancelled: Vec<ModeName>,
    begun: Vec<ModeName>,
}

/// The report of `mode prompt`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct ModePromptReport {
    /// The skills that the prompt names, each once.
    pub skills: Vec<Skill>,
    /// How each of them was written.
    pub typed: Vec<String>,
    /// Modes that are active now.
    pub active: Vec<ModeName>,
    /// Modes that have to wait until later.
    pub deferred: Vec<ModeName>,
    /// Modes that were completed by a hand-over.
    pub completed: Vec<ModeName>,
    /// Modes that the prompt ended.
    pub cancelled: Vec<ModeName>,
    /// Messages for the agent.
    pub messages: Vec<String>,
    /// Why nothing changed.
    pub error: Option<PromptError>,
    /// Whether anything was written.
    pub changed: bool,
    /// Problems that did not stop the command.
    pub warnings: Vec<String>,
}

/// Why a prompt changed nothing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PromptError {
    /// The kind of conflict, or `unreadable_state`.
    pub kind: String,
    /// The mode that could not begin.
    pub mode: ModeName,
    /// The reason, and what to do.
    pub message: String,
}

/// Whether a prompt can change a mode, or be told something of one. Most cannot, and need no policy, which takes as long to
/// read as everything else that is told to a prompt.
pub(crate) fn concerns_modes(cx: &Context, text: &str) -> bool {
    // Every skill begins with this sign. Any prompt may wake a mode that has a state.
    text.contains('$') || cx.project().is_ok_and(|project| !matches!(project.state(), Ok(None)))
}

/// Whether a prompt names skills of flow, whatever it says about them.
pub(crate) fn names_skill(text: &str) -> bool {
    names_skills(text, &prose(text))
}

/// Whether a prompt asks for modes, by the policy that counts here. Changes nothing.
///
/// # Errors
/// When the policy is invalid.
pub(crate) fn asks_for_modes(cx: &Context, text: &str) -> Result<bool> {
    let (policy, _) = definition::policy_of(&cx.catalog(cx.project().ok().as_ref()))?;
    Ok(!plan(&policy, &find_skills(&policy, text, &prose(text)).asked).modes.is_empty())
}

/// Carries out the skills of a prompt.
///
/// # Errors
/// When files cannot be used. A denial by the policy is not an error: it is in the report.
pub fn prompt(cx: &Context, request: &ModePromptRequest) -> Result<ModePromptReport> {
    let project = cx.project();
    let scope = scope_of(cx, &request.scope)?;
    let prose = prose(&request.text);
    let (policy, broken) = match definition::policy_of(&cx.catalog(project.as_ref().ok())) {
        Ok((policy, _)) => (policy, None),
        // With an invalid policy, `$cancel` must still work, and a prompt without skills must pass.
        Err(why) => {
            let cancels = find_skills(&Policy::default(), &request.text, &prose).asked == [Skill::Cancel];
            if names_skills(&request.text, &prose) && !cancels {
                return Err(why);
            }
            (unruled(project.as_ref().ok(), &scope)?, Some(why.to_string()))
        }
    };
    let Skills { asked: skills, typed, told, unknown } = find_skills(&policy, &request.text, &prose);
    let plan = plan(&policy, &skills);
    let mut report = ModePromptReport { skills, typed, deferred: plan.deferred.clone(), ..ModePromptReport::default() };
    report.warnings.extend(broken);
    for named in &told {
        match named.why {
            Why::Denied(_) | Why::Behind(_) => report.warnings.push(say::named_only(named)),
            // The hook tells the model this too.
            Why::Ending | Why::Mentioned => report.messages.push(say::named_only(named)),
        }
    }
    report.warnings.extend(unknown.iter().filter_map(|word| say::misspelt(&policy, word)));
    if plan.modes.is_empty() && !plan.cancel {
        if let Ok(project) = &project {
            report_active(project, &policy, &scope, &mut report)?;
        }
        if !report.skills.is_empty() {
            report.messages.push(detected(&report));
        }
        return Ok(report);
    }
    let project = match project {
        // Without a project no mode is active, so the prompt has what it asks for.
        Err(runs::Error::NoProject { .. }) if plan.cancel => {
            report.messages.push(detected(&report));
            return Ok(report);
        }
        _ => cx.project_or_init()?,
    };
    let done = change_modes(&project, &policy, &scope, Cause::Prompt, |draft| {
        let before = names_of(draft, &policy, &scope);
        match follow(draft, &policy, &scope, &plan) {
            Ok(followed) => {
                let (active, _) = draft.board().known_active(&policy, &scope);
                let others = if plan.cancel { say::active_for_all(&active, &scope) } else { Vec::new() };
                Ok(Ok((followed, draft.messages().to_vec(), others)))
            }
            Err(PlanRefusal { requested, refusal, begun }) => {
                let error = refused(draft, &report, requested, &refusal, &begun);
                // All or nothing: discard what earlier skills of this prompt changed.
                draft.discard();
                Ok(Err((error, before)))
            }
        }
    })?;
    report.changed = done.changed;
    report.warnings.extend(done.warnings);
    report.messages.push(detected(&report));
    match done.answer {
        Err((error, before)) => deny(&mut report, error, before),
        Ok((followed, transitions, others)) => {
            report.messages.extend(transitions);
            report.warnings.extend(others);
            report_changes(&project, &scope, &mut report, followed)?;
        }
    }
    Ok(report)
}

/// The messages about modes that began and ended.
fn report_changes(project: &Project, scope: &Scope, report: &mut ModePromptReport, done: PromptEffects) -> Result<()> {
    if !report.deferred.is_empty() {
        let names: Vec<&str> = report.deferred.iter().map(ModeName::as_str).collect();
        let why = if done.cancelled.is_empty() && !report.skills.contains(&Skill::Cancel) {
            "planning preserved over simultaneous execution follow-up"
        } else {
            "what was active is cancelled first"
        };
        report.messages.push(format!("{why}; deferred skills: {}", names.join(", ")));
    }
    if !done.cancelled.is_empty() {
        let names: Vec<&str> = done.cancelled.iter().map(ModeName::as_str).collect();
        report.messages.push(format!("cancelled: {}", names.join(", ")));
    }
    let state = project.make_state()?;
    for mode in &done.begun {
        let path = project.relative(&state.file_path(scope, &mode_file(mode)));
        report.messages.push(format!(
            "skill: {mode} activated and initial state initialized at {}; write subsequent updates with `{}`",
            path.display(),
            say::command("write", mode, scope)
        ));
    }
    let names: Vec<&str> = done.active.iter().map(ModeName::as_str).collect();
    let active = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    report.messages.push(format!("active skills: {active}"));
    if done.begun.iter().any(|mode| mode.as_str() == "team") {
        report.messages.push("team: its workers report with `flow emit --unit`, each for its own task".to_owned());
    }
    report.active = done.active;
    report.completed = done.completed;
    report.cancelled = done.cancelled;
    Ok(())
}

/// A policy without rules, with the modes that have files.
fn unruled(project: Option<&OpenedProject>, scope: &Scope) -> Result<Policy> {
    let Some(project) = project else { return Ok(Policy::default()) };
    let Some(state) = project.state()? else { return Ok(Policy::default()) };
    Ok(policy_to_end(project, &state, std::slice::from_ref(scope), None)?.0)
}

/// Reports the active modes for a prompt that changes none.
fn report_active(project: &OpenedProject, policy: &Policy, scope: &Scope, report: &mut ModePromptReport) -> Result<()> {
    let Some(state) = project.state()? else { return Ok(()) };
    let scopes = [Scope::Root, scope.clone()];
    let board = board(policy, &state.read(Some(&scopes), &names(policy))?);
    wake_modes(project, policy, scope, &board)?;
    let (active, unknown) = board.known_active(policy, scope);
    report.active = active.into_iter().map(|active| active.mode).collect();
    report.warnings.extend(say::unknown(&unknown));
    Ok(())
}

/// Why a plan was not carried out completely.
struct PlanRefusal<'p> {
    /// The mode that could not begin.
    requested: &'p ModeName,
    refusal: Box<ModeRefusal>,
    /// The modes of the same prompt that had begun before it.
    begun: Vec<ModeName>,
}

/// Carries out a plan, one mode after the other, each on the result of the previous one.
fn follow<'p>(
    draft: &mut ModeDraft<'_>,
    policy: &Policy,
    scope: &Scope,
    plan: &'p Plan,
) -> Result<PromptEffects, PlanRefusal<'p>> {
    let mut followed =
        PromptEffects { active: Vec::new(), completed: Vec::new(), cancelled: Vec::new(), begun: Vec::new() };
    if plan.cancel {
        for mode in policy.modes() {
            if draft.cancel(scope, &mode.name) {
                followed.cancelled.push(mode.name.clone());
            }
        }
    }
    for name in &plan.modes {
        let Some(mode) = policy.mode(name) else { continue };
        let requested = match draft.request(scope, mode, &RequestDetails::default()) {
            Ok(requested) => requested,
            Err(refusal) => {
                return Err(PlanRefusal { requested: name, refusal: Box::new(refusal), begun: followed.begun });
            }
        };
        let (decision, completed) = change::decision(&requested.admission);
        followed.completed.extend(completed);
        if decision != ModeDecision::NoChange {
            followed.begun.push(name.clone());
        }
    }
    // A mode of the prompt may hand over to a later one.
    followed.begun.retain(|mode| !followed.completed.contains(mode));
    followed.active = names_of(draft, policy, scope);
    Ok(followed)
}

fn names_of(draft: &ModeDraft<'_>, policy: &Policy, scope: &Scope) -> Vec<ModeName> {
    let (active, _) = draft.board().known_active(policy, scope);
    active.into_iter().map(|active| active.mode).collect()
}

/// Turns the report into that of a prompt which changed nothing.
fn deny(report: &mut ModePromptReport, error: PromptError, active: Vec<ModeName>) {
    report.deferred.clear();
    report.active = active;
    let message = format!("denied workflow keyword \"${}\": {}", typed_of(report, &error.mode), error.message);
    report.messages.push(message);
    report.error = Some(error);
}

fn refused(
    draft: &ModeDraft<'_>,
    report: &ModePromptReport,
    requested: &ModeName,
    refusal: &ModeRefusal,
    begun: &[ModeName],
) -> PromptError {
    let message = match refusal {
        ModeRefusal::Denied { scope, denial, .. } => {
            // Modes that began with this prompt are discarded again, so do not suggest to end them.
            let mut others = denial.clone();
            others.blockers.retain(|mode| !begun.contains(mode));
            others.active.retain(|mode| !begun.contains(mode));
            if others.blockers.is_empty() {
                let mut skills: Vec<String> = denial.blockers.iter().map(|mode| typed_of(report, mode)).collect();
                skills.push(typed_of(report, requested));
                say::conflict(&skills)
            } else {
                let requested = say::named(requested, &typed_of(report, requested));
                say::denial(draft.board(), scope, &requested, &others, "activate")
            }
        }
        ModeRefusal::Unreadable { mode, scope, why } => {
            let command = say::clear_command(mode, scope);
            format!("the file of {mode} cannot be read: {why}. Repair it, or clear it: `{command}`")
        }
        ModeRefusal::Lifecycle { .. } | ModeRefusal::Field { .. } => "its file contradicts itself".to_owned(),
    };
    PromptError { kind: say::kind(refusal).to_owned(), mode: requested.clone(), message }
}

/// A mode as the prompt wrote it.
fn typed_of(report: &ModePromptReport, mode: &ModeName) -> String {
    match report.skills.iter().position(|skill| skill.as_str() == mode.as_str()) {
        Some(at) => report.typed[at].clone(),
        None => mode.to_string(),
    }
}

/// The skills as they were written, an alias followed by its meaning.
fn detected(report: &ModePromptReport) -> String {
    let mut names = Vec::new();
    for (skill, typed) in report.skills.iter().zip(&report.typed) {
        let meaning =
            if say::is_alias(skill.as_str(), typed) { format!(" ({})", skill.as_str()) } else { String::new() };
        names.push(format!("\"${typed}\"{meaning}"));
    }
    let keyword = if names.len() == 1 { "keyword" } else { "keywords" };
    format!("detected workflow {keyword}: {}", names.join(", "))
}
