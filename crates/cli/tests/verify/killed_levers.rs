//! Tests that kill loadline in the middle of an experiment. After the kill, all changes by loadline must be undone, and
//! no process that loadline started may remain. A lever is a temporary change that an experiment makes, such as slowing
//! a CPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::{
    ChildProcess, ControlGroup, Running, alone, binary, children, eventually, free_port, kill as kill_all, serve,
    signal,
};

/// Starts the command `loadline prove` in the background. The children of the started process are the generator and the
/// processes of the levers (temporary changes). An example of a lever is a CPU thief, which takes CPU time from other
/// processes.
fn proving(url: &str, more: &[&str]) -> ChildProcess {
    let mut command = Command::new(binary!());
    command.args(["prove", url, "--connections", "4", "--at-rest", "0"]).args(more);
    command.args(["--out"]).arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("killed-{}", free_port())));
    ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Returns true if a process has not ended. A zombie (an ended process for which the parent has not yet waited) counts
/// as ended.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

/// Calls `look` repeatedly until it returns a value, for up to 45 s. The longest budget in these tests is 30 s. Turns
/// (loads that alternate without and with a lever), which would delay all other changes, do not fit into 30 s.
fn within_its_budget<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let seen = (0..4_500).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        look()
    });
    seen.expect("no lever was pulled")
}

fn none_left(pids: &[u32]) {
    eventually(|| pids.iter().all(|pid| !lives(*pid)).then_some(()));
}

/// Kills `times` conductors (processes that control an experiment) while their CPU thieves are active. Kills each
/// conductor at a slightly later moment than the previous conductor.
fn kill(times: u32) {
    let _alone = alone();
    let server = serve(binary!(), 1, &[]);
    for time in 0..times {
        let proving = proving(&format!("http://{}/", server.addr), &["--budget", "30s"]);
        let pids = within_its_budget(|| Some(children(proving.pid())).filter(|pids| pids.len() >= 3));
        std::thread::sleep(Duration::from_millis(37) * time);
        signal(proving.pid(), "KILL");
        none_left(&pids);
    }
}

#[test]
#[ignore = "two minutes of kills at twenty moments"]
fn thieves_end_with_the_conductor_twenty_times() {
    kill(20);
}

/// The first server is a child process of a shell. The second server runs in the background, in a session of its own.
#[test]
fn servers_of_a_comparison_end_with_it() {
    let program = binary!().display().to_string();
    for name in ["TERM", "HUP", "KILL"] {
        let ports = [free_port(), free_port()];
        let [a, b] = ports.map(|port| format!("{program} serve http --listen 127.0.0.1:{port}"));
        let urls = ports.map(|port| format!("http://127.0.0.1:{port}/"));
        let mut command = Command::new(binary!());
        command.args(["compare", &urls[0], &urls[1], "--budget", "60s", "--command-a", &format!("{a} & wait")]);
        command.args(["--command-b", &format!("setsid {b} & exit")]);
        let comparison = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        let accepts = |port: &u16| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok();
        eventually(|| ports.iter().all(accepts).then_some(()));
        signal(comparison.pid(), name);
        eventually(|| (!ports.iter().any(accepts)).then_some(()));
    }
}

/// Returns the IDs of the processes whose command line contains `words`.
fn with_words(words: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
    };
    pids.filter(|pid| has(pid) && lives(*pid)).collect()
}

/// The server runs in a session of its own, below two nested agents. If the conductor and one of the two agents are
/// killed, the server must end. If the conductor and both nested agents are killed, the next command of loadline ends
/// the server.
#[test]
fn no_server_in_the_background_is_left_by_kills_at_any_moment() {
    let program = binary!().display().to_string();
    let mut random = fastrand::Rng::with_seed(31);
    let mut rounds_with_a_server = 0;
    for round in 0..24 {
        let ports = [free_port(), free_port()];
        let listen = format!("--listen 127.0.0.1:{}", ports[0]);
        let urls = ports.map(|port| format!("http://127.0.0.1:{port}/"));
        let mut command = Command::new(binary!());
        command.args(["compare", &urls[0], &urls[1], "--budget", "60s"]);
        command
            .args(["--command-a", &format!("setsid sh -c '{program} serve http {listen} & sleep 0.05; exit' & exit")]);
        command.args(["--command-b", &format!("{program} serve http --listen 127.0.0.1:{}", ports[1])]);
        let comparison = ChildProcess::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        std::thread::sleep(Duration::from_micros(random.u64(..400_000)));
        rounds_with_a_server += u32::from(!with_words(&listen).is_empty());
        let outer = children(comparison.pid());
        let inner: Vec<u32> = outer.iter().copied().flat_map(children).collect();
        // In each round, the test kills the conductor together with the outer agent, the inner agent, or both agents.
        let agents = [outer.clone(), inner.clone(), [outer, inner].concat()][round % 3].clone();
        kill_all(&[&[comparison.pid()][..], &agents].concat());
        if round % 3 == 2 {
            // No process of loadline is left that could end the server. The next command of loadline must end the
            // server, whatever this command is.
            let next = Command::new(binary!()).args(["explain", "server-cpu"]).stdout(Stdio::null()).status();
            assert!(next.unwrap().success());
        }
        eventually(|| with_words(&listen).is_empty().then_some(()));
    }
    assert!(rounds_with_a_server > 4, "the moments were too early: {rounds_with_a_server}");
}

/// Tests whose result depends on the load that a program of the test reaches.
mod light {
    use super::*;

    #[test]
    fn thieves_end_with_the_conductor() {
        kill(3);
    }
}

/// A server with a quota of a fifth of a CPU.
mod idle {
    use super::*;

    #[test]
    fn a_quota_is_restored_after_a_kill_of_its_lever() {
        let _alone = alone();
        let Some(group) = ControlGroup::fifth_of_a_processor("a kill in the middle of a quota") else { return };
        let port = free_port();
        let mut command = group.command(binary!());
        command.args(["serve", "http", "--listen", &format!("127.0.0.1:{port}"), "--option", "work_us=200"]);
        let server = Running::start(command, port, tempfile::tempdir().unwrap());
        let before = group.cpu_quota();
        let proving = proving(&format!("http://{}/", server.addr), &["--budget", "30s", "--intrusive"]);
        let pids = within_its_budget(|| (group.cpu_quota() != before).then(|| children(proving.pid())));
        signal(proving.pid(), "KILL");
        none_left(&pids);
        assert_eq!(group.cpu_quota(), before);
    }
}
