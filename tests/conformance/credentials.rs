//! Where the credentials for a bucket come from.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use flowrun::host::CloudEnv;
use flowrun::remote::S3Carrier;
use flowrun::store::RefreshScope;
use flowrun::store::shared::Carrier as _;

use crate::bucket::Bucket;

/// A server that gives credentials, as those of containers, machines and identity providers do. It ends with the process.
fn giving(key: &str, secret: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let json = format!(
        r#"{{"Code":"Success","AccessKeyId":"{key}","SecretAccessKey":"{secret}","Token":"t","Expiration":"2099-01-01T00:00:00Z"}}"#
    );
    let xml = format!(
        "<R><Credentials><AccessKeyId>{key}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>\
         <SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></R>"
    );
    thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            let mut from = BufReader::new(&connection);
            let (mut head, mut len) = (String::new(), 0);
            while from.read_line(&mut head).unwrap() > 2 {
                let line = head.lines().last().unwrap().to_ascii_lowercase();
                len = line.strip_prefix("content-length: ").map_or(len, |len| len.parse().unwrap());
            }
            let mut body = vec![0; len];
            from.read_exact(&mut body).unwrap();
            let body = String::from_utf8(body).unwrap();
            let has = |what: &str| head.to_ascii_lowercase().contains(what);
            let answer = match head.split_whitespace().nth(1).unwrap() {
                "/latest/api/token" if has("put ") && has("x-aws-ec2-metadata-token-ttl-seconds: ") => "ticket",
                "/latest/meta-data/iam/security-credentials/" if has("x-aws-ec2-metadata-token: ticket") => "role-1",
                "/latest/meta-data/iam/security-credentials/role-1" if has("x-aws-ec2-metadata-token: ticket") => &json,
                "/container" if has("authorization: pass") => &json,
                "/sts/"
                    if body.contains("&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&") && body.ends_with("=web.token") =>
                {
                    &xml
                }
                _ => "",
            };
            let status = if answer.is_empty() { "403 no" } else { "200 ok" };
            let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", answer.len());
            let _ = (&connection).write_all(format!("{head}{answer}").as_bytes());
        }
    });
    address
}

/// What becomes of a request with the credentials that these variables lead to.
fn ask_with(bucket: &Bucket, variables: &[(&'static str, &str)]) -> Result<(), String> {
    let mut all: BTreeMap<&str, String> = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    for (name, value) in bucket.variables() {
        if name != "AWS_ACCESS_KEY_ID" && name != "AWS_SECRET_ACCESS_KEY" {
            all.insert(name, value);
        }
    }
    let env = CloudEnv::from_lookup(|name| all.get(name).map(Into::into));
    let carrier = S3Carrier::from_environment("s3://runs/team", env)?;
    carrier.tips(RefreshScope::Open, Duration::from_secs(10)).map(drop).map_err(|error| error.why().to_owned())
}

fn path_of(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn credentials_come_from_the_environment_a_profile_a_program_the_container_the_machine_and_an_identity() {
    let bucket = Bucket::default();
    let [(_, key), (_, secret), ..] = bucket.variables();
    let dir = tempfile::tempdir().unwrap();
    let near = giving(&key, &secret);
    let given = format!(r#"{{"Version":1,"AccessKeyId":"{key}","SecretAccessKey":"{secret}"}}"#);
    let given = path_of(dir.path(), "given", &given);
    let profiles = format!(
        "[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n[profile by-program]\ncredential_process = cat {given}\n\
         [profile browser]\nsso_session = x\n[profile role]\nrole_arn = r\nsource_profile = default\n\
         [profile broken]\ncredential_process = echo hidden-secret\n"
    );
    let config = path_of(dir.path(), "config", &profiles);
    let token = path_of(dir.path(), "token", "web.token\n");
    let pass = path_of(dir.path(), "pass", "pass\n");
    let (container, sts) = (format!("{near}/container"), format!("{near}/sts/"));
    let ask = |variables: &[(&'static str, &str)]| ask_with(&bucket, variables);
    assert_eq!(ask(&[("AWS_ACCESS_KEY_ID", &key), ("AWS_SECRET_ACCESS_KEY", &secret)]), Ok(()));
    assert_eq!(ask(&[("AWS_CONFIG_FILE", &config)]), Ok(()));
    assert_eq!(ask(&[("AWS_CONFIG_FILE", &config), ("AWS_PROFILE", "by-program")]), Ok(()));
    assert_eq!(
        ask(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", &container), ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", &pass)]),
        Ok(())
    );
    assert_eq!(ask(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &near)]), Ok(()));
    let web = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", &*token),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"),
        ("AWS_ENDPOINT_URL_STS", &sts),
    ];
    assert_eq!(ask(&web), Ok(()));
    let said = |variables: &[(&'static str, &str)]| ask(variables).unwrap_err();
    assert_eq!(
        said(&[("AWS_EC2_METADATA_DISABLED", "true")]),
        "no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    );
    let with = |profile| said(&[("AWS_CONFIG_FILE", &config), ("AWS_PROFILE", profile)]);
    assert_eq!(with("none"), r#"AWS_PROFILE is "none", and there is no such profile"#);
    assert_eq!(with("broken"), "the credential_process of the profile broken: its output has no credentials");
    let process = "give it a credential_process, such as `aws configure export-credentials --profile";
    assert_eq!(with("browser"), format!("the profile browser logs in in a browser: {process} browser`"));
    assert_eq!(with("role"), format!("the profile role takes a role: {process} role`"));
    for far in ["http://example.com/x", "http://localhost.example.com/x", "http://127.0.0.1@example.com/"] {
        assert_eq!(
            said(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", far)]),
            "AWS_CONTAINER_CREDENTIALS_FULL_URI names neither this machine nor a server with TLS"
        );
    }
}
