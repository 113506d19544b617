//! Probabilities that single threads of the server are full.

use std::collections::BTreeMap;

use super::ServerCpu;
use crate::context::view::Task;
use crate::signals::full::full_thread;
use crate::signals::interrupts::Interrupts;
use crate::signals::{Signal, chance, spread};
use crate::thresholds::{FULL_WIDTH, HINT, MOSTLY_RUNS, ONE_PLACE, ONE_THREAD};

/// A thread, or a process if threads were not read.
pub(crate) struct Thread {
    pub(crate) task: Task,
    /// Share of the time for which the thread ran.
    pub(crate) ran: Signal,
    /// Share of the time for which the thread ran or waited for a CPU.
    pub(crate) wants: Signal,
    /// Probability that the thread was not full under lighter loads; absent if unknown.
    pub(crate) had_room: Option<f64>,
    /// Probability that the load uses all the time of the thread, so that the thread has no time left for more
    /// requests.
    pub(crate) chance: f64,
}

impl ServerCpu<'_> {
    /// Returns the probability that the work of a thread does not move to other threads. If requests take turns on
    /// changing threads, the busiest thread waits while another thread runs. The wait of the busiest thread does not
    /// show a full thread if requests take turns on changing threads.
    fn stays(&self, task: &Task) -> f64 {
        let used = self.used.map_or(task.busy, |(used, _)| used);
        match used <= ONE_PLACE {
            true => chance((task.busy / used.max(task.busy).max(f64::MIN_POSITIVE) - ONE_THREAD) / FULL_WIDTH),
            false => 1.0,
        }
    }

    /// Returns the thread that is most likely full.
    pub(crate) fn thread(&self) -> Option<Thread> {
        let found = self.threads().into_iter().reduce(|a, b| if b.chance > a.chance { b } else { a })?;
        let name = found.task.name.clone();
        let seen = spread(&self.view, found.task.counter, |part| {
            part.workers().iter().find(|t| t.name == name).map(|t| t.busy)
        });
        Some(Thread { ran: found.ran.within(seen), ..found })
    }

    /// Returns the probability that each thread is full, the busiest thread first. If CPUs are free, a thread that
    /// waits for a CPU may not use them, so the wait shows a full thread. If all CPUs are full, every thread waits for
    /// a CPU. The wait for a CPU is therefore weighted by the probability that CPUs are free.
    pub(crate) fn threads(&self) -> Vec<Thread> {
        let interrupts = Interrupts::of(&self.view);
        let (free, mask) = (1.0 - self.filled(), self.view.mask());
        let mut stolen: BTreeMap<Option<u64>, Vec<f64>> = BTreeMap::new();
        let of = |task: &Task| {
            let ran = interrupts.ran(task);
            let mask = task.mask.or(mask);
            let stolen = stolen.entry(mask).or_insert_with(|| self.view.stolen_each(mask));
            let wants = full_thread(
                "time that the server's busiest thread ran or waited for a CPU",
                stolen,
                ran + task.wait.unwrap_or(0.0),
            );
            let ran = full_thread("time that the server's busiest thread ran", stolen, ran);
            let mostly = chance((ran.value - MOSTLY_RUNS) / FULL_WIDTH);
            let (runs, wanted) = (chance(ran.log_odds() + self.shift), chance(wants.log_odds() + self.shift));
            let full = runs + (wanted - runs).max(0.0) * mostly * free * self.stays(task);
            // The lighter loads are searched only for threads that may be full.
            let had_room = if full >= HINT { self.lighter.task_had_room(task) } else { None };
            let chance = self.of_load(self.by_good(full), had_room).min(self.uncrowded_most) * self.thread_in_each;
            Thread { task: task.clone(), ran, wants, had_room, chance }
        };
        self.workers.iter().map(of).collect()
    }
}
