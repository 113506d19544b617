//! The single thread that reads and writes the pipes of all agents of a group. The thread passes lines to the inbox and
//! queued bytes to the agents, and sends heartbeats. If an agent is silent for too long, the thread reports the agent
//! as lost. No agent can block the thread.

use std::io::{ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::process::{ChildStderr, ChildStdout};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use run::SILENCE_TIMEOUT_S;
use sys::poll::{self, Entry};
use sys::wake::Waker;

use super::inbox::{Inbox, PipeEvent};
use super::lines::Lines;
use super::outbox::Outbox;

/// Interval between heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// The command [`run::AgentCommand::Heartbeat`] as a line of JSON.
const HEARTBEAT_LINE: &[u8] = b"{\"do\":\"heartbeat\"}\n";
/// Maximum time to wait for the rest of standard error after standard output has ended.
const STDERR_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum number of bytes that the thread keeps from the end of standard error.
const MAX_STDERR_BYTES: usize = 4096;

/// Pipes of one agent.
pub(super) struct Pipes {
    pub(super) number: usize,
    pub(super) out: Arc<Outbox>,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// The pipes of one agent, with their state.
struct AgentPipes {
    pipes: Pipes,
    lines: Lines,
    stderr: Vec<u8>,
    stderr_ended: bool,
    heard: Instant,
    /// Events for which the inbox has no space yet. While there are such events, the thread does not read the agent's
    /// standard output.
    stuck: Vec<PipeEvent>,
    /// Time at which standard output ended; `None` before.
    ended: Option<Instant>,
    /// True once the agent's end was put into the inbox.
    over: bool,
}

/// Handle of the pipe thread. Dropping the handle ends the thread.
#[derive(Debug)]
pub(super) struct PipeThread {
    new_agents: Sender<Pipes>,
    bell: Arc<Waker>,
}

impl PipeThread {
    /// Starts the thread, which puts events into `inbox`.
    pub(super) fn start(inbox: Arc<Inbox>) -> std::io::Result<Self> {
        let (new_agents, added) = channel();
        let bell = Arc::new(Waker::new()?);
        let theirs = Arc::clone(&bell);
        let work = move || {
            Thread { inbox, added, bell: theirs, agents: Vec::new(), beat_at: Instant::now() + HEARTBEAT_INTERVAL }
                .work()
        };
        std::thread::Builder::new().name("agents".into()).spawn(work)?;
        Ok(Self { new_agents, bell })
    }

    /// Passes the pipes of a new agent to the thread.
    pub(super) fn take(&self, pipes: Pipes) -> std::io::Result<()> {
        sys::nonblock::set(&pipes.stdout)?;
        sys::nonblock::set(&pipes.stderr)?;
        let _ = self.new_agents.send(pipes);
        self.bell.wake();
        Ok(())
    }

    /// Wakes the thread so that it writes queued bytes.
    pub(super) fn wake(&self) {
        self.bell.wake();
    }
}

impl Drop for PipeThread {
    fn drop(&mut self) {
        self.new_agents = channel().0;
        self.bell.wake();
    }
}

struct Thread {
    inbox: Arc<Inbox>,
    added: Receiver<Pipes>,
    bell: Arc<Waker>,
    agents: Vec<AgentPipes>,
    beat_at: Instant,
}

impl Thread {
    fn work(mut self) {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            self.bell.clear();
            loop {
                match self.added.try_recv() {
                    Ok(pipes) => self.agents.push(AgentPipes::new(pipes)),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.beat();
            self.ask(&mut entries);
            if poll::poll(&mut entries, Some(self.wait_ns())).is_err() {
                return;
            }
            let mut found = entries.iter().skip(1);
            for agent in &mut self.agents {
                let [out, stderr, write] = std::array::from_fn(|_| found.next().is_some_and(|e| e.found() != 0));
                agent.look([out, stderr, write], &self.inbox);
            }
            self.agents.retain(|agent| !agent.over);
        }
    }

    fn beat(&mut self) {
        let now = Instant::now();
        if now >= self.beat_at {
            self.beat_at = now + HEARTBEAT_INTERVAL;
            self.agents.iter().for_each(|agent| agent.pipes.out.send_now(HEARTBEAT_LINE));
        }
    }

    /// Fills the list of poll entries: first the entry that wakes the thread, then three entries per agent. An entry
    /// that is not needed has no descriptor.
    fn ask(&self, entries: &mut Vec<Entry>) {
        entries.clear();
        entries.push(Entry::new(self.bell.as_raw_fd(), poll::IN));
        let ask = |fd: Option<i32>, events| Entry::new(fd.unwrap_or(-1), events);
        for agent in &self.agents {
            let reads = agent.ended.is_none() && agent.stuck.is_empty();
            entries.push(ask(reads.then(|| agent.pipes.stdout.as_raw_fd()), poll::IN));
            entries.push(ask((!agent.stderr_ended).then(|| agent.pipes.stderr.as_raw_fd()), poll::IN));
            entries.push(ask(agent.pipes.out.waits_for(), poll::OUT));
        }
    }

    fn wait_ns(&self) -> u64 {
        let soon = self.agents.iter().any(|agent| !agent.stuck.is_empty() || agent.ended.is_some());
        let most = if soon { Duration::from_millis(20) } else { HEARTBEAT_INTERVAL };
        self.beat_at.saturating_duration_since(Instant::now()).min(most).as_nanos() as u64
    }
}

impl AgentPipes {
    fn new(pipes: Pipes) -> Self {
        Self {
            pipes,
            lines: Lines::default(),
            stderr: Vec::new(),
            stderr_ended: false,
            heard: Instant::now(),
            stuck: Vec::new(),
            ended: None,
            over: false,
        }
    }

    fn look(&mut self, [out, stderr, write]: [bool; 3], inbox: &Inbox) {
        if write {
            self.pipes.out.flush();
        }
        if stderr {
            self.read_stderr();
        }
        if out {
            self.read_lines();
        }
        for event in std::mem::take(&mut self.stuck) {
            self.over |= matches!(event, PipeEvent::Gone(_));
            // While an earlier event waits for space in the inbox, later events wait, too, to keep their order.
            let refused = if self.stuck.is_empty() { inbox.put(self.pipes.number, event).err() } else { Some(event) };
            self.stuck.extend(refused);
        }
        self.over &= self.stuck.is_empty();
        if self.stuck.is_empty() && !self.over {
            self.end();
        }
    }

    fn read_lines(&mut self) {
        let mut bytes = [0; 64 << 10];
        match self.pipes.stdout.read(&mut bytes) {
            Ok(0) => self.ended = Some(Instant::now()),
            Ok(n) => {
                self.heard = Instant::now();
                let at_ns = sys::clock::monotonic_ns();
                let stuck = &mut self.stuck;
                let fed = self.lines.feed(&bytes[..n], &mut |text| stuck.push(PipeEvent::Line { text, at_ns }));
                self.stuck.extend(fed.err().map(PipeEvent::Gone));
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.ended = Some(Instant::now()),
        }
    }

    /// Reads standard error continuously, so that a program that writes many errors does not block.
    fn read_stderr(&mut self) {
        let mut bytes = [0; MAX_STDERR_BYTES];
        match self.pipes.stderr.read(&mut bytes) {
            Ok(0) => self.stderr_ended = true,
            Ok(n) => {
                self.stderr.extend_from_slice(&bytes[..n]);
                let excess = self.stderr.len().saturating_sub(MAX_STDERR_BYTES);
                self.stderr.drain(..excess);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.stderr_ended = true,
        }
    }

    /// Reports the end of an agent: its output has ended, or the agent has been silent for too long after its hello.
    fn end(&mut self) {
        let silent = self.lines.greeted() && self.heard.elapsed().as_secs_f64() > SILENCE_TIMEOUT_S;
        let how = match self.ended {
            Some(at) if self.stderr_ended || at.elapsed() > STDERR_TIMEOUT => self.describe_end(),
            None if silent => {
                format!("no sign of life for {SILENCE_TIMEOUT_S:.0} s: the process, its host or the network hangs")
            }
            _ => return,
        };
        self.stuck.push(PipeEvent::Gone(how));
    }

    fn describe_end(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let last = stderr.lines().rfind(|l| !l.trim().is_empty()).map(|l| format!(": {}", run::visible(l.trim())));
        format!("its process ended{}", last.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn the_heartbeat_is_a_command_that_agents_know() {
        let command: run::AgentCommand = serde_json::from_slice(HEARTBEAT_LINE).unwrap();
        assert_eq!(command, run::AgentCommand::Heartbeat);
    }

    #[test]
    fn an_agent_that_was_silent_for_40_s_is_lost_and_one_of_4_s_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let mut agent = AgentPipes::new(Pipes { number: 0, out: Arc::new(Outbox::new(None)), stdout, stderr });
        agent.lines.feed(b"{\"is\":\"hello\",\"wire\":4}\n", &mut drop).unwrap();
        let ago = |s| Instant::now().checked_sub(Duration::from_secs(s)).unwrap();
        agent.heard = ago(4);
        agent.end();
        assert!(agent.stuck.is_empty());
        agent.heard = ago(40);
        agent.end();
        assert!(matches!(&agent.stuck[..], [PipeEvent::Gone(how)] if how.contains("for 5 s")), "{:?}", agent.stuck);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
