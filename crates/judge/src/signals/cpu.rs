//! Probabilities that CPUs or threads are full, for all rules. The busy share of a CPU is a signal with the threshold
//! [`FULL_MIDDLE`]. Throughput that still grows with the load is evidence against a limit.

pub(crate) mod threads;

use run::Caveat;

use super::full::{busiest, full};
use super::good_work::good_share;
use super::interrupts::Interrupts;
use super::limit_evidence::{most_if_unseen, plateau, queue};
use super::ready::ReadyThreads;
use super::{Signal, chance, spread};
use crate::Facts;
use crate::context::lighter::LighterLoads;
use crate::context::single::{clients, good, server_of};
use crate::context::view::{Task, View};
use crate::in_flight::chain::Chain;
use crate::number::{figure, positive, ratio};
use crate::thresholds::{
    CLOSE, FULL_MIDDLE, FULL_WIDTH, HALF_BUSY, LIKELY, MAX_STOLEN, MOSTLY_RUNS, NEARLY_FULL, SEVERAL_CPUS, SUREST,
};

/// Words about a thread or CPUs that are full under lighter loads, too.
pub(crate) const WHATEVER: &str = "whatever the load, as if it polled or had other work";

/// Name of the signal of the CPU time that good answers need.
const GOOD_SHARE: &str = "share of the CPU time that good answers need";

/// Returns the probability that the server has no CPU time left, because its CPUs or one of its threads are full.
/// Returns `None` if the server's CPU use is unknown.
pub(crate) fn fullness(view: &View<'_>) -> Option<f64> {
    Some(full("", view.given(), busiest(view)?).chance())
}

/// CPU use of the server in the trial that shows which CPU is full ([`Facts::full`]).
pub(crate) struct ServerCpu<'a> {
    pub(crate) view: View<'a>,
    /// CPU use of the server's processes, and number of CPUs that they may use; absent if either is unknown.
    pub(crate) used: Option<(f64, f64)>,
    /// Share of the time of the CPUs in `used` for which the server ran, or waited for a CPU while the CPUs were busy.
    pub(crate) wants: Option<Signal>,
    /// Share of the time for which the server's CPUs were busy with work of any program.
    pub(crate) cpus: Option<Signal>,
    /// CPU use of all programs on the server's CPUs.
    pub(crate) chain: Option<Chain>,
    /// Evidence that a device is full, from the growth of throughput and from queues, as log odds. The evidence from
    /// throughput and queues is added to the log odds of each signal.
    pub(crate) shift: f64,
    workers: Vec<Task>,
    lighter: LighterLoads<'a>,
    /// Probability that the server's CPUs had idle time under lighter loads; absent if unknown.
    pub(crate) had_room: Option<f64>,
    /// Maximum probability that a thread or CPU counts as full if no lighter load shows its use without the load.
    unseen_most: f64,
    /// Maximum probability that a thread counts as full. This probability is below 1 if so few requests were in
    /// progress that none had to wait.
    uncrowded_most: f64,
    /// Probability that the server's CPUs were mostly busy in each trial near the highest rate.
    busy_in_each: f64,
    /// Probability that a thread of the server mostly ran or waited for a CPU in each trial near the highest rate.
    thread_in_each: f64,
    /// CPU time per request, divided by the CPU time per request with the fewest clients, if threads may spin: see
    /// [`spins`].
    pub(crate) spins: Option<f64>,
    /// Share of the CPUs that good answers need, if the server also refuses requests: see [`good_share`].
    pub(crate) of_good: Option<Signal>,
}

/// Returns the probability that a busy share was large in each trial near the highest rate ([`Facts::fast_trials`]).
/// Background work that starts during the sweep fills a thread or CPU only in some of these trials, so it is not the
/// limit. `share` returns the busy share of a trial.
fn in_each<'a>(facts: &Facts<'a>, share: impl Fn(&View<'a>) -> Option<f64>) -> f64 {
    let views = facts.fast_trials().into_iter().filter_map(server_of);
    let mostly = |view: View<'a>| Some(chance((share(&view)? / view.given() - MOSTLY_RUNS) / FULL_WIDTH));
    views.filter_map(mostly).fold(1.0, f64::min)
}

/// Returns the busy share of the server's CPUs, or the server's own use of its CPUs if the own use is larger. The busy
/// share includes all programs.
fn most_busy(view: &View<'_>) -> Option<f64> {
    view.processors_busy().into_iter().chain(view.cpu_share()).reduce(f64::max)
}

/// Returns the largest share of the time for which a thread of the server ran or waited for a CPU.
fn most_wanted(view: &View<'_>) -> Option<f64> {
    let interrupts = Interrupts::of(view);
    let wants = |task: &Task| interrupts.ran(task) + task.wait.unwrap_or(0.0);
    view.workers().iter().map(wants).reduce(f64::max)
}

/// Returns the CPU time per request in the view, divided by the CPU time per request with the fewest clients. Returns
/// `None` unless the ratio is so large that threads may spin while they wait for a lock, or that other work may run.
/// The server must use at least half of its CPUs (or of the CPUs of its full threads). At the smaller CPU time per
/// request, it would use less than half of them. Requests on neighbouring hyper-threads slow each other down, too, but
/// to no less than half of the speed.
pub(crate) fn spins(facts: &Facts<'_>, view: &View<'_>, (used, allowed): (f64, f64)) -> Option<f64> {
    let one = facts.unloaded.filter(|one| !std::ptr::eq(*one, view.trial))?;
    let each_s = ratio(server_of(one)?.cpu_used()?, positive(good(one))?)?;
    let needed = each_s * good(view.trial);
    let full_threads = view.threads().iter().filter(|thread| thread.busy >= NEARLY_FULL).count() as f64;
    let room = if full_threads >= SEVERAL_CPUS { allowed.min(full_threads) } else { allowed };
    (needed < HALF_BUSY * room && used >= HALF_BUSY * room).then(|| ratio(used, needed)).flatten()
}

/// Returns a caveat that limits the confidence to at most `most`. `why` is the reason that the report gives.
fn less_sure(most: f64, why: &str) -> Caveat {
    Caveat { most, words: format!("; less sure because {why}"), always_told: false }
}

/// Returns the signal of the CPU time that the server ran or waited for, as a share of the CPUs that it may use.
/// `waited` is the time for which its threads were ready to run but had no CPU, in CPUs. `busy` is the busy share of
/// the CPUs with work of all programs; absent if unknown.
fn wanted_share(view: &View<'_>, (used, allowed): (f64, f64), waited: f64, busy: Option<f64>) -> Signal {
    // A hypervisor that takes most of the time leaves no CPU idle, and the server runs for the rest of the time.
    let withheld = view.withheld();
    let (given, waited_for_host) = if withheld > MAX_STOLEN { (1.0, withheld) } else { (view.given(), 0.0) };
    let most = busy.unwrap_or(1.0) * allowed;
    let wanted = used + waited + waited_for_host * allowed;
    full("CPU time that the server ran or waited for", given, wanted.min(most).max(used) / allowed).within(spread(
        view,
        "process.cpu",
        |part| Some(part.processes().iter().map(|p| p.busy).sum::<f64>() / allowed),
    ))
}

impl<'a> ServerCpu<'a> {
    /// Reads the signals of the server's CPU use. Returns `None` if nothing on the server's side could be read.
    pub(crate) fn of(facts: &Facts<'a>) -> Option<Self> {
        let view = facts.full_server()?;
        let workers = view.workers();
        let used = view.cpu_used().zip(view.cpu_allowed()).filter(|(_, allowed)| *allowed > 0.0);
        let busy = view.processors_busy();
        // If server and generator share CPUs, they make each other wait, so only the time for which the server ran is
        // used.
        let waited = if facts.shared() { 0.0 } else { workers.iter().filter_map(|t| t.wait).sum() };
        let wants = used.map(|used| wanted_share(&view, used, waited, busy));
        let cpus = busy.map(|busy| Signal::new("busy share of the server's CPUs", busy, (FULL_MIDDLE, FULL_WIDTH)));
        // If an upstream fills the CPUs, the server waits for this upstream, so full CPUs do not show that the server
        // lacks CPU time.
        let is_lacking = !crate::in_flight::upstreams::fills_cpus(facts);
        let chain = is_lacking.then(|| Chain::of(&view)).flatten();
        let shift = plateau(facts) + queue(facts);
        let (lighter, unseen_most) = (facts.lighter_than(&view), most_if_unseen(facts));
        let had_room = lighter.had_room(View::cpu_share);
        let is_crowded = facts.limited() || used.is_none_or(|(used, _)| clients(view.trial) >= used + 1.0);
        let uncrowded_most = if is_crowded { 1.0 } else { CLOSE };
        let (busy_in_each, thread_in_each) = (in_each(facts, most_busy), in_each(facts, most_wanted));
        let spins = used.and_then(|used| spins(facts, &view, used));
        let of_good = good_share(facts, &view).map(|share| full(GOOD_SHARE, view.given(), share));
        Some(Self {
            view,
            used,
            wants,
            cpus,
            chain,
            shift,
            workers,
            lighter,
            had_room,
            unseen_most,
            uncrowded_most,
            busy_in_each,
            thread_in_each,
            spins,
            of_good,
        })
    }

    /// Describes in words that the server's threads may spin; empty if they do not.
    pub(crate) fn spinning(&self) -> String {
        self.spins.map_or(String::new(), |growth| {
            format!(
                "; a request costs {} times the CPU time that it costs with the fewest clients, so threads may spin, \
                 or other work may run beside the requests",
                figure(growth)
            )
        })
    }

    /// Returns the probability that the server needs all the time of its CPUs for the measured load.
    pub(crate) fn own(&self) -> f64 {
        self.of_server(self.wants.map_or(0.0, |wants| chance(wants.log_odds() + self.shift)))
    }

    /// Returns the probability that the server's CPUs are fully in use because of the load. `full` is the probability
    /// that the CPUs are fully in use for any reason.
    fn of_server(&self, full: f64) -> f64 {
        let full = if self.spins.is_some() { full.min(LIKELY) } else { full };
        self.of_load(self.by_good(full), self.had_room) * self.busy_in_each
    }

    /// Returns the probability that good answers, and not only refusals, use up a thread or CPUs. `full` is the
    /// probability that answers of any kind use up the thread or CPUs.
    fn by_good(&self, full: f64) -> f64 {
        self.of_good.map_or(full, |of_good| full.min(chance(of_good.log_odds() + self.shift)))
    }

    /// Returns the share of the CPUs that good answers need, if refusals use up the other CPU time.
    pub(crate) fn filled_by_refusals(&self) -> Option<f64> {
        self.of_good.filter(|of_good| of_good.chance() < LIKELY).map(|of_good| of_good.value)
    }

    /// Returns the probability that a thread or CPU is full because of the measured load. `full` is the probability
    /// that the thread or CPU is full for any reason. `had_room` is the probability that the thread or CPU was not full
    /// under lighter loads.
    fn of_load(&self, full: f64, had_room: Option<f64>) -> f64 {
        had_room.map_or(full.min(self.unseen_most), |had_room| full * had_room)
    }

    /// Returns the caveat that the CPU use without load was not read. Returns `None` unless the unknown CPU use lowers
    /// `full`, the probability that the load fills a thread or CPU.
    pub(crate) fn unseen_caveat(&self, full: f64, had_room: Option<f64>) -> Option<Caveat> {
        let is_unseen = had_room.is_none() && self.unseen_most < SUREST && full >= self.unseen_most;
        is_unseen.then(|| less_sure(self.unseen_most, "its CPU use without load was not read"))
    }

    /// Returns the caveat that too few requests were in progress to show a queue for a full thread.
    pub(crate) fn uncrowded_caveat(&self) -> Option<Caveat> {
        (!self.is_crowded()).then(|| less_sure(self.uncrowded_most, "this load has no request that waits for it"))
    }

    /// Returns true if more requests are in progress than CPUs are in use, so that a request may wait for a thread.
    pub(crate) fn is_crowded(&self) -> bool {
        self.uncrowded_most >= 1.0
    }

    /// Returns the busiest thread that is full under any load. A thread that is always full polls or has other work, so
    /// nothing shows whether the measured load fills the thread.
    pub(crate) fn always_full(&self) -> Option<&Task> {
        let given = self.view.given();
        let is_full = |task: &&Task| full("", given, task.busy).chance() >= LIKELY;
        let is_always = |task: &&Task| self.lighter.task_had_room(task).is_some_and(|room| room < LIKELY);
        self.workers.iter().filter(is_full).find(is_always)
    }

    /// Returns the probability that the server's CPUs are full with work of all programs.
    pub(crate) fn filled(&self) -> f64 {
        self.cpus.map_or(0.0, |cpus| chance(cpus.log_odds() + self.shift))
    }

    /// Returns the probability that the server lacks CPU time. The server's threads are always ready to run but often
    /// do not get a CPU, because all programs together fill the CPUs.
    pub(crate) fn starved(&self) -> f64 {
        let lack = ReadyThreads::of(&self.workers).lack_cpus(self.view.given(), self.shift);
        self.busy_in_each * self.by_good(self.filled()) * lack
    }

    /// Returns the probability that server and generator together fill the CPUs that they share, and that one side is
    /// mainly responsible. The function tests the generator if `generator` is true, else the server. Returns 0 for the
    /// side that uses less CPU time. Other programs lower the returned probability. The returned probability is
    /// multiplied by a share: the CPU time of the busier side, divided by the sum of this time and the CPU time of
    /// other programs. If other programs do more than half of the work, the probability is low.
    pub(crate) fn in_sum(&self, generator: bool) -> f64 {
        let Some(chain) = self.chain.as_ref().filter(|chain| chain.busy > 0.0) else { return 0.0 };
        let (generator_cpus, serving) = (chain.generator(), chain.serving());
        if generator != (generator_cpus > serving) {
            return 0.0;
        }
        let (part, others) = (generator_cpus.max(serving), (chain.busy - generator_cpus - serving).max(0.0));
        let full = Signal::new("", chain.share(), (FULL_MIDDLE, FULL_WIDTH));
        let known = Signal::new("", (generator_cpus + serving) / chain.cpus, (HALF_BUSY, FULL_WIDTH));
        let full = chance(full.log_odds() + self.shift);
        // The generator works only for the measured load.
        let full = if generator { full } else { self.of_server(full) };
        full * chance(known.log_odds()) * part / (part + others)
    }
}
