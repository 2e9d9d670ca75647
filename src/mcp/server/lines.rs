//! Messages as lines of bounded length. While a request is being answered, no further line is read.

use std::future::{Future, pending, ready};
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;

use crate::mcp::server::message::ClientLine;
use crate::model::limits::MESSAGE_BYTES;
use crate::runs::{Error, Result};

/// Why the server ends, if not because its input has ended.
#[derive(Debug, Clone, Default)]
pub(super) struct EarlyEnd(Arc<Mutex<Option<Result<()>>>>);

impl EarlyEnd {
    fn note(&self, result: Result<()>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(result);
    }

    fn is_near(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(super) fn result(self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(Ok(()))
    }
}

/// The lines of a client, and of the answers to it.
#[derive(Debug)]
pub(super) struct ClientLines<R, W> {
    input: R,
    output: W,
    /// Whether a request has no answer yet.
    busy: bool,
    ending: EarlyEnd,
}

impl<R: BufRead, W: Write> ClientLines<R, W> {
    pub(super) fn new(input: R, output: W, ending: EarlyEnd) -> Self {
        Self { input, output, busy: false, ending }
    }

    /// The next message. Lines that are none are answered here.
    fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        while !self.ending.is_near() {
            match self.read() {
                Ok(Some(ClientLine::Message(message))) => return Some(*message),
                Ok(Some(ClientLine::Refused(answer))) => drop(self.write(&answer)),
                Ok(Some(ClientLine::Nothing)) => {}
                Ok(None) => return None,
                Err(error) => self.ending.note(Err(Error::io("cannot read from standard input", &error))),
            }
        }
        None
    }

    /// The next line; none at the end of the input.
    fn read(&mut self) -> io::Result<Option<ClientLine>> {
        let mut line = Vec::new();
        // One byte more shows that the line is too long, or ends there.
        let longest = MESSAGE_BYTES as u64 + 1;
        if self.input.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() > MESSAGE_BYTES && line.last() != Some(&b'\n') {
            // The rest is skipped without being kept.
            self.input.skip_until(b'\n')?;
            return Ok(Some(ClientLine::unreadable(&format!("the line is longer than {MESSAGE_BYTES} bytes"))));
        }
        Ok(Some(ClientLine::read(&line)))
    }

    fn write(&mut self, answer: &impl Serialize) -> io::Result<()> {
        // Noted here, since `rmcp` keeps the errors of a transport to itself.
        self.write_line(answer).inspect_err(|error| {
            self.ending.note(match error.kind() {
                // A client that is gone ends the server as the end of the input does.
                ErrorKind::BrokenPipe => Ok(()),
                _ => Err(Error::io("cannot write to standard output", error)),
            });
        })
    }

    fn write_line(&mut self, answer: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(answer)?;
        line.push(b'\n');
        self.output.write_all(&line)?;
        self.output.flush()
    }
}

impl<R: BufRead + Send + 'static, W: Write + Send + 'static> Transport<RoleServer> for ClientLines<R, W> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answers = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        self.busy = self.busy && !answers;
        ready(self.write(&item))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if self.busy {
            // The service asks again when the answer has been sent. Until then it must not be kept from sending it.
            return pending().await;
        }
        let message = self.next();
        self.busy = matches!(message, Some(JsonRpcMessage::Request(_)));
        message
    }

    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }
}
