//! Busy threads at a lower priority, one a CPU, that take CPU time while their slots are on.
//!
//! What they take is measured at the victim: the share of the time in which it wanted a CPU that it had one
//! (schedstat: run over run and wait). The thief's own CPU time would count time that nobody wanted as well, and make a
//! half idle server look slower than it was. Where the victim cannot be read, the thief's own time is all there is.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;

use run::{AgentCommand, LeverPart, LeverPlan};
use sys::clock;

use super::pace::Pace;

/// Against a thread at nice 0 this one gets 335 of 1,359 parts of a CPU (the kernel's `sched_prio_to_weight`).
const NICE: i32 = 5;
/// Turns between two looks at the clock; about 10 µs.
const TURNS: u32 = 10_000;
/// Length of a turn of a thief that takes a share, nanoseconds: short beside a response time that anybody looks at, and long beside what
/// a timer costs.
const TURN_NS: u64 = 1_000_000;
/// Slices that it asks for, nanoseconds: the shortest that there are.
const SLICE_NS: u64 = 100_000;
/// Shortest slot, seconds: several turns of the scheduler between thief and victim.
pub(super) const SLOT_S: f64 = 0.06;

/// The share of a CPU that a thief at nice 5 gets beside one busy thread.
pub(super) const NOMINAL_DOSE: f64 = 335.0 / 1359.0;

/// A plan whose slots are still to be filled in.
pub(super) fn plan(lever: &str, cpus: &[u32], pids: &[u32], share: f64) -> LeverPlan {
    // One that takes a share of a CPU goes before its victim; else it takes what a lower priority gets.
    let nice = if share > 0.0 { 0 } else { NICE };
    LeverPlan { lever: lever.into(), cpus: cpus.to_vec(), pids: pids.to_vec(), nice, share, ..LeverPlan::default() }
}

/// What the threads of one theft share.
struct Theft {
    pace: Pace,
    /// CPU time that all threads took in each slot, nanoseconds.
    taken_ns: Vec<AtomicU64>,
}

/// Steals through all slots, or until told to stop.
pub(super) fn steal(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let mut plan = plan.clone();
    if plan.cpus.is_empty() {
        // Of a host that is none of the conductor's nobody could say before.
        plan.cpus = probe::cpus_of(Path::new("/"), &plan.pids);
    }
    if plan.cpus.is_empty() {
        return Err("the CPUs of the processes that it is to slow down cannot be read".into());
    }
    let theft = Theft { pace: Pace::new(&plan), taken_ns: plan.on.iter().map(|_| AtomicU64::new(0)).collect() };
    let seen = std::thread::scope(|scope| {
        for cpu in &plan.cpus {
            scope.spawn(|| theft.spin(*cpu));
        }
        theft.watch(&commands)
    })?;
    let speed = seen.iter().enumerate().map(|(slot, (speed, _))| theft.speed(slot, *speed)).collect();
    Ok(LeverPart { taken: theft.taken(), wanted: seen.into_iter().map(|(_, wanted)| wanted).collect(), speed })
}

impl Theft {
    /// One thread: busy in its slots, asleep in the others.
    fn spin(&self, cpu: u32) {
        let plan = &self.pace.plan;
        if sys::limits::confine_to_cpus(&[cpu]).is_err() || sys::limits::set_nice(plan.nice).is_err() {
            return;
        }
        if plan.share > 0.0 {
            let _ = (sys::limits::ask_for_slices(SLICE_NS), sys::limits::exact_timers());
        }
        for (slot, on) in plan.on.iter().enumerate() {
            let (begin, end) = self.pace.whole_ns(slot);
            if !self.pace.sleep_until(begin) {
                return;
            }
            if *on {
                let before = clock::thread_cpu_ns();
                match plan.share > 0.0 {
                    true => self.burn_share(end),
                    false => self.burn_until(end),
                }
                self.taken_ns[slot].fetch_add(clock::thread_cpu_ns() - before, Relaxed);
            }
        }
    }

    fn burn_until(&self, end_ns: u64) {
        while clock::monotonic_ns() < end_ns && !self.pace.stopped() {
            for _ in 0..TURNS {
                std::hint::spin_loop();
            }
        }
    }

    /// Busy for its share of each turn: what is that short slows whoever else is on the CPU, and stops nobody for long.
    fn burn_share(&self, end_ns: u64) {
        let need_ns = (self.pace.plan.share * TURN_NS as f64) as u64;
        let mut turn_ns = clock::monotonic_ns();
        while turn_ns < end_ns && !self.pace.stopped() {
            let before = clock::thread_cpu_ns();
            while clock::thread_cpu_ns() - before < need_ns {
                std::hint::spin_loop();
            }
            turn_ns = (turn_ns + TURN_NS).max(clock::monotonic_ns());
            clock::sleep_until_ns(turn_ns.min(end_ns));
        }
    }

    /// The speed of the victims in each slot, where they can be read, and the share of the CPUs that they wanted.
    fn watch(&self, commands: &Receiver<AgentCommand>) -> Result<Vec<(Option<f64>, f64)>, String> {
        let look = || (probe::sched_times(&self.pace.plan.pids), clock::monotonic_ns());
        let end = |_, before: (probe::SchedTimes, u64)| {
            let (now, at_ns) = look();
            let times = now.since(&before.0);
            let room = (at_ns - before.1) as f64 * self.pace.plan.cpus.len().max(1) as f64;
            let wanted = ((times.run_ns + times.wait_ns) as f64 / room.max(1.0)).min(1.0);
            (times.speed(), wanted)
        };
        self.pace.measure(commands, look, end)
    }

    /// The speed of the victims in a slot: beside one that goes before them, what that leaves of each CPU.
    fn speed(&self, slot: usize, victims: Option<f64>) -> f64 {
        let left = 1.0 - self.share(slot);
        if self.pace.plan.share > 0.0 { left } else { victims.unwrap_or(left) }
    }

    /// The share of the CPUs that was taken in a slot.
    fn share(&self, slot: usize) -> f64 {
        let plan = &self.pace.plan;
        let room = plan.slots.slot_s * 1e9 * plan.cpus.len().max(1) as f64;
        (self.taken_ns[slot].load(Relaxed) as f64 / room).clamp(0.0, 1.0)
    }

    fn taken(&self) -> Vec<f64> {
        (0..self.taken_ns.len()).map(|slot| self.share(slot)).collect()
    }
}
