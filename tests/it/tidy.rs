//! Rules of the source tree. Breaking one is a decision: change the table in the same commit and say why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::mistakes::{mutations, places, texts};

/// A module, and the modules that it may name through `crate::` (design, section 8).
const MAY_USE: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("codec", &["model"]),
    ("machine", &["model", "codec"]),
    ("disk", &["model"]),
    ("host", &["model"]),
    ("store", &["model", "codec", "disk"]),
    ("engine", &["model", "codec", "machine"]),
    ("catalog", &["model", "codec", "machine", "disk"]),
    ("runs", &["model", "codec", "machine", "disk", "host", "store", "engine", "catalog"]),
    ("remote", &["model", "codec", "host", "store"]),
    ("sharing", &["model", "codec", "disk", "host", "store", "catalog", "runs", "remote"]),
    ("modes", &["model", "codec", "machine", "disk", "host", "store", "engine", "catalog", "runs"]),
    ("interviews", &["model", "codec", "machine", "disk", "host", "store", "engine", "catalog", "runs"]),
    ("picture", &["model", "machine", "engine", "runs", "modes", "interviews"]),
    ("drive", &["model", "codec", "machine", "disk", "host", "store", "engine", "catalog", "runs"]),
    (
        "doctor",
        &[
            "model", "codec", "machine", "disk", "host", "store", "engine", "catalog", "runs", "modes", "interviews",
            "drive",
        ],
    ),
    ("hooks", &["model", "codec", "disk", "host", "engine", "runs", "modes"]),
    ("mcp", &["model", "runs", "modes", "interviews"]),
    ("web", &["model", "disk", "host", "runs", "modes", "interviews", "picture"]),
    ("watch", &["model", "host", "runs", "modes", "interviews", "picture"]),
    ("demo", &["model", "host", "runs"]),
    (
        "cli",
        &[
            "model", "engine", "machine", "runs", "modes", "interviews", "drive", "doctor", "hooks", "mcp", "picture",
            "sharing", "watch", "web", "demo",
        ],
    ),
    ("main", &["cli"]),
    ("lib", &[]),
];

/// Modules without input and output, and what they may not mention.
const PURE: &[&str] =
    &["model", "machine", "engine", "drive/agent", "interviews/pad", "modes/policy", "modes/state", "picture"];
const IMPURE: &[&str] =
    &["std::fs", "std::env", "std::process", "std::net", "std::thread", "SystemTime", "Utc::now", "println!", "rustix"];

/// A crate, and the only files that may name it.
const ONLY_IN: &[(&str, &[&str])] = &[
    ("serde_yaml", &["codec/yaml.rs"]),
    ("jsonschema", &["codec/schema.rs"]),
    ("toml_edit", &["codec/toml.rs"]),
    ("similar", &["hooks/settings/diff.rs"]),
    ("crc32c", &["codec/seal.rs"]),
    ("fs2", &["disk/"]),
    // A demonstration keeps its directory, which is new under a name that nobody can guess.
    ("tempfile", &["disk/document.rs", "host/git/", "host/script.rs"]),
    // The disk is the one way to files; the host reads what the machine makes up, and git's own.
    ("std::fs", &["disk/", "host/", "cli/terminal.rs"]),
    // At a terminal: what was typed before it was asked for.
    ("rustix", &["disk/", "host/", "cli/terminal.rs"]),
    ("clap", &["cli/"]),
    ("rustyline", &["cli/prompt.rs"]),
    ("walkdir", &["disk/os.rs"]),
    ("glob", &["host/tree/input.rs"]),
    ("annotate_snippets", &["machine/diagnostic.rs"]),
    ("unicode_width", &["cli/page.rs", "picture/text.rs"]),
    ("dagre", &["picture/diagram/layout.rs"]),
    (
        "pulldown_cmark",
        &[
            "machine/markdown.rs",
            "machine/merge_mark.rs",
            "machine/prose.rs",
            "interviews/pad/outline.rs",
            "interviews/pad/gaps.rs",
            "picture/page/markdown.rs",
        ],
    ),
    // The two ways out into the network: to a model, and to an object store.
    ("ureq", &["drive/http.rs", "host/http.rs"]),
    ("rusty_s3", &["remote/s3/"]),
    // A server that waits for clients is the one thing that runs on an async runtime, with the features `mcp` and `serve`.
    ("rmcp", &["mcp/server/"]),
    ("tokio", &["mcp/server/serve.rs", "web/server/"]),
    ("axum", &["web/server/"]),
    ("hyper", &["web/server/accept.rs"]),
    ("hyper_util", &["web/server/accept.rs"]),
    ("notify", &["host/watch.rs"]),
    ("ratatui", &["watch/screen/"]),
    ("indicatif", &["cli/progress.rs"]),
    ("base64", &["watch/screen/clipboard.rs", "remote/s3/requests.rs"]),
    ("maud", &["picture/", "web/server/answer.rs"]),
    ("signal_hook", &["host/signal.rs", "cli/program.rs"]),
];

pub(crate) struct Source {
    /// Path below `src`.
    pub(crate) path: PathBuf,
    /// The module that it belongs to.
    owner: String,
    /// Its text without tests and comments.
    pub(crate) code: String,
}

pub(crate) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    walkdir::WalkDir::new(&root)
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "tests"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(&root).unwrap().to_owned();
            let owner = path.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            Source { path, owner, code }
        })
        .collect()
}

fn named_modules(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("crate::")
        .filter_map(|(at, hit)| code[at + hit.len()..].split(|c: char| !c.is_alphanumeric() && c != '_').next())
}

/// What stands behind each `crate::`.
fn named_paths(code: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    code.match_indices("crate::").map(move |(at, hit)| {
        let rest = &code[at + hit.len()..];
        &rest[..rest.find(|c| !is_path(c)).unwrap_or(rest.len())]
    })
}

fn owner_of(path: &str) -> &str {
    path.split("::").next().unwrap_or_default()
}

#[test]
fn modules_depend_only_downwards() {
    let may_use: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let mut broken = Vec::new();
    for Source { path, owner, code } in sources() {
        let path = path.display();
        let Some(allowed) = may_use.get(owner.as_str()) else {
            broken.push(format!("{path}: `{owner}` is in no row of the table"));
            continue;
        };
        for named in named_modules(&code) {
            if named.is_empty() {
                broken.push(format!("{path}: one path for each `use`, not `use crate::{{…}}`"));
            } else if named != owner && may_use.contains_key(named) && !allowed.contains(&named) {
                broken.push(format!("{path}: `{owner}` may not use `{named}`"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn pure_modules_touch_nothing_outside() {
    let mut broken = Vec::new();
    for Source { path, code, .. } in sources() {
        let Some(room) = PURE.iter().find(|room| path.starts_with(room)) else { continue };
        for word in IMPURE.iter().filter(|word| code.contains(*word)) {
            broken.push(format!("{}: `{room}` is pure, and mentions `{word}`", path.display()));
        }
        // A pure part of a room knows nothing of the rest of it but other pure parts.
        let own = owner_of(room.split('/').next().unwrap_or_default());
        let is_pure = |named: &&str| PURE.iter().any(|pure| named.starts_with(&pure.replace('/', "::")));
        let impure = named_paths(&code).filter(|named| owner_of(named) == own && !is_pure(named));
        broken.extend(impure.map(|named| format!("{}: `{room}` is pure, and uses `{named}`", path.display())));
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn each_library_has_its_place() {
    let mut broken = Vec::new();
    for Source { path, code, .. } in sources() {
        let path = path.display().to_string();
        for (name, places) in ONLY_IN {
            let names = code.contains(&format!("{name}::")) || code.contains(&format!("use {name}"));
            if names && !places.iter().any(|place| path.starts_with(place)) {
                broken.push(format!("{path}: `{name}` belongs into {places:?}"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// Methods of paths that ask a file system.
const ASKING: [&str; 7] =
    [".canonicalize(", ".exists()", ".is_dir()", ".is_file()", ".read_dir(", ".read_link(", ".symlink_metadata("];

#[test]
fn only_the_disk_and_the_host_ask_a_file_system() {
    let mut broken = Vec::new();
    for Source { path, owner, code } in sources() {
        let asked = ASKING.iter().filter(|method| code.contains(*method));
        if owner != "disk" && owner != "host" {
            // `Disk::is_dir` and `Disk::is_file` are given their path.
            broken.extend(asked.map(|method| format!("{}: `{method}` goes past `disk::Disk`", path.display())));
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn files_stay_readable() {
    let long: Vec<_> = sources()
        .iter()
        .map(|source| (source.path.display().to_string(), source.code.lines().count()))
        .filter(|(_, lines)| *lines > 500)
        .collect();
    assert!(long.is_empty(), "longer than 500 lines without comments and tests: {long:?}");
}

/// Names that each room may give to a type of its own.
const OF_EACH_ROOM: [&str; 2] = ["Error", "Result"];

#[test]
fn a_name_of_a_type_stands_in_at_most_two_rooms() {
    let mut rooms = BTreeMap::<String, BTreeSet<String>>::new();
    for Source { owner, code, .. } in sources() {
        for line in code.lines() {
            for keyword in ["struct ", "enum ", "trait ", "union ", "type "] {
                let Some((before, after)) = line.split_once(keyword) else { continue };
                // A type in a trait or its implementation has the name that the trait gives it.
                if keyword == "type " && line.starts_with(' ') {
                    continue;
                }
                if before.trim().is_empty() || before.trim_start().starts_with("pub") {
                    let name = after.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
                    rooms.entry(name.to_owned()).or_default().insert(owner.clone());
                }
            }
        }
    }
    // A macro makes names of its own.
    rooms.remove("");
    rooms.retain(|name, rooms| rooms.len() > 2 && !OF_EACH_ROOM.contains(&name.as_str()));
    assert!(rooms.is_empty(), "types with one name in three rooms or more: {rooms:?}");
}

/// Sentences name who does something, or what.
#[test]
fn no_sentence_speaks_of_nobody_in_particular() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("README.md"), root.join("ARCHITECTURE.md"), root.join("CONTRIBUTING.md")];
    for (dir, ending) in [("src", "rs"), ("docs", "md")] {
        let found = walkdir::WalkDir::new(root.join(dir)).into_iter().map(|entry| entry.unwrap().into_path());
        files.extend(found.filter(|path| path.extension().is_some_and(|extension| extension == ending)));
    }
    files.retain(|path| path.file_name().unwrap() != "tests.rs");
    for path in files {
        // A verdict of drivers has this name.
        let text = std::fs::read_to_string(&path).unwrap().to_lowercase().replace("\"nobody\"", "");
        let mut words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
        let vague = words.find(|word| ["somebody", "nobody", "whoever", "anew"].contains(word));
        assert_eq!(vague, None, "{}", path.display());
        assert!(!text.contains(" any more"), "{}: any more", path.display());
    }
}

#[test]
fn nothing_large_lies_in_the_project() {
    let listed =
        std::process::Command::new("git").args(["-C", env!("CARGO_MANIFEST_DIR"), "ls-files", "-z"]).output().unwrap();
    for name in String::from_utf8(listed.stdout).unwrap().split_terminator('\0') {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        // One that was removed and not committed yet is on its way out.
        let length = file.symlink_metadata().map_or(0, |metadata| metadata.len());
        assert!(length < 256 << 10, "{name} has {length} bytes: what is downloaded or built belongs below target/");
    }
}

#[test]
fn no_test_file_is_forgotten() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = std::fs::read_to_string(here.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(here).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(stem == "main" || main.contains(&format!("mod {stem};")), "{} is not in main.rs", path.display());
    }
}

#[test]
fn the_tree_of_dependencies_stays_small() {
    let lock = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap();
    for unwanted in ["reqwest", "openssl", "serde_yml", "unsafe-libyaml", "libyml"] {
        assert!(!lock.contains(&format!("name = \"{unwanted}\"")), "{unwanted} is in the tree");
    }
}

#[test]
fn what_a_feature_brings_can_be_left_out() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    for name in ["rmcp", "tokio", "ureq", "rusty-s3", "axum", "hyper", "hyper-util", "notify", "ratatui", "base64"] {
        let line = manifest.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap();
        assert!(line.contains("optional = true"), "{line}");
    }
}

#[test]
fn the_nine_crates_of_the_card_are_used() {
    let manifest = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let code: String = sources().into_iter().map(|source| source.code).collect();
    for name in ["serde", "serde_yaml", "serde_json", "jsonschema", "fs2", "tempfile", "clap", "chrono", "walkdir"] {
        assert!(manifest.contains(&format!("\n{name} =")), "{name} is not in Cargo.toml");
        assert!(code.contains(&format!("{name}::")), "{name} is not used");
    }
}

/// What works with the files of runs as they are on a disk.
const KNOW_FILES: [&str; 3] = ["store", "doctor", "modes/state_dir.rs"];
/// Words for what other stores do not have.
const OF_FILES: [&str; 6] = ["store::local", "flock", "inode", "RunDir", "LockedRun", ".path().join("];

/// Another store can stand where the local one does, since nothing above asks where a run is.
#[test]
fn above_the_store_a_run_has_no_files() {
    let mut broken = Vec::new();
    for Source { path, owner, code } in sources() {
        let below = ["model", "codec", "disk", "host", "machine"].contains(&owner.as_str());
        if below || KNOW_FILES.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        for word in OF_FILES.iter().filter(|word| code.contains(*word)) {
            broken.push(format!("{}: `{word}` belongs into the local store", path.display()));
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

/// The place of a mistake moves with the code, and the campaign that makes the mistakes is seldom run.
#[test]
fn every_mistake_of_the_mutations_has_a_place_of_its_own() {
    let files = texts(Path::new(env!("CARGO_MANIFEST_DIR")));
    if let Err(why) = places(&files, &mutations()) {
        panic!("{why}");
    }
}
