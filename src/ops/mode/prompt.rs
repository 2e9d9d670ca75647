//! `mode prompt`: the skills that a prompt asks for, all of them or none.

use serde_json::Value;

use crate::engine::{Draft, ModeRefusal, Wanted};
use crate::machine::prose;
use crate::model::{ModeName, Scope, SessionId, mode_file};
use crate::ops::error::Result;
use crate::ops::flow::Flow;
use crate::ops::mode::load::{ModeScope, board, names};
use crate::ops::mode::{change, say};
use crate::policy::{Policy, Skill, find_skills, plan};
use crate::report::{ModePromptReport, PromptError};
use crate::store::Project;

/// A prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModePromptRequest {
    /// What was typed.
    pub text: String,
    /// Whose modes.
    pub scope: ModeScope,
}

impl ModePromptRequest {
    /// From what a hook gets on standard input, or from the plain text of a prompt. The scope that the caller names counts
    /// before the session of the hook. What is no prompt names no skill.
    ///
    /// # Errors
    /// [`crate::ops::Error::Name`] when the hook's session cannot be one: its modes must not become everybody's.
    pub fn read(input: &str, scope: ModeScope) -> Result<Self> {
        let hook = serde_json::from_str::<Value>(input).ok().filter(Value::is_object);
        let field = |names: &[&str]| {
            let hook = hook.as_ref()?;
            names.iter().find_map(|name| hook.get(*name)?.as_str().map(str::to_owned))
        };
        if hook.is_none() {
            return Ok(Self { text: input.to_owned(), scope });
        }
        let text = field(&["prompt", "user_prompt", "userPrompt"]).unwrap_or_default();
        let session = match &scope {
            ModeScope { session: None, root: false } => field(&["session_id", "sessionId"]),
            _ => None,
        };
        let session = session.map(SessionId::new).transpose()?.or(scope.session.clone());
        Ok(Self { text, scope: ModeScope { session, ..scope } })
    }
}

/// What became of a plan.
struct Followed {
    active: Vec<ModeName>,
    completed: Vec<ModeName>,
    cancelled: Vec<ModeName>,
    begun: Vec<ModeName>,
}

impl Flow {
    /// Takes the skills of a prompt up.
    ///
    /// # Errors
    /// When files cannot be used; what the policy forbids is in the report.
    pub fn mode_prompt(&self, request: &ModePromptRequest) -> Result<ModePromptReport> {
        let project = self.project();
        let scope = self.scope(&request.scope)?;
        let (policy, _) = match self.catalog(project.as_ref().ok()).policy() {
            // Prose that names no skill is not to be kept from anybody.
            Err(why) if !request.text.contains('$') => {
                return Ok(ModePromptReport { warnings: vec![why.to_string()], ..ModePromptReport::default() });
            }
            policy => policy?,
        };
        let skills = find_skills(&policy, &request.text, &prose(&request.text));
        let plan = plan(&policy, &skills);
        let mut report = ModePromptReport { skills, deferred: plan.deferred.clone(), ..ModePromptReport::default() };
        if plan.modes.is_empty() && !plan.cancel {
            if let Ok(project) = &project {
                report.active = self.active_now(project, &policy, &scope)?;
            }
            if !report.skills.is_empty() {
                report.messages.push(detected(&report.skills));
            }
            return Ok(report);
        }
        let project = self.project_or_init()?.0;
        let done = self.change_modes(&project, &policy, &scope, "keyword-detector", |draft| {
            let before = names_of(draft, &policy, &scope);
            match follow(draft, &policy, &scope, &plan) {
                Ok(followed) => {
                    let active = draft.board().active(&policy, &scope).unwrap_or_default();
                    let others = if plan.cancel { say::everybodys(&active, &scope) } else { Vec::new() };
                    Ok(Ok((followed, draft.messages().to_vec(), others)))
                }
                Err(refusal) => {
                    let error = refused(draft, &refusal);
                    // All or nothing: earlier skills of the same prompt do not happen either.
                    draft.discard();
                    Ok(Err((error, before)))
                }
            }
        })?;
        report.changed = done.changed;
        report.warnings = done.warnings;
        report.messages.push(detected(&report.skills));
        match done.answer {
            Err((error, before)) => {
                report.deferred.clear();
                report.active = before;
                report.messages.push(format!("denied workflow keyword \"${}\": {}", error.mode, error.message));
                report.error = Some(error);
            }
            Ok((followed, transitions, others)) => {
                report.messages.extend(transitions);
                report.warnings.extend(others);
                self.tell(&project, &scope, &mut report, followed)?;
            }
        }
        Ok(report)
    }

    /// What to say of modes that began and ended.
    fn tell(&self, project: &Project, scope: &Scope, report: &mut ModePromptReport, done: Followed) -> Result<()> {
        if !report.deferred.is_empty() {
            let names: Vec<&str> = report.deferred.iter().map(ModeName::as_str).collect();
            let why = match done.cancelled.is_empty() && !report.skills.contains(&Skill::Cancel) {
                true => "planning preserved over simultaneous execution follow-up",
                false => "what was active is cancelled first",
            };
            report.messages.push(format!("{why}; deferred skills: {}", names.join(", ")));
        }
        if !done.cancelled.is_empty() {
            let names: Vec<&str> = done.cancelled.iter().map(ModeName::as_str).collect();
            report.messages.push(format!("cancelled: {}", names.join(", ")));
        }
        let state = project.make_state()?;
        for mode in &done.begun {
            let path = Self::relative(project, &state.file_path(scope, &mode_file(mode)));
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

    fn active_now(&self, project: &Project, policy: &Policy, scope: &Scope) -> Result<Vec<ModeName>> {
        let Some(state) = project.state()? else { return Ok(Vec::new()) };
        let scopes = [Scope::Root, scope.clone()];
        let board = board(policy, &state.read(Some(&scopes), &names(policy))?);
        Ok(board.active(policy, scope).unwrap_or_default().into_iter().map(|active| active.mode).collect())
    }
}

/// Does what a plan says, one mode after the other, each on the result of the one before.
fn follow(
    draft: &mut Draft<'_>,
    policy: &Policy,
    scope: &Scope,
    plan: &crate::policy::Plan,
) -> std::result::Result<Followed, ModeRefusal> {
    let mut followed = Followed { active: Vec::new(), completed: Vec::new(), cancelled: Vec::new(), begun: Vec::new() };
    if plan.cancel {
        for mode in policy.modes() {
            if draft.cancel(scope, &mode.name) {
                followed.cancelled.push(mode.name.clone());
            }
        }
    }
    for name in &plan.modes {
        let Some(mode) = policy.mode(name) else { continue };
        let requested = draft.request(scope, mode, &Wanted::default())?;
        let (decision, completed) = change::decision(&requested.admission);
        followed.completed.extend(completed);
        if decision != crate::report::ModeDecision::NoChange {
            followed.begun.push(name.clone());
        }
    }
    followed.begun.retain(|mode| !followed.completed.contains(mode));
    followed.active = names_of(draft, policy, scope);
    Ok(followed)
}

fn names_of(draft: &Draft<'_>, policy: &Policy, scope: &Scope) -> Vec<ModeName> {
    let active = draft.board().active(policy, scope).unwrap_or_default();
    active.into_iter().map(|active| active.mode).collect()
}

fn refused(draft: &Draft<'_>, refusal: &ModeRefusal) -> PromptError {
    let kind = say::kind(refusal).to_owned();
    match refusal {
        ModeRefusal::Denied { requested, scope, denial } => {
            let message = say::denial(draft.board(), scope, requested, denial, "activate");
            PromptError { kind, mode: requested.clone(), message }
        }
        ModeRefusal::Unreadable { mode, scope, why } => {
            let command = say::clear_command(mode, scope);
            let message = format!("the file of {mode} cannot be read: {why}. Repair it, or clear it: `{command}`");
            PromptError { kind, mode: mode.clone(), message }
        }
        ModeRefusal::Lifecycle { mode, .. } | ModeRefusal::Field { mode, .. } => {
            PromptError { kind, mode: mode.clone(), message: "its file contradicts itself".to_owned() }
        }
    }
}

fn detected(skills: &[Skill]) -> String {
    let names: Vec<String> = skills.iter().map(|skill| format!("\"${}\"", skill.as_str())).collect();
    let keyword = if names.len() == 1 { "keyword" } else { "keywords" };
    format!("detected workflow {keyword}: {}", names.join(", "))
}
