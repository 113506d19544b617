//! Operations on a named testbed, for other programs: create it, run programs in its hosts, and end it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sys::netns::{self, Netns};

use super::socket::{ANSWER_TIMEOUT, KeeperReply, ask, clear, fail, socket_of};
use super::status::{Status, status};
use crate::error::{Result, TestbedError};

/// Creates a named testbed: starts its keeper (the process that keeps the testbed alive) in the background, and returns
/// the testbed's status. The command `program` with `arguments` runs the keeper. The keeper's command must call
/// [`keep`], and print a line as soon as the testbed can be used.
pub fn up(name: &str, program: &Path, arguments: &[String]) -> Result<Status> {
    socket_of(name)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir("/");
    netns::own_session(&mut command);
    let mut child = command.spawn().map_err(|e| fail(name, format!("cannot start its keeper: {e}")))?;
    let mut line = String::new();
    let heard = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    if matches!(heard, Some(Ok(1..))) {
        return status(name)?.ok_or_else(|| fail(name, "its keeper ended at once"));
    }
    let mut words = String::new();
    if let Some(mut error) = child.stderr.take() {
        // Ignore an error of the read, because the missing line already shows that the keeper failed.
        let _ = error.read_to_string(&mut words);
    }
    let _ = child.wait();
    let words = words.trim().trim_start_matches("loadline: ").trim_start_matches(&format!("testbed {name:?}: "));
    Err(fail(name, if words.is_empty() { "its keeper ended without a word" } else { words }))
}

/// Returns a command that runs `program` in a host of a named testbed.
pub fn command(name: &str, host: &str, program: &str) -> Result<Command> {
    let known = status(name)?.ok_or_else(|| fail(name, "it is not up; `loadline testbed up` makes it"))?;
    let Some(found) = known.hosts.iter().find(|h| h.name == host) else {
        let names = known.hosts.iter().map(|h| h.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(TestbedError::Host { name: host.into(), known: names });
    };
    let netns = Netns::of_process(found.netns_pid).map_err(|e| fail(name, format!("cannot enter {host}: {e}")))?;
    let mut command = Command::new(program);
    netns.enter(&mut command);
    Ok(command)
}

/// Ends a testbed and every program in it, and waits until all have ended. Returns false if there is no testbed called
/// `name`.
pub fn down(name: &str) -> Result<bool> {
    let path = socket_of(name)?;
    let heard = ask(&path, "status", ANSWER_TIMEOUT);
    let holders = match &heard {
        KeeperReply::Answer(text) => serde_json::from_str(text).map_or_else(|_| Vec::new(), |s: Status| holders(&s)),
        KeeperReply::Silence(keeper) => keeper.map_or_else(Vec::new, children),
        KeeperReply::Nobody => Vec::new(),
    };
    let left: Vec<(u32, Netns)> = holders.into_iter().filter_map(|p| Some((p, Netns::of_process(p).ok()?))).collect();
    let stuck = match &heard {
        KeeperReply::Answer(_) => match ask(&path, "down", ANSWER_TIMEOUT) {
            KeeperReply::Silence(keeper) => keeper,
            _ => None,
        },
        KeeperReply::Silence(keeper) => *keeper,
        KeeperReply::Nobody => None,
    };
    // The keeper did not answer, so it is killed. The network namespaces of a testbed end when its keeper ends.
    stuck.into_iter().for_each(end_process);
    clear(&path);
    for (pid, netns) in left {
        let end = Instant::now() + ANSWER_TIMEOUT;
        while netns.holds(pid) {
            if Instant::now() > end {
                return Err(fail(name, format!("process {pid} of its hosts does not end; end it with kill -9 {pid}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(!matches!(heard, KeeperReply::Nobody))
}

/// Returns the IDs of the processes that keep the network namespaces of the hosts alive.
fn holders(status: &Status) -> Vec<u32> {
    status.hosts.iter().map(|host| host.netns_pid).collect()
}

/// Returns the process IDs of a process's children; empty if the kernel does not list them (proc_pid_task(5)).
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let told = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    told.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn end_process(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // Ignore an error, because the process may have ended in the meantime.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
