//! Checks that no format string puts a number directly before a plural. If the number is 1, the sentence would be wrong
//! (`1 connections`). Sentences with a number use `run::number::prose::counted`, which writes `1 connection`.
//!
//! The check reads the source files in [`FOLDERS`]. [`SEVERAL`] lists the sentences that are allowed, because their
//! number is never 1.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

/// Folders of source files that contain sentences for users.
const FOLDERS: &[&str] = &["report/src", "judge/src", "cli/src/live", "lab/src/trial"];

/// Plural nouns that must not follow a number directly.
const PLURALS: &[&str] = &[
    "answers",
    "arrivals",
    "backends",
    "calls",
    "clients",
    "connections",
    "connects",
    "CPUs",
    "descriptors",
    "errors",
    "files",
    "handshakes",
    "hosts",
    "levers",
    "processes",
    "repeats",
    "requests",
    "rows",
    "runs",
    "segments",
    "servers",
    "slots",
    "steps",
    "streams",
    "threads",
    "trials",
    "upstreams",
    "users",
    "windows",
    "workers",
];

/// Parts of sentences whose number is never 1, each with the reason why it is never 1. The check skips lines that
/// contain one of these parts.
const SEVERAL: &[(&str, &str)] = &[
    ("} to {} clients", "throughput is compared between a number of clients and a larger number"),
    ("of {} repeats", "one repeat is not judged alone"),
    ("of {all} repeats", "one repeat is not judged alone"),
    ("in {} repeats", "the sentence about one repeat has no number"),
    ("each of its {count} processes", "the sentence about one process has no number"),
    ("in {trials} trials", "the sentence about one trial has no number"),
    ("{}: {} trials", "the title of one trial has its rate"),
    ("all {} connections of {process}", "the sentence about one connection has its own words"),
    ("Intensity::Closed { connections, .. } => format!(\"{connections} connections\")", "the row above is for 1"),
    ("{} upstreams at {}", "the sentence about one upstream has its own words"),
    ("all {all} threads of the server are full", "one full thread has its own sentence"),
    ("of the server's {all} threads are full", "one full thread has its own sentence"),
    ("{} of the {all} threads have other tasks", "a server with one thread has no other threads"),
    ("of {n} slots are usable", "an experiment has at least twenty slots"),
    ("None => format!(\"{} connects were dropped\"", "one drop has its own words"),
    ("{} frames; {} segments were retransmitted", "fewer than FRAMES_COUNT show nothing"),
    ("{} clients did more than {} times the work of one client", "one client is compared with several"),
    ("{} users are more than the", "the limit is far above 1"),
    ("{} servers at the common rate", "one server has no rank"),
    ("1 % needs about {} runs of each side", "the comparison of single runs has no interval"),
    ("about {} answers", "fewer than 1.5 answers have other words"),
    ("server {cpus} CPUs", "the number has two decimals"),
    ("{cpus:.2} CPUs", "the number has two decimals"),
    ("{} CPUs, {}\", host.cpus", "an identity, not a sentence"),
    ("beyond {} clients this loss is assumed", "clients slow each other only if there are several"),
    ("{name} processes", "a name, not a number"),
    ("{target} answers", "`answers` is a verb"),
    ("{} answers {:?}", "`answers` is a verb"),
];

/// Returns the parts of `line` in which a number is directly followed by a plural.
fn places(line: &str) -> Vec<String> {
    let ends = line.match_indices("} ").filter_map(|(at, _)| {
        let begin = line[..at].rfind('{')?;
        let rest = &line[at + 2..];
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        let is_rate = rest[word.len()..].starts_with('/');
        // A name in capitals is a constant. Constants in sentences are larger than 1.
        let name = line[begin + 1..at].split(':').next().unwrap_or_default();
        let is_constant = name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        (PLURALS.contains(&word.as_str()) && !is_rate && !is_constant)
            .then(|| line[begin..at + 2 + word.len()].to_owned())
    });
    ends.collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_sentence = !name.contains("tests") && !name.contains("simulat") && !name.contains("planted");
        match path.is_dir() {
            true if is_sentence => sources(&path, found),
            false if is_sentence && name.ends_with(".rs") => found.push(path),
            _ => {}
        }
    }
}

/// Returns the lines of a source file before its unit tests, without comments.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.starts_with("//"))
}

#[test]
fn a_number_that_may_be_one_has_no_plural_behind_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| sources(&crates.join(folder), &mut files));
    let mut used = vec![false; SEVERAL.len()];
    let mut wrong = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        for line in lines(&text).filter(|line| !places(line).is_empty()) {
            match SEVERAL.iter().position(|(sentence, _)| line.contains(sentence)) {
                Some(at) => used[at] = true,
                None => wrong.push(format!("{}: {line}", file.display())),
            }
        }
    }
    assert!(files.len() > 100, "{files:?}");
    assert!(wrong.is_empty(), "use run::number::prose::counted for\n{}", wrong.join("\n"));
    let unused: Vec<&str> = SEVERAL.iter().zip(&used).filter(|(_, used)| !**used).map(|((text, _), _)| *text).collect();
    assert!(unused.is_empty(), "no sentence has {unused:?}");
}

#[test]
fn only_a_counted_plural_is_found() {
    assert_eq!(places(r#"format!("{} in flight, {n} connections", a)"#), ["{n} connections"]);
    for line in [r#""{} requests/s""#, r#""{MAX_RUNS} runs""#, r#""{} is full""#, r#""{name} has threads""#] {
        assert!(places(line).is_empty(), "{line}: {:?}", places(line));
    }
}
