//! The port and the token of last time, so that a page that is open finds the server again after a restart.
//!
//! They are in the user's state directory, readable by the user alone, and never in the project: a cloned repository could
//! bring a token that its author knows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::disk::{Dir, DiskError, Rename};
use crate::host::{SECRET, secret};
use crate::model::{Explain as _, hex};
use crate::runs::{Context, make_user_state};

/// The mode of the file: for its owner alone.
const PRIVATE: u32 = 0o600;
/// The longest file that is read.
const LONGEST: usize = 4096;

/// What is remembered about the server of some projects.
#[derive(Debug)]
pub(super) struct Memory {
    place: Result<Place, String>,
    port: Option<u16>,
    token: String,
}

#[derive(Debug)]
struct Place {
    dir: Dir,
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    port: u16,
    token: String,
}

impl Memory {
    /// What is remembered about the server of the projects with these roots.
    pub(super) fn recall(cx: &Context, roots: &[PathBuf]) -> Self {
        let place = Place::find(cx, roots);
        let known = place.as_ref().ok().and_then(Place::read);
        let token = known.as_ref().map(|known| known.token.clone());
        Self { place, port: known.map(|known| known.port), token: token.unwrap_or_else(secret) }
    }

    pub(super) fn forget_token(&mut self) {
        self.token = secret();
    }

    pub(super) fn port(&self) -> Option<u16> {
        self.port
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Remembers port and token. Returns why that failed, if it did.
    pub(super) fn remember(&self, port: u16) -> Option<String> {
        let written = match &self.place {
            Ok(place) => place.write(&Remembered { port, token: self.token.clone() }).map_err(|error| error.one_line()),
            Err(why) => Err(why.clone()),
        };
        written.err().map(|why| format!("port and token are not remembered for the next start: {why}"))
    }
}

impl Place {
    fn find(cx: &Context, roots: &[PathBuf]) -> Result<Self, String> {
        let dir = make_user_state(cx)?;
        let mut digest = Sha256::new();
        roots.iter().for_each(|root| digest.update([root.as_os_str().as_encoded_bytes(), b"\n"].concat()));
        let name: String = hex(&digest.finalize()[..8]);
        Ok(Self { dir, name: format!("serve-{name}.json") })
    }

    fn read(&self) -> Option<Remembered> {
        let bytes = self.dir.read(&self.name, LONGEST).ok()??;
        // Others may know what others can read.
        let is_private = self.dir.look(&self.name).is_ok_and(|stat| stat.mode & 0o077 == 0);
        let known: Remembered = serde_json::from_slice(&bytes).ok().filter(|_| is_private)?;
        (known.token.len() == SECRET).then_some(known)
    }

    fn write(&self, known: &Remembered) -> Result<(), DiskError> {
        let new = format!("{}.{}", self.name, std::process::id());
        self.dir.remove(&new)?;
        let text = serde_json::to_string(known).unwrap_or_default();
        self.dir.create(&new, text.as_bytes(), PRIVATE)?;
        self.dir.rename(&new, &self.name, Rename::Replace)
    }
}
