//! Helpers for tests with real testbeds. Some helpers build a testbed and run iperf3. Other helpers run one test of
//! this test binary in another process, if necessary as another user.
#![allow(dead_code, clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::io::BufRead as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loadline_testbed::{Spec, Testbed, TestbedError};
use testkit::skip;

/// Builds a testbed. If this machine lacks something that a testbed needs, prints what is missing and returns `None`.
/// If the testbed cannot be built for another reason, fails the test.
pub(crate) fn bed(test: &str, spec: &Spec) -> Option<Testbed> {
    use TestbedError::{Namespace, Program, Setup};
    match Testbed::build(spec) {
        Ok(bed) => Some(bed),
        Err(lacks @ (Namespace(_) | Program { .. } | Setup { .. })) => {
            skip(test, lacks.to_string());
            None
        }
        Err(wrong) => panic!("{test}: {wrong}"),
    }
}

/// Starts an iperf3 server on a host, for one client. Also records the server's output lines that report the bytes of
/// an interval.
pub(crate) fn iperf_server(bed: &Testbed, host: &str, port: u16) -> Meter {
    let mut command = bed.command(host, "iperf3").unwrap();
    command.args(["-s", "-1", "-p", &port.to_string()]);
    Meter::start(command)
}

/// Starts an iperf3 client on a host.
pub(crate) fn iperf_client(bed: &Testbed, host: &str, server: &str, port: u16, extra: &[&str]) -> Meter {
    let address = bed.address(server).unwrap().to_string();
    let mut command = bed.command(host, "iperf3").unwrap();
    command.args(["-c", &address, "-p", &port.to_string()]).args(extra);
    Meter::start(command)
}

/// An iperf3 process, and the times at which it printed its output lines for the intervals. Tests use the times of
/// these lines to add up the throughput of several processes in one period.
pub(crate) struct Meter {
    child: Child,
    reader: std::thread::JoinHandle<Vec<(Instant, f64, String)>>,
}

impl Meter {
    fn start(mut command: std::process::Command) -> Self {
        command.args(["-i", "0.25", "--forceflush"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .filter_map(|line| interval_bytes(&line).map(|b| (Instant::now(), b, line)))
                .collect()
        });
        Self { child, reader }
    }

    /// Waits until iperf3 ends. Returns the number of bytes transferred from `begin` to `end`, according to those
    /// output lines for intervals that contain `tag`.
    pub(crate) fn bytes(mut self, begin: Instant, end: Instant, tag: &str) -> f64 {
        self.child.wait().unwrap();
        let lines = self.reader.join().unwrap();
        let (mut sum, mut last) = (0.0, None);
        for (at, bytes, _) in lines.iter().filter(|(_, _, line)| line.contains(tag)) {
            if let Some(from) = last.replace(*at) {
                let overlap = (*at).min(end).saturating_duration_since(begin.max(from)).as_secs_f64();
                sum += bytes * overlap / (*at - from).as_secs_f64();
            }
        }
        sum
    }
}

/// Returns the number of bytes in an interval line, such as `[ 5] 0.25-0.50 sec 279 KBytes 9.15 Mbits/sec`. Returns
/// `None` for lines of other kinds, and for the final sums.
fn interval_bytes(line: &str) -> Option<f64> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|w| *w == "sec")?;
    let (begin, end) = words.get(at.checked_sub(1)?)?.split_once('-')?;
    let factor = match *words.get(at + 2)? {
        "Bytes" => 1.0,
        "KBytes" => 1024.0,
        "MBytes" => 1048576.0,
        _ => return None,
    };
    let long = end.parse::<f64>().ok()? - begin.parse::<f64>().ok()? > 0.6;
    if long { None } else { Some(words.get(at + 1)?.parse::<f64>().ok()? * factor) }
}

/// Waits until a program listens on a TCP port of a host.
pub(crate) fn await_listener(bed: &Testbed, host: &str, port: u16) {
    let table = format!("/proc/{}/net/tcp6", bed.netns_pid(host).unwrap());
    let needle = format!(":{port:04X} 00000000000000000000000000000000:0000 0A");
    testkit::eventually(|| std::fs::read_to_string(&table).unwrap().contains(&needle).then_some(()));
}

/// ID of a user without any rights.
pub(crate) const NOBODY: u32 = 65_534;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A copy of this test program in a directory that all users can read, so that another user can run it. The copy is
/// removed when this value is dropped. A separate process (`cp`) writes the copy. If this process wrote the copy
/// itself, a child forked by another test could inherit the open file. The kernel refuses to execute a file that a
/// process has open for writing.
pub(crate) struct Copy(pub(crate) std::path::PathBuf);

impl Copy {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("loadline-testbed-test-{}-{name}", std::process::id()));
        assert!(Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&path).status().unwrap().success());
        Self(path)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Runs one test of this test binary in another process, as the user `uid` if it is given.
pub(crate) fn this_test(name: &str, env: &[(&str, &str)], uid: Option<u32>) -> Child {
    let unique = format!("{name}-{}", env.iter().map(|(_, value)| *value).collect::<String>());
    let copy = Copy::new(&unique);
    let mut command = Command::new(&copy.0);
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).envs(env.iter().copied()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(uid) = uid {
        command.uid(uid).gid(uid);
    }
    let child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    child
}

/// Runs a test of this test binary again as a user without rights. If the current user is not root, the test runs
/// without root rights anyway, so this function only prints a message.
pub(crate) fn again_without_root(test: &str, measured: &str) {
    if !is_root() {
        return println!("{measured} runs without root here anyway");
    }
    let mut child = this_test(measured, &[], Some(NOBODY));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    println!("{said}");
    match said.split_once("SKIP") {
        Some((_, why)) => skip(test, why),
        None => assert!(said.contains("1 passed"), "{measured} did not run: {said}"),
    }
}
