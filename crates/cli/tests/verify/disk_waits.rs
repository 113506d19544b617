//! Test with threads that wait for a disk. The report must name the file, and the disk that contains the file.

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use testkit::{ChildProcess, binary, eventually, json_of, program, skip};

/// Python code with four threads. Each thread writes and flushes the file that the argument names, again and again.
const FLUSHES: &str = "
import os, sys, threading
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
def flush():
    while True:
        os.pwrite(file, b'x' * 4096, 0)
        os.fsync(file)
for _ in range(4): threading.Thread(target=flush).start()
";

#[test]
fn a_wait_for_a_disk_names_the_file_and_the_disk() {
    let test = "a wait for a disk";
    let Some(python) = program("python3") else { return skip(test, "python3 is not installed") };
    // The folder of the tested program is on a disk. Many folders for temporary files are in memory.
    let dir = tempfile::tempdir_in(binary!().parent().unwrap()).unwrap();
    let device = std::fs::metadata(dir.path()).unwrap().dev();
    let Some(disk) = sys::block_device::disk_name(Path::new("/sys"), device) else {
        return skip(test, format!("{} is on no disk", dir.path().display()));
    };
    let file = dir.path().join("log");
    std::fs::File::create(&file).unwrap().write_all(b"begin").unwrap();
    let mut command = Command::new(python);
    command.args(["-c", FLUSHES]).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
    let server = ChildProcess::start(&mut command);
    let sample = || json_of(Command::new(binary!()).args(["waits", &server.pid().to_string(), "--duration", "3s"]));
    let expected = format!("fsync of {} on {disk}", file.display());
    let is_told = |found: &Value| {
        let groups = found["profile"]["groups"].as_array().cloned().unwrap_or_default();
        groups.iter().any(|group| group["state"] == "disk" && group["key"] == expected.as_str())
    };
    eventually(|| is_told(&sample()).then_some(()));
}
