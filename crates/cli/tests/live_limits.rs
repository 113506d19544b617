//! Limits that the operating system sets, on real servers: a processor quota and a disk are named by `find`. Speed
//! relations matter, so these take the release binary (see `common`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Running, bottleneck, free_port, json, named, num, program, release_binary, skip, verdict};
use serde_json::Value;

/// One at a time: they measure.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// A control group that may use a fifth of a processor. Its processes must have ended before it is dropped.
struct Quota(PathBuf);

impl Quota {
    /// `None` without the right to make one and to enter it.
    fn make() -> Option<Self> {
        let one = Path::new("/sys/fs/cgroup/cpu");
        let (parent, limits) = match one.join("cpu.cfs_quota_us").exists() || one.join("cpu.stat").exists() {
            true => (one, [("cpu.cfs_period_us", "50000"), ("cpu.cfs_quota_us", "10000")].as_slice()),
            false => (Path::new("/sys/fs/cgroup"), [("cpu.max", "10000 50000")].as_slice()),
        };
        let folder = parent.join(format!("loadline-limits-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let group = Self(folder);
        let set = limits.iter().all(|(file, text)| std::fs::write(group.0.join(file), text).is_ok());
        let entered = group.command(Path::new("true")).stderr(Stdio::null()).status();
        (set && entered.is_ok_and(|s| s.success())).then_some(group)
    }

    /// A program that runs in the group from its first instruction on.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ >\"$0/cgroup.procs\" || exit 1; exec \"$@\""]).arg(&self.0).arg(program);
        command
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // The kernel lets go of an ended process a moment later.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn a_quota_of_a_fifth_of_a_processor_is_named() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(binary) = release_binary() else {
        return skip("server-cpu-quota", "no release binary; run `make test`, which builds it first");
    };
    // No package brings these rights, so this is skipped even where everything else is required.
    let Some(group) = Quota::make() else {
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

/// Each request reads 16 MiB past the page cache and is answered by a bare head: dear for the disk, cheap for the
/// processors and loopback. Arguments: the file of 128 MiB, the port.
const READS_PAST_THE_CACHE: &str = r#"
import http.server, mmap, os, sys
PIECE = 16 << 20
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        super().setup()
        self.memory, self.turn = mmap.mmap(-1, PIECE), 0
    def do_GET(self):
        self.turn = (self.turn + 1) % 8
        os.preadv(FILE, [self.memory], self.turn * PIECE)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
FILE = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"#;

/// A server whose requests read a file past the page cache; why not, where that cannot be.
fn disk_server() -> Result<Running, String> {
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
    command.args(["-c", READS_PAST_THE_CACHE]).arg(&file).arg(port.to_string());
    Ok(Running::start(command, port, dir))
}

/// Largest share of a trial's window that any one disk counter said it had a request out.
fn disk_busy(run: &Value) -> f64 {
    let trials = run["trials"].as_array().unwrap().iter();
    trials.flat_map(|t| shares(&t["server"]["recording"])).fold(0.0, f64::max)
}

fn shares(recording: &Value) -> Vec<f64> {
    let ends = |v: &Value| Some((num(v.as_array()?.first()?), num(v.as_array()?.last()?)));
    let Some((begin, end)) = ends(&recording["t_s"]) else { return Vec::new() };
    let columns = recording["columns"].as_array().into_iter().flatten().filter(|c| c["counter"] == "disk.busy");
    columns.filter_map(|c| ends(&c["values"])).map(|(a, b)| (b - a) / 1e6 / (end - begin)).collect()
}

#[test]
fn a_disk_that_each_request_reads_from_is_named() {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(binary) = release_binary() else {
        return skip("server-disk", "no release binary; run `make test`, which builds it first");
    };
    let server = match disk_server() {
        Ok(server) => server,
        Err(reason) => return skip("server-disk", &reason),
    };
    let url = format!("http://{}/", server.addr);
    let run = named(&["server-disk"], || json(&binary, &["find", &url, "--budget", "10s", "--connections", "16"]));
    let busy = disk_busy(&run);
    if bottleneck(&run) != "server-disk" && busy < 0.95 {
        // A disk that is too fast for two processors is nothing that could be installed.
        return println!(
            "SKIP server-disk: the disk was busy {:.0} % at most, so it is not the limit here",
            busy * 100.0
        );
    }
    assert_eq!(bottleneck(&run), "server-disk", "{}", verdict(&run));
}
