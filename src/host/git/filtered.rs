//! Files of which git cannot tell whether they changed: it is asked without the filter that the repository configures for them.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::host::git::command::Git;
use crate::host::git::running::{Silence, file_with};
use crate::host::git::settings::filter_in;
use crate::host::git::tree::{Apart, ChangedPath};

/// Asks for the filters that git runs when it is asked for changes.
const RUN: [&str; 4] = ["config", "-z", "--get-regexp", "^filter\\..*\\.(clean|process)$"];
/// Asks which filter converts each of the paths that are read.
const FILTER_OF: [&str; 4] = ["check-attr", "-z", "--stdin", "filter"];
/// What `git status` says of a file whose content or mode on the disk is another one.
const EDITED: [u8; 2] = *b" M";

impl Git {
    /// As [`Self::need_filter`], of what `git status` lists.
    pub(super) fn only_need_filter(
        &self,
        apart: &Apart,
        changed: &[ChangedPath],
        deadline: Instant,
    ) -> Result<bool, String> {
        for changed in changed {
            let is_file = || apart.top.join(&changed.path).symlink_metadata().is_ok_and(|meta| meta.is_file());
            if changed.state != EDITED || !is_file() {
                return Ok(false);
            }
        }
        self.need_filter(apart, changed.iter().map(|changed| changed.path.as_bytes()), deadline)
    }

    /// Whether a filter converts each of these paths that the repository of `apart` configures, and git does not run here.
    pub(super) fn need_filter<'p>(
        &self,
        apart: &Apart,
        paths: impl Iterator<Item = &'p [u8]>,
        deadline: Instant,
    ) -> Result<bool, String> {
        let mut input = Vec::new();
        for path in paths {
            input.extend(path);
            input.push(0);
        }
        if apart.filters.is_empty() || input.is_empty() {
            return Ok(input.is_empty());
        }
        let input = file_with(&input).map_err(|error| format!("cannot write what git is to read: {error}"))?;
        let asked = self.start_with(&apart.variables, &apart.top, &FILTER_OF, input).map_err(Silence::why)?;
        // Those of the user run.
        let settings = self.settings(&apart.variables, &apart.top, &RUN, deadline)?;
        let run: BTreeSet<_> = settings.iter().filter_map(|(key, _)| filter_in(key)).collect();
        let answer = asked.output(deadline)?;
        let mut parts = answer.split(|&byte| byte == 0);
        while let (Some(_), Some(_), Some(filter)) = (parts.next(), parts.next(), parts.next()) {
            if run.contains(filter) || !apart.filters.contains(filter) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
