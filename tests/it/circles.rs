//! No file of the source tree leads back to itself: files can be read, and moved, one after another from below.
//!
//! A file leads to the files that define what it names, also where it names a re-export of them. `mod.rs` leads to nothing
//! by its re-exports, and holds nothing else.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::PathBuf;

use crate::tidy::{Source, sources};

/// The parts of a path: `crate::a::b` without `crate`.
type Parts = Vec<String>;

/// What a file declares with `use`.
struct Use {
    is_public: bool,
    /// From the root of the crate.
    path: Parts,
    /// The name that it has in the file; `*` for all.
    name: String,
}

struct File {
    module: Parts,
    /// What stands in it besides the declarations of `use`.
    rest: String,
    uses: Vec<Use>,
    defines: HashSet<String>,
}

struct Tree {
    files: BTreeMap<String, File>,
    /// The file of each module.
    modules: HashMap<Parts, String>,
}

impl Tree {
    fn read() -> Self {
        let sources = sources();
        let modules: HashMap<Parts, String> = sources
            .iter()
            .filter(|source| !source.path.ends_with("main.rs"))
            .map(|source| (module_of(source), source.path.display().to_string()))
            .collect();
        let files = sources.iter().map(|source| (source.path.display().to_string(), File::read(source, &modules)));
        Self { files: files.collect(), modules: modules.clone() }
    }

    /// The file that defines what stands at `path`; `None` for what comes from elsewhere.
    fn definer(&self, path: &[String], depth: usize) -> Option<&str> {
        if let Some(file) = self.modules.get(path) {
            return Some(file);
        }
        let length = (0..path.len()).rev().find(|&length| self.modules.contains_key(&path[..length]))?;
        let file = &self.modules[&path[..length]];
        let name = &path[length];
        if depth == 0 || self.files[file].defines.contains(name) {
            return Some(file);
        }
        for used in &self.files[file].uses {
            if used.name == *name {
                return self.definer(&[&used.path, &path[length + 1..]].concat(), depth - 1);
            }
            if used.name == "*"
                && let Some(found) = self.definer(&[&used.path, &path[length..]].concat(), depth - 1)
                && found != file
            {
                return Some(found);
            }
        }
        Some(file)
    }

    /// The files to which `file` leads.
    fn leads_to(&self, file: &str) -> BTreeSet<&str> {
        let File { module, rest, uses, .. } = &self.files[file];
        let mut paths: Vec<Parts> = Vec::new();
        for used in uses {
            if used.is_public && file.ends_with("mod.rs") {
                continue;
            }
            paths.push(used.path.clone());
            if self.modules.contains_key(&used.path) {
                // A module that is brought in by name: what stands behind its name.
                paths.extend(named_behind(rest, &used.name).map(|named| [used.path.clone(), named].concat()));
            }
        }
        for child in self.modules.keys().filter(|child| child.len() == module.len() + 1 && child.starts_with(module)) {
            let name = child.last().expect("it is longer");
            paths.extend(named_behind(rest, name).map(|named| [child.clone(), named].concat()));
        }
        for root in ["crate", "super", "self"] {
            for named in named_behind(rest, root) {
                let path = [vec![root.to_owned()], named].concat();
                paths.extend(absolute(module, path, &self.modules));
            }
        }
        paths.iter().filter_map(|path| self.definer(path, 8)).filter(|found| *found != file).collect()
    }
}

impl File {
    fn read(source: &Source, modules: &HashMap<Parts, String>) -> Self {
        let module = module_of(source);
        let (mut uses, mut rest) = (Vec::new(), String::new());
        let mut code = source.code.as_str();
        while let Some(at) = next_use(code) {
            let end = at + code[at..].find(';').expect("a use ends");
            let line = code[..at].rfind('\n').map_or(0, |at| at + 1);
            let is_public = code[line..at].trim_start().starts_with("pub");
            rest.push_str(&code[..line]);
            let mut paths = Vec::new();
            flatten(&[], &code[at + "use ".len()..end], &mut paths);
            for (path, name) in paths {
                if let Some(path) = absolute(&module, path, modules) {
                    uses.push(Use { is_public, path, name });
                }
            }
            code = &code[end + 1..];
        }
        rest.push_str(code);
        let defines = defined_in(&rest);
        Self { module, rest, uses, defines }
    }
}

fn module_of(source: &Source) -> Parts {
    let path = source.path.with_extension("");
    let mut parts: Parts = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Where the next declaration begins.
fn next_use(code: &str) -> Option<usize> {
    let at = code.match_indices("use ").map(|(at, _)| at);
    at.into_iter().find(|&at| {
        let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
        before.is_empty() || before.starts_with("pub") && !before.contains('{')
    })
}

/// The paths of a tree of `use`, each with the name that it gives.
fn flatten(prefix: &[String], tree: &str, into: &mut Vec<(Parts, String)>) {
    let parts_of = |text: &str| -> Parts {
        text.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let Some(open) = tree.find('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias.trim())));
        let mut path = [prefix, &parts_of(path)].concat();
        let mut name = path.last().cloned().unwrap_or_default();
        if name == "*" || name == "self" && path.len() > 1 {
            path.pop();
        }
        if name == "self" {
            name = path.last().cloned().unwrap_or_default();
        }
        into.push((path, alias.map_or(name, str::to_owned)));
        return;
    };
    let prefix = [prefix, &parts_of(&tree[..open])].concat();
    let (mut depth, mut start) = (0, open + 1);
    let close = tree.rfind('}').unwrap_or(tree.len());
    for (at, c) in tree[..close].char_indices().skip_while(|(at, _)| *at <= open) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&prefix, &tree[start..at], into);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !tree[start..close].trim().is_empty() {
        flatten(&prefix, &tree[start..close], into);
    }
}

/// A path from the root of the crate; `None` for one that another crate has.
fn absolute(module: &[String], path: Parts, modules: &HashMap<Parts, String>) -> Option<Parts> {
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            Some([&module[..module.len().checked_sub(ups)?], &path[ups..]].concat())
        }
        first => {
            let child = [module, &[first.to_owned()]].concat();
            modules.contains_key(&child).then(|| [module, &path].concat())
        }
    }
}

/// What stands behind each `name::`.
fn named_behind<'c>(code: &'c str, name: &'c str) -> impl Iterator<Item = Parts> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(name).filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| is_word(c) || c == ':' || c == '"') {
            return None;
        }
        let rest = code[at + name.len()..].strip_prefix("::")?;
        let path = &rest[..rest.find(|c: char| !is_word(c) && c != ':').unwrap_or(rest.len())];
        Some(path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect())
    })
}

fn defined_in(code: &str) -> HashSet<String> {
    let words = ["fn", "struct", "enum", "trait", "const", "static", "type", "macro_rules!"];
    let mut defined = HashSet::new();
    let mut tokens = code.split_whitespace().peekable();
    while let Some(token) = tokens.next() {
        if words.contains(&token.rsplit(['(', '{', ';']).next().unwrap_or_default())
            && let Some(name) = tokens.peek()
        {
            defined
                .insert(name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned());
        }
    }
    defined
}

/// The shortest way from `file` back to itself.
fn circle<'t>(file: &'t str, leads: &BTreeMap<&'t str, BTreeSet<&'t str>>) -> Option<Vec<&'t str>> {
    let mut ways = VecDeque::from([vec![file]]);
    let mut seen = HashSet::new();
    while let Some(way) = ways.pop_front() {
        for &next in &leads[way.last().expect("a way has a beginning")] {
            if next == file {
                return Some([way, vec![file]].concat());
            }
            if seen.insert(next) {
                ways.push_back([way.clone(), vec![next]].concat());
            }
        }
    }
    None
}

#[test]
fn no_file_leads_back_to_itself() {
    let tree = Tree::read();
    let leads: BTreeMap<&str, BTreeSet<&str>> =
        tree.files.keys().map(|file| (file.as_str(), tree.leads_to(file))).collect();
    let circles: BTreeMap<BTreeSet<&str>, String> = leads
        .keys()
        .filter_map(|file| circle(file, &leads))
        .map(|circle| (circle.iter().copied().collect(), circle.join(" -> ")))
        .collect();
    let circles: Vec<_> = circles.into_values().collect();
    assert!(circles.is_empty(), "files lead back to themselves:\n{}", circles.join("\n"));
}

#[test]
fn a_mod_file_has_no_functions() {
    let with: Vec<String> = Tree::read()
        .files
        .into_iter()
        .filter(|(path, file)| path.ends_with("/mod.rs") && file.rest.split_whitespace().any(|word| word == "fn"))
        .map(|(path, _)| path)
        .collect();
    assert!(with.is_empty(), "`mod.rs` holds documentation and re-exports: {with:?}");
}

#[test]
fn a_floor_has_at_most_24_files() {
    let mut floors: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for source in sources() {
        *floors.entry(source.path.parent().expect("a file is in a folder").to_owned()).or_default() += 1;
    }
    floors.retain(|_, files| *files > 24);
    assert!(floors.is_empty(), "{floors:?}");
}

/// The folders of `runs/`, lowest first. The files of `runs/` itself are below all of them.
const FOLDERS_OF_RUNS: [&[&str]; 4] = [&["open"], &["write"], &["look"], &["live", "sessions"]];

#[test]
fn the_folders_of_runs_stand_one_on_another() {
    let floor = |file: &str| {
        let folder = file.strip_prefix("runs/")?.split_once('/').map_or("", |(folder, _)| folder);
        // The parts of `runs/mask.rs` stand with it.
        let folder = if folder == "mask" { "" } else { folder };
        let above = FOLDERS_OF_RUNS.iter().position(|folders| folders.contains(&folder));
        Some((above.map_or(0, |above| above + 1), folder.to_owned()))
    };
    let tree = Tree::read();
    let mut broken = Vec::new();
    for file in tree.files.keys() {
        let Some((here, folder)) = floor(file) else { continue };
        for used in tree.leads_to(file) {
            // `runs/mod.rs` names all of them.
            if used == "runs/mod.rs" || file == "runs/mod.rs" {
                continue;
            }
            let Some((there, other)) = floor(used) else { continue };
            if there > here || there == here && other != folder {
                broken.push(format!("{file} leads to {used}"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}
