//! What the environment says about the network and about clouds: proxies, certificates, credentials.
#![expect(clippy::disallowed_methods, reason = "this is where the environment comes from")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host::child::{CommandEnd, Job};

/// The variables that are read. Of two names of one thing the first one that is set counts.
const VARIABLES: &[&str] = &[
    "ALL_PROXY",
    "AWS_ACCESS_KEY_ID",
    "AWS_CA_BUNDLE",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_DEFAULT_REGION",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];
/// The longest file of settings or certificates that is read, in bytes.
const FILE_BYTES: u64 = 2 << 20;
/// The longest output of a program that has credentials, in bytes.
const OUTPUT_BYTES: usize = 64 << 10;

/// A snapshot of these variables. Empty ones count as unset. What they hold is not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CloudEnv {
    variables: BTreeMap<&'static str, String>,
}

impl fmt::Debug for CloudEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedProxy {
    /// The variable that names it.
    pub(super) variable: &'static str,
    pub(super) url: String,
}

impl CloudEnv {
    /// Reads the environment of this process.
    #[must_use]
    pub fn read() -> Self {
        Self::from_lookup(std::env::var_os)
    }

    /// Reads an environment from a function.
    pub fn from_lookup(lookup: impl Fn(&'static str) -> Option<OsString>) -> Self {
        let mut variables = BTreeMap::new();
        for name in VARIABLES {
            if let Some(Ok(text)) = lookup(name).map(OsString::into_string)
                && !text.is_empty()
            {
                variables.insert(*name, text);
            }
        }
        Self { variables }
    }

    /// A variable, if it is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The first one of these variables that is set.
    #[must_use]
    pub fn first(&self, names: &[&'static str]) -> Option<(&'static str, &str)> {
        names.iter().find_map(|name| Some((*name, self.get(name)?)))
    }

    /// A file below the home directory.
    #[must_use]
    pub fn at_home(&self, path: &str) -> Option<PathBuf> {
        self.get("HOME").map(|home| Path::new(home).join(path))
    }

    /// The text of a file of settings; `None` if there is no such file.
    ///
    /// # Errors
    /// A sentence fragment: what is wrong with it.
    pub fn file(path: &Path) -> Result<Option<String>, String> {
        let fault = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| fault(&error))?,
        };
        let mut text = String::new();
        file.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| fault(&error))?;
        if text.len() as u64 > FILE_BYTES {
            return Err(fault(&format!("it is longer than {} MB", FILE_BYTES >> 20)));
        }
        Ok(Some(text))
    }

    /// What a program that the user's settings name writes.
    ///
    /// # Errors
    /// A sentence fragment: how it failed.
    pub fn output_of(command: &str, limit: Duration) -> Result<String, String> {
        let job = Job { command, dir: None, input: &[], env: Vec::new(), limit, most: OUTPUT_BYTES };
        let answered = job.run(&mut |_| {}).map_err(|error| format!("it cannot be run: {error}"))?;
        match answered.ended {
            CommandEnd::Exited(status) if status.success() => {
                String::from_utf8(answered.output).map_err(|_| "its output is not valid UTF-8".to_owned())
            }
            CommandEnd::Exited(status) => Err(format!("it failed: {status}")),
            CommandEnd::TooSlow => Err(format!("it took longer than {} s", limit.as_secs())),
            CommandEnd::TooLong => Err("its output is too long".to_owned()),
            CommandEnd::Interrupted(_) => Err("it was interrupted".to_owned()),
        }
    }

    /// The file of certificates that count instead of the usual ones, and the variable that names it.
    pub(super) fn certificates(&self) -> Option<(&'static str, PathBuf)> {
        let (name, path) = self.first(&["AWS_CA_BUNDLE", "SSL_CERT_FILE"])?;
        Some((name, PathBuf::from(path)))
    }

    /// The proxy for a URL.
    pub(super) fn proxy_for(&self, url: &str) -> Option<NamedProxy> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        let names = match scheme {
            "https" => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
            _ => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
        };
        let (variable, proxy) = self.first(&names)?;
        let (_, exempt) = self.first(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
        if is_exempt(authority, exempt) { None } else { Some(NamedProxy { variable, url: proxy.to_owned() }) }
    }
}

/// Whether a server is one of those that a list in `NO_PROXY` names: a host with all below it, with or without its port, or
/// `*`.
fn is_exempt(authority: &str, list: &str) -> bool {
    let authority = authority.to_ascii_lowercase();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => &authority,
    };
    list.to_ascii_lowercase().split(',').map(str::trim).any(|named| {
        let name = named.trim_start_matches('*').trim_start_matches('.');
        named == "*"
            || !name.is_empty() && (name == host || name == authority)
            || !name.is_empty() && host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[(&str, &str)]) -> CloudEnv {
        CloudEnv::from_lookup(|name| {
            let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
            Some(OsString::from(value))
        })
    }

    #[test]
    fn a_proxy_counts_for_its_scheme_unless_the_host_is_exempt() {
        let all =
            [("HTTPS_PROXY", "http://p:1"), ("http_proxy", "http://q:2"), ("NO_PROXY", "localhost,.corp.example,a:9")];
        let url = |url| env(&all).proxy_for(url).map(|proxy| proxy.url);
        assert_eq!(url("https://s3.example.com/x").as_deref(), Some("http://p:1"));
        assert_eq!(url("http://s3.example.com:80/x").as_deref(), Some("http://q:2"));
        for exempt in ["https://localhost:9000/x", "https://corp.example", "https://a.b.corp.example/", "http://a:9/"] {
            assert_eq!(url(exempt), None, "{exempt}");
        }
        assert!(url("https://notcorp.example/").is_some());
        assert_eq!(env(&[("ALL_PROXY", "http://p:1"), ("no_proxy", "*")]).proxy_for("https://a/"), None);
    }

    #[test]
    fn what_variables_hold_is_not_shown() {
        let shown = format!("{:?}", env(&[("AWS_SECRET_ACCESS_KEY", "hidden"), ("AWS_REGION", "r")]));
        assert_eq!(shown, r#"{"AWS_REGION", "AWS_SECRET_ACCESS_KEY"}"#);
    }
}
