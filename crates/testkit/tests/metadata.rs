//! Checks that all crates have the metadata that a crate registry requires. Also checks that each crate's package
//! contains all files that the crate's code includes.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).arg("--offline").current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn packages() -> Vec<Value> {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked"])).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Returns true if a package may go to a registry (no `publish = false`).
fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

/// Returns the faults in a package's metadata for which a registry would refuse the package.
fn faults(package: &Value) -> Vec<String> {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    let mut faults = Vec::new();
    let mut check = |holds: bool, fault: &str| faults.extend((!holds).then(|| format!("{}: {fault}", text("name"))));
    check(
        !text("description").is_empty() && text("description").len() <= 200,
        "no description of up to 200 characters",
    );
    check(text("license") == "MIT OR Apache-2.0", "another license");
    let keywords = words(&package["keywords"]);
    check((1..=5).contains(&keywords.len()), "a registry takes one to five keywords");
    let is_plain =
        |word: &str| word.len() <= 20 && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_+".contains(c));
    check(keywords.iter().all(|word| is_plain(word)), "a keyword that a registry refuses");
    check((1..=5).contains(&words(&package["categories"]).len()), "a registry takes one to five categories");
    for dependency in package["dependencies"].as_array().unwrap() {
        let (name, version) = (dependency["name"].as_str().unwrap(), dependency["req"].as_str().unwrap());
        let needs_version = is_published(package) && dependency["kind"] != "dev";
        check(version != "*" || !needs_version, &format!("{name} has no version"));
    }
    faults
}

#[test]
fn every_crate_has_the_metadata_of_a_published_crate() {
    let packages = packages();
    let faults: Vec<String> = packages.iter().flat_map(faults).collect();
    assert!(packages.len() > 15 && faults.is_empty(), "{faults:#?}");
}

/// Cargo makes the packages as for a registry, and resolves the dependencies on our own crates from these packages. A
/// published crate must therefore not depend on an unpublished crate. Only bench and testkit are unpublished.
#[test]
fn all_crates_but_those_for_tests_can_be_published() {
    let folder = tempfile::tempdir().unwrap();
    let all = packages();
    let unpublished: Vec<&str> =
        all.iter().filter(|package| !is_published(package)).filter_map(|package| package["name"].as_str()).collect();
    assert_eq!(unpublished, ["loadline-bench", "loadline-testkit"]);
    let target = folder.path().to_str().unwrap();
    let excluded = unpublished.iter().flat_map(|name| ["--exclude", name]);
    let flags = ["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet", "--target-dir", target];
    cargo(&flags.into_iter().chain(excluded).collect::<Vec<_>>());
    for package in all.iter().filter(|package| is_published(package)) {
        let (name, version) = (package["name"].as_str().unwrap(), package["version"].as_str().unwrap());
        let file = folder.path().join(format!("package/{name}-{version}.crate"));
        assert!(file.metadata().is_ok_and(|data| data.len() > 1000), "{} is missing", file.display());
    }
}

#[test]
fn a_fault_is_found() {
    let mut package = packages().into_iter().find(is_published).unwrap();
    package["description"] = "".into();
    package["keywords"] = vec!["two words"; 6].into();
    package["dependencies"][0]["req"] = "*".into();
    package["dependencies"][0]["kind"] = Value::Null;
    assert_eq!(faults(&package).len(), 4, "{:?}", faults(&package));
}

/// A published package lacks files outside of the crate's folder, so code must not include such files.
#[test]
fn a_package_holds_every_file_that_its_code_includes() {
    let mut included = 0;
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
        let listed = cargo(&["package", "--list", "--allow-dirty", "--quiet", "--package", name]);
        let listed: Vec<&str> = listed.lines().collect();
        assert!(listed.contains(&"Cargo.toml"), "{name}: {listed:?}");
        for source in listed.iter().filter(|file| file.starts_with("src/") && file.ends_with(".rs")) {
            let source = folder.join(source);
            for file in files_in(&std::fs::read_to_string(&source).unwrap()) {
                let file = without_dots(&source.parent().unwrap().join(file));
                let inside = file.strip_prefix(&folder).map(|inside| inside.to_string_lossy().into_owned());
                assert!(
                    inside.is_ok_and(|inside| listed.contains(&inside.as_str())),
                    "{name} lacks {}",
                    file.display()
                );
                included += 1;
            }
        }
    }
    assert!(included > 10, "only {included} included files were found");
}

/// Returns a path without its `..` components. Symbolic links are not resolved, because a package contains a linked
/// file under the path of the link.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut short, part| {
        if part == std::path::Component::ParentDir {
            short.pop();
        } else {
            short.push(part);
        }
        short
    })
}

/// Returns the paths that a source text includes with `include_str!` or `include_bytes!`.
fn files_in(source: &str) -> impl Iterator<Item = &str> {
    let of = |name: &'static str| source.split(name).skip(1).filter_map(|rest| rest.split('"').next());
    of("include_str!(\"").chain(of("include_bytes!(\""))
}
