//! What the clocks of other machines are ahead of ours: by the fastest of some exchanges, whose both ways are taken to be
//! equally long. It is off by half of what they differ, and never by more than half of the exchange (Cristian, 1989).

use std::time::{Duration, Instant};

use run::AgentCommand;
use sys::clock;

use super::{AgentGroup, Said};

/// Exchanges with each agent.
const PINGS: u32 = 20;
/// Between two of them: they do not queue behind each other.
const APART: Duration = Duration::from_millis(1);
/// How long answers are waited for.
const PATIENCE: Duration = Duration::from_secs(3);

impl AgentGroup {
    /// Asks all agents on other hosts for their clocks. One that does not answer keeps what is known of it. What else comes meanwhile
    /// is heard afterwards: one of them may end just then.
    pub fn compare_clocks(&mut self) {
        let there = |agent: &super::Agent| agent.is_remote() && !self.gone.borrow().contains(&agent.serial);
        let remote: Vec<usize> = (0..self.agents.len()).filter(|n| there(&self.agents[*n])).collect();
        if remote.is_empty() {
            return;
        }
        let mut sent: Vec<Vec<u64>> = vec![Vec::new(); self.agents.len()];
        for n in 0..PINGS {
            for agent in &remote {
                sent[*agent].push(clock::monotonic_ns());
                self.agents[*agent].tell(&AgentCommand::Ping { n });
            }
            std::thread::sleep(APART);
        }
        let deadline = Instant::now() + PATIENCE;
        let mut missing = vec![0; self.agents.len()];
        remote.iter().for_each(|agent| missing[*agent] = PINGS);
        let mut fastest: Vec<Option<(i64, u64)>> = vec![None; self.agents.len()];
        while missing.iter().any(|left| *left > 0)
            && let Some((agent, said)) = self.hear_anew(deadline)
        {
            let Said::Pong(n, theirs, came) = said else {
                if matches!(said, Said::Gone(_)) {
                    missing[agent] = 0;
                }
                self.aside.borrow_mut().push_back((self.agents[agent].serial, said));
                continue;
            };
            missing[agent] = missing[agent].saturating_sub(1);
            let Some(left) = sent[agent].get(n as usize).filter(|left| **left <= came) else { continue };
            let found = exchange(*left, theirs, came);
            if fastest[agent].is_none_or(|(_, took)| found.1 < took) {
                fastest[agent] = Some(found);
            }
        }
        for (agent, found) in self.agents.iter_mut().zip(fastest) {
            agent.clock = found.unwrap_or(agent.clock);
        }
    }

    /// The longest of all fastest exchanges; zero where all agents are on this machine.
    pub fn longest_round_trip(&self) -> Duration {
        Duration::from_nanos(self.agents.iter().map(super::Agent::round_trip_ns).max().unwrap_or(0))
    }
}

/// Their clock minus ours, and how long the exchange took.
fn exchange(left: u64, theirs: u64, came: u64) -> (i64, u64) {
    let took = came - left;
    let ours = left + took / 2;
    let offset = (i128::from(theirs) - i128::from(ours)).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    (offset as i64, took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_exchange_is_their_time() {
        assert_eq!(exchange(1_000, 9_000_100, 1_200), (8_999_000, 200));
        assert_eq!(exchange(5_000, 0, 5_010), (-5_005, 10));
        assert_eq!(exchange(0, u64::MAX, 2), (i64::MAX, 2));
    }
}
