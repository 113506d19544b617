//! Servers and clients in Go (`peers/go`), against which tests run loadline. All servers and clients in Go are built as
//! one program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::{lock_file, program, skip};

/// Pauses between attempts to download Go packages, seconds. The attempts are repeated, because a package registry may
/// be unavailable for a short time.
const PAUSES_S: [u64; 6] = [1, 2, 4, 8, 15, 0];

/// Returns the path of the Go program that contains the test servers and clients. Builds the Go program if it is
/// missing or older than its source. Skips the test if Go or the packages are missing. A compile error fails the test.
#[track_caller]
pub fn go_peers(test: &str) -> Option<PathBuf> {
    let Some(go) = program("go") else {
        skip(test, "go is not installed");
        return None;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/go");
    let own = std::env::current_exe().unwrap();
    let dir = own.ancestors().nth(3).unwrap().join("peers");
    std::fs::create_dir_all(&dir).unwrap();
    // Several test programs may try to build the Go program at the same time, so each of them first takes a lock.
    let _lock = lock_file(&dir.join("lock"));
    let built = dir.join("go-peers");
    if changed(&built) > newest(&source) {
        return Some(built);
    }
    if let Err(why) = fetched(&go, &source) {
        skip(test, format!("the packages of Go cannot be had: {why}"));
        return None;
    }
    let made = dir.join("go-peers.new");
    let output = in_source(&go, &source).args(["build", "-buildvcs=false", "-o"]).arg(&made).arg(".").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&made, &built).unwrap();
    Some(built)
}

fn in_source(go: &Path, source: &Path) -> Command {
    let mut command = Command::new(go);
    // The build must use the installed version of Go, instead of downloading another one.
    command.current_dir(source).env("GOTOOLCHAIN", "local").env_remove("GOFLAGS");
    command
}

fn fetched(go: &Path, source: &Path) -> Result<(), String> {
    let mut why = String::new();
    for pause_s in PAUSES_S {
        let output = in_source(go, source).args(["mod", "download"]).output().map_err(|e| e.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        std::thread::sleep(Duration::from_secs(pause_s));
    }
    Err(why)
}

/// Returns the modification time of a file; the Unix epoch if the file is missing.
fn changed(file: &Path) -> SystemTime {
    std::fs::metadata(file).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn newest(dir: &Path) -> SystemTime {
    let files = std::fs::read_dir(dir).unwrap();
    files.map(|file| changed(&file.unwrap().path())).max().unwrap()
}
