//! Tests of `compare` in virtual time, with two servers whose difference is known. On some of the simulated machines,
//! other programs use the CPU in bursts. Measurements, searches and sentences come from the same code as for live
//! servers.
//!
//! `cargo test` makes a dozen comparisons of each kind. `cargo test -p loadline-lab --test known_difference --
//! --ignored --nocapture` makes hundreds of comparisons of each kind, and prints the table in
//! `docs/explanation/compare.md`.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

use load::{Service, SimServer};
use loadline_lab::search::{Conductor, Placement, TurnsPlan, take_turns};
use run::{ComparisonOutcome, ComparisonResult, FigureRole, Intensity, Plan};
use testkit::{Drift, VirtualServer};

/// Number of comparisons for each kind of difference between the two servers.
const SEEDS: u64 = 12;
/// Number of comparisons of each kind for the long table.
const HUNDREDS: u64 = 200;
/// Maximum number of alarms in [`HUNDREDS`] comparisons of equal servers. An alarm is a comparison that reports a
/// regression.
const MAX_ALARMS: usize = 5;
/// Time of a comparison, seconds.
const BUDGET_S: f64 = 60.0;
/// Time slice of the scheduler, seconds.
const SLICE_S: f64 = 0.008;

/// A machine whose speed varies from one measurement to the next.
#[derive(Clone, Copy, Debug)]
struct Machine {
    scatter: Drift,
    beside: Beside,
}

/// Virtual machine that is alone on its host.
const QUIET: Machine = Machine { scatter: Drift { sd: 0.015, forgets_s: 0.5 }, beside: Beside::Nothing };
/// Virtual machine that shares its host with other virtual machines. On this machine, the CPU times of measurements of
/// 0.6 s vary by 4 %.
const SHARED: Machine = Machine { scatter: Drift { sd: 0.04, forgets_s: 0.5 }, beside: Beside::Bursts };
/// Relative noise in the CPU time of a measurement, from clock ticks and interrupts.
const CPU_NOISE: f64 = 0.005;

/// Programs that run at the same time as both servers.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Nothing,
    /// Bursts of 0.1 to 10 s that use 5 to 80 % of the CPU and fill about a third of the time.
    Bursts,
    /// A single burst of 1 to 10 s that uses half of the CPU, at a random moment.
    Once,
}

impl Beside {
    /// Returns the time slices that other programs take from the server's CPU.
    fn slices(self, seed: u64) -> Vec<(f64, f64)> {
        let mut random = fastrand::Rng::with_seed(seed ^ 0xbe51de);
        let mut between = |least: f64, most: f64| (least.ln() + random.f64() * (most / least).ln()).exp();
        let (mut slices, mut now_s) = (Vec::new(), 0.0);
        let mut burst = |begin_s: f64, length_s: f64, share: f64| {
            let count = (length_s / SLICE_S).ceil() as u32;
            let at = |slice: u32| begin_s + SLICE_S * f64::from(slice);
            slices.extend((0..count).map(|slice| (at(slice), at(slice) + share * SLICE_S)));
        };
        match self {
            Self::Nothing => (),
            Self::Once => burst(between(1.0, 2.0 * BUDGET_S) - 1.0, between(1.0, 10.0), 0.5),
            Self::Bursts => {
                while now_s < 1.5 * BUDGET_S {
                    now_s += between(0.3, 20.0);
                    let (length_s, share) = (between(0.1, 10.0), between(0.05, 0.8));
                    burst(now_s, length_s, share);
                    now_s += length_s;
                }
            }
        }
        slices
    }
}

/// Numbers of comparisons, by result.
#[derive(Clone, Copy, Debug, Default)]
struct Results {
    all: usize,
    /// Number of comparisons that say "slower" or "faster" for one of the values that decide the comparison.
    worded: usize,
    /// Number of comparisons that say "slower" or "faster" for the capacity.
    capacity: usize,
    /// Number of comparisons that say "slower" or "faster" for CPU time.
    cpu: usize,
    slower: usize,
    passed: usize,
    /// Number of comparisons that end with exit status 1. If the servers are equal, a comparison with exit status 1 is
    /// an alarm (docs/explanation/compare.md).
    regressed: usize,
    undecided: usize,
    /// Number of comparisons that found the capacities of both servers.
    searched: usize,
    /// Sum of the times after which comparisons ended, seconds.
    ended_after_s: f64,
    /// Sum of the smallest changes that the comparisons could have detected.
    smallest_change: f64,
}

/// Compares `seeds` pairs of servers. In each pair, the new server is slower than the old one. `slower` is the
/// difference as a share: 0.05 means 5 %.
fn results(seeds: u64, machine: Machine, slower: f64) -> Results {
    (1..=seeds).map(|seed| compared(seed, machine, slower)).fold(Results::default(), |mut sum, (c, ended_after_s)| {
        let worded = |word: ComparisonResult| {
            c.comparisons.iter().filter(move |f| f.role != FigureRole::Listed && f.word == word)
        };
        let both = || worded(ComparisonResult::Slower).chain(worded(ComparisonResult::Faster));
        sum.all += 1;
        sum.worded += usize::from(both().count() > 0);
        sum.capacity += usize::from(both().any(|f| f.figure == "capacity"));
        sum.cpu += usize::from(both().any(|f| f.figure == "server CPU per request"));
        sum.searched += usize::from(c.comparisons.iter().any(|f| f.figure == "capacity"));
        sum.slower += usize::from(worded(ComparisonResult::Slower).count() > 0);
        sum.passed += usize::from(c.outcome == ComparisonOutcome::Passed);
        sum.regressed += usize::from(c.outcome == ComparisonOutcome::Regressed);
        sum.undecided += usize::from(c.outcome == ComparisonOutcome::Undecided);
        sum.ended_after_s += ended_after_s;
        sum.smallest_change += c.smallest_change.unwrap_or(f64::NAN);
        sum
    })
}

/// Returns the random seed that belongs to a number. Seeds of neighbouring numbers are far apart, because random
/// numbers of neighbouring seeds are correlated.
fn spread(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn compared(seed: u64, machine: Machine, slower: f64) -> (run::Comparison, f64) {
    let (c, ended_after_s, _) = compared_with(seed, machine, slower, None);
    (c, ended_after_s)
}

/// Compares two servers in turns, or at the same time if `duet` is given. Also returns the time after which the
/// comparison ended, and the number of pairs.
fn compared_with(
    seed: u64,
    machine: Machine,
    slower: f64,
    duet: Option<&mut dyn Placement>,
) -> (run::Comparison, f64, usize) {
    let mut plan = Plan::default();
    plan.search.budget_s = 10.0 * BUDGET_S;
    plan.load.seed = seed;
    if let Intensity::Closed { connections, .. } = &mut plan.load.intensity {
        *connections = 16;
    }
    let slices = machine.beside.slices(seed);
    let server = |factor: f64, seed: u64| {
        let server =
            SimServer { service: Service::Constant, service_ns: (1e6 * factor) as u64, ..SimServer::default() };
        let server = VirtualServer::new(server, plan.clone(), seed).drifting(machine.scatter);
        server.disturbed(&slices).with_cpu_time(CPU_NOISE)
    };
    let (mut old, mut new) = (server(1.0, spread(2 * seed)), server(1.0 + slower, spread(2 * seed + 1)));
    let turns = TurnsPlan { first_s: [0.001; 2], budget_s: BUDGET_S, threshold: 0.03, whole_budget: false };
    let taken = take_turns([&mut old, &mut new], &turns, duet, &|| false).unwrap();
    let runs = [old, new].map(|side| {
        let mut run = run::Run { elapsed_s: BUDGET_S, ..side.run().clone() };
        run.findings.limits = judge::limits(&run);
        run
    });
    let looks = (taken.pairing, taken.looks.as_slice());
    let c = judge::compare_at(("old", &runs[..1]), ("new", &runs[1..]), 0.03, looks).unwrap();
    (c, taken.ended_after_s, taken.order.new_first.len())
}

/// Placement that moves no processes, and only records its calls. After `fails_after` moves, the placement fails.
struct Recorded {
    swaps: Vec<bool>,
    placed: bool,
    fails_after: usize,
}

impl Placement for Recorded {
    fn place(&mut self, swapped: bool) -> Result<(), String> {
        assert!(!self.placed, "the servers are moved back after each window");
        if self.swaps.len() >= self.fails_after {
            return Err("no right to do so".into());
        }
        self.swaps.push(swapped);
        self.placed = true;
        Ok(())
    }

    fn restore(&mut self) {
        self.placed = false;
    }
}

/// If two servers run at the same time, there are about twice as many measurements as in turns.
#[test]
fn servers_at_once_swap_their_cpus_and_have_more_windows() {
    let machine = Machine { beside: Beside::Bursts, ..QUIET };
    let turns = compared_with(3, machine, 0.015, None);
    let mut recorded = Recorded { swaps: Vec::new(), placed: false, fails_after: usize::MAX };
    let duet = compared_with(3, machine, 0.015, Some(&mut recorded));
    let swapped = recorded.swaps.iter().filter(|swapped| **swapped).count();
    assert!((2 * swapped).abs_diff(recorded.swaps.len()) <= 1 && !recorded.placed, "{:?}", recorded.swaps);
    assert_eq!(recorded.swaps.len(), duet.2);
    assert!(duet.1 <= BUDGET_S, "{}", duet.1);
    let per_second = |(_, ended_after_s, pairs): &(run::Comparison, f64, usize)| *pairs as f64 / ended_after_s;
    assert!(per_second(&duet) > 1.6 * per_second(&turns), "{} and {}", duet.2, turns.2);
    let mut fails = Recorded { swaps: Vec::new(), placed: false, fails_after: 3 };
    let (c, _, pairs) = compared_with(3, machine, 0.1, Some(&mut fails));
    assert!(pairs > 6 && fails.swaps.len() == 3, "{pairs}");
    assert_eq!(c.outcome, ComparisonOutcome::Regressed);
}

/// The sweep of the new server ends before the sweep of the old server, which has eight workers. The user gave no
/// limit, so the objective follows from the response times of the old server. An earlier version of loadline often used
/// another objective for the search on the new server: one from this server's own response times.
#[test]
fn both_searches_have_the_objective_of_the_old_server() {
    for seed in 1..=SEEDS {
        let mut plan = Plan::default();
        (plan.search.budget_s, plan.load.seed) = (10.0 * BUDGET_S, seed);
        let server = |workers: u32, service_ns: u64, seed: u64| {
            let server = SimServer { service: Service::Constant, service_ns, workers, ..SimServer::default() };
            VirtualServer::new(server, plan.clone(), seed)
        };
        let (mut old, mut new) = (server(8, 1_000_000, spread(2 * seed)), server(1, 3_000_000, spread(2 * seed + 1)));
        let turns = TurnsPlan { first_s: [0.001, 0.003], budget_s: BUDGET_S, threshold: 0.03, whole_budget: true };
        take_turns([&mut old, &mut new], &turns, None, &|| false).unwrap();
        let common = judge::late_us(&judge::limits(old.run()));
        for side in [&old, &new] {
            let searched: Vec<_> = side.run().trials.iter().filter(|t| t.kind == run::TrialKind::Search).collect();
            assert!(!searched.is_empty(), "seed {seed}");
            for trial in searched {
                let counted: Vec<f64> = trial.measured.tenths.over.iter().map(|over| over.limit_us).collect();
                assert_eq!(counted, common, "seed {seed}, {}", trial.label);
            }
        }
    }
}

/// Of twelve comparisons of equal servers on a quiet machine, at most two say "slower" or "faster", and most of the
/// twelve pass. None of the twelve comparisons is an alarm.
#[test]
fn equal_servers_are_the_same_and_a_tenth_is_seen_on_a_quiet_machine() {
    let equal = results(SEEDS, QUIET, 0.0);
    assert!(equal.worded <= 2 && equal.passed >= 9 && equal.searched >= 9, "{equal:?}");
    assert_eq!(equal.regressed, 0, "{equal:?}");
    let slower = results(SEEDS, QUIET, 0.1);
    assert!(slower.regressed >= 11, "{slower:?}");
    // The first interim judgement comes after a quarter of the budget.
    assert!(slower.ended_after_s < 0.5 * BUDGET_S * SEEDS as f64, "{slower:?}");
}

#[test]
fn programs_beside_equal_servers_make_no_difference_of_them() {
    for beside in [Beside::Bursts, Beside::Once] {
        let equal = results(SEEDS, Machine { beside, ..QUIET }, 0.0);
        assert!(equal.worded <= 2, "{beside:?} {equal:?}");
    }
}

/// On a shared machine, most comparisons of one minute find a change of 5 % of the CPU time. Few of these comparisons
/// show a difference between equal servers.
#[test]
fn five_percent_are_decided_on_a_shared_machine() {
    let (equal, slower) = (results(SEEDS, SHARED, 0.0), results(SEEDS, SHARED, 0.05));
    assert!(equal.worded <= 2 && slower.regressed >= 9, "{equal:?}\n{slower:?}");
}

#[test]
#[ignore = "hundreds of comparisons of a minute in virtual time: minutes"]
fn hundreds_of_comparisons() {
    let begun = std::time::Instant::now();
    let alone = Machine { beside: Beside::Nothing, ..SHARED };
    let quiet = [Beside::Nothing, Beside::Bursts, Beside::Once].map(|beside| Machine { beside, ..QUIET });
    for machine in [SHARED, alone].into_iter().chain(quiet) {
        for slower in [0.05, 0.0, 0.02, 0.1] {
            let count = if slower > 0.05 { HUNDREDS / 4 } else { HUNDREDS };
            let found = results(count, machine, slower);
            println!("{machine:?}, {} % slower: {found:?} ({:.0} s)", 100.0 * slower, begun.elapsed().as_secs_f64());
            assert!(slower > 0.0 || found.worded <= 16 && found.regressed <= MAX_ALARMS, "{found:?}");
            assert!(slower != 0.05 || 10 * found.regressed >= 9 * found.all, "{found:?}");
        }
    }
}
