//! CPU thief: a lever (temporary change that an experiment makes) that slows CPUs. In the time slots with the lever on,
//! one thread per CPU takes a share of the CPU's time in short pieces.
//!
//! In the time slots with the lever off, the threads wake up just as often, but use no CPU time. Each wake-up causes
//! two thread switches. These switches cost the slowed process 3 to 4 % of its speed, which the process's counters do
//! not show. In an earlier version of the thief, the threads woke up only while the lever was on. In that version, the
//! cost of the switches looked like a part of the stolen CPU time's effect. The elasticities of nginx and its generator
//! therefore added up to 1.16 instead of 1. With wake-ups in all time slots, these elasticities add up to 1.08. The
//! sums 1.16 and 1.08 are medians of five experiments with each version of the thief, in alternation.
//!
//! A CPU that loses a quarter of its time in short pieces runs at three quarters of its speed. The speed is measured at
//! the slowed process: the time for which it ran, divided by the time for which it ran or waited (schedstat). The
//! measured speed also shows whether the lever on the other side's CPUs (server or generator) slows this process. If
//! the speed cannot be measured at the process, the loss of speed is computed from the CPU time that the thief used.
//! The loss is also computed from the thief's CPU time in two cases: thief and process share a CPU quota, or the load
//! offers a fixed rate. At a fixed rate, the slowed process is mostly idle.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;

use probe::{SchedReading, SchedTimes};
use run::{AgentCommand, LeverPart, LeverPlan};
use sys::clock;

use super::lever::LeverTargets;
use super::slot_clock::SlotClock;
use super::slowed_processes::SlowedProcesses;

/// Share of each CPU that the thief takes under a closed-loop load.
pub(super) const DOSE: f64 = 0.25;
/// Shortest and longest cycle of the thief, nanoseconds. In each cycle, the thief uses the CPU once, and leaves the
/// rest of the cycle to the process. Each use must be shorter than the time for which the requests in flight keep the
/// other side (server or generator) busy. A use as long as a scheduler slice (4 ms) would stop both server and
/// generator, although only one of them is saturated. Very short cycles would cost the process more time than the thief
/// takes, because each cycle has two thread switches (10 to 20 µs together).
const TURN_NS: (u64, u64) = (500_000, 4_000_000);
/// Number of the thief's cycles within one response time, if the limits in [`TURN_NS`] allow it. With the default
/// share, one piece (a quarter of a cycle) is 1/32 of the response time.
const TURNS_PER_RESPONSE: f64 = 8.0;
/// Maximum length of one piece of CPU time, nanoseconds. After a late wake-up, the piece is longer, because it makes up
/// for missed turns.
const MAX_PIECE_NS: u64 = 2_000_000;
/// Scheduler slice that each thread requests, nanoseconds: the shortest that the kernel allows.
const SLICE_NS: u64 = 100_000;
/// Shortest time slot, seconds: thirty times the thief's shortest cycle. In short time slots, the speed of the machine
/// changes less from one time slot to the next. For nginx, the half-width of an elasticity's confidence interval was
/// 0.11 with time slots of 60 ms or 30 ms, and 0.07 with 15 ms. The half-widths 0.11 and 0.07 are medians of five
/// experiments with each length of time slot, in alternation.
pub(super) const SLOT_S: f64 = 0.015;

/// Returns the plan of a CPU thief. The time slots of the plan are filled in later.
pub(super) fn plan(lever: &str, cpus: &[u32], pids: &[u32], targets: &LeverTargets) -> LeverPlan {
    LeverPlan {
        lever: lever.into(),
        cpus: cpus.to_vec(),
        pids: pids.to_vec(),
        share: targets.share,
        victims_idle: targets.at_rate,
        turn_ns: turn_ns(targets.response_s),
        ..LeverPlan::default()
    }
}

/// Returns the length of a cycle of the thief, nanoseconds, for a load whose response time is `response_s`.
fn turn_ns(response_s: f64) -> u64 {
    ((response_s * 1e9 / TURNS_PER_RESPONSE) as u64).clamp(TURN_NS.0, TURN_NS.1)
}

/// State shared by the threads of one CPU thief.
struct Theft {
    slot_clock: SlotClock,
    /// Number of CPUs that the slowed processes may use at the same time. The number equals the number of the thief's
    /// CPUs, or is less if the processes and the thief share a CPU quota.
    room: f64,
    /// CPU time that all threads took in each time slot, nanoseconds.
    taken_ns: Vec<AtomicU64>,
}

/// Takes CPU time in the plan's time slots with the lever on, until the last time slot ends or the lever is stopped.
pub(super) fn steal(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let mut plan = plan.clone();
    if plan.cpus.is_empty() {
        // The conductor does not know the CPUs of processes on another host.
        plan.cpus = probe::cpus_of(Path::new("/"), &plan.pids);
    }
    if plan.cpus.is_empty() {
        return Err("the CPUs of the processes to slow down cannot be read".into());
    }
    let quota = shared_quota(&plan);
    let room = quota.unwrap_or(f64::INFINITY).min(plan.cpus.len() as f64);
    let taken_ns = plan.on.iter().map(|_| AtomicU64::new(0)).collect();
    let theft = Theft { slot_clock: SlotClock::new(&plan), room, taken_ns };
    let seen = std::thread::scope(|scope| {
        for cpu in &plan.cpus {
            let started = std::thread::Builder::new().spawn_scoped(scope, || theft.spin(*cpu));
            started.map_err(|e| theft.slot_clock.end_for_lack_of_threads(&e))?;
        }
        theft.watch(&commands)
    })?;
    let taken = theft.taken();
    let of_victims = !plan.victims_idle && quota.is_none();
    let speed = seen.iter().zip(&taken).map(|((speed, _), taken)| speed.filter(|_| of_victims).unwrap_or(1.0 - taken));
    let wanted = seen.iter().map(|(_, wanted)| *wanted).collect();
    Ok(LeverPart { speed: speed.collect(), wanted, ordered: Some(theft.share()), taken, ..LeverPart::default() })
}

/// Returns the number of CPUs of a quota that the slowed processes and this thief share; `None` without such a quota. A
/// process that waits for its quota does not count as waiting for a CPU. If the thief shares the quota, schedstat
/// therefore does not show the time that it takes.
fn shared_quota(plan: &LeverPlan) -> Option<f64> {
    let own = probe::CpuQuota::of_process(std::process::id())?;
    let of_victim = probe::CpuQuota::of_process(*plan.pids.first()?)?;
    (own.file == of_victim.file).then_some(own.cpus)
}

impl Theft {
    /// Runs one thread of the thief through all time slots.
    fn spin(&self, cpu: u32) {
        let plan = &self.slot_clock.plan;
        if sys::limits::confine_to_cpus(&[cpu]).is_err() {
            return;
        }
        // If the kernel refuses the short slices or the exact timers, the pieces of CPU time come later and are longer.
        let _ = (sys::limits::ask_for_slices(SLICE_NS), sys::limits::exact_timers());
        for (slot, on) in plan.on.iter().enumerate() {
            let (begin, end) = self.slot_clock.whole_ns(slot);
            if !self.slot_clock.sleep_until(begin) {
                return;
            }
            let before = clock::thread_cpu_ns();
            self.turns(begin, end, if *on { self.share_of_cpu() } else { 0.0 });
            if *on {
                self.taken_ns[slot].fetch_add(clock::thread_cpu_ns() - before, Relaxed);
            }
        }
    }

    /// Returns the share of the processes' CPU time that the thief must take, 0 to 1.
    fn share(&self) -> f64 {
        if self.slot_clock.plan.share > 0.0 { self.slot_clock.plan.share } else { DOSE }
    }

    /// Returns the share of each CPU's time that the thief must take, 0 to 1.
    fn share_of_cpu(&self) -> f64 {
        self.share() * self.room / self.slot_clock.plan.cpus.len().max(1) as f64
    }

    /// Uses a CPU for a share of each turn. If the share is 0, the thread only wakes up once per turn.
    fn turns(&self, begin_ns: u64, end_ns: u64, share: f64) {
        let length_ns = self.slot_clock.plan.turn_ns.max(TURN_NS.0);
        let (before, mut turn_ns) = (clock::thread_cpu_ns(), begin_ns.max(clock::monotonic_ns()));
        let first_ns = turn_ns;
        while turn_ns < end_ns && !self.slot_clock.stopped() {
            turn_ns = (turn_ns + length_ns).max(clock::monotonic_ns());
            let now = clock::thread_cpu_ns();
            let due = before + (share * (turn_ns - first_ns) as f64) as u64;
            while clock::thread_cpu_ns() < due.min(now + MAX_PIECE_NS) {
                std::hint::spin_loop();
            }
            clock::sleep_until_ns(turn_ns.min(end_ns));
        }
    }

    /// Returns two values for each slot. The first value is the speed of the slowed processes, if known. The second
    /// value is the share of time in which these processes needed a CPU ([`wanted`]). Only processes that exist at the
    /// start of a slot are read, both at its start and at its end. If this thread missed a slot, the speed and the
    /// share are both NaN (not a number).
    fn watch(&self, commands: &Receiver<AgentCommand>) -> Result<Vec<(Option<f64>, f64)>, String> {
        let slowed = SlowedProcesses::new(&self.slot_clock.plan.pids);
        let look = |pids: &[u32]| (SchedReading::of(pids), clock::monotonic_ns());
        let begin = || {
            let pids = slowed.pids();
            (look(&pids), pids)
        };
        let end = |_, (before, pids): ((SchedReading, u64), Vec<u32>)| {
            let (now, at_ns) = look(&pids);
            let times = now.since(&before.0);
            (times.speed(), wanted(&times, (at_ns - before.1) as f64, self.room))
        };
        let seen = self.slot_clock.measure(commands, begin, end)?;
        Ok(seen.into_iter().map(|of_slot| of_slot.unwrap_or((Some(f64::NAN), f64::NAN))).collect())
    }

    /// Returns the share of the usable CPU time (`room`) that the thief took in each time slot, 0 to 1.
    fn taken(&self) -> Vec<f64> {
        let plan = &self.slot_clock.plan;
        let room = plan.slots.slot_s * 1e9 * self.room.max(1e-3);
        self.taken_ns.iter().map(|ns| (ns.load(Relaxed) as f64 / room).clamp(0.0, 1.0)).collect()
    }
}

/// Returns the share of time in which the slowed processes needed a CPU, 0 to 1. The result is the larger of two
/// values. One value is the share of all CPUs that the processes used or waited for. The other value is the mean number
/// of running threads, at most one. Waiting times alone are not enough, because a process that waits for its quota is
/// not counted as waiting for a CPU.
fn wanted(times: &SchedTimes, length_ns: f64, cpus: f64) -> f64 {
    let (run, wait) = (times.run_ns as f64 / length_ns.max(1.0), times.wait_ns as f64 / length_ns.max(1.0));
    ((run + wait) / cpus.max(1e-3)).max(run).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_on_two_cpus_wants_them_all_the_time_and_one_that_waits_for_its_quota_does_not() {
        let share = |run_ns, wait_ns| wanted(&SchedTimes { run_ns, wait_ns }, 1000.0, 2.0);
        assert_eq!((share(980, 20), share(200, 790), share(1500, 900), share(0, 0)), (0.98, 0.495, 1.0, 0.0));
        let of_quota = wanted(&SchedTimes { run_ns: 190, wait_ns: 0 }, 1000.0, 0.2);
        assert!((of_quota - 0.95).abs() < 1e-9, "a fifth of a CPU is all that it may use: {of_quota}");
    }

    #[test]
    fn turns_are_as_long_as_an_eighth_of_a_response_within_their_bounds() {
        assert_eq!((turn_ns(0.000_4), turn_ns(0.02), turn_ns(10.0)), (500_000, 2_500_000, 4_000_000));
        assert_eq!((turn_ns(0.0), turn_ns(f64::NAN)), (500_000, 500_000), "not known");
    }
}
