//! The address of a repository's remote.

/// Where a repository's remote is, from an address in any form that git accepts: `https://…`, `ssh://…`, `git@host:…` or a
/// path. Neither a user nor a password of the address is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// The host, in lower case and without its port; none for a path.
    pub host: Option<String>,
    /// The path on that host, without `.git`: `owner/name`.
    pub path: String,
}

impl Remote {
    /// Reads an address. `None` if it has no name of a repository.
    #[must_use]
    pub fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        let (place, path) = match address.split_once("://") {
            Some((_, rest)) => rest.split_once('/')?,
            None => scp_address(address).unwrap_or(("", address)),
        };
        let host = place.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
        // What follows is for the server.
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_end_matches(['/', '\\']);
        // A path may name the git directory itself.
        let path = path.strip_suffix("/.git").unwrap_or(path);
        let path = path.strip_suffix(".git").unwrap_or(path);
        let mut parts: Vec<&str> = path.split(['/', '\\']).collect();
        // What git resolves on that host, and drives, are no part of a name.
        parts.retain(|part| !matches!(*part, "" | "." | ".." | "~") && !part.ends_with(':'));
        if parts.is_empty() {
            return None;
        }
        // Hosts are compared, and their case means nothing.
        let host = Some(host.to_ascii_lowercase()).filter(|host| !host.is_empty());
        Some(Self { host, path: parts.join("/") })
    }

    /// `owner/name`; only the name if there is no owner.
    #[must_use]
    pub fn name(&self) -> String {
        let mut parts = self.path.rsplit('/');
        let name = parts.next().unwrap_or_default();
        match parts.next() {
            Some(owner) => format!("{owner}/{name}"),
            None => name.to_owned(),
        }
    }
}

/// The place and the path of `[user@]host:path`. A colon after a slash belongs to a file's name; a single letter before it
/// is a drive.
fn scp_address(address: &str) -> Option<(&str, &str)> {
    let (place, path) = address.split_once(':')?;
    (place.len() > 1 && !place.contains(['/', '\\'])).then_some((place, path))
}

/// An address without the name and password that log in there.
pub(crate) fn without_login(address: &str) -> String {
    match login_in(address) {
        Some(login) => address.replacen(&format!("{login}@"), "", 1),
        None => address.to_owned(),
    }
}

/// An address without what may be secret in it: the name and password, and what follows the path, as a token does.
pub(crate) fn without_secrets(address: &str) -> String {
    let shown = without_login(address);
    match query_in(address).and_then(|query| shown.strip_suffix(query)) {
        Some(place) => format!("{place}…"),
        None => shown,
    }
}

/// What is replaced in a text about an address: each may be a secret.
pub(crate) fn secrets_in(address: &str) -> impl Iterator<Item = &str> {
    [login_in(address), query_in(address)].into_iter().flatten().filter(|secret| !secret.is_empty())
}

/// Whether an address may hold what logs in there. The name alone of a user of SSH does not.
pub(crate) fn has_secrets(address: &str) -> bool {
    secrets_in(address).any(|secret| !address.contains("ssh://") || secret.contains([':', '=']))
}

fn query_in(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    rest.split_once('?').map(|(_, query)| query)
}

/// The name and password in an address.
fn login_in(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    let host = rest.split('/').next()?;
    host.rsplit_once('@').map(|(login, _)| login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(address: &str) -> Option<String> {
        Remote::parse(address).map(|remote| remote.name())
    }

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
            assert_eq!(name_of(address).as_deref(), Some("owner/name"), "{address}");
        }
    }

    #[test]
    fn an_address_without_owner_gives_its_name_and_never_its_host() {
        assert_eq!(name_of("/name.git").as_deref(), Some("name"));
        assert_eq!(name_of("git@host:name.git").as_deref(), Some("name"));
        assert_eq!(name_of("https://secret@host/name").as_deref(), Some("name"));
        assert_eq!(name_of("../name").as_deref(), Some("name"));
        for nothing in ["", "https://secret@host", "https://secret@host/", "/", "..", "C:\\"] {
            assert_eq!(name_of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn an_address_is_shown_without_a_login_and_without_a_query() {
        for (address, shown) in [
            ("https://u:p@host/x.git", "https://host/x.git"),
            ("https://host/x.git?token=secret", "https://host/x.git?…"),
            ("https://u:p@host/x.git?a=b?c", "https://host/x.git?…"),
            ("git@host:x.git", "git@host:x.git"),
            ("/srv/what?.git", "/srv/what?.git"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
        assert_eq!(secrets_in("https://u:p@host/x?t=s").collect::<Vec<_>>(), ["u:p", "t=s"]);
        assert_eq!(secrets_in("https://@host/x?").count(), 0);
        for (address, is_secret) in [
            ("https://token@host/x", true),
            ("https://host/x?token=secret", true),
            ("ssh://git:secret@host/x", true),
            ("ssh://git@host/x", false),
            ("git@host:x.git", false),
            ("https://host/x.git", false),
            ("/srv/x@y.git", false),
        ] {
            assert_eq!(has_secrets(address), is_secret, "{address}");
        }
    }

    #[test]
    fn the_host_of_an_address_is_known_without_user_and_port() {
        for address in ["https://u:p@GitHub.com:443/o/n.git", "ssh://git@github.com:22/o/n", "git@github.com:o/n.git"] {
            assert_eq!(Remote::parse(address).unwrap().host.as_deref(), Some("github.com"), "{address}");
        }
        assert_eq!(Remote::parse("/srv/git/o/n").unwrap().host, None);
        assert_eq!(Remote::parse("https://host/group/o/n").unwrap().path, "group/o/n");
    }
}
