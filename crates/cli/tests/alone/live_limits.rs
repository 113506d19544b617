//! Tests of limits that the operating system sets, on real servers. `find` must name the limit that each test sets: a
//! CPU quota, a memory limit or a disk. These tests need the release binary, because their results depend on the
//! relative speeds of client and server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use testkit::{
    ControlGroup, Running, alone, binary, bottleneck, free_port, has, json, program, release_binary, skip, verdict,
};

/// Disk work for each request: accesses to a file of 128 MiB without the page cache. The fields `open` and `each` are
/// Python code that the server runs. The server's response has no body.
struct DiskWork {
    /// Size of each access, bytes.
    piece: u32,
    /// Python flags with which the file is opened.
    open: &'static str,
    /// Python code of one access. The code may use `FILE`, `self.memory` (a buffer for one access) and `at` (the
    /// position in the file).
    each: &'static str,
}

/// Reads that use the disk for a long time, but the CPUs and loopback only for a short time.
const READS_PAST_THE_CACHE: DiskWork =
    DiskWork { piece: 16 << 20, open: "os.O_RDONLY", each: "os.preadv(FILE, [self.memory], at)" };

/// Writes with a flush to the disk after each write, as in a server that must not lose acknowledged records. With six
/// writes per request, the disk takes most of the time.
const FLUSHES_EACH_REQUEST: DiskWork = DiskWork {
    piece: 2 << 20,
    open: "os.O_RDWR",
    each: "[(os.pwritev(FILE, [self.memory], at), os.fsync(FILE)) for _ in range(6)]",
};

impl DiskWork {
    /// Returns the Python source of the server. The server's arguments are the file and the port.
    fn server(&self) -> String {
        let Self { piece, open, each } = self;
        format!(
            r#"
import http.server, mmap, os, sys
PIECE, PIECES = {piece}, (128 << 20) // {piece}
{MEMORY}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        super().setup()
        self.memory, self.turn = memory(), 0
    def do_GET(self):
        self.turn = (self.turn + 1) % PIECES
        at = self.turn * PIECE
        {each}
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
FILE = os.open(sys.argv[1], {open} | os.O_DIRECT)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"#
        )
    }
}

/// Number of threads that access the disk at the same time. In this test, `find` uses at most `AT_ONCE` connections.
const AT_ONCE: u32 = 16;
/// Python code that allocates the buffer for one access, in pages of 2 MiB if the machine has them. For each page into
/// which the disk reads, a CPU has some work. With small pages, this work would keep a CPU busy nearly as long as a
/// read takes on some disks.
const MEMORY: &str = r#"
def memory():
    lies = mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        lies.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        pass
    return lies
"#;

/// Maximum share of a CPU that the disk work may take by itself. The rest of the server's work needs about as much CPU
/// time as the disk work. If the disk work needed a larger share of a CPU, the CPU and the disk would become full at
/// about the same load.
const CHEAP_FOR_A_PROCESSOR: f64 = 0.45;

impl DiskWork {
    /// Returns a Python program that does only the disk work `self` for one second, without a server. The program's
    /// argument is the path of the file to work on. The program prints the share of a CPU that the disk work took.
    fn alone(&self) -> String {
        let Self { piece, open, each } = self;
        format!(
            r#"
import mmap, os, sys, threading, time
PIECE, PIECES = {piece}, (128 << 20) // {piece}
{MEMORY}
FILE = os.open(sys.argv[1], {open} | os.O_DIRECT)
END = time.monotonic() + 1
class Worker(threading.Thread):
    def run(self):
        self.memory, turn = memory(), 0
        while time.monotonic() < END:
            turn = (turn + 1) % PIECES
            at = turn * PIECE
            {each}
begin, cpu = time.monotonic(), time.process_time()
workers = [Worker() for _ in range({AT_ONCE})]
[w.start() for w in workers]
[w.join() for w in workers]
print((time.process_time() - cpu) / (time.monotonic() - begin))
"#
        )
    }
}

/// Returns the share of a CPU that the disk work takes while it runs for one second.
fn share_alone(work: &DiskWork, python: &Path, file: &Path) -> Result<f64, String> {
    let output = Command::new(python).args(["-c", &work.alone()]).arg(file).output().unwrap();
    let (said, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    said.trim().parse().map_err(|_| format!("no reading past the page cache (O_DIRECT): {words}"))
}

/// Creates a file on a disk that is slow enough to be the server's bottleneck. The disk's speed is measured before any
/// load, so the choice of the disk does not depend on the verdict. If this machine has no disk that is slow enough, the
/// error says what the machine lacks.
fn slow_file(work: &DiskWork, python: &Path) -> Result<TempDir, String> {
    // The usual directory for temporary files may be in memory, so the test uses another directory.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, vec![b'x'; 128 << 20]).map_err(|e| format!("cannot write 128 MiB: {e}"))?;
    std::fs::File::open(&file).and_then(|f| f.sync_all()).map_err(|e| format!("cannot flush 128 MiB: {e}"))?;
    // Uses the smallest of up to ten measurements, because other programs increase the CPU time of disk work.
    let mut share = f64::INFINITY;
    for _ in 0..10 {
        share = share.min(share_alone(work, python, &file)?);
        println!("the disk's own work takes {share:.2} of a CPU");
        if share <= CHEAP_FOR_A_PROCESSOR {
            break;
        }
    }
    match share <= CHEAP_FOR_A_PROCESSOR {
        true => Ok(dir),
        false => Err(format!("a disk slower than a CPU: keeping it busy takes {share:.2} of one")),
    }
}

/// Runs a command against a server whose disk work for each request is `work`. `args` gets the URL and a directory on
/// the disk, and returns the command. Returns `None` if this machine has no disk that can be the limit.
fn beside_a_disk(test: &str, work: &DiskWork, args: impl FnOnce(&str, &Path) -> Vec<String>) -> Option<Value> {
    let _alone = alone();
    let binary = release_binary(test, binary!())?;
    let python = has(test, "python3").then(|| program("python3"))??;
    let dir = slow_file(work, &python).map_err(|lacks| skip(test, lacks)).ok()?;
    let (port, disk) = (free_port(), dir.path().to_owned());
    let mut command = Command::new(python);
    command.args(["-c", &work.server()]).arg(disk.join("file")).arg(port.to_string());
    let server = Running::start(command, port, dir);
    let args = args(&format!("http://{}/", server.addr), &disk);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Some(json(&binary, &args))
}

#[test]
fn a_disk_is_named_if_each_request_flushes_to_it_and_writing_to_it_proves_it() {
    let run = beside_a_disk("the lever on server-disk", &FLUSHES_EACH_REQUEST, |url, dir| {
        let dir = dir.display().to_string();
        ["prove", url, "--connections", "8", "--budget", "30s", "--prove-dir", &dir].map(Into::into).to_vec()
    });
    let Some(run) = run else { return };
    let proof = &run["findings"]["proof"];
    assert_eq!(bottleneck(&run), "server-disk", "{}\n{proof:#}", verdict(&run));
    assert_eq!(proof["outcome"], "proven", "{proof:#}");
    assert_eq!(proof["measured"]["lever"], "disk", "{proof:#}");
    let lines = evidence(&run);
    assert!(lines.contains("flushes") && lines.contains("a request writes"), "{}", verdict(&run));
}

fn evidence(run: &Value) -> String {
    run["findings"]["bottleneck"]["evidence"].to_string()
}

#[test]
fn a_disk_is_named_if_each_request_reads_from_it() {
    let at_once = AT_ONCE.to_string();
    let run = beside_a_disk("server-disk, reads", &READS_PAST_THE_CACHE, |url, _| {
        ["find", url, "--budget", "10s", "--connections", &at_once].map(Into::into).to_vec()
    });
    let Some(run) = run else { return };
    assert_eq!(bottleneck(&run), "server-disk", "{}", verdict(&run));
    assert!(evidence(&run).contains("a request reads"), "{}", verdict(&run));
}

/// Python source of a server that reads a hundred random pages of a mapped file for each request. The file of 128 MiB
/// is larger than the server's memory limit. The program's arguments are the file and the port.
const FILE_BEYOND_MEMORY_LIMIT: &str = r#"
import http.server, mmap, os, random, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        for _ in range(100):
            PAGES[random.randrange(len(PAGES))]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
PAGES = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 0, prot=mmap.PROT_READ)
PAGES.madvise(mmap.MADV_RANDOM)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"#;

#[test]
fn a_server_with_less_memory_than_its_data_is_short_of_memory() {
    let test = "server-memory";
    let _alone = alone();
    let Some(binary) = release_binary(test, binary!()) else { return };
    let Some(python) = program("python3") else { return skip(test, "python3 is not installed") };
    let limit = (48 << 20).to_string();
    let (one, two) = ([("memory.limit_in_bytes", limit.as_str())], [("memory.max", limit.as_str())]);
    let Some(group) = ControlGroup::make(test, "memory", &one, &two) else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("file");
    if let Err(e) = std::fs::write(&file, vec![b'x'; 128 << 20]) {
        return skip(test, format!("cannot write 128 MiB: {e}"));
    }
    // dd drops the file from the page cache. Otherwise, the file's pages would count as memory of the test's control
    // group, and not of the server's.
    let _ = Command::new("dd")
        .arg(format!("of={}", file.display()))
        .args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
        .stderr(Stdio::null())
        .status();
    let port = free_port();
    let mut command = group.command(&python);
    command.args(["-c", FILE_BEYOND_MEMORY_LIMIT]).arg(&file).arg(port.to_string());
    let server = Running::start(command, port, dir);
    let url = format!("http://{}/", server.addr);
    let run = json(&binary, &["find", &url, "--budget", "10s", "--connections", "16"]);
    assert_eq!(bottleneck(&run), "server-memory", "{}", verdict(&run));
}

/// The server may use a fifth of a CPU.
mod idle {
    use super::*;

    #[test]
    fn a_quota_of_a_fifth_of_a_cpu_is_named() {
        let _alone = alone();
        let Some(binary) = release_binary("server-cpu-quota", binary!()) else { return };
        let Some(group) = ControlGroup::fifth_of_a_processor("server-cpu-quota") else { return };
        let port = free_port();
        let mut command = group.command(&binary);
        command.args(["serve", "http", "--listen", &format!("127.0.0.1:{port}"), "--option", "work_us=200"]);
        let server = Running::start(command, port, tempfile::tempdir().unwrap());
        let url = format!("http://{}/", server.addr);
        let run = json(&binary, &["find", &url, "--budget", "8s", "--connections", "32"]);
        assert_eq!(bottleneck(&run), "server-cpu-quota", "{}", verdict(&run));
    }
}
