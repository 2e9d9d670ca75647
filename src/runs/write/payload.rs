//! The payload of each type of report, and its checks, which come before all others (rp1).

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::codec::parse_json;
use crate::disk::{Disk, Links};
use crate::engine::Report;
use crate::host::without_dots;
use crate::model::{EventId, Kind, Problem, ReportType, StateName, StepStatus, Unit, Usage, answer_in};
use crate::runs::error::{Error, Result};

/// A report as the caller gives it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReportRequest {
    /// The type: `status_change`, `artifact_registered`, …
    #[serde(rename = "type")]
    #[schemars(with = "Option<ReportType>")]
    pub kind: Option<String>,
    /// The step.
    pub step: Option<String>,
    /// The unit of work in the step.
    pub unit: Option<String>,
    /// The content.
    #[schemars(with = "Option<Map<String, Value>>")]
    pub data: Option<Value>,
}

impl ReportRequest {
    /// A report from the arguments of a command line.
    ///
    /// # Errors
    /// [`Error::Usage`] when `data` is not JSON.
    pub fn from_texts(
        kind: Option<String>,
        step: Option<String>,
        unit: Option<String>,
        data: Option<&str>,
    ) -> Result<Self> {
        let Some(text) = data else { return Ok(Self { kind, step, unit, data: None }) };
        match parse_json(text) {
            Ok(data) => Ok(Self { kind, step, unit, data: Some(data) }),
            // It is JSON, but a key stands twice in it.
            Err(error) if error.is_data() => Err(Error::Usage(format!("--data: {error}"))),
            Err(_) => Err(bad_json("--data", text)),
        }
    }

    /// The report as one line, by which a retry is compared with the original.
    pub(crate) fn canonical(&self) -> String {
        serde_json::json!([self.kind, self.step, self.unit, self.data]).to_string()
    }

    /// Checks the report. `root` is the project's directory, which must contain the files of artifacts.
    ///
    /// # Errors
    /// [`Error::Usage`] with rp1's messages for what is missing or wrong.
    pub fn check(&self, disk: &dyn Disk, id: EventId, root: &Path) -> Result<Report> {
        let kind = self.kind()?;
        let step = self.step.as_deref().map(step).transpose()?;
        let unit = self.unit.as_deref().map(Unit::new).transpose()?;
        let mut data = match &self.data {
            None => Map::new(),
            Some(Value::Object(data)) => data.clone(),
            Some(_) => return usage("--data must be a JSON object (not array or primitive)".to_owned()),
        };
        if step.is_none() && matches!(kind, ReportType::StatusChange | ReportType::SubflowRegistered) {
            return usage(format!("--step is required for '{}' events", kind.as_str()));
        }
        match kind {
            ReportType::StatusChange => {
                status(&data)?;
                usage_of(&data)?;
            }
            ReportType::ArtifactRegistered => artifact(disk, &mut data, root)?,
            ReportType::AnnotationUpdated => texts(kind, &data, &["docId", "content"])?,
            ReportType::WaitingForUser => texts(kind, &data, &["prompt"])?,
            ReportType::BtwUpdate => texts(kind, &data, &["message"])?,
            ReportType::SubflowRegistered => texts(kind, &data, &["parentStepId", "subflowName"])?,
            ReportType::UserAnswered if answer_in(&data).trim().is_empty() => {
                return usage("the answer is empty".to_owned());
            }
            ReportType::UserAnswered => {}
        }
        Ok(Report { id, kind, step, unit, data })
    }

    fn kind(&self) -> Result<ReportType> {
        let Some(given) = &self.kind else { return usage("--type is required".to_owned()) };
        let known = ReportType::ALL.map(ReportType::as_str).join(", ");
        given.parse().or_else(|()| usage(format!("Invalid event type: '{given}'. Must be one of: {known}")))
    }
}

fn usage<T>(message: String) -> Result<T> {
    Err(Error::Usage(message))
}

fn bad_json(what: &str, text: &str) -> Error {
    let message = format!("{what} must be valid JSON. Received: {}", short(text));
    // A shell takes away quotation marks that are not in quotes themselves.
    let (has_double, has_single) = (text.contains('"'), text.contains('\''));
    let why = if !has_double && has_single {
        "JSON has double quotation marks around keys and texts; "
    } else if !has_double && text.contains(':') {
        "the quotation marks around keys and texts are missing; "
    } else {
        ""
    };
    let help = format!("{why}write it in single quotes: {what} '{{\"status\":\"running\"}}'");
    Problem::new(Kind::Usage, "usage", message).help(help).into()
}

/// The beginning of a text.
pub(super) fn short(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Parses the name of a step: of the workflow itself, or `agent:step`, where neither part may be empty.
fn step(name: &str) -> Result<StateName> {
    if name.contains(':') && name.split(':').any(str::is_empty) {
        return usage(format!(
            "step {name:?} is not a step of an agent: write it as agent:step, with a name on each side"
        ));
    }
    match StateName::new(name) {
        Ok(step) => Ok(step),
        Err(bad) => usage(format!("the step {:?} {}", bad.name, bad.reason)),
    }
}

fn status(data: &Map<String, Value>) -> Result<()> {
    let known = StepStatus::ALL.map(StepStatus::as_str).join(", ");
    match data.get("status") {
        None => usage(
            "status_change events require a 'status' field in --data. Example: --data '{\"status\": \"running\"}'"
                .to_owned(),
        ),
        Some(Value::String(status)) if status.parse::<StepStatus>().is_ok() => Ok(()),
        Some(other) => {
            let shown = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            usage(format!("Invalid status value: '{shown}'. Must be one of: {known}"))
        }
    }
}

/// Checks what the work used. A sentence about it would come too late once it is logged.
fn usage_of(data: &Map<String, Value>) -> Result<()> {
    let Some(given) = data.get("usage") else { return Ok(()) };
    if let Err(why) = Usage::from_value(given) {
        return usage(format!("--data: {why}"));
    }
    match text_in(data, "status") {
        Some(begins @ ("running" | "not_started")) => {
            usage(format!("'usage' is what work used, so it stands where work ends, not in a change to '{begins}'"))
        }
        _ => Ok(()),
    }
}

fn texts(kind: ReportType, data: &Map<String, Value>, needed: &[&str]) -> Result<()> {
    for name in needed {
        if text_in(data, name).is_none_or(str::is_empty) {
            return usage(format!("{} events require a '{name}' field with text in --data", kind.as_str()));
        }
    }
    Ok(())
}

fn text_in<'d>(data: &'d Map<String, Value>, name: &str) -> Option<&'d str> {
    data.get(name)?.as_str()
}

/// Checks an artifact: a file in the project, a file elsewhere by its absolute path, or a link.
fn artifact(disk: &dyn Disk, data: &mut Map<String, Value>, root: &Path) -> Result<()> {
    let kind = ReportType::ArtifactRegistered;
    let is_link = text_in(data, "locationKind") == Some("url") || text_in(data, "type") == Some("link");
    if is_link || data.contains_key("url") {
        texts(kind, data, &["url", "label", "relationship"])?;
        let url = text_in(data, "url").unwrap_or_default();
        let web = ["http://", "https://"].iter().any(|head| url.len() > head.len() && url.starts_with(head));
        let one_line = !url.chars().any(|c| c.is_control() || c.is_whitespace());
        // It is shown as a link, so it must not be `javascript:` or the like.
        if !web || !one_line {
            return usage(format!("the link {url:?} is not an http or https address"));
        }
        return Ok(());
    }
    texts(kind, data, &["path"])?;
    if data.get("subflow").is_some_and(|subflow| !subflow.is_boolean()) {
        return usage("'subflow' in --data must be true or false".to_owned());
    }
    let path = text_in(data, "path").unwrap_or_default().to_owned();
    if path.contains('\0') {
        return usage(format!("the artifact path {path:?} has a NUL character, which no path can have"));
    }
    if path.split_once("://").is_some_and(|(scheme, _)| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        return usage(format!(
            "{path:?} is an address, not a path; register it with 'url', 'label' and 'relationship'"
        ));
    }
    match text_in(data, "storageRoot").unwrap_or("project") {
        "absolute" if Path::new(&path).is_absolute() => Ok(()),
        "absolute" => usage(format!("Artifact path {path:?} must be absolute with storageRoot \"absolute\".")),
        // The original has a separate work directory; here it is the project.
        "project" | "work_dir" => {
            let Some(inside) = inside(disk, root, Path::new(&path)) else {
                return usage(format!(
                    "Artifact path \"{path}\" escapes the canonical project root ({}). Use storageRoot \"absolute\" for \
                     external artifacts.",
                    root.display()
                ));
            };
            data.insert("path".to_owned(), inside.to_string_lossy().into_owned().into());
            Ok(())
        }
        other => usage(format!("Invalid storageRoot: '{other}'. Must be one of: project, work_dir, absolute")),
    }
}

/// `path` relative to `root`, if it stays inside even through existing links. It need not exist itself.
fn inside(disk: &dyn Disk, root: &Path, path: &Path) -> Option<PathBuf> {
    let root = disk.canonical(root).unwrap_or_else(|_| root.to_owned());
    let whole = without_dots(&root.join(path));
    let relative = whole.strip_prefix(&root).ok().filter(|relative| !relative.as_os_str().is_empty())?;
    // A dangling link still leads somewhere, so it counts as existing.
    let existing = whole.ancestors().find(|ancestor| disk.look(ancestor, Links::Refuse).is_ok())?;
    disk.canonical(existing).ok()?.starts_with(&root).then_some(relative.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Os;

    fn sentence(result: Result<Report>) -> String {
        result.expect_err("refused").to_string()
    }

    fn check(kind: &str, step: Option<&str>, data: Value) -> Result<Report> {
        check_in(Path::new("/"), kind, step, data)
    }

    fn check_in(root: &Path, kind: &str, step: Option<&str>, data: Value) -> Result<Report> {
        let id = EventId::new("e1").unwrap();
        let step = step.map(str::to_owned);
        ReportRequest { kind: Some(kind.to_owned()), step, unit: None, data: Some(data) }.check(&Os, id, root)
    }

    #[test]
    fn what_is_missing_or_wrong_is_said_in_rp1s_words() {
        let data = || serde_json::json!({});
        assert_eq!(sentence(check("status_change", None, data())), "--step is required for 'status_change' events");
        assert_eq!(
            sentence(check("status_change", Some("a"), data())),
            "status_change events require a 'status' field in --data. Example: --data '{\"status\": \"running\"}'"
        );
        assert_eq!(
            sentence(check("status_change", Some("a"), serde_json::json!({ "status": 1 }))),
            "Invalid status value: '1'. Must be one of: not_started, running, waiting, completed, failed, skipped"
        );
        assert!(
            sentence(check("nothing", None, data())).starts_with("Invalid event type: 'nothing'. Must be one of: ")
        );
        assert_eq!(
            sentence(check("btw_update", None, serde_json::json!([1]))),
            "--data must be a JSON object (not array or primitive)"
        );
        let error = ReportRequest::from_texts(None, None, None, Some("{oops")).expect_err("no JSON");
        assert_eq!(error.to_string(), "--data must be valid JSON. Received: {oops");
    }

    #[test]
    fn an_artifact_stays_in_the_project_or_says_that_it_is_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let project = std::fs::canonicalize(dir.path()).unwrap().join("project");
        std::fs::create_dir(&project).unwrap();
        std::os::unix::fs::symlink("..", project.join("up")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", project.join("away")).unwrap();
        let path = |path: &str, root: &str| {
            let data = serde_json::json!({ "path": path, "storageRoot": root });
            check_in(&project, "artifact_registered", None, data)
        };
        assert_eq!(path("docs/../out/./x.md", "project").unwrap().data["path"], "out/x.md");
        let absolute = project.join("x.md");
        assert_eq!(path(absolute.to_str().unwrap(), "project").unwrap().data["path"], "x.md");
        assert!(path("/elsewhere/x.md", "absolute").is_ok());
        for escapes in ["../x.md", "a/../../x.md", "/etc/passwd", ".", "up/x.md", "away", "away/x.md"] {
            let sentence = sentence(path(escapes, "work_dir"));
            let wanted = format!("escapes the canonical project root ({})", project.display());
            assert!(sentence.contains(&wanted), "{sentence}");
        }
        assert!(sentence(path("x.md", "absolute")).contains("must be absolute"));
        for root in ["project", "absolute"] {
            assert!(sentence(path("/a.txt\0b", root)).contains("has a NUL character"));
        }
        assert!(sentence(path("https://example.org/x", "project")).contains("is an address"));
        assert!(sentence(path("x.md", "home")).contains("Invalid storageRoot: 'home'"));
    }

    #[test]
    fn a_link_is_a_web_address_with_a_label_and_a_relationship() {
        let link = |url: &str| serde_json::json!({ "locationKind": "url", "url": url, "label": "PR", "relationship": "result" });
        assert!(check("artifact_registered", None, link("https://example.org/1")).is_ok());
        for evil in ["javascript:alert(1)", "https://", "http://a b", "ftp://x"] {
            assert!(check("artifact_registered", None, link(evil)).is_err(), "{evil}");
        }
        assert!(check("artifact_registered", None, serde_json::json!({ "url": "https://example.org" })).is_err());
    }
}
