//! By which rules files are not in a tree, as far as those are in none of its files.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::host::git::{UnlistedRules, is_own_path};
use crate::host::tree::digest::Tree;
use crate::model::{IgnoreRules, hex};

impl Tree {
    /// The rules by which git ignores files: those that it told, and those of each `.gitignore` which is not in the tree. `own` is
    /// where flow writes.
    #[must_use]
    pub fn ignore_rules(&self, told: &UnlistedRules, own: &[String]) -> IgnoreRules {
        let mut gitignore = BTreeMap::new();
        for (path, digest) in self.rules.iter().chain(&told.only_indexed) {
            if !is_own_path(path, own) {
                gitignore.insert(path.clone(), *digest);
            }
        }
        IgnoreRules {
            info_exclude: digest_of(&told.info_exclude),
            excludes_file: digest_of(&told.excludes_file),
            gitignore: digest_of(&gitignore),
        }
    }
}

/// One digest of all, if there are any.
fn digest_of(files: &BTreeMap<Vec<u8>, [u8; 32]>) -> Option<String> {
    let mut digest = Sha256::new();
    for (path, file) in files {
        digest.update((path.len() as u64).to_le_bytes());
        digest.update(path);
        digest.update(file);
    }
    (!files.is_empty()).then(|| hex(&digest.finalize()))
}
