//! Who asks: credentials from the environment, a profile, a program, the container or the machine.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use rusty_s3::Credentials;
use serde::Deserialize;

use crate::host::{Clock, CloudEnv, HttpClient, HttpFault, HttpRequest};
use crate::model::{Timestamp, percent_encoded};
use crate::remote::s3::profile::Profile;
use crate::store::shared::left_until;

/// Credentials that end sooner are replaced.
const SPARE: TimeDelta = TimeDelta::minutes(5);
/// The longest answer with credentials, in bytes.
const ANSWER_BYTES: u64 = 64 << 10;
/// How long a server of the machine or container may take. Elsewhere there is none, and nothing answers.
const NEAR: Duration = Duration::from_secs(1);
/// Where containers and instances get credentials.
const CONTAINER: &str = "http://169.254.170.2";
const INSTANCE: &str = "http://169.254.169.254";
/// The hosts that may give them without TLS.
const NEAR_HOSTS: [&str; 6] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "127.0.0.1", "[::1]"];

/// The places that may have credentials, in order, and what they gave last.
#[derive(Debug)]
pub(super) struct CredentialChain {
    env: CloudEnv,
    /// The region of the service that takes web identities.
    region: String,
    known: Mutex<Option<ExpiringCredentials>>,
}

/// Credentials, and when they end.
#[derive(Debug, Clone)]
struct ExpiringCredentials {
    credentials: Credentials,
    until: Option<Timestamp>,
}

/// Credentials as programs, containers and instances give them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RawCredentials {
    access_key_id: String,
    secret_access_key: String,
    #[serde(alias = "SessionToken")]
    token: Option<String>,
    expiration: Option<String>,
}

impl From<RawCredentials> for ExpiringCredentials {
    fn from(given: RawCredentials) -> Self {
        let until = given.expiration.and_then(|text| text.parse().ok());
        Self { credentials: with_token(&given.access_key_id, &given.secret_access_key, given.token.as_deref()), until }
    }
}

fn with_token(key: &str, secret: &str, token: Option<&str>) -> Credentials {
    match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    }
}

impl CredentialChain {
    pub(super) fn new(env: CloudEnv, region: String) -> Self {
        Self { env, region, known: Mutex::new(None) }
    }

    /// The credentials to sign with now.
    ///
    /// # Errors
    /// A sentence fragment: there are none, or the place that should have them has not. It quotes no secret.
    pub(super) fn get(&self, deadline: Instant) -> Result<Credentials, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ExpiringCredentials { credentials, until }) = &*known
            && until.is_none_or(|until| until.as_datetime() > Clock::real().now().as_datetime() + SPARE)
        {
            return Ok(credentials.clone());
        }
        let found = self.look(deadline)?;
        let credentials = found.credentials.clone();
        *known = Some(found);
        Ok(credentials)
    }

    /// Looks for credentials again the next time.
    pub(super) fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn look(&self, deadline: Instant) -> Result<ExpiringCredentials, String> {
        let (env, key) = (&self.env, self.env.get("AWS_ACCESS_KEY_ID"));
        if let (Some(key), Some(secret)) = (key, env.get("AWS_SECRET_ACCESS_KEY")) {
            return Ok(ExpiringCredentials {
                credentials: with_token(key, secret, env.get("AWS_SESSION_TOKEN")),
                until: None,
            });
        }
        if let (Some(file), Some(role)) = (env.get("AWS_WEB_IDENTITY_TOKEN_FILE"), env.get("AWS_ROLE_ARN")) {
            return self.of_web_identity(file, role, deadline);
        }
        if let Some(found) = self.of_profile(&Profile::read(env)?, deadline)? {
            return Ok(found);
        }
        if let Some(found) = self.of_container(deadline)? {
            return Ok(found);
        }
        let of_instance =
            if env.get("AWS_EC2_METADATA_DISABLED") == Some("true") { None } else { self.of_instance(deadline) };
        of_instance.ok_or_else(|| {
            "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE".to_owned()
        })
    }

    fn of_profile(&self, profile: &Profile, deadline: Instant) -> Result<Option<ExpiringCredentials>, String> {
        let name = &profile.name;
        if let Some(role) = profile.get("role_arn") {
            let Some(file) = profile.get("web_identity_token_file") else {
                return Err(other_login(name, "takes a role"));
            };
            return self.of_web_identity(file, role, deadline).map(Some);
        }
        if let (Some(key), Some(secret)) = (profile.get("aws_access_key_id"), profile.get("aws_secret_access_key")) {
            let credentials = with_token(key, secret, profile.get("aws_session_token"));
            return Ok(Some(ExpiringCredentials { credentials, until: None }));
        }
        if let Some(command) = profile.get("credential_process") {
            let fault = |why: &dyn fmt::Display| format!("the credential_process of the profile {name}: {why}");
            let output = CloudEnv::output_of(command, left_until(deadline)).map_err(|why| fault(&why))?;
            let given: RawCredentials =
                serde_json::from_str(&output).map_err(|_| fault(&"its output has no credentials"))?;
            return Ok(Some(given.into()));
        }
        if profile.get("sso_session").or(profile.get("sso_start_url")).is_some() {
            return Err(other_login(name, "logs in in a browser"));
        }
        Ok(None)
    }

    /// Credentials for a token that an identity provider gave, as in CI.
    fn of_web_identity(&self, file: &str, role: &str, deadline: Instant) -> Result<ExpiringCredentials, String> {
        let fault = |why: &dyn fmt::Display| format!("no credentials for the web identity: {why}");
        let token = CloudEnv::file(Path::new(file)).map_err(|why| fault(&why))?;
        let token = token.ok_or_else(|| fault(&format!("{file} does not exist")))?;
        let session = self.env.get("AWS_ROLE_SESSION_NAME").unwrap_or("flow");
        let body = format!(
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}&WebIdentityToken={}",
            percent_encoded(role),
            percent_encoded(session),
            percent_encoded(token.trim()),
        );
        let usual = format!("https://sts.{}.amazonaws.com/", self.region);
        let url = self.env.get("AWS_ENDPOINT_URL_STS").unwrap_or(&usual);
        let client = HttpClient::new(&self.env, url)?;
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let (method, body, limit) = ("POST", Some(body.as_bytes()), left_until(deadline));
        let request = HttpRequest { method, url, headers: &headers, body, most: ANSWER_BYTES, limit };
        let answer = client.send(&request).map_err(|why| fault(&why.why()))?;
        let text = String::from_utf8_lossy(&answer.body);
        let given = (element(&text, "AccessKeyId"), element(&text, "SecretAccessKey"), element(&text, "SessionToken"));
        let (Some(key), Some(secret), Some(token)) = given else {
            return Err(fault(&format!("the service answered {}", answer.status)));
        };
        let until = element(&text, "Expiration").and_then(|text| text.parse().ok());
        Ok(ExpiringCredentials { credentials: with_token(key, secret, Some(token)), until })
    }

    fn of_container(&self, deadline: Instant) -> Result<Option<ExpiringCredentials>, String> {
        let relative = self.env.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("{CONTAINER}{path}"));
        let full = self.env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI").map(str::to_owned);
        let Some(url) = relative.or(full) else { return Ok(None) };
        if !url.starts_with("https://") && !is_near(&url) {
            return Err(
                "AWS_CONTAINER_CREDENTIALS_FULL_URI names neither this machine nor a server with TLS".to_owned()
            );
        }
        let mut token = self.env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(str::to_owned);
        if let Some(file) = self.env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
            token = CloudEnv::file(Path::new(file)).map_err(|why| format!("cannot read {why}"))?;
        }
        let token = token.unwrap_or_default();
        let headers = [("authorization", token.trim())];
        let headers = if token.is_empty() { &[][..] } else { &headers };
        let client = if url.starts_with("https://") { HttpClient::new(&self.env, &url)? } else { HttpClient::direct() };
        let given = given_by(&client, "GET", &url, headers, left_until(deadline).min(NEAR * 5));
        let given = given.and_then(|text| serde_json::from_str::<RawCredentials>(&text).ok());
        given.map(|given| Some(given.into())).ok_or_else(|| "the container's endpoint gave no credentials".to_owned())
    }

    /// Credentials of the machine's role, if it is a machine in a cloud that has one.
    fn of_instance(&self, deadline: Instant) -> Option<ExpiringCredentials> {
        let endpoint = self.env.get("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or(INSTANCE).trim_end_matches('/');
        let client = HttpClient::direct();
        let limit = left_until(deadline).min(NEAR);
        let ttl = [("x-aws-ec2-metadata-token-ttl-seconds", "300")];
        let token = given_by(&client, "PUT", &format!("{endpoint}/latest/api/token"), &ttl, limit)?;
        let headers = [("x-aws-ec2-metadata-token", token.trim())];
        let roles = format!("{endpoint}/latest/meta-data/iam/security-credentials/");
        let role = given_by(&client, "GET", &roles, &headers, limit)?;
        let role = role.lines().next()?.trim().to_owned();
        let text = given_by(&client, "GET", &format!("{roles}{role}"), &headers, limit)?;
        serde_json::from_str::<RawCredentials>(&text).ok().map(ExpiringCredentials::from)
    }
}

/// What a server near this program answers, if it answers well.
fn given_by(
    client: &HttpClient,
    method: &'static str,
    url: &str,
    headers: &[(&str, &str)],
    limit: Duration,
) -> Option<String> {
    let body = if method == "PUT" { Some(&[][..]) } else { None };
    let request = HttpRequest { method, url, headers, body, most: ANSWER_BYTES, limit };
    let answer = client.send(&request).map_err(HttpFault::why).ok()?;
    if answer.status == 200 { String::from_utf8(answer.body).ok() } else { None }
}

/// Whether a URL without TLS names this machine, or what serves its containers.
fn is_near(url: &str) -> bool {
    let authority = url.strip_prefix("http://").and_then(|rest| rest.split(['/', '?']).next()).unwrap_or_default();
    NEAR_HOSTS
        .iter()
        .any(|host| authority.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')))
}

fn other_login(profile: &str, how: &str) -> String {
    format!(
        "the profile {profile} {how}: give it a credential_process, such as `aws configure export-credentials --profile {profile}`"
    )
}

/// The text of the first element of this name.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once("</").map(|(text, _)| text.trim())
}
