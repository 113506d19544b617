//! Tests of wrong input, and of faults during a run. For each wrong input or fault, loadline must print one clear
//! sentence with advice, keep all measurements, and not panic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{
    ChildProcess, binary, children, eventually, json, loadline, nginx, num, program, serve, signal, signalled, skip,
    total,
};

/// Starts a server that answers every connection with `bytes`. If `endless` is true, the server sends the bytes again
/// and again.
fn answers(bytes: &'static [u8], endless: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                while stream.write_all(bytes).is_ok() && endless {}
                std::thread::sleep(Duration::from_secs(5));
            });
        }
    });
    addr
}

fn errors(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    text
}

/// Runs loadline. Checks that loadline exits with status 2, and prints one error line, which contains `words`.
fn refused(args: &[&str], words: &str) {
    let output = loadline(binary!(), args);
    let text = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    assert!(text.contains(words), "{args:?}: {text:?} has no {words:?}");
    assert_eq!(text.trim().lines().filter(|l| l.starts_with("loadline: ")).count(), 1, "{text}");
    assert!(output.stdout.is_empty(), "{args:?} wrote to standard output");
}

fn saved(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("run.json")).unwrap()).unwrap()
}

#[test]
fn targets_that_cannot_be_loaded_are_refused_before_any_load() {
    let refusing = format!("http://127.0.0.1:{}/", testkit::free_port());
    refused(&["find", "http://no-such-host.invalid/"], "cannot be found");
    refused(&["find", &refusing], "nothing listens on");
    refused(&["find", &refusing.replace("http:", "https:")], "nothing listens on");
    refused(&["load", "ftp://127.0.0.1/"], "supported are http://");
    refused(&["load", "http://192.0.2.1/"], "--authorized");
    refused(&["load", &format!("http://{}/", answers(b"SSH-2.0-x\r\n", false))], "it speaks SSH");
    refused(
        &["load", &format!("http://{}/", answers(b"\0\0\0\0rubbish\r\n\r\n", false))],
        "with the bytes 00 00 00 00 72 75",
    );
    refused(&["load", "tcp://127.0.0.1:1", "--send-file", "/nonexistent"], "/nonexistent");
}

#[test]
fn answers_that_never_end_are_refused() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    let body = answers(head, false);
    refused(&["load", &format!("http://{body}/"), "--timeout", "2s"], "a response that never ends cannot be measured");
    let header: &'static [u8] = Box::leak([&b"HTTP/1.1 200 OK\r\n"[..], &[b'x'; 1 << 20]].concat().into_boxed_slice());
    refused(&["load", &format!("http://{}/", answers(header, true))], "exceeds a limit");
}

#[test]
fn wrong_flags_files_and_directories_give_advice() {
    let dir = tempfile::tempdir().unwrap();
    let plan = dir.path().join("plan.toml");
    std::fs::write(&plan, "[load]\nthreads = 1\nduratoin_s = 3.0\n").unwrap();
    let plan = plan.to_str().unwrap();
    refused(
        &["find", "--config", plan],
        "line 3, column 1 in [load]: there is no key `duratoin_s`; did you mean `duration_s`?",
    );
    refused(&["find", "--config", "/nonexistent.toml"], "/nonexistent.toml");
    refused(&["find", "--out", "/proc/nowhere"], "--out");
    refused(&["report", "/nonexistent"], "/nonexistent");
    refused(&["explain", "server-cpuu"], "did you mean \"server-cpu\"");
    refused(&["lab", "no-such-experiment"], "no experiment is called");
    let output = loadline(binary!(), &["find", "--p99", "20parsecs"]);
    assert!(output.status.code() == Some(2) && errors(&output).contains("20ms"));
}

#[test]
fn empty_responses_count_as_responses() {
    let server = serve(binary!(), 0, &["--body-bytes", "0"]);
    let url = format!("http://{}/", server.addr);
    let run = json(binary!(), &["load", &url, "--connections", "2", "--duration", "300ms", "--at-rest", "0"]);
    assert!(total(&run, "completed") > 0 && run["trials"][0]["errors"] == serde_json::json!({}), "{run:#}");
}

/// Checks that the title of an aborted run names the cause. A note that names the cause of the abort does not suffice
/// in place of the title. The verdict on the time before the abort must be uncertain.
fn headline_says_it(output: &Output, run: &Value) {
    let stdout = String::from_utf8_lossy(&output.stdout).to_lowercase();
    // The title is the first block of the output that is not a note about progress. A long title has several lines.
    let blocks = stdout.trim_start().split("\n\n").map(|block| block.trim_start().replace('\n', " "));
    let title = blocks.into_iter().find(|block| !block.starts_with("note:")).unwrap_or_default();
    let incidents = run["trials"].as_array().into_iter().flatten().flat_map(|t| t["incidents"].as_array());
    let texts: Vec<String> = incidents.flatten().filter_map(|i| Some(i["text"].as_str()?.to_lowercase())).collect();
    assert!(texts.iter().any(|text| title.starts_with(text)), "{title}\n{texts:?}");
    let verdict = &run["findings"]["bottleneck"];
    assert!(num(&verdict["confidence"]) <= 0.3, "{verdict:#}");
}

/// Starts `find`, and causes a fault once `run.json` has trials. Waits until the run ends, and returns its output and
/// the stored run.
fn disturb(dir: &Path, url: &str, disturbance: impl FnOnce(u32)) -> (Output, Value) {
    let mut command = Command::new(binary!());
    // The budget is far longer than any of these tests needs. With a short budget, `find` could end before the fault.
    command.args(["find", url, "--budget", "60s", "--timeout", "1s", "--connect-timeout", "1s", "--out"]).arg(dir);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let ended = eventually(|| {
        let ended = child.try_wait().unwrap();
        (ended.is_some() || dir.join("run.json").exists()).then_some(ended)
    });
    if let Some(status) = ended {
        panic!("find ended at once, {status}: {}", errors(&child.wait_with_output().unwrap()));
    }
    disturbance(child.id());
    let output = child.wait_with_output().unwrap();
    let run = saved(dir);
    if output.status.code() == Some(1) {
        headline_says_it(&output, &run);
    }
    (output, run)
}

#[test]
fn ctrl_c_saves_the_measurements_and_exits_with_130() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(binary!(), 0, &[]);
    let (output, run) = disturb(dir.path(), &format!("http://{}/", server.addr), |pid| signal(pid, "INT"));
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    assert!(run["interrupted"] == true && run["trials"].as_array().is_some_and(|t| !t.is_empty()));
    assert!(dir.path().join("report.html").exists());
}

#[test]
fn a_server_that_dies_is_reported_and_measurements_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(binary!(), 0, &[]);
    let (output, run) = disturb(dir.path(), &format!("http://{}/", server.addr), |_| server.signal("KILL"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output);
    assert!(text.to_lowercase().contains("the server ended"), "{text}");
    assert!(output.status.code() == Some(1) && run["interrupted"] == true, "{text}");
    assert!(run["trials"].as_array().is_some_and(|t| t.len() >= 2), "{text}");
}

#[test]
fn a_stopped_server_does_not_make_loadline_hang() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(binary!(), 0, &[]);
    let begin = Instant::now();
    let (output, run) = disturb(dir.path(), &format!("http://{}/", server.addr), |_| server.signal("STOP"));
    server.signal("CONT");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output);
    assert!(text.contains("was stopped (SIGSTOP)"), "{text}");
    assert!(output.status.code() == Some(1) && run["interrupted"] == true, "{text}");
    assert!(begin.elapsed() < Duration::from_secs(25), "{:?}", begin.elapsed());
    assert!(!run["trials"].as_array().unwrap().is_empty());
}

/// Returns true if a process is a generator whose load has begun. The load counts as begun if the process has used at
/// least 50 ms of CPU time.
fn makes_load(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    line.split(|&byte| byte == 0).any(|word| word == b"agent") && ticks >= 5
}

/// Returns true if a process has ended, even if its parent has not yet waited for it (zombie).
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().is_empty() || rest.trim_start().starts_with('Z'))
}

#[test]
fn a_generator_that_dies_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let server = serve(binary!(), 0, &[]);
    let (output, run) = disturb(dir.path(), &format!("http://{}/", server.addr), |pid| {
        // If the test kills a generator between two steps, a new generator takes its place without an error. If a new
        // generator appears, the test kills this generator, too.
        eventually(|| {
            for child in children(pid).into_iter().filter(|&child| makes_load(child)) {
                // Ignores an error, because the process may have ended by itself.
                let _ = signalled(child, "KILL");
            }
            has_ended(pid).then_some(())
        });
    });
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output);
    assert!(text.to_lowercase().contains("the generator") && text.contains("ended at"), "{text}");
    assert!(output.status.code() == Some(1) && run["interrupted"] == true, "{text}");
    assert!(run["trials"].as_array().is_some_and(|t| !t.is_empty()), "{text}");
}

#[test]
fn a_stopped_worker_of_nginx_is_reported() {
    let Some(nginx) = nginx(0, "", "") else { return skip("a stopped worker", "nginx is not installed") };
    let dir = tempfile::tempdir().unwrap();
    let worker = eventually(|| children(nginx.pid()).first().copied());
    let (output, run) = disturb(dir.path(), &format!("http://{}/file", nginx.addr), |_| signal(worker, "STOP"));
    signal(worker, "CONT");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output);
    assert!(text.contains("was stopped (SIGSTOP)"), "{text}");
    assert!(output.status.code() == Some(1) && run["interrupted"] == true, "{text}");
}

#[test]
fn a_closed_terminal_interrupts_the_run() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    if u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 1 {
        return skip("SIGHUP", "it is ignored here, as under nohup, and so by what is started");
    }
    let dir = tempfile::tempdir().unwrap();
    let server = serve(binary!(), 0, &[]);
    let (output, run) = disturb(dir.path(), &format!("http://{}/", server.addr), |pid| signal(pid, "HUP"));
    assert_eq!(output.status.code(), Some(130), "{}", errors(&output));
    assert!(run["interrupted"] == true && run["trials"].as_array().is_some_and(|t| !t.is_empty()));
}

#[test]
fn a_server_pid_without_a_process_is_refused() {
    let server = serve(binary!(), 0, &[]);
    // Process IDs of Linux are at most 4194304, so no process has this ID.
    let (url, nobody) = (format!("http://{}/", server.addr), "4194305");
    refused(&["load", &url, "--server-pid", nobody, "--duration", "300ms"], "there is no process");
    // The process `sleep` exists but listens on no port.
    let sleeps = ChildProcess::start(Command::new("sleep").arg("60").stdin(Stdio::null()));
    let pid = sleeps.pid().to_string();
    refused(&["load", &url, "--server-pid", &pid, "--duration", "300ms"], "holds a socket, so it is not a server");
}

#[test]
fn a_reader_that_closes_the_pipe_early_is_no_error() {
    for args in ["list counters", "schema", "find --budget 3s"] {
        let line = format!("{} {args} | head -n 1", binary!().display());
        let output = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert!(output.stderr.is_empty(), "{args}: {}", errors(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
    }
}

#[test]
fn a_low_descriptor_limit_is_named_and_connections_are_divided() {
    let server = serve(binary!(), 0, &[]);
    let command = format!(
        "ulimit -n 90; exec {} load http://{}/ --connections 100 --duration 300ms --at-rest 0",
        binary!().display(),
        server.addr
    );
    let run = testkit::json_of(Command::new("sh").args(["-c", &(command + " \"$@\""), "sh"]));
    // Each process has descriptors for only 26 connections, so four agents (generator processes) hold the hundred
    // connections. The test request before the load needs one more connection, so the run counts 101 connections.
    assert_eq!(run["trials"][0]["connected"], 101, "{:#}", run["trials"][0]["errors"]);
    // If the machine stalls, loadline may also report incidents of the kind "silence". Incidents of any kind except
    // "silence" are not allowed.
    let of_a_server = |incident: &Value| incident["kind"] != "silence";
    let incidents = run["trials"][0]["incidents"].as_array();
    assert!(incidents.is_none_or(|all| !all.iter().any(of_a_server)), "the server lives: {run:#}");
    let notes = run["trials"][0]["notes"].to_string();
    assert!(notes.contains("agent processes"), "{notes}");
}

#[test]
fn without_io_uring_epoll_is_used_and_reported() {
    let Some(cc) = program("cc") else { return skip("io_uring", "no C compiler to build a seccomp filter with") };
    let dir = tempfile::tempdir().unwrap();
    let (source, denied) = (dir.path().join("deny.c"), dir.path().join("deny"));
    std::fs::write(&source, DENY_URING).unwrap();
    let built = Command::new(cc).arg("-o").arg(&denied).arg(&source).output().unwrap();
    if !built.status.success() {
        return skip("io_uring", "the seccomp filter does not compile here");
    }
    let server = serve(binary!(), 0, &[]);
    let url = format!("http://{}/", server.addr);
    let args = ["load", &url, "--connections", "2", "--duration", "300ms", "--at-rest", "0"];
    let run = testkit::json_of(Command::new(&denied).arg(binary!()).args(args));
    let notes = run["trials"][0]["notes"].to_string();
    assert!(notes.contains("epoll is used instead") && total(&run, "completed") > 0, "{notes}");
    let output = Command::new(&denied).arg(binary!()).args(args).args(["--io", "uring"]).output().unwrap();
    assert!(output.status.code() == Some(2) && errors(&output).contains("io_uring"), "{}", errors(&output));
}

/// C source of a program that runs another program. Inside the started program, io_uring_setup(2) fails, as in many
/// containers.
const DENY_URING: &str = r#"
#include <errno.h>
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 425, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { 4, rules };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 99;
  execv(argv[1], argv + 1);
  return 98;
}
"#;

#[test]
fn no_root_is_needed() {
    let Some(setpriv) = program("setpriv") else { return skip("no root", "setpriv is not installed") };
    let dir = tempfile::tempdir().unwrap();
    // The user nobody runs a copy of the program, in a directory that all users can read.
    let copy = dir.path().join("loadline");
    std::fs::copy(binary!(), &copy).unwrap();
    assert!(Command::new("chmod").args(["-R", "a+rx"]).arg(dir.path()).status().unwrap().success());
    let mut command = Command::new(setpriv);
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy).current_dir("/");
    let probe = command.arg("--version").output().unwrap();
    if !probe.status.success() {
        return skip("no root", "this process may not become another user");
    }
    let mut command = Command::new(program("setpriv").unwrap());
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&copy).current_dir("/");
    let run = testkit::json_of(command.args(["load", "--connections", "2", "--duration", "300ms", "--at-rest", "0"]));
    assert!(total(&run, "completed") > 0 && run["trials"][0]["server"].is_object(), "{:#}", run["notes"]);
}

/// Tests the limits that a user sets: an objective, and expectations on the result. If the run misses the objective or
/// an expectation, the output must name the missed limit, and the exit status must be 1.
#[test]
fn a_missed_objective_or_expectation_exits_with_1() {
    let server = serve(Path::new(binary!()), 0, &[]);
    let (url, dir) = (format!("http://{}/", server.addr), tempfile::tempdir().unwrap());
    let run = |more: &[&str]| {
        let out = dir.path().join("run");
        let load = ["load", &url, "--connections", "2", "--duration", "300ms", "--at-rest", "0", "--force", "--out"];
        let output = loadline(binary!(), &[&load[..], &[out.to_str().unwrap()], more].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &errors(&output);
        (output.status.code(), saved(&out)["findings"].clone(), text)
    };
    let (status, findings, text) = run(&["--p99", "1us"]);
    assert!(status == Some(1) && findings["failure"] == "objective", "{text}");
    let (status, findings, text) = run(&["--expect", "p99<1us", "--expect", "rate>1"]);
    assert!(status == Some(1) && findings["failure"] == "expectation", "{text}");
    assert!(text.contains("p99<1us") && text.contains("95 % interval"), "{text}");
    let (status, findings, text) = run(&["--p99", "10s", "--expect", "errors<=50%"]);
    assert!(status == Some(0) && findings["failure"].is_null(), "{text}");
}
