//! The name of a store, as a project's configuration has it.

use std::fmt;
use std::str::FromStr;

use crate::model::{Kind, Problem, without_login};

/// Where the references of a git store are, unless the name says where.
const REFS: &str = "refs/flow/";

/// The name of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreName {
    /// A git remote: `git:origin`, or `git:origin#refs/heads/flow/` where a host takes only branches.
    Git {
        /// The name of the remote.
        remote: String,
        /// Where its references are; ends with a slash.
        refs: String,
    },
    /// A bucket: `s3://bucket/prefix`.
    Bucket(String),
}

impl FromStr for StoreName {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let unknown = |why: &str| {
            let message = format!("`{}` is not a store: {why}", without_login(text));
            Problem::new(Kind::Usage, "invalid_store", message)
                .help("a git remote is named `git:origin`, and a bucket `s3://bucket/prefix`")
        };
        if text.is_empty() {
            return Err(Problem::new(Kind::Usage, "invalid_store", "the name of the store is empty")
                .help("a git remote is named `git:origin`, and a bucket `s3://bucket/prefix`"));
        }
        if let Some(place) = text.strip_prefix("s3://")
            && text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            let bucket = place.split('/').next().unwrap_or_default();
            if bucket.contains('@') {
                return Err(unknown("it has a login, and credentials come from the environment or a profile"));
            }
            if bucket.is_empty() || bucket.contains(':') {
                return Err(unknown("it names no bucket"));
            }
            return Ok(Self::Bucket(text.trim_end_matches('/').to_owned()));
        }
        let begins = "it begins neither with `git:` nor with `s3://`";
        let Some(rest) = text.strip_prefix("git:") else { return Err(unknown(begins)) };
        let (remote, refs) = rest.split_once('#').unwrap_or((rest, REFS));
        // Such a name would be an option of git, or an address.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
        if remote.is_empty() || remote.starts_with(['-', '.', '/']) || !remote.bytes().all(is_plain) {
            return Err(unknown("it names no git remote"));
        }
        let is_place = refs.starts_with("refs/") && refs.ends_with('/') && refs.len() > "refs/".len();
        if !is_place || refs.contains("..") || refs.contains("//") || !refs.bytes().all(is_plain) {
            return Err(unknown("its references need a place such as `refs/heads/flow/`"));
        }
        Ok(Self::Git { remote: remote.to_owned(), refs: refs.to_owned() })
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git { remote, refs } if refs == REFS => write!(f, "git:{remote}"),
            Self::Git { remote, refs } => write!(f, "git:{remote}#{refs}"),
            Self::Bucket(address) => f.write_str(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_remote_and_perhaps_a_place_of_references() {
        for text in ["git:origin", "git:team/runs", "git:origin#refs/heads/flow/", "s3://runs/team"] {
            assert_eq!(text.parse::<StoreName>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "origin",
            "git:",
            "git:--upload-pack=x",
            "git:ext::sh -c x",
            "git:a b",
            "git:../x",
            "git:origin#",
            "git:origin#refs/",
            "git:origin#refs/heads/flow",
            "git:origin#heads/flow/",
            "git:origin#refs/../x/",
            "s3://a b",
            "s3://",
            "s3://name:secret@bucket/prefix",
            "https://example.org/x.git",
        ] {
            assert!(text.parse::<StoreName>().is_err(), "{text}");
        }
        for text in ["git:https://name:secret@example.org/x", "s3://name:secret@bucket"] {
            let told = text.parse::<StoreName>().unwrap_err().to_string();
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
