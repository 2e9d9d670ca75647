//! What is remembered about a session of a host: `.flow/.cache/hosts/<host>-<hash>.json`.

use serde::{Deserialize, Serialize};

use crate::hooks::payload::Host;
use crate::model::SessionId;
use crate::runs::{self, Context, Result};

/// A note about a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Note {
    #[serde(skip)]
    name: String,
    session: String,
    /// A digest of the brief that was shown last.
    shown: Option<String>,
}

impl Note {
    /// The note about `session`; an empty one if there is none, or if it is about another session.
    pub(super) fn of(cx: &Context, host: Host, session: &SessionId) -> Self {
        let name = format!("{}-{}.json", host.as_str(), runs::text_digest(session.as_str()));
        let kept = runs::host_note(cx, &name).and_then(|text| serde_json::from_str::<Self>(&text).ok());
        let kept = kept.filter(|note| note.session == session.as_str()).unwrap_or_default();
        Self { name, session: session.to_string(), ..kept }
    }

    /// Whether this brief was the last one that was shown.
    pub(super) fn shows(&self, brief: &str) -> bool {
        self.shown.as_deref() == Some(&runs::text_digest(brief))
    }

    pub(super) fn showing(self, brief: Option<&str>) -> Self {
        Self { shown: brief.map(runs::text_digest), ..self }
    }

    pub(super) fn keep(&self, cx: &Context) -> Result<()> {
        runs::keep_host_note(cx, &self.name, &serde_json::to_string(self).unwrap_or_default())
    }
}
