//! The issue that a run is about.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::model::as_text::as_text;
use crate::model::{Remote, slug, without_login};

/// The longest name of an issue, in bytes.
const NAME_BYTES: usize = 2000;
/// The longest part of a file's name that is made of an issue, in bytes.
const PART_BYTES: usize = 80;

/// An issue as someone named it. Two of them are compared by their [key](Self::key).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, from = "Written")]
pub enum Issue {
    /// The number of an issue of the run's own repository.
    Number(u64),
    /// The key of another tracker, or the address of an issue.
    Name(String),
}

/// An issue as a document or a request has it: a number may be written as a text there.
#[derive(Deserialize)]
#[serde(untagged, expecting = "give a number (42), a key (PROJ-123) or a URL")]
enum Written {
    Number(u64),
    Name(String),
}

impl From<Written> for Issue {
    fn from(written: Written) -> Self {
        match written {
            Written::Number(number) => Self::Number(number),
            Written::Name(text) => Self::of_text(text.trim()),
        }
    }
}

/// A text that does not name an issue.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not an issue: give a number (42), a key (PROJ-123) or a URL")]
pub struct BadIssue(String);

impl Issue {
    /// The issue, if it is one that a run can be about: a caller may have made it of any number or text.
    ///
    /// # Errors
    /// [`BadIssue`].
    pub fn checked(&self) -> Result<Self, BadIssue> {
        self.to_string().parse()
    }

    /// The issue in `context.issue`, also one that a person wrote by hand. `None` if there is none.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => number.as_u64().filter(|&number| number > 0).map(Self::Number),
            Value::String(text) => match text.trim() {
                "" => None,
                text => Some(Self::of_text(text)),
            },
            _ => None,
        }
    }

    /// The issue that a text names; a text that names none stays as it is.
    fn of_text(text: &str) -> Self {
        text.parse().unwrap_or_else(|_| Self::Name(text.to_owned()))
    }

    /// What is written into `context.issue`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Number(number) => Value::from(*number),
            Self::Name(name) => Value::from(name.as_str()),
        }
    }

    /// The same for all names of one issue: the number of an issue of the repository whose remote is `own`, otherwise the
    /// key in upper case, otherwise the address.
    #[must_use]
    pub fn key(&self, own: Option<&Remote>) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) if is_key(name) => name.to_ascii_uppercase(),
            Self::Name(name) => match address(name) {
                Some(address) => match numbered(&address, own) {
                    Some(NumberedItem::Issue(number) | NumberedItem::Either(number)) => number.to_string(),
                    Some(NumberedItem::Request(_)) | None => address,
                },
                // A caller of the library may have made a name of it: `Name("#42")`.
                None => match Self::of_text(name) {
                    Self::Name(same) if same == *name => same,
                    named => named.key(own),
                },
            },
        }
    }

    /// The number of the pull request that it may name as well, in the repository whose remote is `own`.
    #[must_use]
    pub fn pull_request(&self, own: Option<&Remote>) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Name(name) => match numbered(&address(name)?, own)? {
                NumberedItem::Request(number) | NumberedItem::Either(number) => Some(number),
                NumberedItem::Issue(_) => None,
            },
        }
    }

    /// Whether its key depends on the remote of the run's repository.
    #[must_use]
    pub fn is_address(&self) -> bool {
        matches!(self, Self::Name(name) if address(name).is_some())
    }
}

/// A key as a part of a file's name or run id.
#[must_use]
pub(crate) fn issue_file_part(key: &str) -> String {
    if key.len() <= PART_BYTES && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
        return key.to_owned();
    }
    let key = key.split_once("://").map_or(key, |(_, rest)| rest);
    slug(key, PART_BYTES).unwrap_or_else(|| "named".to_owned())
}

/// Whether this is the key of an issue in a tracker: `PROJ-123`.
fn is_key(text: &str) -> bool {
    let Some((project, number)) = text.rsplit_once('-') else { return false };
    let is_word = project.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word && project.starts_with(|first: char| first.is_ascii_alphabetic()) && positive(number).is_some()
}

/// The one spelling of an address: without user, the host in lower case, no slash at the end. The query stays where the path
/// does not end in a number or a key, since it may be what names the issue: `show_bug.cgi?id=12`. Of fragments only one stays
/// that is a route: `#/issue/12`.
fn address(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return None;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (place, path) = rest.trim_end_matches('/').split_once('/').unwrap_or((rest.trim_end_matches('/'), ""));
    let mut path = path.trim_start_matches('/').to_owned();
    let last = path.rsplit('/').next().unwrap_or_default();
    let is_named_by_path = positive(last).is_some() || is_key(last);
    if !query.is_empty() && !is_named_by_path {
        path = format!("{path}?{query}");
    }
    if fragment.starts_with('/') || fragment.starts_with("!/") {
        path = format!("{path}#{}", fragment.trim_end_matches('/'));
    }
    // Without the user, whose password may be there.
    let host = place.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    (!host.is_empty() && !path.is_empty()).then(|| format!("{scheme}://{host}/{path}"))
}

/// What has a number at an address.
enum NumberedItem {
    Issue(u64),
    /// A pull request, of a forge that numbers them apart from issues.
    Request(u64),
    /// An issue or a pull request, of a forge that numbers both together.
    Either(u64),
}

/// What an address names in this repository.
fn numbered(address: &str, own: Option<&Remote>) -> Option<NumberedItem> {
    let own = own?;
    let (place, path) = address.split_once("://")?.1.split_once('/')?;
    // The host of a remote has no port either.
    if own.host.as_deref() != place.split(':').next() {
        return None;
    }
    let (path, rest) = path.split_at_checked(own.path.len())?;
    if !path.eq_ignore_ascii_case(&own.path) {
        return None;
    }
    let rest = rest.strip_prefix('/')?;
    // GitLab's addresses have a `-` before the kind: `/-/issues/42`.
    let (is_gitlab, rest) = match rest.strip_prefix("-/") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let mut parts = rest.split('/');
    let kind = parts.next()?;
    let number = positive(parts.next()?)?;
    match kind {
        "issues" | "work_items" if is_gitlab => Some(NumberedItem::Issue(number)),
        // A forge that shows a pull request at /pull/ or /pulls/ numbers it among the issues.
        "issues" | "work_items" | "pull" | "pulls" => Some(NumberedItem::Either(number)),
        "merge_requests" | "pull-requests" => Some(NumberedItem::Request(number)),
        _ => None,
    }
}

fn positive(text: &str) -> Option<u64> {
    // Issues are numbered from 1, and with a leading zero the text is a name.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_number)
}

impl FromStr for Issue {
    type Err = BadIssue;
    fn from_str(text: &str) -> Result<Self, BadIssue> {
        let named = text.trim();
        if let Some(number) = positive(named.strip_prefix('#').unwrap_or(named)) {
            return Ok(Self::Number(number));
        }
        let is_name = named.len() <= NAME_BYTES && (is_key(named) || address(named).is_some());
        // No file of the run may have a password, and no error.
        let named = without_login(named);
        if is_name { Ok(Self::Name(named)) } else { Err(BadIssue(named)) }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

as_text!(JsonSchema for Issue, {
    // Where only one type can be named, a text is what all of them can be written as.
    "type": ["string", "integer"],
    "description": "A number, the key of an issue in another tracker, or the address of an issue.",
});

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Remote {
        Remote::parse("git@github.com:owner/name.git").unwrap()
    }

    fn key(text: &str) -> String {
        text.parse::<Issue>().unwrap().key(Some(&own()))
    }

    #[test]
    fn all_names_of_an_issue_have_one_key() {
        for name in [
            "42",
            "#42",
            " 42 ",
            "https://github.com/owner/name/issues/42",
            "https://GitHub.com/Owner/Name/issues/42/",
            "http://u:p@github.com/owner/name/issues/42?a=b#issuecomment-7",
            "https://github.com/owner/name/-/issues/42",
            "https://github.com/owner/name/pull/42",
        ] {
            assert_eq!(key(name), "42", "{name}");
        }
        assert_eq!(key("proj-123"), "PROJ-123");
    }

    #[test]
    fn a_number_that_is_written_as_a_text_is_that_number() {
        for text in ["42", "#42", " #42 "] {
            assert_eq!(serde_json::from_value::<Issue>(text.into()).unwrap(), Issue::Number(42), "{text}");
            assert_eq!(Issue::Name(text.to_owned()).key(None), "42", "{text}");
        }
        assert_eq!(Issue::Name(" proj-1 ".to_owned()).key(None), "PROJ-1");
        let kept: Issue = serde_json::from_value("the crash".into()).unwrap();
        assert_eq!(kept, Issue::Name("the crash".to_owned()));
        assert!(serde_json::from_value::<Issue>(true.into()).is_err());
    }

    #[test]
    fn a_pull_request_is_named_by_its_number_and_by_addresses_that_may_be_its_own() {
        let request = |text: &str| text.parse::<Issue>().unwrap().pull_request(Some(&own()));
        for name in ["42", "pull/42", "issues/42", "-/merge_requests/42", "merge_requests/42/diffs", "pull-requests/42"]
        {
            let name = if name == "42" { name.to_owned() } else { format!("https://github.com/owner/name/{name}") };
            assert_eq!(request(&name), Some(42), "{name}");
        }
        for name in ["-/issues/42", "-/work_items/42", "tree/42"] {
            assert_eq!(request(&format!("https://github.com/owner/name/{name}")), None, "{name}");
        }
        assert_eq!(request("PROJ-42"), None);
        // The address of a merge request is not the key of an issue.
        let address = "https://github.com/owner/name/-/merge_requests/42";
        assert_eq!(key(address), address);
    }

    #[test]
    fn issues_of_other_repositories_are_others() {
        for other in [
            "https://gitlab.com/owner/name/issues/42",
            "https://github.com/owner/names/issues/42",
            "https://github.com/owner/nam/issues/42",
            "https://github.com/owner/name/discussions/42",
            "https://github.com/owner/name/issues/x",
        ] {
            assert_eq!(key(other), other, "{other}");
        }
        let url = "https://github.com/owner/name/issues/42";
        assert_eq!(url.parse::<Issue>().unwrap().key(None), url, "the remote is not known");
    }

    #[test]
    fn an_address_keeps_what_names_the_issue_in_it() {
        let key = |text: &str| text.parse::<Issue>().unwrap().key(None);
        for (one, other, is_same) in [
            ("https://b.example/show_bug.cgi?id=12", "https://b.example/show_bug.cgi?id=13", false),
            ("https://b.example/x?p=aaa", "https://B.example/x?p=aaa", true),
            ("https://t.example/#/issue/7", "https://t.example/#/issue/8", false),
            ("https://t.example/#!/issue/7", "https://t.example/#!/issue/7/", true),
            // The path names it already.
            ("https://g.example/o/n/issues/7?tab=files#note-3", "https://g.example/o/n/issues/7", true),
            ("https://j.example/browse/PROJ-7?focusedId=1", "https://j.example/browse/PROJ-7", true),
            ("https://g.example/o/n/wiki/page#part", "https://g.example/o/n/wiki/page", true),
        ] {
            assert_eq!(key(one) == key(other), is_same, "{one} {other}");
            assert!(issue_file_part(&key(one)) != issue_file_part(&key(other)) || is_same, "{one} {other}");
        }
    }

    #[test]
    fn what_names_no_issue_is_refused() {
        for text in [
            "", "0", "-1", "4 2", "#", "##4", "042", "4.2", "fix", "-12", "a b-1", "PROJ-", "PROJ-0", "http://",
            "ftp://h/1",
        ] {
            assert!(text.parse::<Issue>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_someone_wrote_into_a_run_is_an_issue_in_any_case() {
        let of = |value: Value| Issue::from_value(&value);
        assert_eq!(of(42.into()), Some(Issue::Number(42)));
        assert_eq!(of("#42".into()), Some(Issue::Number(42)));
        assert_eq!(of("the crash".into()), Some(Issue::Name("the crash".to_owned())));
        assert_eq!((of(Value::Null), of("".into()), of(0.into())), (None, None, None));
    }

    #[test]
    fn a_key_is_a_part_of_a_file_name() {
        assert_eq!(issue_file_part("42"), "42");
        assert_eq!(issue_file_part("PROJ-123"), "PROJ-123");
        assert_eq!(issue_file_part("https://h.example/o/n/issues/7"), "h-example-o-n-issues-7");
        assert_eq!(issue_file_part("../../x"), "x");
    }
}
