//! The name of a repository, from the URL of its remote.

/// `owner/name` of a remote in any form that git accepts: `https://…`, `ssh://…`, `git@host:…` or a path. Only the name
/// if there is no owner. Uses nothing before the path, so that no password gets into a run.
pub(super) fn repository_name(address: &str) -> Option<String> {
    let address = address.trim();
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => scp_path(address).unwrap_or(address),
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_end_matches(['/', '\\']);
    let path = path.strip_suffix("/.git").unwrap_or(path);
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut parts =
        path.rsplit(['/', '\\']).filter(|part| !matches!(*part, "" | "." | ".." | "~") && !part.ends_with(':'));
    let name = parts.next()?;
    Some(match parts.next() {
        Some(owner) => format!("{owner}/{name}"),
        None => name.to_owned(),
    })
}

/// The path in `[user@]host:path`. A colon after a slash belongs to a file's name; a single letter before it is a
/// drive.
fn scp_path(address: &str) -> Option<&str> {
    let (host, path) = address.split_once(':')?;
    (host.len() > 1 && !host.contains(['/', '\\'])).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_names_the_same_repository() {
        for address in [
            "https://github.com/owner/name.git",
            "https://github.com/owner/name/",
            "https://user:secret@github.com/owner/name.git?x=1",
            "ssh://git@github.com:22/owner/name.git",
            "git@github.com:owner/name.git\n",
            "github.com:/owner/name",
            "git://host/group/owner/name.git",
            "file:///srv/git/owner/name.git",
            "/srv/git/owner/name",
            "../owner/name.git/",
            "/srv/owner/name/.git",
            "C:\\work\\owner\\name",
        ] {
            assert_eq!(repository_name(address).as_deref(), Some("owner/name"), "{address}");
        }
    }

    #[test]
    fn an_address_without_owner_gives_its_name_and_never_its_host() {
        assert_eq!(repository_name("/name.git").as_deref(), Some("name"));
        assert_eq!(repository_name("git@host:name.git").as_deref(), Some("name"));
        assert_eq!(repository_name("https://secret@host/name").as_deref(), Some("name"));
        assert_eq!(repository_name("../name").as_deref(), Some("name"));
        for nothing in ["", "https://secret@host", "https://secret@host/", "/", "..", "C:\\"] {
            assert_eq!(repository_name(nothing), None, "{nothing}");
        }
    }
}
