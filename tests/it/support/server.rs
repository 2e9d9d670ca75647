//! A dashboard that is served, and clients that talk to it without a browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::{Message, WebSocket};

use super::Sandbox;

/// A dashboard that is served. It is killed at the end.
pub struct Server {
    child: Child,
    /// What `serve --json` printed.
    pub report: Value,
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    /// The status line and the headers, in lower case.
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Server {
    /// Serves the sandbox's project on a free port.
    #[track_caller]
    pub fn of(sandbox: &Sandbox) -> Self {
        Self::with(sandbox, &["--port", "0"])
    }

    #[track_caller]
    pub fn with(sandbox: &Sandbox, args: &[&str]) -> Self {
        Self::of_command(sandbox.flow_command(), args)
    }

    /// Serves with `command`, which has the environment.
    #[track_caller]
    pub fn of_command(mut command: Command, args: &[&str]) -> Self {
        command.args(["serve", "--json"]).args(args).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        let mut report = None;
        while report.is_none() && lines.read_line(&mut text).unwrap() > 0 {
            report = serde_json::from_str(&text).ok();
        }
        Self { child, report: report.unwrap_or_else(|| panic!("the server did not begin: {text}")) }
    }

    pub fn address(&self) -> &str {
        self.report["address"].as_str().unwrap()
    }

    pub fn port(&self) -> u16 {
        self.address().rsplit_once(':').unwrap().1.parse().unwrap()
    }

    pub fn token(&self) -> &str {
        self.report["url"].as_str().unwrap().split_once("#token=").unwrap().1
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes as they are, and reads until the server closes.
    pub fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect();
        // The server may refuse before it has read everything.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Reply::of(&answer)
    }

    /// A request with these headers besides `Host`.
    pub fn request(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Reply {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address());
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{head}\r\n").as_bytes())
    }

    /// A request with a body and these headers besides `Host`.
    pub fn send(&self, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut head = format!("POST {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address());
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
    }

    /// What someone with the token gets.
    #[track_caller]
    pub fn get(&self, target: &str) -> Reply {
        let bearer = format!("Bearer {}", self.token());
        self.request("GET", target, &[("Authorization", &bearer)])
    }

    /// Opens the live feed.
    pub fn socket(&self) -> Socket {
        let mut request = format!("ws://{}/ws", self.address()).into_client_request().unwrap();
        let headers = request.headers_mut();
        headers.insert("Origin", format!("http://{}", self.address()).parse().unwrap());
        headers.insert("Sec-WebSocket-Protocol", format!("flow.v1, flow.token.{}", self.token()).parse().unwrap());
        let (socket, response) = tungstenite::client(request, self.connect()).unwrap();
        assert_eq!(response.headers()["sec-websocket-protocol"], "flow.v1");
        Socket(socket)
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An open live feed.
pub struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// The connection below, for frames that no client sends.
    pub fn stream(&mut self) -> &mut TcpStream {
        self.0.get_mut()
    }

    pub fn send(&mut self, message: &Value) {
        self.0.send(Message::Text(message.to_string().into())).unwrap();
    }

    /// The next message.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// The next message of this type; others are passed over.
    #[track_caller]
    pub fn next_of(&mut self, kind: &str) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(30), "no message `{kind}` came");
            let message = self.next();
            if message["type"] == kind {
                return message;
            }
        }
    }
}
