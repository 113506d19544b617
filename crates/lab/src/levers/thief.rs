//! Threads, one a CPU, that take a share of its time in short pieces while their slots are on.
//!
//! In the other slots they wake as often and take nothing: that the thread on a CPU changes twice a turn costs its victim 3 or 4 % more
//! than it is seen to lose, which was put down to what was taken while it was so in the slots with a theft only (the parts of nginx and its
//! generator added up to 1.16 then, medians of five in turns, and to 1.08 since).
//!
//! A CPU of which a quarter is gone in pieces that are short beside its queue is one of three quarters of the speed. What they take is
//! measured at the victim: the share of the time in which it wanted a CPU that it had one (schedstat: run over run and wait), so that a
//! lever for the other side that hits this one as well is seen. Where the victim cannot be read, and at an offered rate, where it is too
//! idle to tell, it is what the thief itself got.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Receiver;

use run::{AgentCommand, LeverPart, LeverPlan};
use sys::clock;

use super::lever::Reach;
use super::pace::Pace;

/// The share of each CPU that it takes under a closed loop.
pub(super) const DOSE: f64 = 0.25;
/// Length of a turn, nanoseconds, at least and at most: what it takes of one stops its victim for less than the requests under way last
/// the other side, which goes on meanwhile. One that took its share in the pieces of a scheduler (4 ms) would stop both sides, whichever
/// is full. Shorter ones cost the victim more than they take: each is two changes of the thread on a CPU, 10 to 20 us together.
const TURN_NS: (u64, u64) = (500_000, 4_000_000);
/// Turns in which a response takes its time, where that leaves them as long as the shortest: its quarter stops a side for a 32nd of it.
const TURNS_A_RESPONSE: f64 = 8.0;
/// What it makes up for at once where it was kept from its turns, nanoseconds.
const PIECE_NS: u64 = 2_000_000;
/// Slices that it asks for, nanoseconds: the shortest that there are.
const SLICE_NS: u64 = 100_000;
/// Shortest slot, seconds: thirty of the shortest turns. The shorter slots are, the less does a machine change its own speed between one
/// and the next: half of an interval of nginx was 0.11 with 60 ms, 0.11 with 30 and 0.07 with 15 (medians of five in turns).
pub(super) const SLOT_S: f64 = 0.015;

/// A plan whose slots are still to be filled in.
pub(super) fn plan(lever: &str, cpus: &[u32], pids: &[u32], reach: &Reach) -> LeverPlan {
    let (share, turn_ns) = (reach.share, turn_ns(reach.response_s));
    LeverPlan { lever: lever.into(), cpus: cpus.to_vec(), pids: pids.to_vec(), share, turn_ns, ..LeverPlan::default() }
}

/// How long turns are where a response takes so long.
fn turn_ns(response_s: f64) -> u64 {
    ((response_s * 1e9 / TURNS_A_RESPONSE) as u64).clamp(TURN_NS.0, TURN_NS.1)
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
    let taken = theft.taken();
    let of_victims = plan.share == 0.0;
    let speed = seen.iter().zip(&taken).map(|((speed, _), taken)| speed.filter(|_| of_victims).unwrap_or(1.0 - taken));
    Ok(LeverPart { speed: speed.collect(), wanted: seen.iter().map(|(_, wanted)| *wanted).collect(), taken })
}

impl Theft {
    /// One thread, through all slots.
    fn spin(&self, cpu: u32) {
        let plan = &self.pace.plan;
        if sys::limits::confine_to_cpus(&[cpu]).is_err() {
            return;
        }
        // Where they are refused its pieces come later and are longer.
        let _ = (sys::limits::ask_for_slices(SLICE_NS), sys::limits::exact_timers());
        for (slot, on) in plan.on.iter().enumerate() {
            let (begin, end) = self.pace.whole_ns(slot);
            if !self.pace.sleep_until(begin) {
                return;
            }
            let before = clock::thread_cpu_ns();
            self.turns(begin, end, if *on { self.share() } else { 0.0 });
            if *on {
                self.taken_ns[slot].fetch_add(clock::thread_cpu_ns() - before, Relaxed);
            }
        }
    }

    fn share(&self) -> f64 {
        if self.pace.plan.share > 0.0 { self.pace.plan.share } else { DOSE }
    }

    /// Busy for a share of each turn, or awake at each of them only.
    fn turns(&self, begin_ns: u64, end_ns: u64, share: f64) {
        let length_ns = self.pace.plan.turn_ns.max(TURN_NS.0);
        let (before, mut turn_ns) = (clock::thread_cpu_ns(), begin_ns.max(clock::monotonic_ns()));
        let first_ns = turn_ns;
        while turn_ns < end_ns && !self.pace.stopped() {
            turn_ns = (turn_ns + length_ns).max(clock::monotonic_ns());
            let now = clock::thread_cpu_ns();
            let due = before + (share * (turn_ns - first_ns) as f64) as u64;
            while clock::thread_cpu_ns() < due.min(now + PIECE_NS) {
                std::hint::spin_loop();
            }
            clock::sleep_until_ns(turn_ns.min(end_ns));
        }
    }

    /// The speed of the victims in each slot, where they can be read, and what they [`wanted`].
    fn watch(&self, commands: &Receiver<AgentCommand>) -> Result<Vec<(Option<f64>, f64)>, String> {
        let look = || (probe::sched_times(&self.pace.plan.pids), clock::monotonic_ns());
        let end = |_, before: (probe::SchedTimes, u64)| {
            let (now, at_ns) = look();
            let times = now.since(&before.0);
            (times.speed(), wanted(&times, (at_ns - before.1) as f64, self.pace.plan.cpus.len()))
        };
        self.pace.measure(commands, look, end)
    }

    /// The share of the CPUs that was taken in each slot.
    fn taken(&self) -> Vec<f64> {
        let plan = &self.pace.plan;
        let room = plan.slots.slot_s * 1e9 * plan.cpus.len().max(1) as f64;
        self.taken_ns.iter().map(|ns| (ns.load(Relaxed) as f64 / room).clamp(0.0, 1.0)).collect()
    }
}

/// The share of the time in which any of the victims wanted a CPU, at most: the share of all CPUs that they had or waited for, or how
/// many ran on the mean where that is more, since what cannot use two CPUs at the same time uses half of both. Who waits for a quota
/// waits for no CPU, so waits alone say nothing of one thread.
fn wanted(times: &probe::SchedTimes, length_ns: f64, cpus: usize) -> f64 {
    let (run, wait) = (times.run_ns as f64 / length_ns.max(1.0), times.wait_ns as f64 / length_ns.max(1.0));
    ((run + wait) / cpus.max(1) as f64).max(run).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_on_two_cpus_wants_them_all_the_time_and_one_that_waits_for_its_quota_does_not() {
        let of = |run_ns, wait_ns| wanted(&probe::SchedTimes { run_ns, wait_ns }, 1000.0, 2);
        assert_eq!((of(980, 20), of(200, 790), of(1500, 900), of(0, 0)), (0.98, 0.495, 1.0, 0.0));
    }

    #[test]
    fn turns_are_as_long_as_an_eighth_of_a_response_within_their_bounds() {
        assert_eq!((turn_ns(0.000_4), turn_ns(0.02), turn_ns(10.0)), (500_000, 2_500_000, 4_000_000));
        assert_eq!((turn_ns(0.0), turn_ns(f64::NAN)), (500_000, 500_000), "not known");
    }
}
