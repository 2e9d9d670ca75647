//! A git repository behind HTTP on this machine, which loses, delays and repeats requests.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use flowrun::model::RunId;
use flowrun::store::shared::Carrier;
use tempfile::TempDir;

use crate::memory_carrier::Trouble;
use crate::shared::Faulty;
use crate::support::{Lack, skipped};
use crate::tested_store::{Place, git_carrier};

/// The tree without files.
const NO_FILES: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// A repository and its server. They end with their last clone.
#[derive(Clone)]
pub struct GitServer {
    server: Arc<Server>,
}

struct Server {
    dir: TempDir,
    address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    trouble: VecDeque<Trouble>,
    late: Vec<Request>,
    /// So many of the next pushes get no answer, while their connections stay.
    silent: usize,
    requests: usize,
    is_down: bool,
    /// Until then the server takes no request.
    away_until: Option<Instant>,
}

impl Kept {
    fn is_away(&self) -> bool {
        self.away_until.is_some_and(|until| Instant::now() < until)
    }
}

#[derive(Clone)]
struct Request {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Drop for Server {
    fn drop(&mut self) {
        lock(&self.kept).is_down = true;
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect(self.address);
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for GitServer {
    fn default() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, kept) = (listener.local_addr().unwrap(), Arc::<Mutex<Kept>>::default());
        let server = Self { server: Arc::new(Server { dir, address, kept: Arc::clone(&kept) }) };
        server.git(&["init", "--quiet", "--bare"], "");
        server.git(&["config", "http.receivepack", "true"], "");
        let root = server.server.dir.path().to_owned();
        thread::spawn(move || {
            for connection in listener.incoming() {
                if lock(&kept).is_down {
                    break;
                }
                let (kept, root) = (Arc::clone(&kept), root.clone());
                // Clients go away whenever they like.
                thread::spawn(move || connection.and_then(|connection| serve(&connection, &kept, &root)));
            }
        });
        server
    }
}

/// Whether git can be behind a web server here; otherwise `test` is noted as skipped.
pub fn is_here(test: &str) -> bool {
    let found = Command::new("git").arg("--exec-path").output().unwrap().stdout;
    let program = Path::new(String::from_utf8(found).unwrap().trim()).join("git-http-backend");
    if !program.exists() {
        skipped(test, &Lack::of("git-http-backend", format!("there is no {}", program.display())));
    }
    program.exists()
}

impl GitServer {
    /// Runs git in the repository.
    fn git(&self, args: &[&str], input: &str) -> String {
        let mut git = Command::new("git");
        git.arg("--git-dir").arg(self.server.dir.path()).args(args);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "test").env(format!("GIT_{who}_EMAIL"), "test@localhost");
        }
        let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.server.address)
    }

    /// Kills whatever answers a request, and takes no other one for so long.
    pub fn restart(&self, pause: Duration) {
        lock(&self.server.kept).away_until = Some(Instant::now() + pause);
    }

    /// It takes so many of the next pushes, and never answers.
    pub fn keep_silent(&self, pushes: usize) {
        lock(&self.server.kept).silent = pushes;
    }

    /// How many requests there were since the last time this was asked.
    pub fn requests(&self) -> usize {
        std::mem::take(&mut lock(&self.server.kept).requests)
    }
}

impl Place for GitServer {
    fn carrier(&self, project: &Path) -> Box<dyn Carrier> {
        git_carrier(project, self.url())
    }
}

impl Faulty for GitServer {
    const CALLED: &'static str = "git:origin";
    const NO_ANSWER: [&'static str; 2] = ["was not reached: ", "The requested URL returned error: 503"];
    const SECOND: &'static [Trouble] = &[Trouble::None];
    const RACES: usize = 2;
    const EACH: usize = 1;
    const SHORT: u64 = 250;
    const TOO_LONG: usize = 9 << 20;

    fn trouble(&self, next: &[Trouble]) {
        lock(&self.server.kept).trouble = next.iter().copied().collect();
    }

    fn settle(&self) {
        lock(&self.server.kept).away_until = None;
        let late = std::mem::take(&mut lock(&self.server.kept).late);
        for request in late {
            answer(&request, &self.server.kept, self.server.dir.path()).unwrap();
        }
    }

    fn log(&self, run: &RunId) -> String {
        let refs = [format!("refs/flow/open/{run}"), format!("refs/flow/over/{run}")];
        let found = self.git(&["for-each-ref", "--format=%(refname)", &refs[0], &refs[1]], "");
        let messages = self.git(&["log", "--reverse", "--format=%B%x00", found.trim()], "");
        messages
            .split('\0')
            .map(str::trim)
            .filter(|message| !message.is_empty())
            .map(|lines| format!("{lines}\n"))
            .collect()
    }

    fn fails_at(&self, run: &RunId) {
        let first = self.git(&["rev-list", "--max-parents=0", &format!("refs/flow/open/{run}")], "");
        let (folder, name) = first.trim().split_at(2);
        fs::remove_file(self.server.dir.path().join("objects").join(folder).join(name)).unwrap();
    }

    fn put_log(&self, run: &RunId, log: String) {
        let mut last = String::new();
        for line in log.lines() {
            let mut commit = vec!["commit-tree", NO_FILES];
            if !last.is_empty() {
                commit.extend(["-p", &last]);
            }
            last = self.git(&commit, line).trim().to_owned();
        }
        self.git(&["update-ref", &format!("refs/flow/open/{run}"), &last], "");
    }
}

/// Takes one request, and answers it.
fn serve(mut connection: &TcpStream, kept: &Mutex<Kept>, root: &Path) -> io::Result<()> {
    let Some(request) = read(&mut BufReader::new(connection))? else { return Ok(()) };
    let (trouble, late) = {
        let mut kept = lock(kept);
        if kept.is_away() {
            return Ok(());
        }
        kept.requests += 1;
        let is_push = request.path.ends_with("git-receive-pack");
        let is_first = request.method == "GET";
        let trouble = match kept.trouble.front() {
            // The first request asks for the references, of a push as of a fetch. What a push is about comes behind it.
            Some(Trouble::NotReached) if is_first => kept.trouble.pop_front(),
            Some(Trouble::RequestLost) => kept.trouble.pop_front(),
            Some(Trouble::NotReached) | None => None,
            Some(_) if is_push || is_first && request.query.ends_with("git-upload-pack") => kept.trouble.pop_front(),
            Some(_) => None,
        };
        (trouble.unwrap_or(Trouble::None), std::mem::take(&mut kept.late))
    };
    let is_push = request.method == "POST" && request.path.ends_with("git-receive-pack");
    let answer = match trouble {
        Trouble::None => Some(answer(&request, kept, root)?),
        Trouble::NotReached => Some(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec()),
        Trouble::RequestLost => None,
        Trouble::AnswerLost => answer(&request, kept, root).map(|_| None)?,
        Trouble::Late => {
            lock(kept).late.push(request);
            None
        }
        Trouble::Twice => {
            answer(&request, kept, root)?;
            Some(answer(&request, kept, root)?)
        }
    };
    for request in late {
        self::answer(&request, kept, root)?;
    }
    let is_silent = {
        let mut kept = lock(kept);
        let is_silent = kept.silent > 0 && is_push;
        kept.silent -= usize::from(is_silent);
        is_silent
    };
    if is_silent {
        // Until the client goes away.
        return connection.read(&mut [0]).map(drop);
    }
    if let Some(answer) = answer {
        connection.write_all(&answer)?;
    }
    Ok(())
}

fn read(connection: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        loop {
            let mut size = String::new();
            connection.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            connection.take(size + 2).read_to_end(&mut body)?;
            body.truncate(body.len() - 2);
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = headers.get("content-length") {
        connection.take(length.parse().map_err(io::Error::other)?).read_to_end(&mut body)?;
    }
    let (method, path, query) = (method.to_owned(), path.to_owned(), query.to_owned());
    Ok(Some(Request { method, path, query, headers, body }))
}

/// What git's own program for web servers says.
fn answer(request: &Request, kept: &Mutex<Kept>, root: &Path) -> io::Result<Vec<u8>> {
    let header = |name: &str| request.headers.get(name).map(String::as_str).unwrap_or_default();
    let mut git = Command::new("git");
    git.arg("http-backend").env("GIT_PROJECT_ROOT", root).env("GIT_HTTP_EXPORT_ALL", "1");
    git.env("PATH_INFO", &request.path).env("QUERY_STRING", &request.query).env("REQUEST_METHOD", &request.method);
    git.env("CONTENT_TYPE", header("content-type")).env("HTTP_CONTENT_ENCODING", header("content-encoding"));
    git.env("CONTENT_LENGTH", request.body.len().to_string()).env("GIT_PROTOCOL", header("git-protocol"));
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().unwrap();
    let body = request.body.clone();
    let writer = thread::spawn(move || input.write_all(&body));
    let out = ended(child, kept)?.stdout;
    let _ = writer.join();
    let end = out.windows(4).position(|part| part == b"\r\n\r\n").unwrap_or(out.len());
    let head = String::from_utf8_lossy(&out[..end]);
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
    let body = out.get(end + 4..).unwrap_or_default();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    Ok([head.as_bytes(), body].concat())
}

/// What the program wrote until it ended, or until the server was killed.
fn ended(mut child: Child, kept: &Mutex<Kept>) -> io::Result<Output> {
    let mut out = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).map(|_| bytes)
    });
    while child.try_wait()?.is_none() {
        if lock(kept).is_away() {
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let status = child.wait()?;
    let stdout = reader.join().unwrap()?;
    Ok(Output { status, stdout, stderr: Vec::new() })
}
