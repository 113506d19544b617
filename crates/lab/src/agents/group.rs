//! The conductor's side of its agents: starts them, reads their reports, sends them commands and notices lost agents. A
//! lever is a temporary change that an experiment makes, such as slowing a CPU.
//!
//! Each agent has its own process group. Ctrl-C at the terminal therefore reaches only the conductor, which tells the
//! agents to stop and keeps their results. An agent whose standard input ends stops by itself, so no agent outlives the
//! conductor.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use run::{AgentCommand, AgentReport, AgentSpec};

use super::inbox::{Inbox, PipeEvent};
use super::member::Agent;
use super::pipe_thread::PipeThread;
use crate::{Host, LabError};

/// An event from an agent.
#[derive(Debug)]
pub enum AgentEvent {
    /// A report that the agent sent.
    Report(AgentReport),
    /// Answer to a clock question: the question's number, the agent's clock, and our clock when the answer arrived,
    /// nanoseconds.
    Pong(u32, u64, u64),
    /// The agent ended or is lost, and sends no further event; the text gives the reason.
    Gone(String),
}

/// Agents of one load test, and the common stream of their events.
#[derive(Debug, Default)]
pub struct AgentGroup {
    pub(super) agents: Vec<Agent>,
    pub(super) inbox: Arc<Inbox>,
    pub(super) pipe_thread: Option<PipeThread>,
    /// Serial numbers of lost agents, whose events are ignored.
    pub(super) gone: RefCell<BTreeSet<usize>>,
    /// Map from an agent's serial number to its index in `agents`.
    pub(super) numbers: BTreeMap<usize, usize>,
    /// Events that arrived while clocks were compared, each with the agent's serial number. Events that were put aside
    /// are delivered before new events.
    pub(super) put_aside: RefCell<VecDeque<(usize, AgentEvent)>>,
    /// Number of agents ever started.
    started: usize,
}

impl AgentGroup {
    /// Starts the program `program` as an agent on a host, and returns the agent's number in this group. The agent gets
    /// its task after it has sent its hello (first message).
    pub fn start(&mut self, host: &dyn Host, program: &Path, name: &str, spec: &AgentSpec) -> Result<usize, LabError> {
        let fail = |why: String| LabError::Agent { name: name.into(), why };
        let serial = self.started;
        self.started += 1;
        let (agent, pipes) = Agent::spawn(host, program, name, serial, spec)?;
        let no_thread = |e: std::io::Error| {
            fail(format!("no thread could be started to read its output: {}", sys::exhausted::why_not_started(&e)))
        };
        if self.pipe_thread.is_none() {
            self.pipe_thread = Some(PipeThread::start(Arc::clone(&self.inbox)).map_err(no_thread)?);
        }
        let number = self.add(agent);
        let taken = self.pipe_thread.as_ref().map_or(Ok(()), |pipe_thread| pipe_thread.take(pipes));
        taken.map(|()| number).map_err(|e| fail(format!("its pipes cannot be read: {e}")))
    }

    /// Adds an agent and returns its number in this group.
    pub(super) fn add(&mut self, agent: Agent) -> usize {
        let number = self.agents.len();
        self.numbers.insert(agent.serial, number);
        self.agents.push(agent);
        number
    }

    /// Returns the agents in the order of their numbers.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Returns the process IDs of the ready agents on this machine.
    pub fn pids(&self) -> Vec<u32> {
        self.agents.iter().filter(|a| !a.is_remote()).filter_map(Agent::pid).collect()
    }

    /// Returns the process IDs of the ready agents on another host.
    pub fn pids_on(&self, host: &str) -> Vec<u32> {
        self.agents.iter().filter(|a| a.is_remote() && a.host() == host).filter_map(Agent::pid).collect()
    }

    /// Returns the name of an agent.
    pub fn name(&self, number: usize) -> &str {
        self.agents.get(number).map_or("", Agent::name)
    }

    /// Sends the same command to all agents.
    pub fn tell_all(&mut self, command: &AgentCommand) {
        self.tell_each(|_| command.clone());
    }

    /// Sends each agent its own command.
    pub fn tell_each(&mut self, command: impl Fn(&Agent) -> AgentCommand) {
        self.agents.iter().for_each(|a| a.tell(&command(a)));
        self.wake_pipe_thread();
    }

    /// Sends a command to one agent.
    pub fn tell(&mut self, number: usize, command: impl FnOnce(&Agent) -> AgentCommand) {
        if let Some(agent) = self.agents.get(number) {
            agent.tell(&command(agent));
        }
        self.wake_pipe_thread();
    }

    /// Wakes the pipe thread, which writes queued bytes.
    pub(super) fn wake_pipe_thread(&self) {
        self.pipe_thread.iter().for_each(PipeThread::wake);
    }

    /// Returns the next event, or `None` if none comes before `until`.
    pub fn hear(&self, until: Instant) -> Option<(usize, AgentEvent)> {
        let kept = std::iter::from_fn(|| self.put_aside.borrow_mut().pop_front());
        let mut known = kept.filter_map(|(serial, event)| Some((*self.numbers.get(&serial)?, event)));
        let first = known.next();
        first.or_else(|| self.hear_new(until))
    }

    /// Returns the next event that is not in `put_aside`; `None` if there is none before `until`.
    pub(super) fn hear_new(&self, until: Instant) -> Option<(usize, AgentEvent)> {
        loop {
            let (serial, event) = self.inbox.next(until)?;
            let Some(&number) = self.numbers.get(&serial).filter(|_| !self.gone.borrow().contains(&serial)) else {
                continue;
            };
            let event = match event {
                PipeEvent::Gone(how) => AgentEvent::Gone(how),
                PipeEvent::Line { text, at_ns } => match serde_json::from_str::<AgentReport>(&text) {
                    Ok(AgentReport::Heartbeat) => continue,
                    Ok(AgentReport::Pong { n, mono_ns }) => AgentEvent::Pong(n, mono_ns, at_ns),
                    Ok(report) => AgentEvent::Report(report.cleaned()),
                    Err(e) => AgentEvent::Gone(format!(
                        "it wrote a line that is not a report ({})",
                        run::visible(&e.to_string().chars().take(200).collect::<String>())
                    )),
                },
            };
            if matches!(event, AgentEvent::Gone(_)) {
                self.gone.borrow_mut().insert(serial);
            }
            return Some((number, event));
        }
    }

    /// Waits until every agent is ready, and then compares the clocks of other machines with ours. Returns the agents'
    /// reports, in the order of their numbers.
    pub fn await_ready(&mut self, patience: Duration) -> Result<Vec<Ready>, LabError> {
        let mut ready: Vec<Option<Ready>> = vec![None; self.agents.len()];
        let deadline = Instant::now() + patience;
        while ready.iter().any(Option::is_none) {
            let Some((number, event)) = self.hear(deadline) else {
                let late = ready.iter().position(Option::is_none).unwrap_or(0);
                let why = self.agents[late].why_late(patience);
                return Err(LabError::Late { name: self.name(late).into(), why });
            };
            match event {
                AgentEvent::Report(AgentReport::Ready { pid, listening, io, notes }) => {
                    self.agents[number].is_ready(pid);
                    ready[number] = Some(Ready { listening, io, notes, ..Ready::default() });
                }
                AgentEvent::Report(AgentReport::Watching(found)) => {
                    ready[number] = Some(Ready { watching: Some(*found), ..Ready::default() });
                }
                AgentEvent::Report(AgentReport::LeverWorks(found)) => {
                    ready[number] = Some(Ready { found: Some(found), ..Ready::default() });
                }
                AgentEvent::Report(AgentReport::Server(answer)) => {
                    ready[number] = Some(Ready { answer: Some(*answer), ..Ready::default() });
                }
                AgentEvent::Report(AgentReport::Failed { error }) => {
                    return Err(LabError::Agent { name: self.name(number).into(), why: error });
                }
                AgentEvent::Report(report) => self.begin(number, report)?,
                AgentEvent::Gone(how) => return Err(self.early_end(number, how)),
                AgentEvent::Pong(..) => {}
            }
        }
        self.compare_clocks();
        if let Some(agent) = self.agents.iter().find(|a| a.is_remote() && !a.clock.is_known()) {
            let why = "its clock could not be compared with the one here: it was ready, and answered none of 20 questions within 3 s; \
                       see whether its host or the way there stands still, and try again";
            return Err(LabError::Agent { name: agent.name().into(), why: why.into() });
        }
        Ok(ready.into_iter().flatten().collect())
    }

    /// Handles a report that comes before the agent is ready: a hello, or a request for a copy of loadline's program.
    fn begin(&mut self, number: usize, report: AgentReport) -> Result<(), LabError> {
        let agent = &mut self.agents[number];
        let done = match report {
            AgentReport::Hello(hello) => agent.greeted(hello),
            AgentReport::Wants { system } => agent.wanted(&system),
            _ => Ok(()),
        };
        self.wake_pipe_thread();
        done.map_err(|why| LabError::Agent { name: self.name(number).into(), why })
    }

    /// Returns the error for an agent that failed, or was killed by another program, before it was ready.
    fn early_end(&mut self, number: usize, how: String) -> LabError {
        let name = self.name(number).to_string();
        match self.agents.get_mut(number).and_then(Agent::killed_by) {
            Some(signal) => LabError::Killed { name, why: format!("signal {signal} ended it") },
            None => {
                let hint = self.agents.get(number).map_or("", Agent::hint);
                LabError::Agent { name, why: format!("{how}{hint}") }
            }
        }
    }

    /// Asks all servers of this group for their counters. Returns the sum of each counter over all servers, and the
    /// errors of servers that failed. The sums leave out servers that answer too late.
    pub fn counts(&mut self, patience: Duration) -> (BTreeMap<String, u64>, Vec<String>) {
        self.tell_all(&AgentCommand::Count);
        let (mut sums, mut failed) = (BTreeMap::<String, u64>::new(), Vec::new());
        let deadline = Instant::now() + patience;
        let mut missing = self.agents.len();
        while missing > 0 {
            match self.hear(deadline) {
                Some((_, AgentEvent::Report(AgentReport::Counts { counts, failures }))) => {
                    for (name, n) in counts {
                        let sum = sums.entry(name).or_default();
                        *sum = sum.saturating_add(n);
                    }
                    failed.extend(failures);
                    missing -= 1;
                }
                Some((_, AgentEvent::Gone(how) | AgentEvent::Report(AgentReport::Failed { error: how }))) => {
                    failed.push(how);
                    missing -= 1;
                }
                Some(_) => {}
                None => break,
            }
        }
        (sums, failed)
    }

    /// Tells all agents to stop, waits for at most `patience`, and then kills the agents that still run.
    pub fn stop(&mut self, patience: Duration) {
        self.tell_all(&AgentCommand::Stop);
        self.agents.iter().for_each(Agent::hang_up);
        let deadline = Instant::now() + patience;
        self.agents.iter_mut().for_each(|agent| agent.end_until(deadline));
    }
}

impl Drop for AgentGroup {
    fn drop(&mut self) {
        self.stop(Duration::from_millis(300));
    }
}

/// Report of an agent that is ready.
#[derive(Clone, Debug, Default)]
pub struct Ready {
    /// Address at which a server listens; `None` for other agents.
    pub listening: Option<std::net::SocketAddr>,
    /// I/O driver of a generator, or I/O model of a server; empty for other agents.
    pub io: String,
    /// Notes from the agent for the user.
    pub notes: Vec<String>,
    /// Facts that an observer found about its host; `None` for other agents.
    pub watching: Option<run::WatchedHost>,
    /// Result of checking whether an experiment can use a lever on this host; `None` for other tasks.
    pub found: Option<run::LeverCheck>,
    /// Answer to a question about a server; `None` for other tasks.
    pub answer: Option<run::ServerAnswer>,
}

#[cfg(test)]
pub(crate) mod tests;
