//! Where a bucket is.

use rusty_s3::{Bucket, UrlStyle};

use crate::host::CloudEnv;
use crate::remote::s3::profile::Profile;

/// How an address of a bucket begins.
const SCHEME: &str = "s3://";
/// The region where none is named.
const REGION: &str = "us-east-1";
/// The longest text before flow's own names, in bytes: a key has at most 1024.
const PREFIX_BYTES: usize = 512;

/// Where a bucket is, and what the names of flow's objects in it begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Place {
    /// The name of the bucket, without a prefix.
    pub bucket: String,
    /// Empty, or parts of a path.
    pub prefix: String,
    /// The region that counts for signatures.
    pub region: String,
    /// The server, if it is another one than that of the region.
    pub endpoint: Option<String>,
    /// Whether the bucket is a part of the path, not of the host.
    pub is_path_style: bool,
}

impl S3Place {
    /// The place that `s3://bucket/prefix` names, with the region and the server that the environment and its profile name.
    ///
    /// # Errors
    /// A sentence: the address is not one, or the profile cannot be read.
    pub fn from_environment(address: &str, env: &CloudEnv) -> Result<Self, String> {
        let wrong = |why: &str| format!("{address} is not the address of a bucket: {why}");
        let rest = address.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with s3://"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        if bucket.is_empty() || bucket.len() > 63 || !is_made_of(bucket, b"._-") || bucket.starts_with('.') {
            return Err(wrong("a bucket has up to 63 letters, digits, dots and hyphens"));
        }
        if prefix.len() > PREFIX_BYTES || !prefix.is_empty() && prefix.split('/').any(|part| !is_part(part)) {
            return Err(wrong("behind the bucket come parts of letters, digits and .-_=+@, with / between them"));
        }
        let region = env.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]).map(|(_, region)| region);
        let profile = match Profile::read(env) {
            // Files that were not asked for may be out of reach in a sandbox.
            Err(_) if region.is_some() && env.get("AWS_PROFILE").is_none() => Profile::default(),
            read => read?,
        };
        let region = region.or(profile.get("region")).unwrap_or(REGION).to_owned();
        let endpoint = env.first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]).map(|(_, endpoint)| endpoint);
        let endpoint = endpoint.or(profile.get("endpoint_url")).map(str::to_owned);
        // A certificate for all buckets does not count for names with dots.
        let is_path_style = endpoint.is_some() || bucket.contains('.');
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned(), region, endpoint, is_path_style })
    }

    /// The address for messages.
    pub(super) fn called(&self) -> String {
        let Self { bucket, prefix, .. } = self;
        if prefix.is_empty() { format!("{SCHEME}{bucket}") } else { format!("{SCHEME}{bucket}/{prefix}") }
    }

    /// What the names of flow's objects begin with.
    pub(super) fn key_prefix(&self) -> String {
        if self.prefix.is_empty() { String::new() } else { format!("{}/", self.prefix) }
    }

    /// The bucket for requests.
    pub(super) fn to_bucket(&self) -> Result<Bucket, String> {
        let domain = if self.region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let usual = format!("https://s3.{}.{domain}", self.region);
        let endpoint = self.endpoint.as_deref().unwrap_or(&usual);
        // Neither is said again, because the URL may hold a password.
        let wrong = || "the URL of the object store's server is not valid: see AWS_ENDPOINT_URL_S3".to_owned();
        let style = if self.is_path_style { UrlStyle::Path } else { UrlStyle::VirtualHost };
        let url = endpoint.parse().map_err(|_| wrong())?;
        Bucket::new(url, style, self.bucket.clone(), self.region.clone()).map_err(|_| wrong())
    }
}

fn is_part(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && is_made_of(part, b".-_=+@")
}

/// Whether a text has only letters and digits of ASCII, and these signs.
fn is_made_of(text: &str, signs: &[u8]) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || signs.contains(&byte))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn place(address: &str, variables: &[(&str, &str)]) -> Result<S3Place, String> {
        let env = CloudEnv::from_lookup(|name| {
            let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
            Some(OsString::from(value))
        });
        S3Place::from_environment(address, &env)
    }

    #[test]
    fn an_address_names_a_bucket_and_what_names_begin_with() {
        let plain = place("s3://runs", &[]).unwrap();
        assert_eq!((plain.called(), plain.key_prefix()), ("s3://runs".to_owned(), String::new()));
        assert_eq!(plain.to_bucket().unwrap().base_url().as_str(), "https://runs.s3.us-east-1.amazonaws.com/");
        let deep = place("s3://runs.x/team/a/", &[("AWS_DEFAULT_REGION", "eu-west-1")]).unwrap();
        assert_eq!((deep.called(), deep.key_prefix()), ("s3://runs.x/team/a".to_owned(), "team/a/".to_owned()));
        assert_eq!(deep.to_bucket().unwrap().base_url().as_str(), "https://s3.eu-west-1.amazonaws.com/runs.x/");
        let own = place("s3://runs", &[("AWS_ENDPOINT_URL", "http://x:9"), ("AWS_REGION", "r")]).unwrap();
        assert_eq!(own.to_bucket().unwrap().base_url().as_str(), "http://x:9/runs/");
        for wrong in ["runs", "s3://", "s3:///a", "s3://a b", "s3://a//b", "s3://a/../b", "s3://a/b c", "s3://u:p@h/b"]
        {
            assert!(place(wrong, &[]).is_err(), "{wrong}");
        }
        let error = place("s3://a", &[("AWS_ENDPOINT_URL", "u:secret")]).unwrap().to_bucket().unwrap_err();
        assert_eq!(error, "the URL of the object store's server is not valid: see AWS_ENDPOINT_URL_S3");
    }
}
