//! Generators that have reported their results and wait for the next task. A load test with the same hosts and CPUs
//! reuses the waiting generators. Agents without a new task are ended before the load test begins, so that they do not
//! disturb it.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use run::AgentSpec;

use super::AgentGroup;
use super::agent_place::AgentPlace;
use super::inbox::PipeEvent;
use super::member::Agent;
use crate::{Host, LabError};

/// Maximum time that agents without a new task have to end by themselves.
const END_TIMEOUT: Duration = Duration::from_millis(300);

/// A task that will be assigned to an agent.
pub struct Task<'a> {
    /// Host on which the task's agent is to run.
    pub host: &'a dyn Host,
    /// Name of the task's agent.
    pub name: String,
    /// Content of the task, as the agent receives it.
    pub spec: AgentSpec,
}

impl AgentGroup {
    /// Assigns tasks to agents, and puts the agents in the order of the tasks. Each task goes to an agent that waits on
    /// the task's host and CPUs, or to a new agent. All agents of the preceding load test must have reported their
    /// results.
    pub fn assign(&mut self, program: &Path, tasks: &[Task<'_>]) -> Result<(), LabError> {
        let mut waiting = self.waiting();
        let at_place = |task: &Task<'_>| waiting.get_mut(&AgentPlace::of_load(task.host, &task.spec)?)?.pop_front();
        let found: Vec<Option<Agent>> = tasks.iter().map(at_place).collect();
        end(waiting.into_values().flatten().collect());
        for (task, agent) in tasks.iter().zip(found) {
            let Some(mut agent) = agent else {
                self.start(task.host, program, &task.name, &task.spec)?;
                continue;
            };
            agent.next_task(&task.name, &task.spec)?;
            self.add(agent);
        }
        self.wake_pipe_thread();
        Ok(())
    }

    /// Returns the agents of the preceding load test that still run and can take another task, by host and CPUs.
    fn waiting(&mut self) -> BTreeMap<AgentPlace, VecDeque<Agent>> {
        while let Some((serial, event)) = self.inbox.next(Instant::now()) {
            if matches!(event, PipeEvent::Gone(_)) {
                self.gone.borrow_mut().insert(serial);
            }
        }
        self.numbers.clear();
        self.put_aside.borrow_mut().clear();
        let mut waiting = BTreeMap::<AgentPlace, VecDeque<Agent>>::new();
        for mut agent in std::mem::take(&mut self.agents) {
            let gone = self.gone.borrow().contains(&agent.serial) || agent.ended();
            if let Some(agent_place) = agent.agent_place.clone().filter(|_| !gone) {
                waiting.entry(agent_place).or_default().push_back(agent);
            }
        }
        self.gone.borrow_mut().clear();
        waiting
    }
}

/// Ends agents, all at the same time.
fn end(mut agents: Vec<Agent>) {
    agents.iter().for_each(Agent::hang_up);
    let deadline = Instant::now() + END_TIMEOUT;
    agents.iter_mut().for_each(|agent| agent.end_until(deadline));
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::LoadPlan;
    use std::path::PathBuf;
    use std::process::Command;
    use testkit::eventually;

    /// Host for tests, which runs a shell script in place of each agent; the script reports ready for each task that it
    /// reads.
    struct Shell(&'static str);

    impl Host for Shell {
        fn name(&self) -> &str {
            "shell"
        }

        fn command(&self, _: &Path) -> Result<Command, LabError> {
            let ready = r#"echo '{"is":"ready","pid":'$$',"listening":null,"io":"x","notes":[]}'"#;
            let script =
                format!(r#"echo '{{"is":"hello","wire":{}}}'; while read task; do {ready}; done"#, run::WIRE_VERSION);
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            Ok(command)
        }

        fn place(&self) -> String {
            self.0.into()
        }
    }

    /// Assigns one load for each pair of host and CPU in `to`. Returns the IDs of the processes that got the loads.
    fn hand_out(group: &mut AgentGroup, to: &[(&'static str, u32)]) -> Vec<u32> {
        let hosts: Vec<(Shell, u32)> = to.iter().map(|(place, cpu)| (Shell(place), *cpu)).collect();
        let task = |(host, cpu): &'_ (Shell, u32)| {
            let plan = Box::new(LoadPlan { cpus: vec![*cpu], ..LoadPlan::default() });
            let addr = std::net::SocketAddr::from(([127, 0, 0, 1], 1)).into();
            let (at_once, files, detailed, fine) = (false, BTreeMap::new(), false, false);
            (host.name().to_string(), AgentSpec::Load { plan, addr, at_once, files, detailed, fine })
        };
        let specs: Vec<_> = hosts.iter().map(task).collect();
        let tasks = hosts.iter().zip(specs).map(|((host, _), (name, spec))| Task { host, name, spec });
        group.assign(Path::new("sh"), &tasks.collect::<Vec<_>>()).unwrap();
        group.await_ready(Duration::from_secs(20)).unwrap();
        group.pids()
    }

    fn is_there(pid: u32) -> bool {
        PathBuf::from(format!("/proc/{pid}")).exists()
    }

    #[test]
    fn the_next_task_goes_to_an_agent_that_waits_at_its_place() {
        let mut group = AgentGroup::default();
        let first = hand_out(&mut group, &[("a", 0), ("b", 0)]);
        let second = hand_out(&mut group, &[("b", 0), ("a", 0), ("a", 0)]);
        assert_eq!([second[0], second[1]], [first[1], first[0]]);
        assert!(!first.contains(&second[2]));
        let third = hand_out(&mut group, &[("a", 1), ("a", 0)]);
        assert!(!second.contains(&third[0]), "one that confined itself to other CPUs does not");
        assert!(second[1..].contains(&third[1]));
        assert!(!is_there(second[0]), "who finds no task is ended before the trial begins");
        drop(group);
        assert!(third.iter().all(|pid| !is_there(*pid)));
    }

    #[test]
    fn a_waiting_agent_that_died_is_replaced() {
        let mut group = AgentGroup::default();
        let first = hand_out(&mut group, &[("a", 0)])[0];
        testkit::signal(first, "KILL");
        // `eventually` repeats the check until the kernel has removed the killed process.
        eventually(|| group.agents[0].ended().then_some(()));
        let second = hand_out(&mut group, &[("a", 0)])[0];
        assert!(first != second && is_there(second));
    }
}
