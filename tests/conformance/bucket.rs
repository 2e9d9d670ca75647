//! A server of an object store on this machine, which loses, delays and repeats what it is told to. All that it decides it
//! decides under one lock.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use flowrun::codec::LogScan;
use flowrun::host::CloudEnv;
use flowrun::model::{RunId, Seq};
use flowrun::remote::S3Carrier;
use flowrun::store::shared::{Carrier, window_of};
use sha2::{Digest as _, Sha256};

use crate::tested_store::Place;

pub const ID: &str = "AKTEST";
pub const SECRET: &str = "it/is+secret";
const REGION: &str = "test-1";
pub const BUCKET: &str = "runs";
const PREFIX: &str = "team/";
/// How many names a page of a list has at most.
const PAGE: usize = 1000;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// It never arrives.
    RequestLost,
    /// It arrives, and its answer does not.
    AnswerLost,
    /// It arrives after the next request, when its sender has given it up.
    Late,
    /// It arrives twice; the answer is that to the second one.
    Twice,
    /// Its sender dies before its body: the server stores an empty object.
    Void,
    /// This is the answer, and nothing else happens.
    Says(u16, &'static str),
}

/// A promise that the server does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lax {
    /// It stores whatever comes.
    IgnoresConditions,
    /// It looks, and then stores, without a lock.
    LooksBeforeItStores,
}

/// A server with one bucket. It ends with its last clone.
#[derive(Debug, Clone)]
pub struct Bucket {
    kept: Arc<Mutex<Kept>>,
    server: Arc<Server>,
}

#[derive(Debug)]
struct Server {
    address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    objects: BTreeMap<String, Object>,
    faults: VecDeque<Fault>,
    late: Vec<Request>,
    counts: BTreeMap<&'static str, usize>,
    lax: Option<Lax>,
    is_down: bool,
    /// Until then the server takes no request.
    away_until: Option<Instant>,
    /// Its lifecycle rules.
    rules: String,
    /// A list of what begins with this never ends.
    endless: Option<String>,
    /// It cannot read what begins with this.
    failing: Option<String>,
}

#[derive(Debug, Clone)]
struct Object {
    body: Vec<u8>,
    state: Option<String>,
}

impl Object {
    fn tag(&self) -> String {
        format!("\"{}\"", &hex(&Sha256::digest(&self.body))[..32])
    }
}

#[derive(Debug, Clone)]
struct Request {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn of(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    fn says(status: u16, code: &str) -> Self {
        Self::of(status, format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>m</Message></Error>"))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Request {
    /// Reads the next request of a connection.
    fn read(from: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            from.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let len = headers.get("content-length").map_or(0, |len| len.parse().unwrap());
        let mut body = vec![0; len];
        from.read_exact(&mut body).ok()?;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = query.split('&').filter_map(pair).collect();
        Some(Self { method, path: path.to_owned(), query, headers, body })
    }

    /// A parameter, decoded.
    fn get(&self, name: &str) -> Option<String> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| decoded(value))
    }

    /// The name of the object.
    fn key(&self) -> String {
        decoded(self.path.strip_prefix(&format!("/{BUCKET}/")).unwrap())
    }

    fn kind(&self) -> &'static str {
        match &*self.method {
            "GET" if self.get("list-type").is_some() => "LIST",
            "GET" if self.get("lifecycle").is_some() => "RULES",
            "GET" => "GET",
            "PUT" => "PUT",
            "DELETE" => "DELETE",
            other => panic!("{other}"),
        }
    }

    /// Whether the signature in the query is right (Signature Version 4).
    fn is_signed(&self) -> bool {
        let Some(signature) = self.get("X-Amz-Signature") else { return false };
        let mut query: Vec<_> = self.query.iter().filter(|(name, _)| name != "X-Amz-Signature").collect();
        query.sort();
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (signed, at) = (self.get("X-Amz-SignedHeaders").unwrap(), self.get("X-Amz-Date").unwrap());
        let headers: Vec<_> = signed
            .split(';')
            .map(|name| format!("{name}:{}\n", self.headers.get(name).map_or("", String::as_str)))
            .collect();
        // What decides must not be changed on the way.
        for name in ["if-none-match", "if-match", "x-amz-checksum-sha256", "x-amz-meta-flow-state"] {
            assert!(!self.headers.contains_key(name) || signed.split(';').any(|known| known == name), "{name}");
        }
        let (method, path, query, headers) = (&self.method, &self.path, query.join("&"), headers.concat());
        let canonical = format!("{method}\n{path}\n{query}\n{headers}\n{signed}\nUNSIGNED-PAYLOAD");
        let day = &at[..8];
        let scope = format!("{day}/{REGION}/s3/aws4_request");
        let text = format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
        let mut key = hmac(format!("AWS4{SECRET}").as_bytes(), day.as_bytes());
        for part in [REGION, "s3", "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        self.get("X-Amz-Credential").unwrap() == format!("{ID}/{scope}")
            && hex(&hmac(&key, text.as_bytes())) == signature
    }
}

fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::digest([&pad(0x36)[..], text].concat());
    Sha256::digest([&pad(0x5c)[..], &inner].concat()).to_vec()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

impl Kept {
    fn is_away(&self) -> bool {
        self.away_until.is_some_and(|until| Instant::now() < until)
    }

    fn answer(&mut self, request: &Request) -> Answer {
        match request.kind() {
            "LIST" => self.list(request),
            "RULES" if self.rules.is_empty() => Answer::says(404, "NoSuchLifecycleConfiguration"),
            "RULES" => Answer::of(200, self.rules.clone()),
            "GET" => match self.objects.get(&request.key()) {
                Some(object) => {
                    let mut headers = vec![("etag", object.tag())];
                    headers.extend(object.state.clone().map(|state| ("x-amz-meta-flow-state", state)));
                    Answer { status: 200, headers, body: object.body.clone() }
                }
                None => Answer::says(404, "NoSuchKey"),
            },
            "DELETE" => {
                self.objects.remove(&request.key());
                Answer::of(204, "")
            }
            _ if !self.may_put(request) => Answer::says(412, "PreconditionFailed"),
            _ => self.put(request),
        }
    }

    fn may_put(&self, request: &Request) -> bool {
        let found = self.objects.get(&request.key());
        if self.lax == Some(Lax::IgnoresConditions) {
            return true;
        }
        match (request.headers.get("if-none-match"), request.headers.get("if-match")) {
            (Some(_), _) => found.is_none(),
            (_, Some(tag)) => found.is_some_and(|object| object.tag() == *tag),
            _ => true,
        }
    }

    fn put(&mut self, request: &Request) -> Answer {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(&request.body));
        if request.headers.get("x-amz-checksum-sha256") != Some(&digest) {
            return Answer::says(400, "BadDigest");
        }
        let state = request.headers.get("x-amz-meta-flow-state").cloned();
        self.objects.insert(request.key(), Object { body: request.body.clone(), state });
        Answer::of(200, "")
    }

    fn list(&self, request: &Request) -> Answer {
        let prefix = request.get("prefix").unwrap_or_default();
        let after = request.get("continuation-token").or(request.get("start-after")).unwrap_or_default();
        let delimiter = request.get("delimiter");
        let folder_of = |key: &str| {
            let name = key.strip_prefix(&prefix)?;
            Some(format!("{prefix}{}", &name[..=name.find(delimiter.as_ref()?)?]))
        };
        let mut names: Vec<(String, Option<&Object>)> = Vec::new();
        for (key, object) in self.objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
            match folder_of(key) {
                Some(folder) if names.last().is_some_and(|(last, _)| *last == folder) => {}
                Some(folder) => names.push((folder, None)),
                None => names.push((key.clone(), Some(object))),
            }
        }
        let mut found = names.iter().filter(|(name, _)| *name > after);
        let page: Vec<_> = found.by_ref().take(PAGE).collect();
        let mut body =
            "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">".to_owned();
        body.push_str("<EncodingType>url</EncodingType>");
        for (key, object) in &page {
            let key = key.replace('%', "%25");
            let Some(object) = object else {
                body.push_str(&format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>"));
                continue;
            };
            let tag = object.tag().replace('"', "&quot;");
            body.push_str(&format!("<Contents><Key>{key}</Key><ETag>{tag}</ETag><Size>1</Size></Contents>"));
        }
        if self.endless.as_ref() == Some(&prefix) {
            body.push_str("<IsTruncated>true</IsTruncated><NextContinuationToken>0</NextContinuationToken>");
        } else if found.next().is_some() {
            let last = &page.last().unwrap().0;
            body.push_str(&format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>{last}</NextContinuationToken>"
            ));
        } else {
            body.push_str("<IsTruncated>false</IsTruncated>");
        }
        Answer::of(200, body + "</ListBucketResult>")
    }

    /// What becomes of a request; `None` for no answer.
    fn take(&mut self, request: &Request) -> Option<Answer> {
        *self.counts.entry(request.kind()).or_default() += 1;
        if !request.is_signed() {
            return Some(Answer::says(403, "SignatureDoesNotMatch"));
        }
        if request.kind() == "GET" && self.failing.as_ref().is_some_and(|prefix| request.key().starts_with(prefix)) {
            return Some(Answer::says(500, "InternalError"));
        }
        let late = std::mem::take(&mut self.late);
        let answer = match self.faults.pop_front().unwrap_or(Fault::None) {
            Fault::None => Some(self.answer(request)),
            Fault::RequestLost => None,
            Fault::AnswerLost => {
                self.answer(request);
                None
            }
            Fault::Late => {
                self.late.push(request.clone());
                None
            }
            Fault::Twice => {
                self.answer(request);
                Some(self.answer(request))
            }
            Fault::Void if request.kind() == "PUT" => {
                if self.may_put(request) {
                    self.objects.insert(request.key(), Object { body: Vec::new(), state: None });
                }
                None
            }
            Fault::Void => None,
            Fault::Says(status, code) => Some(Answer::says(status, code)),
        };
        for request in late {
            self.answer(&request);
        }
        answer
    }
}

impl Default for Bucket {
    fn default() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let kept = Arc::<Mutex<Kept>>::default();
        let server = Arc::new(Server { address: listener.local_addr().unwrap(), kept: Arc::clone(&kept) });
        let own = Arc::clone(&kept);
        thread::spawn(move || {
            for connection in listener.incoming() {
                if lock(&own).is_down {
                    break;
                }
                let kept = Arc::clone(&own);
                thread::spawn(move || serve(&kept, &connection.unwrap()));
            }
        });
        Self { kept, server }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        lock(&self.kept).is_down = true;
        let _ = TcpStream::connect(self.address);
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(kept: &Mutex<Kept>, connection: &TcpStream) {
    connection.set_nodelay(true).unwrap();
    let mut from = BufReader::new(connection);
    while let Some(request) = Request::read(&mut from) {
        // One that is killed may have stored what it did not answer any more.
        let is_killed = lock(kept).is_away();
        if is_killed && request.body.len() % 2 == 0 {
            break;
        }
        let is_lax = lock(kept).lax == Some(Lax::LooksBeforeItStores) && request.kind() == "PUT";
        let answer = if is_lax && lock(kept).may_put(&request) {
            thread::sleep(Duration::from_millis(20));
            Some(lock(kept).put(&request))
        } else {
            lock(kept).take(&request)
        };
        let Some(Answer { status, headers, body }) = answer.filter(|_| !is_killed) else { break };
        let mut head = format!("HTTP/1.1 {status} said\r\ncontent-length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        let bytes = [head.as_bytes(), b"\r\n", &body].concat();
        if (&*connection).write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = connection.shutdown(Shutdown::Both);
}

impl Bucket {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }

    /// This happens to the next requests, one after the other.
    pub fn faults(&self, next: &[Fault]) {
        self.kept().faults = next.iter().copied().collect();
    }

    /// It does not keep this promise from now on.
    pub fn is_lax(&self, lax: Lax) {
        self.kept().lax = Some(lax);
    }

    /// Its list of what begins with this has no last page from now on.
    pub fn lists_for_ever(&self, prefix: &str) {
        self.kept().endless = Some(format!("{PREFIX}{prefix}"));
    }

    /// It cannot read the objects from now on whose names begin with this.
    pub fn cannot_read(&self, prefix: &str) {
        self.kept().failing = Some(format!("{PREFIX}{prefix}"));
    }

    /// It has these lifecycle rules from now on.
    pub fn rules(&self, rules: &str) {
        self.kept().rules = rules.to_owned();
    }

    /// Ends all connections, and takes no other one for so long.
    pub fn restart(&self, pause: Duration) {
        self.kept().away_until = Some(Instant::now() + pause);
    }

    /// Everything that is late arrives.
    pub fn deliver(&self) {
        let mut kept = self.kept();
        kept.away_until = None;
        for request in std::mem::take(&mut kept.late) {
            kept.answer(&request);
        }
    }

    /// How many requests there were of each kind since the last time this was asked.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        std::mem::take(&mut self.kept().counts)
    }

    /// How many there were in all.
    pub fn requests(&self) -> usize {
        self.counts().values().sum()
    }

    /// The names of its objects.
    pub fn names(&self) -> Vec<String> {
        self.kept().objects.keys().map(|key| key.strip_prefix(PREFIX).unwrap().to_owned()).collect()
    }

    /// Puts an object there.
    pub fn insert(&self, name: &str, body: &str, state: Option<&str>) {
        let object = Object { body: body.as_bytes().to_vec(), state: state.map(str::to_owned) };
        self.kept().objects.insert(format!("{PREFIX}{name}"), object);
    }

    /// The body of an object.
    pub fn body(&self, name: &str) -> Option<String> {
        let kept = self.kept();
        let object = kept.objects.get(&format!("{PREFIX}{name}"))?;
        Some(String::from_utf8(object.body.clone()).unwrap())
    }

    /// Removes an object.
    pub fn delete(&self, name: &str) {
        self.kept().objects.remove(&format!("{PREFIX}{name}"));
    }

    /// The log of a run, as its objects have it. Each object must have what the ones before have of its window.
    pub fn log(&self, run: &RunId) -> String {
        let mut log = String::new();
        for name in self.names().iter().filter(|name| name.starts_with(&format!("logs/{run}/"))) {
            let body = self.body(name).unwrap();
            let Some(end) = body.rfind('\n').filter(|_| !body.starts_with("void")) else { continue };
            let before = Seq(name.rsplit('/').next().unwrap().parse::<u64>().unwrap() - 1);
            let earlier =
                LogScan::parse(log.as_bytes()).events().filter(|event| event.seq <= window_of(before)).count();
            let earlier: String = log.split_inclusive('\n').skip(earlier).collect();
            log.push_str(body[..=end].strip_prefix(&earlier).unwrap_or_else(|| panic!("{name} has other lines")));
        }
        log
    }

    /// Puts another log in place, as another program would.
    pub fn put_log(&self, run: &RunId, log: &str) {
        for name in self.names().iter().filter(|name| name.starts_with(&format!("logs/{run}/"))) {
            self.delete(name);
        }
        self.insert(&format!("logs/{run}/0000000001"), log, None);
        self.insert(&format!("open/{run}"), log, None);
    }

    /// The variables with which it is reached.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        variables_of(self.server.address)
    }

    /// A carrier to it.
    pub fn own_carrier(&self) -> S3Carrier {
        carrier_with(self.variables())
    }
}

/// The carrier that these variables lead to.
pub fn carrier_with(variables: [(&'static str, String); 4]) -> S3Carrier {
    let variables = BTreeMap::from(variables);
    let env = CloudEnv::from_lookup(|name| variables.get(name).map(Into::into));
    S3Carrier::from_environment(&format!("s3://{BUCKET}/{PREFIX}"), env).unwrap()
}

/// The variables with which a server is reached.
pub fn variables_of(address: SocketAddr) -> [(&'static str, String); 4] {
    [
        ("AWS_ACCESS_KEY_ID", ID.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_ENDPOINT_URL_S3", format!("http://{address}")),
    ]
}

impl Place for Bucket {
    fn carrier(&self, _: &Path) -> Box<dyn Carrier> {
        Box::new(self.own_carrier())
    }
}
