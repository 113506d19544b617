//! Repeated tasks of the sampler. The more CPU time a repetition costs, the longer is the pause until the next one.

/// Largest rate of a task: the share of a CPU that the task may use, and the minimum pause before its next repetition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Share of a CPU that the task may use, 0 to 1.
    share: f64,
    /// Minimum pause between two repetitions of the task, nanoseconds.
    min_pause_ns: f64,
}

/// Pace of the rounds (readings of all threads). Together, all paces in this file and the sampling of running threads
/// (0.24 %) may use 0.99 % of a CPU. At 100 rounds a second, a wait that lasts 1 % of the time is seen about once a
/// second.
const ROUNDS: Pace = Pace { share: 0.003, min_pause_ns: 10e6 };
/// Pace of the first rounds of a measurement. A measurement may last only a second, and judge needs at least four equal
/// samples of a lock's holder (`HOLDER_SURE`).
const FIRST_ROUNDS: Pace = Pace { share: 0.012, min_pause_ns: 10e6 };
/// Number of rounds at the pace [`FIRST_ROUNDS`]: twice as many as the samples that judge needs.
const FIRST_ROUNDS_COUNT: u64 = 8;
/// Pace of reading all connections.
pub(super) const CONNECTIONS: Pace = Pace { share: 0.001, min_pause_ns: 50e6 };
/// Pace of reading only the clients' connections.
pub(super) const CLIENTS: Pace = Pace { share: 0.001, min_pause_ns: 50e6 };
/// Pace of the search through all processes of the machine.
pub(super) const SEARCH: Pace = Pace { share: 0.0005, min_pause_ns: 1e9 };
/// Pace of reading the lists of children, which show processes that were started since the last search. Each list takes
/// some 10 µs.
pub(super) const CHILDREN: Pace = Pace { share: 0.0002, min_pause_ns: 50e6 };
/// Pace of reading stacks to find the names of futexes.
pub(super) const NAMING: Pace = Pace { share: 0.0003, min_pause_ns: 0.0 };
/// Pace of reading the stacks of all waiting threads.
pub(super) const STACKS: Pace = Pace { share: 0.001, min_pause_ns: 50e6 };
/// Pace of reading the threads that hold a lock. The stacks of these threads say more about a lock than all other
/// stacks.
pub(super) const HOLDERS: Pace = Pace { share: 0.0005, min_pause_ns: 10e6 };
/// Pace of listing all locks on files. Here, the share limits the wall-clock time, not the CPU time, because no program
/// can lock a file while the kernel makes the list.
pub(super) const FILE_LOCKS: Pace = Pace { share: 0.01, min_pause_ns: 50e6 };

/// Returns the pace of the round that follows `rounds` rounds of the measurement.
pub(super) const fn of_rounds(rounds: u64) -> Pace {
    if rounds < FIRST_ROUNDS_COUNT { FIRST_ROUNDS } else { ROUNDS }
}

/// A task that the sampler repeats. The more CPU time a repetition costs, the longer is the pause until the next one.
#[derive(Debug, Default)]
pub(super) struct Paced {
    /// Time of the next repetition, nanoseconds.
    pub(super) due_ns: u64,
}

impl Paced {
    /// Returns true if the task is due.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns
    }

    /// Plans the next repetition of a task. The task took `cost_ns` of CPU time. `stretch` multiplies the pause before
    /// the next repetition.
    pub(super) fn done(&mut self, now_ns: u64, cost_ns: u64, pace: Pace, stretch: f64) {
        let pause_ns = (cost_ns as f64 / pace.share).max(pace.min_pause_ns) * stretch;
        self.due_ns = now_ns.saturating_add(pause_ns as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_costly_task_is_repeated_less_often() {
        let mut task = Paced::default();
        assert!(task.is_due(0));
        task.done(0, 1_000_000, CLIENTS, 1.0);
        assert!(!task.is_due(999_999_999) && task.is_due(1_000_000_000), "1 ms in each second");
        task.done(0, 10, CLIENTS, 0.5);
        assert!(!task.is_due(24_999_999) && task.is_due(25_000_000), "half of the minimum pause");
    }

    #[test]
    fn all_tasks_together_use_less_than_a_hundredth_of_a_cpu() {
        let all = [ROUNDS, CONNECTIONS, CLIENTS, SEARCH, CHILDREN, NAMING, STACKS, HOLDERS];
        let share: f64 = all.iter().map(|pace| pace.share).sum();
        assert!(share + 0.0024 < 0.01, "{share}");
    }

    /// A round that reads 40 threads takes 0.7 ms of CPU time.
    #[test]
    fn a_measurement_of_a_second_has_enough_rounds_and_a_long_one_costs_little() {
        let rounds_in = |window_ns: u64| {
            let (mut round, mut rounds) = (Paced::default(), 0);
            while round.due_ns < window_ns {
                rounds += 1;
                round.done(round.due_ns, 700_000, of_rounds(rounds), 1.0);
            }
            rounds
        };
        let (short, long) = (rounds_in(1_000_000_000), rounds_in(100_000_000_000));
        assert!(short >= FIRST_ROUNDS_COUNT, "{short} rounds");
        assert!(long as f64 * 700_000.0 < 1.02 * 0.003 * 100e9, "{long} rounds");
    }
}
