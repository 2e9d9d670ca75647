//! The requests to a bucket: each is signed, limited, and answered in the words of this carrier.

use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusty_s3::actions::{ListObjectsV2, ListObjectsV2Response, S3Action};
use rusty_s3::{Bucket, Credentials};
use sha2::{Digest as _, Sha256};

use crate::host::{HttpAnswer, HttpClient, HttpFault, HttpRequest};
use crate::remote::s3::credentials::CredentialChain;
use crate::store::shared::{NoAnswer, left_until};

/// How long a signature counts. A request that is late arrives no later.
const SIGNED_FOR: Duration = Duration::from_mins(5);
/// The longest object that is read, in bytes: a window, or the lines of one large commit.
const OBJECT_BYTES: u64 = 32 << 20;
/// The longest answer to a request that lists or writes, in bytes: a page has at most 1000 names of at most 1 kB.
const ANSWER_BYTES: u64 = 4 << 20;
/// How many pages of names are read, of at most 1000 each: twice as many as a million runs that are over take.
const PAGES: usize = 2000;
/// How often a request is sent that does no harm twice.
const TRIES: u32 = 3;
/// The longest time for one request, so that another try is possible.
const ONE_REQUEST: Duration = Duration::from_secs(15);
/// The header that says whether the run of a log object is over after it.
const STATE: &str = "x-amz-meta-flow-state";
const OVER: &str = "over";
const OPEN: &str = "open";

/// A bucket, what the names of flow's objects in it begin with, and who asks. All names here are behind that.
#[derive(Debug)]
pub(super) struct Requests {
    pub(super) bucket: Bucket,
    pub(super) prefix: String,
    pub(super) http: HttpClient,
    pub(super) credentials: CredentialChain,
}

/// An object that was read.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) body: Vec<u8>,
    /// Changes with the object.
    pub(super) tag: String,
    /// Whether the run of a log object is over after it.
    pub(super) is_over: bool,
    /// Whether it is longer than anything that flow writes. Then its body is not here.
    pub(super) is_too_long: bool,
}

/// A name in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedObject {
    /// The name behind what all names of the list begin with.
    pub(super) name: String,
    pub(super) tag: String,
}

/// What must be so for an object to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    /// There is no object of this name.
    New,
    /// The object has this tag.
    Tag(&'a str),
    Always,
}

/// An object to write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Upload<'a> {
    pub(super) name: &'a str,
    pub(super) body: &'a [u8],
    pub(super) condition: Condition<'a>,
    /// For a log object: whether its run is over after it.
    pub(super) is_over: Option<bool>,
}

/// Whether an upload succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UploadOutcome {
    Done,
    /// The condition does not hold.
    Refused,
    /// It may be there, or arrive later.
    Unknown(NoAnswer),
    /// It is not there, and does not arrive later.
    Not(NoAnswer),
}

impl Requests {
    /// An object; `None` if there is none of this name.
    pub(super) fn get(&self, name: &str, deadline: Instant) -> Result<Option<Object>, NoAnswer> {
        let key = self.key(name);
        let answer = self.read(OBJECT_BYTES, deadline, &|credentials| {
            self.bucket.get_object(Some(credentials), &key).sign(SIGNED_FOR).to_string()
        })?;
        match answer.status {
            200 => {
                let tag = answer.header("etag").unwrap_or_default().to_owned();
                let is_over = answer.header(STATE) == Some(OVER);
                Ok(Some(Object { tag, is_over, is_too_long: answer.is_too_long, body: answer.body }))
            }
            404 if code_in(&answer.body) != Some("NoSuchBucket") => Ok(None),
            _ => Err(refusal(&answer)),
        }
    }

    /// The objects whose names begin with `prefix`, those after `after` behind it, in order.
    pub(super) fn list(&self, prefix: &str, after: &str, deadline: Instant) -> Result<Vec<ListedObject>, NoAnswer> {
        let (prefix, mut found) = (&*self.key(prefix), Vec::new());
        let mut take = |page: ListObjectsV2Response| {
            for object in page.contents {
                if let Some(name) = object.key.strip_prefix(prefix) {
                    let tag = object.etag.or(object.last_modified).unwrap_or_default();
                    found.push(ListedObject { name: name.to_owned(), tag });
                }
            }
        };
        self.pages(prefix, after, None, deadline, &mut take)?;
        Ok(found)
    }

    /// What comes behind `prefix` up to the next `/` in the names of objects, each once.
    pub(super) fn folders(&self, prefix: &str, deadline: Instant) -> Result<Vec<String>, NoAnswer> {
        let (prefix, mut found) = (&*self.key(prefix), Vec::new());
        let mut take = |page: ListObjectsV2Response| {
            for folder in page.common_prefixes {
                let name = folder.prefix.strip_prefix(prefix).and_then(|name| name.strip_suffix('/'));
                found.extend(name.map(str::to_owned));
            }
        };
        self.pages(prefix, "", Some("/"), deadline, &mut take)?;
        Ok(found)
    }

    /// Gives the pages of a list of names to `take`, one after the other: all of them would be large together.
    fn pages(
        &self,
        prefix: &str,
        after: &str,
        delimiter: Option<&str>,
        deadline: Instant,
        take: &mut dyn FnMut(ListObjectsV2Response),
    ) -> Result<(), NoAnswer> {
        let mut token = None;
        for _ in 0..PAGES {
            let answer = self.read(ANSWER_BYTES, deadline, &|credentials| {
                let mut list = self.bucket.list_objects_v2(Some(credentials));
                list.with_prefix(prefix);
                if let Some(delimiter) = delimiter {
                    list.with_delimiter(delimiter);
                }
                match &token {
                    Some(token) => list.with_continuation_token(String::clone(token)),
                    None if after.is_empty() => {}
                    None => list.with_start_after(format!("{prefix}{after}")),
                }
                list.sign(SIGNED_FOR).to_string()
            })?;
            if answer.status != 200 {
                return Err(refusal(&answer));
            }
            let page = std::str::from_utf8(&answer.body).ok().and_then(|text| ListObjectsV2::parse_response(text).ok());
            let page = page.ok_or_else(|| NoAnswer::Failed("its list of objects cannot be read".to_owned()))?;
            token.clone_from(&page.next_continuation_token);
            take(page);
            if token.is_none() {
                return Ok(());
            }
        }
        Err(NoAnswer::TooMuch(format!("more than 2 million names begin with {prefix}")))
    }

    /// Writes an object, once.
    pub(super) fn put(&self, upload: &Upload<'_>, deadline: Instant) -> UploadOutcome {
        match self.try_to_put(upload, deadline) {
            Ok(uploaded) => uploaded,
            Err(why) => UploadOutcome::Not(why),
        }
    }

    /// Writes an object that may as well be written twice, again after an answer that may pass. Whether the condition
    /// held. An error says why it may not be written.
    pub(super) fn put_again(&self, upload: &Upload<'_>, deadline: Instant) -> Result<bool, NoAnswer> {
        let mut tries = 1;
        loop {
            match self.put(upload, deadline) {
                UploadOutcome::Done => return Ok(true),
                UploadOutcome::Refused => return Ok(false),
                UploadOutcome::Unknown(_) if tries < TRIES && !left_until(deadline).is_zero() => {}
                UploadOutcome::Unknown(why) | UploadOutcome::Not(why) => return Err(why),
            }
            pause(tries, deadline);
            tries += 1;
        }
    }

    /// Removes an object, if it is there.
    pub(super) fn delete(&self, name: &str, deadline: Instant) -> Result<(), NoAnswer> {
        let credentials = self.credentials.get(deadline)?;
        let url = self.bucket.delete_object(Some(&credentials), &self.key(name)).sign(SIGNED_FOR).to_string();
        let answer = self.send("DELETE", &url, &[], None, ANSWER_BYTES, deadline).map_err(HttpFault::why)?;
        match answer.status {
            200 | 204 => Ok(()),
            404 if code_in(&answer.body) != Some("NoSuchBucket") => Ok(()),
            _ => Err(refusal(&answer)),
        }
    }

    /// The rules of the bucket that delete objects of these names after a time, in words. A bucket whose rules may not be read
    /// counts as one without.
    pub(super) fn deletions(&self, deadline: Instant) -> Result<Vec<String>, NoAnswer> {
        let answer = self.read(ANSWER_BYTES, deadline, &|credentials| {
            let mut get = self.bucket.get_object(Some(credentials), "");
            get.query_mut().insert("lifecycle", "");
            get.sign(SIGNED_FOR).to_string()
        })?;
        if answer.status != 200 {
            return Ok(Vec::new());
        }
        let text = String::from_utf8_lossy(&answer.body);
        Ok(text.split("<Rule>").skip(1).filter_map(|rule| deletion_in(rule, &self.prefix)).collect())
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// An error says why nothing was written.
    fn try_to_put(&self, upload: &Upload<'_>, deadline: Instant) -> Result<UploadOutcome, NoAnswer> {
        let digest = STANDARD.encode(Sha256::digest(upload.body));
        // Servers that know it store nothing when the body is cut off.
        let mut headers = vec![("x-amz-checksum-sha256", &*digest)];
        match upload.condition {
            Condition::New => headers.push(("if-none-match", "*")),
            Condition::Tag(tag) => headers.push(("if-match", tag)),
            Condition::Always => {}
        }
        if let Some(is_over) = upload.is_over {
            headers.push((STATE, if is_over { OVER } else { OPEN }));
        }
        let (key, mut is_renewed) = (self.key(upload.name), false);
        loop {
            let credentials = self.credentials.get(deadline)?;
            let mut put = self.bucket.put_object(Some(&credentials), &key);
            for (name, value) in &headers {
                // Signed, so that nothing between here and the server drops one unseen.
                put.headers_mut().insert(*name, *value);
            }
            let url = put.sign(SIGNED_FOR).to_string();
            let answer = match self.send("PUT", &url, &headers, Some(upload.body), ANSWER_BYTES, deadline) {
                Ok(answer) => answer,
                Err(HttpFault::NotSent(why)) => return Err(why.into()),
                Err(HttpFault::Unknown(why)) => return Ok(UploadOutcome::Unknown(why.into())),
            };
            return match answer.status {
                200 | 201 | 204 => Ok(UploadOutcome::Done),
                412 => Ok(UploadOutcome::Refused),
                // There is nothing that could have the tag.
                404 if code_in(&answer.body) != Some("NoSuchBucket") => Ok(UploadOutcome::Refused),
                status if is_passing(status) => Ok(UploadOutcome::Unknown(refusal(&answer))),
                _ if is_expired(&answer) && !is_renewed => {
                    self.credentials.forget();
                    is_renewed = true;
                    continue;
                }
                _ => Err(refusal(&answer)),
            };
        }
    }

    /// Sends a request that only reads, again after an answer that may pass.
    fn read(
        &self,
        most: u64,
        deadline: Instant,
        sign: &dyn Fn(&Credentials) -> String,
    ) -> Result<HttpAnswer, NoAnswer> {
        let mut tries = 1;
        loop {
            let credentials = self.credentials.get(deadline)?;
            let why = match self.send("GET", &sign(&credentials), &[], None, most, deadline) {
                Ok(answer) if is_passing(answer.status) => refusal(&answer),
                Ok(answer) if is_expired(&answer) => {
                    self.credentials.forget();
                    refusal(&answer)
                }
                Ok(answer) => return Ok(answer),
                Err(HttpFault::NotSent(why)) => return Err(why.into()),
                Err(HttpFault::Unknown(why)) => why.into(),
            };
            if tries == TRIES || left_until(deadline).is_zero() {
                return Err(why);
            }
            pause(tries, deadline);
            tries += 1;
        }
    }

    fn send(
        &self,
        method: &'static str,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
        most: u64,
        deadline: Instant,
    ) -> Result<HttpAnswer, HttpFault> {
        let left = left_until(deadline);
        if left.is_zero() {
            return Err(HttpFault::NotSent("the time is up".to_owned()));
        }
        let limit = (left / 2).max(Duration::from_secs(1)).min(left).min(ONE_REQUEST);
        self.http.send(&HttpRequest { method, url, headers, body, most, limit })
    }
}

fn pause(tries: u32, deadline: Instant) {
    thread::sleep(Duration::from_millis(20 << tries).min(left_until(deadline)));
}

/// Whether a later request may get another answer.
fn is_passing(status: u16) -> bool {
    status >= 500 && status != 501 || [408, 409, 425, 429].contains(&status)
}

fn is_expired(answer: &HttpAnswer) -> bool {
    let code = code_in(&answer.body).unwrap_or_default();
    matches!(answer.status, 400 | 401 | 403) && ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"].contains(&code)
}

/// The code in the body of an answer that complains.
fn code_in(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_code = !code.is_empty() && code.len() <= 60 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_code.then_some(code)
}

/// Why a request failed, by the server's answer.
fn refusal(answer: &HttpAnswer) -> NoAnswer {
    let why = complaint(answer);
    if is_passing(answer.status) { NoAnswer::Failed(why) } else { NoAnswer::Refused(why) }
}

/// What an answer complains about. It quotes nothing but the code: the rest may hold what was signed.
fn complaint(answer: &HttpAnswer) -> String {
    let code = code_in(&answer.body).unwrap_or_default();
    let status = answer.status;
    let words = match (code, status) {
        ("RequestTimeTooSkewed", _) => {
            "the clock of this machine and that of the server differ too much: set the clock"
        }
        ("NoSuchBucket", _) => "the bucket does not exist: create it, or name another one",
        ("InvalidAccessKeyId" | "SignatureDoesNotMatch", _) => {
            "it does not know this access key, or the secret is another one"
        }
        ("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired", _) => "the credentials have expired: get new ones",
        ("AccessDenied" | "", 401 | 403) => {
            "access is denied: the credentials must allow to list the bucket, and to get, put and delete its objects"
        }
        ("PermanentRedirect" | "TemporaryRedirect" | "AuthorizationHeaderMalformed", _) | (_, 300..=399) => {
            return elsewhere(answer);
        }
        ("NotImplemented", _) | (_, 501) => "it does not know conditional writes, which runs that are shared rest on",
        ("SlowDown", _) | (_, 429) => {
            return format!("{}, which asks for fewer requests", answered(status, code));
        }
        _ => return answered(status, code),
    };
    words.to_owned()
}

fn answered(status: u16, code: &str) -> String {
    if code.is_empty() { format!("it answered {status}") } else { format!("it answered {status} {code}") }
}

/// What a rule of a bucket says that deletes objects whose names begin with `prefix`, or some of them.
fn deletion_in(rule: &str, prefix: &str) -> Option<String> {
    if !rule.contains("<Expiration>") || !rule.contains("<Status>Enabled</Status>") {
        return None;
    }
    let of = rule.split_once("<Prefix>").and_then(|(_, rest)| rest.split('<').next()).unwrap_or_default();
    if !prefix.starts_with(of) && !of.starts_with(prefix) {
        return None;
    }
    let which = if of.is_empty() { "all objects".to_owned() } else { format!("objects whose names begin with {of}") };
    Some(format!("a lifecycle rule of the bucket deletes {which}"))
}

fn elsewhere(answer: &HttpAnswer) -> String {
    if let Some(region) = answer.header("x-amz-bucket-region")
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return format!("the bucket is in the region {region}: set AWS_REGION to it");
    }
    "the bucket is elsewhere: set AWS_REGION or AWS_ENDPOINT_URL_S3 to where it is".to_owned()
}
