//! What other programs do with a named testbed: make it, run programs in it, end it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sys::netns::{self, Netns};

use super::socket::{Heard, PATIENCE, ask, clear, fail, socket_of};
use super::status::{Status, status};
use crate::error::{Result, TestbedError};

/// Starts a keeper in the background: `program` with `arguments` is to call [`keep`] and to print one line when it is
/// ready. Returns what there is now.
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
        // Without its words the exit is all there is to say.
        let _ = error.read_to_string(&mut words);
    }
    let _ = child.wait();
    let words = words.trim().trim_start_matches("loadline: ").trim_start_matches(&format!("testbed {name:?}: "));
    Err(fail(name, if words.is_empty() { "its keeper ended without a word" } else { words }))
}

/// A command that will run in a host of a named testbed.
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

/// Ends a testbed with every program in it; false when there was none. Returns when nothing is left.
pub fn down(name: &str) -> Result<bool> {
    let path = socket_of(name)?;
    let heard = ask(&path, "status", PATIENCE);
    let holders = match &heard {
        Heard::Answer(text) => serde_json::from_str(text).map_or_else(|_| Vec::new(), |s: Status| holders(&s)),
        Heard::Silence(keeper) => keeper.map_or_else(Vec::new, children),
        Heard::Nobody => Vec::new(),
    };
    let left: Vec<(u32, Netns)> = holders.into_iter().filter_map(|p| Some((p, Netns::of_process(p).ok()?))).collect();
    let stuck = match &heard {
        Heard::Answer(_) => match ask(&path, "down", PATIENCE) {
            Heard::Silence(keeper) => keeper,
            _ => None,
        },
        Heard::Silence(keeper) => *keeper,
        Heard::Nobody => None,
    };
    // A keeper that does not listen: its namespaces end with it.
    stuck.into_iter().for_each(end_process);
    clear(&path);
    for (pid, netns) in left {
        let end = Instant::now() + PATIENCE;
        while netns.holds(pid) {
            if Instant::now() > end {
                return Err(fail(name, format!("process {pid} of its hosts does not end; end it with kill -9 {pid}")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(!matches!(heard, Heard::Nobody))
}

/// The processes that hold the hosts.
fn holders(status: &Status) -> Vec<u32> {
    status.hosts.iter().map(|host| host.netns_pid).collect()
}

/// The children of a process, where the kernel tells them (proc_pid_task(5)).
fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let told = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    told.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

fn end_process(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // Gone already is as good.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
