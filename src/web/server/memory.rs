//! The port and the token of last time, so that a page that is open finds the server again after a restart.
//!
//! They are in the user's state directory, readable by the user alone, and never in the project: a cloned repository could
//! bring a token that its author knows.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::disk::{Dir, DiskError, Rename};
use crate::host::{SECRET, open_in_browser, secret};
use crate::model::{Explain as _, hex};
use crate::runs::{Context, make_user_state};

/// The mode of the file: for its owner alone.
const PRIVATE: u32 = 0o600;
/// The longest file that is read.
const LONGEST: usize = 4096;

/// What is remembered about the server of some projects.
#[derive(Debug)]
pub(super) struct Memory {
    place: Result<MemoryFile, String>,
    /// The port of last time.
    pub(super) port: Option<u16>,
    pub(super) token: String,
}

#[derive(Debug)]
struct MemoryFile {
    dir: Dir,
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct RememberedServer {
    port: u16,
    token: String,
}

impl Memory {
    /// What is remembered about the server of the projects with these roots.
    pub(super) fn recall(cx: &Context, roots: &[PathBuf]) -> Self {
        let place = MemoryFile::find(cx, roots);
        match place.as_ref().ok().and_then(MemoryFile::read) {
            Some(RememberedServer { port, token }) => Self { place, port: Some(port), token },
            None => Self { place, port: None, token: secret() },
        }
    }

    /// Remembers port and token. Returns why that failed, if it did.
    pub(super) fn remember(&self, port: u16) -> Option<String> {
        let why = match &self.place {
            Ok(place) => place.write(&RememberedServer { port, token: self.token.clone() }).err()?.one_line(),
            Err(why) => why.clone(),
        };
        Some(format!("port and token are not remembered for the next start: {why}"))
    }

    /// Opens this address in the user's browser. Returns why that failed, if it did.
    ///
    /// Other users see with which arguments programs are begun, and the address holds the token: the browser is given a file
    /// that its owner alone reads, and that leads there.
    pub(super) fn open(&self, url: &str) -> Option<String> {
        let why = match &self.place {
            Ok(place) => match place.write_way_to(url) {
                Ok(file) => open_in_browser(&file).err()?.to_string(),
                Err(error) => error.one_line(),
            },
            Err(why) => why.clone(),
        };
        Some(format!("the pages were not opened in a browser: {why}"))
    }
}

impl MemoryFile {
    /// Writes the file that leads a browser to this address.
    fn write_way_to(&self, url: &str) -> Result<PathBuf, DiskError> {
        let name = format!("{}.html", self.name.trim_end_matches(".json"));
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>flow</title><a href=\"{url}\">flow</a>\n"
        );
        self.replace(&name, &page)?;
        Ok(self.dir.join(&name))
    }

    fn find(cx: &Context, roots: &[PathBuf]) -> Result<Self, String> {
        let dir = make_user_state(cx)?;
        let mut digest = Sha256::new();
        for root in roots {
            digest.update(root.as_os_str().as_encoded_bytes());
            // A separator, so that [`a`, `bc`] and [`ab`, `c`] differ.
            digest.update(b"\n");
        }
        let name: String = hex(&digest.finalize()[..8]);
        Ok(Self { dir, name: format!("serve-{name}.json") })
    }

    fn read(&self) -> Option<RememberedServer> {
        let bytes = self.dir.read(&self.name, LONGEST).ok()??;
        // Others may know what others can read.
        if self.dir.look(&self.name).ok()?.mode & 0o077 != 0 {
            return None;
        }
        let known: RememberedServer = serde_json::from_slice(&bytes).ok()?;
        if known.token.len() == SECRET { Some(known) } else { None }
    }

    fn write(&self, known: &RememberedServer) -> Result<(), DiskError> {
        self.replace(&self.name, &serde_json::to_string(known).unwrap_or_default())
    }

    /// Puts a file with this text in the place of one of this name.
    fn replace(&self, name: &str, text: &str) -> Result<(), DiskError> {
        let new = format!("{name}.{}", std::process::id());
        // An earlier server with this process id may have died between the two calls below.
        self.dir.remove(&new)?;
        // Beside the old file, so that a server that starts meanwhile reads the old one or the new one.
        self.dir.create(&new, text.as_bytes(), PRIVATE)?;
        self.dir.rename(&new, name, Rename::Replace)
    }
}
