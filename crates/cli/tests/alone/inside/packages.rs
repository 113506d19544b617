//! Packages from public registries. The tests download each package once, to `target/applications`.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{lock_file, program, skip};

/// Returns the path of a file or folder in `inside/`.
pub(super) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/alone/inside").join(name)
}

/// Returns the folder of the downloaded packages.
pub(super) fn folder() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let dir = own.ancestors().nth(3).unwrap().join("applications");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Returns the path of `name` in the folder of the packages. If `command` has not succeeded before, runs it to create
/// the file or folder at this path. Returns `None` and skips the test if the command is missing or fails, for example
/// without a network.
fn made(test: &str, name: &str, tool: &str, command: impl FnOnce(&mut Command, &Path)) -> Option<PathBuf> {
    let path = folder().join(name);
    let [marker, lock] = ["made", "lock"].map(|end| folder().join(format!("{}.{end}", name.replace('/', "-"))));
    let _lock = lock_file(&lock);
    if marker.exists() {
        return Some(path);
    }
    let Some(tool_path) = program(tool) else {
        skip(test, format!("{tool} is not installed"));
        return None;
    };
    let mut run = Command::new(tool_path);
    command(&mut run, &path);
    let output = run.output().unwrap();
    if !output.status.success() {
        skip(test, format!("{tool} failed: {}", String::from_utf8_lossy(&output.stderr)));
        return None;
    }
    std::fs::write(marker, "").unwrap();
    Some(path)
}

/// Downloads the Python packages.
pub(super) fn python(test: &str) -> Option<PathBuf> {
    let packages = ["flask==3.1.*", "fastapi==0.*", "uvicorn==0.*"];
    testkit::pip_packages(test, "python", &packages)
}

/// Downloads the node packages.
pub(super) fn node(test: &str) -> Option<PathBuf> {
    let packages = ["express@5", "pg@8"];
    let args = ["install", "--silent", "--no-audit", "--no-fund", "--prefix"];
    let made = made(test, "node", "npm", |npm, to| {
        npm.args(args).arg(to).args(packages);
    })?;
    Some(made.join("node_modules"))
}

/// Downloads Tomcat, and compiles the servlet of the test.
pub(super) fn tomcat(test: &str) -> Option<PathBuf> {
    for jar in ["embed:tomcat-embed-core", ":tomcat-annotations-api"] {
        let artifact =
            format!("-Dartifact=org.apache.tomcat{}{jar}:10.1.34", if jar.starts_with(':') { "" } else { "." });
        made(test, jar, "mvn", |mvn, _| {
            let to = format!("-DoutputDirectory={}", folder().join("java").display());
            mvn.args(["-q", "dependency:copy", &artifact, &to]);
        })?;
    }
    let classes = folder().join("java");
    let class_path = format!("{0}:{0}/*", classes.display());
    made(test, "java/Tomcat8.class", "javac", |javac, _| {
        javac.args(["-cp", &class_path, "-d"]).arg(&classes).arg(source("Tomcat8.java"));
    })?;
    Some(class_path.into())
}

/// Builds the server that is written in Rust.
pub(super) fn axum(test: &str) -> Option<PathBuf> {
    let built = made(test, "axum", "cargo", |cargo, to| {
        cargo.args(["build", "--release", "--target-dir"]).arg(to).current_dir(source("axum"));
    })?;
    Some(built.join("release/axum-lock"))
}

/// Builds the server that is written in Go.
pub(super) fn go(test: &str) -> Option<PathBuf> {
    made(test, "go-waits", "go", |go, to| {
        go.env("GOTOOLCHAIN", "local").args(["build", "-o"]).arg(to).arg(source("waits.go"));
    })
}

/// Builds the server that is written in C.
pub(super) fn c(test: &str) -> Option<PathBuf> {
    made(test, "fsyncd", "cc", |cc, to| {
        cc.args(["-g", "-pthread", "-o"]).arg(to).arg(source("fsync.c"));
    })
}
