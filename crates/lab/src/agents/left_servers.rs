//! Ends servers that a user's command started and that still run because all loadline processes were killed at once.
//! The next loadline command that measures calls this module.
//!
//! Every process that the user's command starts inherits an environment variable, called the mark. The mark names the
//! agent, so a server is ended only if that agent no longer exists.

use std::io::ErrorKind;
use std::process::Command;

use super::ending::end_all;

/// Name of the mark: the environment variable that names the agent of a server.
const MARK: &str = "LOADLINE_SERVER_OF";

/// Sets an environment variable, which names this agent, for all processes that `command` starts.
pub(super) fn mark(command: &mut Command) {
    let pid = std::process::id();
    if let (Some(space), Some(ticks)) = (pid_namespace(), probe::started_ticks(pid)) {
        command.env(MARK, format!("{space} {pid} {ticks}"));
    }
}

/// Ends the processes of servers whose agents no longer exist. Returns a sentence for the user if any process was
/// ended.
pub(super) fn end() -> Option<String> {
    end_marked(MARK)
}

fn end_marked(mark: &str) -> Option<String> {
    let pids = left(mark);
    if pids.is_empty() {
        return None;
    }
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let pids = pids.join(", ");
    Some(match end_all(|| left(mark)) {
        true => format!("ended a server that a killed loadline left running (process {pids})"),
        false => format!("a killed loadline left a server that cannot be ended: kill {pids}"),
    })
}

/// An agent that started a server, as named in the environment of the server's processes. The struct contains the
/// agent's start time, because the kernel reuses process IDs.
struct Agent {
    pid: u32,
    started_ticks: u64,
}

impl Agent {
    /// Returns true if the agent is still running. An ended agent may still exist as a zombie process, whose program
    /// file cannot be read. A zombie process counts as ended.
    fn exists(&self) -> bool {
        let program = std::fs::read_link(format!("/proc/{}/exe", self.pid));
        let has_ended = program.is_err_and(|error| error.kind() == ErrorKind::NotFound);
        probe::started_ticks(self.pid) == Some(self.started_ticks) && !has_ended
    }
}

/// Returns the processes whose environment variable `mark` names an agent that no longer exists. Leaves out agents of
/// other PID namespaces, because this process cannot see such agents.
fn left(mark: &str) -> Vec<u32> {
    let (Some(space), Ok(folder)) = (pid_namespace(), std::fs::read_dir("/proc")) else { return Vec::new() };
    let pids = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let is_left = |pid: &u32| agent_of(*pid, mark, &space).is_some_and(|agent| !agent.exists());
    pids.filter(is_left).collect()
}

/// Returns the agent that the environment variable `mark` of a process names.
fn agent_of(pid: u32, mark: &str, space: &str) -> Option<Agent> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0).filter_map(|one| std::str::from_utf8(one).ok());
    let agent = variables.find_map(|one| one.strip_prefix(mark)?.strip_prefix('='))?;
    let (pid, ticks) = agent.strip_prefix(space)?.trim_start().split_once(' ')?;
    Some(Agent { pid: pid.parse().ok()?, started_ticks: ticks.parse().ok()? })
}

/// Returns the name of this PID namespace, because process IDs are unique only within a namespace.
fn pid_namespace() -> Option<String> {
    Some(std::fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Child;
    use std::time::Duration;

    /// Name of the environment variable that marks the servers of these tests.
    const OWN_MARK: &str = "LOADLINE_TEST_SERVER_OF";

    /// Starts a process whose environment variable [`OWN_MARK`] names `agent`.
    fn marked(agent: &str) -> Child {
        let space = pid_namespace().unwrap();
        let child = Command::new("sleep").arg("600").env(OWN_MARK, format!("{space} {agent}")).spawn().unwrap();
        // The environment becomes visible only a moment after the program starts.
        while agent_of(child.id(), OWN_MARK, &space).is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child
    }

    #[test]
    fn only_servers_without_an_agent_are_ended() {
        let pid = std::process::id();
        let own = Agent { pid, started_ticks: probe::started_ticks(pid).unwrap() };
        let mut kept = marked(&format!("{} {}", own.pid, own.started_ticks));
        let mut ended = marked(&format!("{} {}", own.pid, own.started_ticks + 1));
        let reaper = std::thread::spawn(move || ended.wait().map(|status| status.code()));
        let said = end_marked(OWN_MARK);
        let alive = kept.try_wait().unwrap().is_none();
        kept.kill().unwrap();
        kept.wait().unwrap();
        assert_eq!(reaper.join().unwrap().unwrap(), None, "a signal ended it");
        assert!(alive && said.is_some_and(|said| said.starts_with("ended a server")));
    }
}
