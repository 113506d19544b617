//! Comparison of clocks with other machines: many exchanges before a load, and one exchange every two seconds during
//! the load. Module [`super::clock`] interprets the answers to the clock questions.

use std::time::{Duration, Instant};

use run::AgentCommand;
use sys::clock::{self, Origin};

use super::{AgentEvent, AgentGroup};

/// Number of exchanges with each agent before a load, to compare its clock with ours.
const PINGS: u32 = 20;
/// Interval between the clock exchanges before a load. The interval keeps the exchanges from delaying each other.
const PING_INTERVAL: Duration = Duration::from_millis(1);
/// Maximum time to wait for the agents' answers to the clock questions before a load.
const PATIENCE: Duration = Duration::from_secs(3);
/// Interval between exchanges during a load. If two clocks drift apart by 0.01 %, their difference grows by 0.2 ms from
/// one exchange to the next.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(2);

impl AgentGroup {
    /// Returns the numbers of the agents on other hosts, except lost agents.
    fn remote(&self) -> Vec<usize> {
        let there = |agent: &super::Agent| agent.is_remote() && !self.gone.borrow().contains(&agent.serial);
        (0..self.agents.len()).filter(|n| there(&self.agents[*n])).collect()
    }

    /// Compares clocks with all agents on other hosts. If an agent does not answer, its older readings are kept. Other
    /// events that arrive meanwhile are stored and delivered later.
    pub fn compare_clocks(&mut self) {
        let remote = self.remote();
        if remote.is_empty() {
            return;
        }
        remote.iter().for_each(|agent| self.agents[*agent].clock.forget_questions());
        for _ in 0..PINGS {
            self.ask_clocks();
            std::thread::sleep(PING_INTERVAL);
        }
        let deadline = Instant::now() + PATIENCE;
        let mut gone = vec![false; self.agents.len()];
        while remote.iter().any(|agent| !gone[*agent] && self.agents[*agent].clock.open() > 0)
            && let Some((agent, event)) = self.hear_new(deadline)
        {
            match event {
                AgentEvent::Pong(n, theirs_ns, came_ns) => self.answered(agent, (n, theirs_ns, came_ns)),
                event => {
                    gone[agent] |= matches!(event, AgentEvent::Gone(_));
                    self.put_aside.borrow_mut().push_back((self.agents[agent].serial, event));
                }
            }
        }
    }

    /// Sends a clock question to each agent on another host. The answers arrive as [`AgentEvent::Pong`].
    pub fn ask_clocks(&mut self) {
        for agent in self.remote() {
            let agent = &mut self.agents[agent];
            let n = agent.clock.ask(clock::monotonic_ns());
            agent.tell(&AgentCommand::Ping { n });
        }
    }

    /// Handles an answer: number of the question, the agent's clock, and our clock when the answer arrived,
    /// nanoseconds.
    pub fn answered(&mut self, agent: usize, (n, theirs_ns, came_ns): (u32, u64, u64)) {
        if let Some(agent) = self.agents.get_mut(agent) {
            agent.clock.answered(n, theirs_ns, came_ns);
        }
    }

    /// Sets the zero point of all agents' times to `origin`, and sends each agent a command that names `origin` on the
    /// agent's own clock.
    pub fn begin_at(&mut self, origin: Origin, command: impl Fn(u64) -> AgentCommand) {
        for agent in &mut self.agents {
            let at_ns = agent.clock.begin(origin.ns());
            agent.tell(&command(at_ns));
        }
        self.wake_pipe_thread();
    }

    /// Converts seconds since [`AgentGroup::begin_at`] from an agent's clock to ours.
    pub fn ours_s(&self, agent: usize, theirs_s: f64) -> f64 {
        self.agents.get(agent).map_or(theirs_s, |agent| agent.clock.ours_s(theirs_s))
    }

    /// Returns the longest round trip to any agent; zero if all are on this machine.
    pub fn longest_round_trip(&self) -> Duration {
        Duration::from_nanos(self.agents.iter().map(super::Agent::round_trip_ns).max().unwrap_or(0))
    }

    /// Returns the largest error that any agent's clock offset may have now.
    pub fn clock_error(&self) -> Duration {
        let now_ns = clock::monotonic_ns();
        Duration::from_nanos(self.agents.iter().map(|agent| agent.clock.error_ns(now_ns)).max().unwrap_or(0))
    }

    /// Returns the largest clock drift of any agent since [`AgentGroup::begin_at`]; `None` if all agents are on this
    /// machine.
    pub fn drift(&self) -> Option<Duration> {
        let now_ns = clock::monotonic_ns();
        let remote = self.agents.iter().filter(|agent| agent.clock.is_known());
        remote.map(|agent| Duration::from_nanos(agent.clock.drift_ns(now_ns).unsigned_abs())).max()
    }
}
