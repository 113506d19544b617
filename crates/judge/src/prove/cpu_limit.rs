//! Kinds of a CPU limit. If throughput follows the CPU's speed, there are four possible kinds of limit. All CPUs are
//! full, one thread is full, only one thread at a time can work, or there are too few workers. The effect of the CPU's
//! speed alone does not show the kind. The kind follows from the server's CPU time, its busiest thread, and the effect
//! of fewer CPUs. A lever is a temporary change that an experiment makes, such as slowing a CPU.

use run::{Estimate, Proof, ProofTrial};

use super::estimate;
use super::watched::WatchedShare;
use crate::Facts;
use crate::context::view::View;
use crate::in_flight::places::Places;
use crate::number::{cpus, figure, percent};
use crate::signals::cpu::spins;
use crate::thresholds::{
    BUSY, FULL, FULL_MIDDLE, HALF_BUSY, LIKELY, NEARLY_FULL, ONE_AT_A_TIME, ONE_CPU, ONE_THREAD, SEVERAL_CPUS,
};
use crate::waits;

/// Effect of taking whole CPUs away from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountEffect {
    /// The effect of fewer CPUs on throughput is unknown. Either the effect was not tested, or the measurement is
    /// inexact, or other programs may have lost the CPU time instead of the server.
    Open,
    /// Throughput fell about as much as the loss of CPUs predicts.
    Follows,
    /// Throughput did not fall. At least as many CPUs remained as the server uses.
    Enough,
    /// Throughput hardly fell, although the server had fewer CPUs than it uses.
    Unchanged,
}

/// Figures of the server's CPU use that show the kind of a CPU limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CpuSigns {
    /// CPU use of the server's processes, in CPUs.
    pub(super) used: f64,
    /// Number of CPUs that the server's processes may use.
    pub(super) allowed: f64,
    /// Share of time for which the server's CPUs are busy with any program, 0 to 1.
    pub(super) busy: f64,
    /// Share of time for which programs that serve the load keep the server's CPUs busy, 0 to 1.
    pub(super) own_busy: f64,
    /// CPU use of the busiest thread, in CPUs; absent if no thread was readable.
    pub(super) thread: Option<f64>,
    /// Number of requests that the server handles at the same time; `None` if unknown.
    pub(super) places: Option<f64>,
    pub(super) count: CountEffect,
    /// True if most requests wait for a lock, and the thread that holds this lock computes.
    pub(super) lock: bool,
    /// True if much of the CPU time may belong to threads that spin while they wait for a lock.
    pub(super) spins: bool,
}

/// Kind of a CPU limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpuLimit {
    AllCpus,
    OneThread,
    /// Only one request at a time runs on a CPU, each on a different thread.
    Serial {
        /// True if the waiting threads spin, and so keep the other CPUs busy.
        spins: bool,
    },
    /// The number of workers that compute at the same time is smaller than the number of CPUs.
    Workers,
    Open,
}

impl CpuLimit {
    /// Returns the ID of the bottleneck, and true if only one request at a time runs on a CPU. Returns `None` if the
    /// kind of limit is unknown.
    pub(super) fn bottleneck(self) -> Option<(&'static str, bool)> {
        match self {
            Self::AllCpus => Some(("server-cpu", false)),
            Self::OneThread => Some(("server-single-thread", false)),
            Self::Serial { .. } => Some(("server-concurrency", true)),
            Self::Workers => Some(("server-concurrency", false)),
            Self::Open => None,
        }
    }
}

impl CpuSigns {
    /// Reads the signs of a CPU limit from the run and the experiment. Returns `None` if the server's CPU use is
    /// unknown, or if the server uses its whole CPU quota. A server that uses its whole CPU quota is limited by the
    /// quota, not by the CPUs, even if its throughput follows the CPU's speed.
    pub(super) fn of(facts: &Facts<'_>, proof: &Proof) -> Option<Self> {
        let view = facts.full_server().filter(|view| crate::context::quota::used_up(facts, view) < LIKELY)?;
        let (used, allowed) = (view.cpu_used()?, view.cpu_allowed()?);
        let threads = view.threads();
        let places = Places::of(facts).map(|places| places.places);
        let others = facts.other_processes_cpu().map(|(taken, _)| taken);
        let measured =
            count_estimate(proof).map(|(_, dose, ratio)| (dose, WatchedShare::of(facts.decisive).ratio(ratio)));
        let count = measured.map_or(CountEffect::Open, |of| count_effect(of, used, allowed, others.is_some()));
        let lock = waits::lock_of_turns(&facts.waits, &view).is_some();
        let busy = view.processors_busy().unwrap_or(used / allowed);
        let own_busy = (busy - others.unwrap_or(0.0) / allowed).max(used / allowed);
        let spins = spins(facts, &view, (used, allowed)).is_some();
        let thread = threads.first().map(|thread| thread.busy);
        Some(Self { used, allowed, busy, own_busy, thread, places, count, lock, spins })
    }

    /// Decides the kind of limit, on the assumption that throughput follows the speed of the server's CPU.
    pub(super) fn limit(&self) -> CpuLimit {
        let share = self.used / self.allowed.max(1e-9);
        match self.count {
            // Throughput did not need all the CPUs that the server uses, so the CPU time beyond one thread was mostly
            // no useful work.
            CountEffect::Unchanged if self.used >= SEVERAL_CPUS => CpuLimit::Serial { spins: true },
            CountEffect::Unchanged if self.has_one_thread() => CpuLimit::OneThread,
            CountEffect::Unchanged => CpuLimit::Serial { spins: false },
            CountEffect::Follows if self.busy >= FULL_MIDDLE => CpuLimit::AllCpus,
            CountEffect::Enough if !self.spins => self.among_idle_cpus(),
            _ if self.spins => CpuLimit::Open,
            _ if share >= FULL || self.own_busy >= FULL && share >= HALF_BUSY && !self.is_serial() => CpuLimit::AllCpus,
            // With a single CPU, all kinds of CPU limit look alike. A nearly full CPU counts as a limit of all CPUs. If
            // the CPU is not nearly full, the kind of limit is unknown.
            _ if self.allowed < SEVERAL_CPUS && self.own_busy >= FULL_MIDDLE => CpuLimit::AllCpus,
            _ if self.allowed < SEVERAL_CPUS => CpuLimit::Open,
            _ if share >= NEARLY_FULL => CpuLimit::Open,
            _ => self.among_idle_cpus(),
        }
    }

    /// Returns true if the server may use several CPUs, but the effect of fewer CPUs was not measured.
    pub(super) fn lacks_count(&self) -> bool {
        self.count == CountEffect::Open && self.allowed >= SEVERAL_CPUS
    }

    /// Decides the kind of limit of a server that leaves CPUs idle.
    fn among_idle_cpus(&self) -> CpuLimit {
        match self.thread {
            Some(_) if self.has_one_thread() => CpuLimit::OneThread,
            _ if self.busy >= FULL_MIDDLE => CpuLimit::Open,
            Some(_) if self.takes_turns() && self.used >= BUSY => CpuLimit::Serial { spins: false },
            Some(_) => CpuLimit::Workers,
            None => CpuLimit::Open,
        }
    }

    fn is_serial(&self) -> bool {
        self.has_one_thread() && self.used < SEVERAL_CPUS || self.takes_turns()
    }

    /// Returns true if the server handles about one request at a time, and uses less than two CPUs. If the number of
    /// requests is unknown, returns true if the server uses about one CPU at most.
    fn takes_turns(&self) -> bool {
        match self.places {
            Some(places) => places < ONE_AT_A_TIME && self.used < SEVERAL_CPUS,
            None => self.used <= ONE_CPU,
        }
    }

    /// Returns true if one thread is full. Also returns true if one busy thread does nearly all the work of a server
    /// that uses less than two CPUs. Returns false if most requests wait for a lock.
    fn has_one_thread(&self) -> bool {
        self.thread.filter(|_| !self.lock).is_some_and(|thread| {
            thread >= NEARLY_FULL || self.used < SEVERAL_CPUS && thread >= ONE_THREAD * self.used && thread >= BUSY
        })
    }

    /// Describes the server's CPU use in words.
    pub(super) fn sentence(&self) -> String {
        let thread = self.thread.map_or(String::new(), |busy| format!(", its busiest thread {}", percent(busy)));
        format!("the server used {} of {}{thread}", figure(self.used), cpus(self.allowed))
    }
}

/// Returns the effect of fewer CPUs: the elasticity, the share of CPUs taken away (the dose), and the factor by which
/// throughput changes. Returns `None` if no experiment measured the effect of fewer CPUs.
pub(super) fn count_estimate(proof: &Proof) -> Option<(Estimate, f64, Estimate)> {
    let mut trial = ProofTrial::of_lever(&proof.trials, run::CPU_COUNT_LEVER)?.clone();
    // The share of time in which the server's threads run or wait for a CPU bounds the effect of the CPUs' speed. The
    // share of time does not bound the effect of the number of CPUs.
    trial.levers.iter_mut().for_each(|lever| lever.wanted = None);
    let found = estimate(&trial).ok()?;
    let is_measured = found.bases.first()?.is_measured();
    is_measured.then_some((*found.elasticities.first()?, *found.doses.first()?, *found.ratios.first()?))
}

/// Compares the measured effect of fewer CPUs with the predicted effect. If the server uses more CPUs than remain,
/// throughput should fall to this share: remaining CPUs, divided by used CPUs. If enough CPUs remain for the server's
/// CPU use, throughput should not fall. If other programs ran, unchanged throughput shows nothing, because the lever
/// may have taken CPU time from these programs. `dose` is the share of the CPUs that was taken away, and `ratio` is the
/// factor by which throughput changed.
fn count_effect((dose, ratio): (f64, Estimate), used: f64, allowed: f64, beside_others: bool) -> CountEffect {
    let by_use = (allowed * (1.0 - dose) / used.max(1e-9)).min(1.0);
    let is_needed = by_use < NEARLY_FULL;
    match if is_needed { by_use } else { 1.0 - dose }.sqrt() {
        halfway if is_needed && ratio.high < halfway => CountEffect::Follows,
        halfway if beside_others || ratio.low <= halfway => CountEffect::Open,
        _ if is_needed => CountEffect::Unchanged,
        _ => CountEffect::Enough,
    }
}

/// Returns true if the server keeps its CPUs full. Callers must know from an experiment that the CPUs are not the
/// limit, so such a server merely polls.
pub(super) fn polls(view: &View<'_>) -> bool {
    view.cpu_used().zip(view.cpu_allowed()).is_some_and(|(used, allowed)| used >= FULL * allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the signs of a server on two CPUs. The first two arguments are the CPU use of the server and of its
    /// busiest thread, both in CPUs. The third argument is the number of requests that the server handles at a time.
    fn signs(used: f64, thread: f64, places: f64) -> CpuSigns {
        let (busy, count) = (f64::min((used + 0.2) / 2.0, 1.0), CountEffect::Open);
        let places = Some(places);
        CpuSigns {
            used,
            allowed: 2.0,
            busy,
            own_busy: busy,
            thread: Some(thread),
            places,
            count,
            lock: false,
            spins: false,
        }
    }

    #[test]
    fn serial_work_on_the_cpu_is_told_from_full_cpus() {
        for (signs, limit) in [
            // The values below were seen with the threads of an interpreter that has a global lock, and with arithmetic
            // under a mutex.
            (signs(0.99, 0.13, 1.1), CpuLimit::Serial { spins: false }),
            (signs(1.2, 0.3, 1.2), CpuLimit::Serial { spins: false }),
            // The values below were seen with a dispatcher that moved between two threads.
            (signs(0.93, 0.5, 1.0), CpuLimit::Serial { spins: false }),
            // The values below were seen with an event loop that was 88 % busy, and with an event loop beside a thread
            // pool.
            (signs(0.92, 0.88, 1.1), CpuLimit::OneThread),
            (signs(1.25, 0.96, 1.2), CpuLimit::OneThread),
            (signs(1.98, 0.5, 2.1), CpuLimit::AllCpus),
            (signs(1.85, 0.93, 2.1), CpuLimit::AllCpus),
            (CpuSigns { allowed: 1.0, busy: 0.93, own_busy: 0.93, ..signs(0.91, 0.91, 1.0) }, CpuLimit::AllCpus),
            (CpuSigns { allowed: 1.0, busy: 0.6, own_busy: 0.6, ..signs(0.5, 0.5, 1.0) }, CpuLimit::Open),
            // The values below were seen with several workers, each of which computes and waits.
            (signs(1.3, 0.65, 2.2), CpuLimit::Workers),
            (signs(0.5, 0.5, 1.0), CpuLimit::Workers),
            (CpuSigns { busy: 0.93, own_busy: 0.93, ..signs(1.85, 0.5, 2.0) }, CpuLimit::Open),
            (signs(1.85, 0.5, 2.0), CpuLimit::AllCpus),
            // Other programs use the rest of the CPUs, so parallel work looks like work under a lock.
            (CpuSigns { busy: 0.98, own_busy: 0.53, ..signs(1.05, 0.3, 1.2) }, CpuLimit::Open),
            (CpuSigns { busy: 0.98, own_busy: 0.53, ..signs(1.05, 0.5, 2.1) }, CpuLimit::Open),
        ] {
            assert_eq!(signs.limit(), limit, "{signs:?}");
        }
    }

    #[test]
    fn the_number_of_cpus_tells_a_server_that_spins_from_a_full_one() {
        let of = |count| CpuSigns { count, ..signs(1.98, 0.5, 1.1) }.limit();
        assert_eq!(of(CountEffect::Unchanged), CpuLimit::Serial { spins: true });
        assert_eq!((of(CountEffect::Follows), of(CountEffect::Open)), (CpuLimit::AllCpus, CpuLimit::AllCpus));
        let spins = CpuSigns { count: CountEffect::Open, spins: true, ..signs(1.98, 0.5, 1.1) };
        assert_eq!(spins.limit(), CpuLimit::Open, "a spin lock, whose waiting threads use the CPU");
        let both = CpuSigns { count: CountEffect::Unchanged, ..signs(1.84, 0.92, 1.1) };
        assert_eq!(both.limit(), CpuLimit::Serial { spins: true }, "two threads, one of which always spins");
        let idle = CpuSigns { count: CountEffect::Unchanged, ..signs(1.3, 0.4, 2.0) };
        assert_eq!(idle.limit(), CpuLimit::Serial { spins: false });
        let one = CpuSigns { count: CountEffect::Unchanged, ..signs(1.3, 0.97, 1.2) };
        assert_eq!(one.limit(), CpuLimit::OneThread);
    }

    #[test]
    fn idle_cpus_are_never_called_full() {
        for used in [0.3, 0.9, 1.1, 1.4, 1.6] {
            for places in [1.0, 1.7, 4.0] {
                for thread in [0.1, 0.5, 0.9] {
                    for count in [CountEffect::Open, CountEffect::Enough, CountEffect::Unchanged] {
                        let limit = CpuSigns { count, ..signs(used, f64::min(thread, used), places) }.limit();
                        assert_ne!(limit, CpuLimit::AllCpus, "{used} {places} {thread} {count:?}");
                    }
                }
            }
        }
    }
}
