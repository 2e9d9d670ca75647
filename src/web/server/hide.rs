//! What a client is told of a failure has no absolute path of this machine: neither of the project nor of anything else.

use std::path::PathBuf;

use serde_json::Value;

use crate::model::{Help, Problem};

/// The directories whose paths are shortened in messages. Of every other absolute path, the last name is kept.
#[derive(Debug)]
pub(super) struct Hide {
    /// The directories of the projects, a nested one before the one around it.
    roots: Vec<String>,
}

impl Hide {
    pub(super) fn new(roots: Vec<PathBuf>) -> Self {
        let mut roots: Vec<String> = roots.into_iter().map(|root| root.to_string_lossy().into_owned()).collect();
        // Everything is below `/`, so it would hide nothing.
        roots.retain(|root| root.len() > 1);
        roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
        Self { roots }
    }

    /// The same problem in words that name no absolute path.
    pub(super) fn in_problem(&self, problem: Problem) -> Problem {
        Problem {
            message: self.in_text(&problem.message),
            help: problem.help.map(|help| Help::from(self.in_text(&help.to_string()))),
            causes: problem.causes.iter().map(|cause| self.in_text(cause)).collect(),
            ..problem
        }
    }

    /// The same report, with warnings that name no absolute path.
    pub(super) fn in_warnings(&self, mut report: Value) -> Value {
        let Some(Value::Array(warnings)) = report.get_mut("warnings") else { return report };
        for warning in warnings {
            if let Value::String(text) = warning {
                *text = self.in_text(text);
            }
        }
        report
    }

    /// The same warnings or notes, with no absolute path.
    pub(super) fn in_texts(&self, texts: &mut [String]) {
        for text in texts {
            *text = self.in_text(text);
        }
    }

    /// A path below a project becomes relative to it, and of another one only the last name is left.
    pub(super) fn in_text(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = None;
        while let Some(first) = rest.chars().next() {
            let begins = first == '/' && before.is_none_or(begins_a_word);
            // The slashes behind it begin no path.
            let is_address = shown.ends_with("http:") || shown.ends_with("https:");
            if !begins || is_address {
                shown.push(first);
                before = Some(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
            if let Some(root) = self.roots.iter().find(|root| is_below(rest, root)) {
                rest = &rest[root.len()..];
                rest = rest.strip_prefix('/').unwrap_or(rest);
                if rest.is_empty() || rest.starts_with(ends_a_path) {
                    shown.push('.');
                }
            } else {
                let (path, after) = rest.split_at(rest.find(ends_a_path).unwrap_or(rest.len()));
                match path.trim_end_matches('/').rsplit_once('/') {
                    Some((_, name)) => shown.extend(["…/", name]),
                    None => shown.push_str(path),
                }
                rest = after;
            }
            // A slash that follows belongs to the path that was shortened.
            before = Some('.');
        }
        shown
    }
}

/// Whether this text begins with the path of `root` or of something in it.
fn is_below(text: &str, root: &str) -> bool {
    // Of `/work` and `/workshop`, the second is not in the first.
    match text.strip_prefix(root) {
        Some(after) => after.is_empty() || after.starts_with('/') || after.starts_with(ends_a_path),
        None => false,
    }
}

/// Whether a slash after this character begins an absolute path. In `a/b` and `../a` it does not.
fn begins_a_word(before: char) -> bool {
    !before.is_alphanumeric() && !matches!(before, '/' | '.' | '_' | '-' | '~' | '…' | '*' | '}' | ']' | '<')
}

fn ends_a_path(c: char) -> bool {
    c.is_whitespace() || matches!(c, ':' | ';' | ',' | '"' | '\'' | '`' | '(' | ')' | '<' | '>' | '|')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_relative_to_their_project_or_lose_their_directories() {
        let hide = Hide::new(vec!["/home/u/my work".into(), "/home/u/my work/inner".into(), "/".into()]);
        for (text, told) in [
            (
                "cannot read /home/u/my work/.flow/runs/r1/run.yaml: line 4",
                "cannot read .flow/runs/r1/run.yaml: line 4",
            ),
            ("`/home/u/my work/inner/a b.txt` is gone", "`a b.txt` is gone"),
            ("`flow -C '/home/u/my work' doctor`", "`flow -C '.' doctor`"),
            ("(/home/u/my work)", "(.)"),
            ("/home/u/my work", "."),
            ("/home/u/my workshop/a.txt", "…/my workshop/a.txt"),
            ("in /etc/flow/config.yaml, and =/opt/x/", "in …/config.yaml, and =…/x"),
            ("//net/share/a", "…/a"),
            ("a/b, ../c, ./d and 1/2", "a/b, ../c, ./d and 1/2"),
            (
                "see https://example.org/a/b and http://localhost/x",
                "see https://example.org/a/b and http://localhost/x",
            ),
            ("file:///home/u/x", "file:…/x"),
            ("either / or", "either / or"),
            ("", ""),
        ] {
            assert_eq!(hide.in_text(text), told, "{text}");
        }
    }
}
