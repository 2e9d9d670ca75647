//! Names the store in `.flow/config.yaml`.

use std::path::Path;

use thiserror::Error;

use crate::catalog::{CONFIG_FILE, STORE_KEY};
use crate::disk::{DocumentError, update_document};
use crate::model::{Kind, Problem, limits};
use crate::runs::{OpenedProject, Result};
use crate::sharing::name::StoreName;

/// The store of the configuration is written in a form that is not edited here.
#[derive(Debug, Error)]
#[error("`{STORE_KEY}` in {CONFIG_FILE} is not one line")]
struct NotOneLine;

/// Writes the name of the store into the project's configuration. Returns whether that changed it.
pub(super) fn name_store(project: &OpenedProject, name: &StoreName) -> Result<bool> {
    if project.catalog().store()?.as_deref() == Some(&name.to_string()) {
        return Ok(false);
    }
    let wait = project.commit_wait()?;
    let place = project.cx.document(project.path(), Path::new(CONFIG_FILE), limits::WORKFLOW_BYTES, wait);
    update_document(&place, &mut |old| with_store(old.unwrap_or_default(), name)).map_err(|error| match error {
        DocumentError::Fault(fault) => fault.into(),
        DocumentError::Edit { source, .. } => crate::runs::Error::from(
            Problem::new(Kind::Usage, "invalid_store", source)
                .help(format!("write `{STORE_KEY}: {name}` there yourself, and repeat the command")),
        ),
    })?;
    Ok(true)
}

/// The text with the name of the store in its line, or in a new one at the end.
fn with_store(text: &str, name: &StoreName) -> std::result::Result<String, NotOneLine> {
    let line = format!("{STORE_KEY}: {name}\n");
    let mut new = String::new();
    let mut is_there = false;
    for old in text.split_inclusive('\n') {
        if old.strip_prefix(STORE_KEY).is_some_and(|rest| rest.trim_start().starts_with(':')) {
            is_there = true;
            new.push_str(&line);
        } else {
            new.push_str(old);
        }
    }
    if !is_there {
        if !new.is_empty() && !new.ends_with('\n') {
            new.push('\n');
        }
        new.push_str(&line);
    }
    let named = crate::codec::parse_value(&new).ok();
    let is_named = named.is_some_and(|value| value[STORE_KEY] == name.to_string().as_str());
    if is_named { Ok(new) } else { Err(NotOneLine) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_named_and_everything_else_stays() {
        let name: StoreName = "git:origin".parse().unwrap();
        for (old, wanted) in [
            ("", "store: git:origin\n"),
            ("# Ours.\nstate_types: [a]", "# Ours.\nstate_types: [a]\nstore: git:origin\n"),
            ("store: git:other\n# Kept.\n", "store: git:origin\n# Kept.\n"),
        ] {
            assert_eq!(with_store(old, &name).unwrap(), wanted);
        }
        assert!(with_store("store:\n  git:other\n", &name).is_err());
        assert!(with_store("{store: git:other}\n", &name).is_err());
    }
}
