//! The live feed: what changes, as messages over a WebSocket.
//!
//! Cards are state: a message has the whole card, so the last one counts and a lost one is made good by the next snapshot.
//! Events are sent to those who watch the run, from the log itself and from any cursor. Who reads too slowly gets a
//! snapshot instead of what was missed, and is cut off when nothing can be written for five seconds, or a message takes longer
//! than ten. Nothing is read from a client until it has taken the answer to what it sent: pongs would pile up otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{interval, timeout};

use crate::model::{Kind, RunId};
use crate::runs::{CardFilter, Cursor};
use crate::web::server::answer::{Refusal, refused};
use crate::web::server::guard::PROTOCOL;
use crate::web::server::live::{Live, Notice, Panicked, cards, on_reader};
use crate::web::server::respond::ServerState;

/// The most sockets at once.
const SOCKETS: usize = 32;
/// How often an idle socket says that it lives.
const BEAT: Duration = Duration::from_secs(15);
/// How long a message may take to be written.
const WRITE: Duration = Duration::from_secs(10);
/// The longest message of a client.
const MESSAGE: usize = 64 * 1024;
/// The most runs that a client watches, and the most events in a message.
const WATCHED: usize = 16;
const EVENTS: usize = 500;

static ROOM: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(SOCKETS)));

/// What a client wants to be told; each message replaces the last one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, tag = "type", rename_all = "snake_case")]
enum Wish {
    Watch {
        /// Which cards a snapshot has; none for a client that wants no cards.
        #[serde(default)]
        list: Option<CardFilter>,
        /// Runs whose events are wanted.
        #[serde(default)]
        runs: Vec<WatchedRun>,
        /// `FEED:N`: the last message of the list that the client has.
        #[serde(default)]
        since: Option<String>,
    },
}

/// A run whose events are wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WatchedRun {
    project: String,
    run: RunId,
    /// `SEQ:ID` of the last event that the client has; none from the beginning.
    #[serde(default)]
    after: Option<String>,
}

pub(super) async fn open(State(live): ServerState, upgrade: WebSocketUpgrade) -> Response<Body> {
    let Ok(place) = Arc::clone(&ROOM).try_acquire_owned() else {
        let message = "as many live feeds are open as may be";
        return refused(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Kind::Held, "too_many_feeds", message));
    };
    upgrade
        .protocols([PROTOCOL])
        .max_message_size(MESSAGE)
        .max_frame_size(MESSAGE)
        .on_upgrade(move |socket| talk(socket, live, place))
}

async fn talk(socket: WebSocket, live: Arc<Live>, place: OwnedSemaphorePermit) {
    let notices = live.notices.subscribe();
    let connection = Connection { socket, live, list: None, runs: BTreeMap::new() };
    // A client that is gone or too slow ends its own connection.
    let _ = connection.run(notices).await;
    drop(place);
}

/// The connection is to end.
struct SocketEnd;

impl From<Panicked> for SocketEnd {
    fn from(_: Panicked) -> Self {
        Self
    }
}

struct Connection {
    socket: WebSocket,
    live: Arc<Live>,
    /// Which cards the client wants.
    list: Option<CardFilter>,
    /// How far the client has the logs of the runs that it watches.
    runs: BTreeMap<(usize, RunId), Cursor>,
}

impl Connection {
    async fn run(mut self, mut notices: Receiver<Notice>) -> Result<(), SocketEnd> {
        let Live { id, actions, .. } = &*self.live;
        let (n, projects) = (self.live.last(), self.live.names());
        let hello = json!({ "type": "hello", "feed": id, "n": n, "projects": projects, "actions": actions });
        self.send(hello).await?;
        let mut beat = interval(BEAT);
        // The first tick of an interval comes at once.
        beat.tick().await;
        loop {
            tokio::select! {
                message = self.socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => self.take(&text).await?,
                    // The library answers as well, but does not wait until the answer is written.
                    Some(Ok(Message::Ping(sent))) => self.write(Message::Pong(sent)).await?,
                    Some(Ok(Message::Pong(_))) => {}
                    _ => return Err(SocketEnd),
                },
                notice = notices.recv() => match notice {
                    Ok(first) => {
                        let mut changed = BTreeSet::from([(first.project, first.run)]);
                        let mut n = first.n;
                        while let Ok(more) = notices.try_recv() {
                            n = more.n;
                            changed.insert((more.project, more.run));
                        }
                        self.tell(changed, n).await?;
                    }
                    Err(RecvError::Lagged(_)) => {
                        // Before the snapshot, so that no change falls between the two.
                        notices = self.live.notices.subscribe();
                        self.snapshot().await?;
                        self.all_events().await?;
                    }
                    Err(RecvError::Closed) => return Err(SocketEnd),
                },
                _ = beat.tick() => {
                    let message = json!({ "type": "beat", "n": self.live.last(), "at": self.live.clock.now() });
                    self.send(message).await?;
                }
            }
        }
    }

    /// Sends a message, as JSON. Large ones are made where the files are read: a text takes a tenth of its values' memory.
    async fn send(&mut self, message: impl ToString) -> Result<(), SocketEnd> {
        self.write(Message::Text(message.to_string().into())).await
    }

    async fn write(&mut self, message: Message) -> Result<(), SocketEnd> {
        timeout(WRITE, self.socket.send(message)).await.map_err(|_| SocketEnd)?.map_err(|_| SocketEnd)
    }

    /// Takes a client's wish, and sends what it lacks.
    async fn take(&mut self, text: &str) -> Result<(), SocketEnd> {
        let Ok(Wish::Watch { list, runs, since }) = serde_json::from_str(text) else { return Err(SocketEnd) };
        self.list = list;
        self.runs = BTreeMap::new();
        for run in runs.into_iter().take(WATCHED) {
            // A project that is not served any longer is no error: the page was open when it was.
            if let Some(project) = self.live.projects.iter().position(|project| project.name == run.project) {
                let after = run.after.and_then(|after| after.parse().ok());
                self.runs.insert((project, run.run), after.unwrap_or_default());
            }
        }
        let known = self.changed_since(since.as_deref());
        // Before the cards are read: a card may be newer than its number, but not older.
        let n = self.live.last();
        match known {
            // A snapshot only if it is not known what the client lacks.
            Some(changed) if self.list.is_some() => self.cards(&changed, n).await?,
            _ => self.snapshot().await?,
        }
        self.all_events().await
    }

    fn changed_since(&self, since: Option<&str>) -> Option<BTreeSet<(usize, RunId)>> {
        let (id, n) = since?.rsplit_once(':')?;
        self.live.changed_since(id, n.parse().ok()?)
    }

    async fn snapshot(&mut self) -> Result<(), SocketEnd> {
        let Some(filter) = self.list.clone() else { return Ok(()) };
        let n = self.live.last();
        let message = on_reader(&self.live, move |live| {
            json!({ "type": "snapshot", "n": n, "projects": cards(live, &filter) }).to_string()
        });
        let message = message.await?;
        self.send(message).await
    }

    /// Announces runs that changed.
    async fn tell(&mut self, changed: BTreeSet<(usize, RunId)>, n: u64) -> Result<(), SocketEnd> {
        if self.list.is_some() {
            self.cards(&changed, n).await?;
        }
        for run in changed {
            if self.runs.contains_key(&run) {
                self.events(run).await?;
            }
        }
        Ok(())
    }

    async fn cards(&mut self, changed: &BTreeSet<(usize, RunId)>, n: u64) -> Result<(), SocketEnd> {
        for (project, run) in changed.clone() {
            let message = on_reader(&self.live, move |live| {
                let served = &live.projects[project];
                match served.keeper().feed.card(&run) {
                    Some(card) => json!({ "type": "run", "n": n, "project": served.name, "card": card }),
                    None => json!({ "type": "gone", "n": n, "project": served.name, "run": run }),
                }
            });
            let message = message.await?;
            self.send(message).await?;
        }
        Ok(())
    }

    async fn all_events(&mut self) -> Result<(), SocketEnd> {
        for run in self.runs.keys().cloned().collect::<Vec<_>>() {
            self.events(run).await?;
        }
        Ok(())
    }

    /// Sends the events of a run that the client does not have.
    async fn events(&mut self, run: (usize, RunId)) -> Result<(), SocketEnd> {
        // In pieces, each with its own look at the feed, so that a long log does not keep others waiting.
        while let Some(cursor) = self.runs.get(&run).cloned() {
            let key = run.clone();
            let Newer { messages, rest } = on_reader(&self.live, move |live| newer(live, &key, &cursor)).await?;
            for message in messages {
                self.send(message).await?;
            }
            let Some((cursor, more)) = rest else { break };
            self.runs.insert(run.clone(), cursor);
            if !more {
                break;
            }
        }
        Ok(())
    }
}

/// What to send of a run's log.
struct Newer {
    messages: Vec<String>,
    /// Where the client will be, and whether there is more; none if the run cannot be read.
    rest: Option<(Cursor, bool)>,
}

/// The messages for a client that has the log of a run up to a cursor.
fn newer(live: &Live, (project, run): &(usize, RunId), cursor: &Cursor) -> Newer {
    let served = &live.projects[*project];
    let name = &served.name;
    let Ok(after) = served.keeper().feed.run(run).map(|run| run.events_after(cursor, EVENTS)) else {
        return Newer { messages: vec![reset(name, run, "it cannot be read")], rest: None };
    };
    let mut messages = Vec::new();
    if after.reset {
        messages.push(reset(name, run, "its log was repaired or replaced"));
    }
    if !after.events.is_empty() {
        let cursor = after.cursor.to_string();
        let message =
            json!({ "type": "events", "project": name, "run": run, "events": after.events, "cursor": cursor });
        messages.push(message.to_string());
    }
    Newer { messages, rest: Some((after.cursor, after.more)) }
}

/// Tells a client to forget the events of a run.
fn reset(project: &str, run: &RunId, reason: &str) -> String {
    json!({ "type": "reset", "project": project, "run": run, "reason": reason }).to_string()
}
