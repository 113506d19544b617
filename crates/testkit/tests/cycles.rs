//! Checks that no source files of a crate depend on each other in a cycle. If two files need the same code, this code
//! belongs in a third file.
//!
//! The check reads the sources as text. Outside of unit tests, the check finds paths that begin with `crate`, `self`,
//! `super` or the name of a module. The use of a re-exported name (`pub use`) counts as a dependency on the file that
//! defines the name. Names from other crates do not count as dependencies.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Module = Vec<String>;

/// Source files of a crate.
#[derive(Default)]
struct Crate {
    texts: BTreeMap<Module, String>,
    /// Re-exports of each module, as (name, path of the definition).
    passed_on: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

impl Crate {
    fn read(src: &Path) -> Self {
        let mut found = Self::default();
        found.read_folder(src, &[]);
        for (module, text) in &found.texts {
            let passed = uses(text).into_iter().filter(|(public, _)| *public).flat_map(|(_, paths)| paths);
            let named = passed.filter_map(|path| Some((path.last()?.clone(), path)));
            found.passed_on.insert(module.clone(), named.collect());
        }
        found
    }

    fn read_folder(&mut self, folder: &Path, module: &[String]) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let mut at = module.to_vec();
            if !["mod", "lib", "main"].contains(&name.as_str()) {
                at.push(name.clone());
            }
            if path.is_dir() {
                self.read_folder(&path, &at);
            } else if path.extension().is_some_and(|e| e == "rs") && name != "tests" {
                self.texts.insert(at, code(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }

    /// Returns the module that contains the definition at `path`, as seen from `module`. Returns `None` for a path into
    /// another crate.
    fn target(&self, module: &[String], path: &[String], depth: u32) -> Option<Module> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (module.to_vec(), &path[1..]),
            "super" => {
                let up = path.iter().take_while(|p| *p == "super").count();
                (module[..module.len().checked_sub(up)?].to_vec(), &path[up..])
            }
            first if self.texts.contains_key(&[module, &[first.to_owned()]].concat()) => (module.to_vec(), path),
            _ => return None,
        };
        while let Some(next) = rest.first().map(|name| [&at[..], std::slice::from_ref(name)].concat()) {
            if !self.texts.contains_key(&next) {
                break;
            }
            (at, rest) = (next, &rest[1..]);
        }
        let passed = rest.first().and_then(|name| self.passed_on.get(&at)?.get(name)).filter(|_| depth < 4);
        match passed {
            Some(from) => self.target(&at, from, depth + 1),
            None => Some(at),
        }
    }

    /// Returns the modules on which each module depends.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |(module, text)| -> (&Module, BTreeSet<Module>) {
            let (module, text): (&Module, &String) = (module, text);
            let taken = uses(text).into_iter().filter(|(public, _)| !public).flat_map(|(_, paths)| paths);
            let all = taken.chain(inline(text)).filter_map(|path| self.target(module, &path, 0));
            (module, all.filter(|target| target != module).collect())
        };
        self.texts.iter().map(of).collect()
    }

    /// Returns the modules that depend on themselves, directly or through other modules.
    fn in_cycles(&self) -> Vec<String> {
        let arrows = self.arrows();
        let reached = |from: &Module| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
            while let Some(at) = next.pop() {
                next.extend(arrows.get(at).into_iter().flatten().filter(|to| seen.insert((*to).clone())));
            }
            seen
        };
        arrows.keys().filter(|module| reached(module).contains(**module)).map(|module| module.join("::")).collect()
    }
}

/// Returns source code without its comments, its unit tests and the contents of its strings.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let lines: Vec<&str> = lines.collect();
    let quoted = lines.join("\n");
    quoted.split('"').step_by(2).collect::<Vec<_>>().join("\"\"")
}

/// Returns the paths of every `use` statement in a source text. The flag that belongs to the paths of a statement is
/// true for a re-export.
fn uses(text: &str) -> Vec<(bool, Vec<Vec<String>>)> {
    let statement = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |n| n + 1);
        let before = text[line..at].trim();
        let begins =
            before.is_empty() || (before.starts_with("pub") && !before.contains(' ') || before.starts_with("pub("));
        let tree = text[at + 4..].split(';').next()?;
        begins.then(|| (!before.is_empty(), paths(tree)))
    };
    text.match_indices("use ").filter_map(|(at, _)| statement(at)).collect()
}

/// Returns the paths that a `use` tree imports.
fn paths(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((before, inside)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        return vec![path.split("::").map(|p| p.trim().to_owned()).filter(|p| !p.is_empty() && p != "*").collect()];
    };
    let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inside.chars() {
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                parts.last_mut().unwrap().push(c);
            }
        }
    }
    let before: Vec<String> = before.split("::").map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect();
    let parts = parts.iter().filter(|part| !part.trim().is_empty()).flat_map(|part| paths(part));
    parts.map(|path| [&before[..], &path].concat()).collect()
}

/// Returns the paths that a source text uses outside of `use` statements.
fn inline(text: &str) -> Vec<Vec<String>> {
    let words = text.lines().filter(|line| !line.trim_start().contains("use "));
    let words = words.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')));
    let paths = words.filter(|word| word.contains("::") && word.starts_with(|c: char| c.is_lowercase()));
    paths.map(|word| word.split("::").map(str::to_owned).filter(|p| !p.is_empty()).collect()).collect()
}

fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let inside = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
    };
    // The search covers two levels of folders. A crate may be inside the folder of another crate, such as the C
    // interface of the event API.
    let all = inside(&crates).into_iter().flat_map(|dir| inside(&dir).into_iter().chain([dir]).collect::<Vec<_>>());
    all.filter(|dir| dir.join("Cargo.toml").is_file()).map(|dir| dir.join("src")).filter(|src| src.is_dir()).collect()
}

#[test]
fn no_files_depend_on_each_other_in_a_cycle() {
    let found = sources();
    assert!(found.len() > 10, "{found:?}");
    for src in found {
        let circle = Crate::read(&src).in_cycles();
        assert!(circle.is_empty(), "in {}, these take from one another: {}", src.display(), circle.join(", "));
    }
}

#[test]
fn a_cycle_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    put("lib.rs", "mod a;\nmod b;\npub use b::Row;\n");
    put("a.rs", "use crate::Row;\npub fn name() {}\n");
    put("b.rs", "pub struct Row;\n");
    assert_eq!(Crate::read(dir.path()).in_cycles(), Vec::<String>::new());
    put("b.rs", "pub struct Row;\nfn f() {\n    super::a::name();\n}\n");
    assert_eq!(Crate::read(dir.path()).in_cycles(), ["a", "b"]);
    put("b.rs", "pub struct Row;\n");
    put("lib.rs", "mod a;\nmod b;\npub use other::Row;\nfn f() {\n    a::name();\n}\n");
    assert_eq!(Crate::read(dir.path()).in_cycles(), Vec::<String>::new());
}
