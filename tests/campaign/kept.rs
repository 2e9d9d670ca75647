//! What earlier campaigns with the very same program found, so that one that was interrupted can go on.

use std::path::{Path, PathBuf};

use flowrun::codec::digest;

use crate::section::Row;

/// The results of one build of the program, a file for each section.
pub struct Kept(PathBuf);

impl Kept {
    /// Those of the program that is tried now.
    pub fn of_this_program() -> Self {
        let program = std::fs::read(env!("CARGO_BIN_EXE_flow")).unwrap();
        let name = format!("campaign-{}", digest(&program));
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    /// What a section found.
    pub fn load(&self, section: &str) -> Option<Vec<Row>> {
        serde_json::from_slice(&std::fs::read(self.file(section)).ok()?).ok()
    }

    /// Keeps what a section found.
    pub fn save(&self, section: &str, rows: &[Row]) {
        std::fs::create_dir_all(&self.0).unwrap();
        std::fs::write(self.file(section), serde_json::to_vec(rows).unwrap()).unwrap();
    }

    fn file(&self, section: &str) -> PathBuf {
        self.0.join(section).with_extension("json")
    }
}
