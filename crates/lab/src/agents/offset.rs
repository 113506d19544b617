//! What the clocks of other machines are ahead of ours: asked for many times before a load, and now and then while it goes on. What
//! the answers say is [`super::clock`]'s.

use std::time::{Duration, Instant};

use run::AgentCommand;
use sys::clock::{self, Origin};

use super::{AgentGroup, Said};

/// Exchanges with each agent before a load.
const PINGS: u32 = 20;
/// Between two of them: they do not queue behind each other.
const APART: Duration = Duration::from_millis(1);
/// How long answers are waited for.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between two exchanges while a load is on: two clocks that run apart by a ten-thousandth are 0.2 ms apart by then.
pub(crate) const ASK_EVERY: Duration = Duration::from_secs(2);

impl AgentGroup {
    /// The agents on other hosts that are there.
    fn remote(&self) -> Vec<usize> {
        let there = |agent: &super::Agent| agent.is_remote() && !self.gone.borrow().contains(&agent.serial);
        (0..self.agents.len()).filter(|n| there(&self.agents[*n])).collect()
    }

    /// Asks all agents on other hosts for their clocks. One that does not answer keeps what is known of it. What else comes meanwhile
    /// is heard afterwards: one of them may end just then.
    pub fn compare_clocks(&mut self) {
        let remote = self.remote();
        if remote.is_empty() {
            return;
        }
        remote.iter().for_each(|agent| self.agents[*agent].clock.ask_anew());
        for _ in 0..PINGS {
            self.ask_clocks();
            std::thread::sleep(APART);
        }
        let deadline = Instant::now() + PATIENCE;
        let mut gone = vec![false; self.agents.len()];
        while remote.iter().any(|agent| !gone[*agent] && self.agents[*agent].clock.open() > 0)
            && let Some((agent, said)) = self.hear_anew(deadline)
        {
            match said {
                Said::Pong(n, theirs_ns, came_ns) => self.answered(agent, (n, theirs_ns, came_ns)),
                said => {
                    gone[agent] |= matches!(said, Said::Gone(_));
                    self.aside.borrow_mut().push_back((self.agents[agent].serial, said));
                }
            }
        }
    }

    /// Asks each agent on another host once, and waits for nothing: the answers are heard as [`Said::Pong`].
    pub fn ask_clocks(&mut self) {
        for agent in self.remote() {
            let agent = &mut self.agents[agent];
            let n = agent.clock.ask(clock::monotonic_ns());
            agent.tell(&AgentCommand::Ping { n });
        }
    }

    /// An agent answered: which question, its clock then, and ours when the answer came.
    pub fn answered(&mut self, agent: usize, (n, theirs_ns, came_ns): (u32, u64, u64)) {
        if let Some(agent) = self.agents.get_mut(agent) {
            agent.clock.answered(n, theirs_ns, came_ns);
        }
    }

    /// The times that all agents tell count from this moment; each gets a command with it on its own clock.
    pub fn begin_at(&mut self, origin: Origin, command: impl Fn(u64) -> AgentCommand) {
        for agent in &mut self.agents {
            let at_ns = agent.clock.begin(origin.ns());
            agent.tell(&command(at_ns));
        }
        self.ring();
    }

    /// Seconds since that moment by an agent's clock, by ours.
    pub fn ours_s(&self, agent: usize, theirs_s: f64) -> f64 {
        self.agents.get(agent).map_or(theirs_s, |agent| agent.clock.ours_s(theirs_s))
    }

    /// The longest of all fastest exchanges; zero where all agents are on this machine.
    pub fn longest_round_trip(&self) -> Duration {
        Duration::from_nanos(self.agents.iter().map(super::Agent::round_trip_ns).max().unwrap_or(0))
    }

    /// How wrong any of the clocks may be taken now.
    pub fn clock_error(&self) -> Duration {
        let now_ns = clock::monotonic_ns();
        Duration::from_nanos(self.agents.iter().map(|agent| agent.clock.error_ns(now_ns)).max().unwrap_or(0))
    }

    /// The most that a clock ran away from ours since [`AgentGroup::begin`]; none where all agents are on this machine.
    pub fn drift(&self) -> Option<Duration> {
        let now_ns = clock::monotonic_ns();
        let remote = self.agents.iter().filter(|agent| agent.clock.is_known());
        remote.map(|agent| Duration::from_nanos(agent.clock.drift_ns(now_ns).unsigned_abs())).max()
    }
}
