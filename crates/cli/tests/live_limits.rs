//! Limits that the operating system sets, on real servers: a processor quota, memory and a disk are named by `find`.
//! Speed relations matter, so these take the release binary (see `common`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::process::{Command, Stdio};

use common::group::Group;
use common::{Running, bottleneck, free_port, json, named, num, program, release_binary, skip, verdict};
use serde_json::Value;

/// One at a time: they measure.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn a_quota_of_a_fifth_of_a_processor_is_named() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(binary) = release_binary() else {
        return skip("server-cpu-quota", "no release binary; run `make test`, which builds it first");
    };
    // No package brings these rights, so this is skipped even where everything else is required.
    let one = [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")];
    let Some(group) = Group::make("cpu", &one, &[("cpu.max", "10000 50000")]) else {
        return println!("SKIP server-cpu-quota: no right to make a control group with a quota");
    };
    let port = free_port();
    let mut command = group.command(&binary);
    command.args(["serve", "http", "--listen", &format!("127.0.0.1:{port}"), "--option", "work_us=200"]);
    let server = Running::start(command, port, tempfile::tempdir().unwrap());
    let url = format!("http://{}/", server.addr);
    let run = named(&["server-cpu-quota"], || json(&binary, &["find", &url, "--budget", "8s", "--connections", "32"]));
    assert_eq!(bottleneck(&run), "server-cpu-quota", "{}", verdict(&run));
}

/// What each request does with a file of 128 MiB past the page cache, in Python; a bare head answers it.
struct DiskWork {
    /// Bytes at a time, and how the file is opened.
    piece: u32,
    open: &'static str,
    /// Uses `FILE`, `self.memory` of one piece, and `at`, the place of a piece in the file.
    each: &'static str,
}

/// Dear for the disk, cheap for the processors and loopback.
const READS_PAST_THE_CACHE: DiskWork =
    DiskWork { piece: 16 << 20, open: "os.O_RDONLY", each: "os.preadv(FILE, [self.memory], at)" };

/// As a server does that must not lose what it acknowledged.
const FLUSHES_EACH_REQUEST: DiskWork =
    DiskWork { piece: 1 << 20, open: "os.O_RDWR", each: "os.pwritev(FILE, [self.memory], at); os.fsync(FILE)" };

impl DiskWork {
    /// The server. Arguments: the file, the port.
    fn server(&self) -> String {
        let Self { piece, open, each } = self;
        format!(
            r#"
import http.server, mmap, os, sys
PIECE, PIECES = {piece}, (128 << 20) // {piece}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        super().setup()
        self.memory, self.turn = mmap.mmap(-1, PIECE), 0
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

/// A server whose requests use a file past the page cache; why not, where that cannot be.
fn disk_server(work: &DiskWork) -> Result<Running, String> {
    let python = program("python3").ok_or("python3 is not installed")?;
    // Not the temporary directory: it may be memory.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, vec![b'x'; 128 << 20]).map_err(|e| format!("cannot write 128 MiB: {e}"))?;
    std::fs::File::open(&file).and_then(|f| f.sync_all()).map_err(|e| format!("cannot flush 128 MiB: {e}"))?;
    let mut dd = Command::new("dd");
    dd.arg(format!("if={}", file.display())).args(["of=/dev/null", "bs=1M", "count=1", "iflag=direct"]);
    if !dd.stderr(Stdio::null()).status().is_ok_and(|s| s.success()) {
        return Err("this file system does not read past the page cache (O_DIRECT)".into());
    }
    let port = free_port();
    let mut command = Command::new(python);
    command.args(["-c", &work.server()]).arg(&file).arg(port.to_string());
    Ok(Running::start(command, port, dir))
}

/// Largest share of a trial's window that any one disk had a request out or flushed.
fn disk_busy(run: &Value) -> f64 {
    let trials = run["trials"].as_array().unwrap().iter();
    trials.map(|t| used(&t["server"]["recording"])).fold(0.0, f64::max)
}

fn used(recording: &Value) -> f64 {
    let ends = |v: &Value| Some((num(v.as_array()?.first()?), num(v.as_array()?.last()?)));
    let Some((begin, end)) = ends(&recording["t_s"]) else { return 0.0 };
    let of = |id: &str, disk: &Value| {
        let mut columns = recording["columns"].as_array().into_iter().flatten();
        let column = columns.find(|c| c["counter"] == id && c["instance"] == *disk)?;
        ends(&column["values"]).map(|(a, b)| (b - a) / 1e6 / (end - begin)).filter(|share| share.is_finite())
    };
    let columns = recording["columns"].as_array().into_iter().flatten().filter(|c| c["counter"] == "disk.busy");
    let sum = |disk| of("disk.busy", disk).unwrap_or(0.0) + of("disk.flushing", disk).unwrap_or(0.0);
    columns.map(|c| sum(&c["instance"])).fold(0.0, f64::max)
}

/// Expects the disk to be named; gives the run, or `None` where the disk is not the limit.
fn disk_is_named(test: &str, work: &DiskWork) -> Option<Value> {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let left_out = |reason: &str| {
        skip(test, reason);
        None
    };
    let Some(binary) = release_binary() else {
        return left_out("no release binary; run `make test`, which builds it first");
    };
    let server = match disk_server(work) {
        Ok(server) => server,
        Err(reason) => return left_out(&reason),
    };
    let url = format!("http://{}/", server.addr);
    let run = named(&["server-disk"], || json(&binary, &["find", &url, "--budget", "10s", "--connections", "16"]));
    let busy = disk_busy(&run);
    if bottleneck(&run) != "server-disk" && busy < 0.95 {
        // A disk that is too fast for two processors is nothing that could be installed.
        println!("SKIP {test}: the disk was busy {:.0} % at most, so it is not the limit here", busy * 100.0);
        return None;
    }
    assert_eq!(bottleneck(&run), "server-disk", "{}", verdict(&run));
    Some(run)
}

fn evidence(run: &Value) -> String {
    run["findings"]["bottleneck"]["evidence"].to_string()
}

#[test]
fn a_disk_that_each_request_reads_from_is_named() {
    let Some(run) = disk_is_named("server-disk, reads", &READS_PAST_THE_CACHE) else { return };
    assert!(evidence(&run).contains("fetches from it"), "{}", verdict(&run));
}

#[test]
fn a_disk_that_each_request_is_flushed_to_is_named() {
    let Some(run) = disk_is_named("server-disk, flushes", &FLUSHES_EACH_REQUEST) else { return };
    let lines = evidence(&run);
    assert!(lines.contains("flushed") && lines.contains("sends to it"), "{}", verdict(&run));
}

/// Each request looks at a hundred pages anywhere in a file that it maps, which is larger than what the server may hold.
/// Arguments: the file of 128 MiB, the port.
const MORE_THAN_IT_MAY_HOLD: &str = r#"
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
fn a_server_that_may_hold_less_than_it_looks_at_is_short_of_memory() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(binary) = release_binary() else {
        return skip("server-memory", "no release binary; run `make test`, which builds it first");
    };
    let Some(python) = program("python3") else { return skip("server-memory", "python3 is not installed") };
    // No package brings these rights, so this is skipped even where everything else is required.
    let limit = (48 << 20).to_string();
    let Some(group) = Group::make("memory", &[("memory.limit_in_bytes", &limit)], &[("memory.max", &limit)]) else {
        return println!("SKIP server-memory: no right to make a control group with a memory limit");
    };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("file");
    if let Err(e) = std::fs::write(&file, vec![b'x'; 128 << 20]) {
        return skip("server-memory", &format!("cannot write 128 MiB: {e}"));
    }
    // The test's own group would pay for pages that stay in the cache.
    let _ = Command::new("dd")
        .arg(format!("of={}", file.display()))
        .args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
        .stderr(Stdio::null())
        .status();
    let port = free_port();
    let mut command = group.command(&python);
    command.args(["-c", MORE_THAN_IT_MAY_HOLD]).arg(&file).arg(port.to_string());
    let server = Running::start(command, port, dir);
    let url = format!("http://{}/", server.addr);
    let run = named(&["server-memory"], || json(&binary, &["find", &url, "--budget", "10s", "--connections", "16"]));
    assert_eq!(bottleneck(&run), "server-memory", "{}", verdict(&run));
}
