//! Which files of a checkout flow writes itself.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use memchr::memmem;

use crate::host::is_own_path;
use crate::runs::context::{Context, OpenedProject};
use crate::store::Project;

/// The project's directory, relative to the top of the checkout.
pub(in crate::runs) fn below_top(cx: &Context, root: &Path) -> PathBuf {
    match cx.git.top(root) {
        Some(top) => root.strip_prefix(top).map(Path::to_owned).unwrap_or_default(),
        None => PathBuf::new(),
    }
}

/// Where flow writes, as paths from the top of the checkout of `project`, with a `/` at their end. A journal of
/// decisions is about the work: that flow notes in it how a run ended must not make stale what was seen in that run. What
/// people put beside flow's own files is theirs.
pub(in crate::runs) fn own_directories(project: &OpenedProject) -> Vec<String> {
    own_directories_of(project, &below_top(&project.cx, project.root()))
}

/// The same of the other projects of the checkout at `top`, as far as these paths in it lead into their `.flow` and are not in
/// `own`. Each counts only with flow's mark: a directory that is only called so hides nothing.
pub(in crate::runs) fn own_of_others<'p>(
    project: &OpenedProject,
    top: &Path,
    own: &[String],
    paths: impl IntoIterator<Item = &'p [u8]>,
) -> Vec<String> {
    let cx = &project.cx;
    let name = Project::path_in(Path::new("")).into_os_string();
    let mut holders = BTreeSet::new();
    for path in paths {
        for at in memmem::find_iter(path, name.as_bytes()) {
            let (before, after) = (&path[..at], &path[at + name.len()..]);
            if (before.is_empty() || before.ends_with(b"/")) && after.starts_with(b"/") && !is_own_path(path, own) {
                holders.insert(before);
            }
        }
    }
    let mut found = Vec::new();
    for below in holders {
        let below = Path::new(OsStr::from_bytes(below));
        let holder = top.join(below);
        // A submodule has files of its own.
        let is_here = cx.git.top(&holder).is_some_and(|nearest| nearest == top);
        if is_here
            && let Ok(other) = Project::open(&*cx.disk, &holder, project.trust())
            && other.is_marked()
        {
            found.extend(own_directories_of(&other, below));
        }
    }
    found
}

fn own_directories_of(project: &Project, below: &Path) -> Vec<String> {
    // `FLOW_DIR` may give it any name.
    let flow = directory(below, project.path().file_name().unwrap_or_default());
    let mut own = vec![directory(below, OsStr::new(".decisions"))];
    match project.own_names() {
        None => own.push(flow),
        Some(names) => {
            for name in names {
                own.push(format!("{flow}{name}/"));
            }
        }
    }
    own
}

fn directory(below: &Path, name: &OsStr) -> String {
    format!("{}/", below.join(name).to_string_lossy())
}
