//! Tests of runs whose open loop later completed far more than the plateau of the sweep. The server changed between the
//! sweep and the open loop: its code was compiled, its cache was filled, or it started more workers.

use run::{Bottleneck, Run, TrialKind};

use super::servers::uses;
use super::{PlantedRun, Point, Who};

/// Highest rate of the closed-loop sweep, requests per second.
const SWEEP: f64 = 2500.0;

/// Makes a run whose sweep stops at 2,500/s. Open loops with higher offered rates complete up to `later` per second.
fn grown(later: f64) -> PlantedRun {
    let completes = move |t: &mut run::Trial, p: &Point| {
        if t.kind == TrialKind::Search && p.offered > SWEEP {
            let rate = p.offered.min(later);
            (t.rates.completed_rate, t.rates.goodput) = (rate, rate);
            (t.measured.tally.completed, t.tally.completed) = ((2.0 * rate) as u64, (2.0 * rate) as u64);
            if rate == p.offered {
                (t.latency_us.mean, t.latency_us.p50, t.latency_us.p99) = (1700.0, 1600.0, 3000.0);
            }
        }
    };
    PlantedRun::new(1600.0, SWEEP).steps(&[1, 2, 4, 8, 16, 32]).rates(&[0.5, 0.9, 1.4, 2.0, 2.6]).change(completes)
}

/// Returns the CPU use of a server that spends 1.6 ms of CPU time on a request during the sweep, and `later_us`
/// microseconds after the sweep.
fn warms_up(p: &Point, later: f64, later_us: f64) -> f64 {
    match p.offered > p.x {
        true => (p.offered.min(later) * later_us / 1e6).min(3.98),
        false => (p.x * 1600.0 / 1e6).min(3.98),
    }
}

fn judged(planted: &PlantedRun) -> (Bottleneck, Run) {
    let mut run = planted.run();
    crate::judge(&mut run);
    (run.findings.bottleneck.clone(), run)
}

/// A Java server runs interpreted code during the sweep, which fills the CPUs. The compiled code needs half of the
/// CPUs for twice the rate, and ends at a pool of connections.
#[test]
fn full_cpus_of_a_plateau_that_the_server_later_exceeded_are_not_the_limit() {
    let (verdict, run) = judged(&uses(grown(5600.0), |p| warms_up(p, 5600.0, 430.0)));
    assert_ne!(verdict.id, "server-cpu", "{verdict:#?}");
    assert!(verdict.confidence < 0.9, "{verdict:#?}");
    let warned = run.findings.trust.warnings.iter().any(|w| w.contains("sweep") && w.contains("5,600"));
    assert!(warned, "{:?}", run.findings.trust);
}

/// PHP-FPM has four children during the sweep, and starts more of them under the later open loops.
#[test]
fn the_number_of_workers_during_the_sweep_is_not_the_limit_of_a_server_that_starts_more() {
    let mut planted = uses(grown(6400.0), |p| p.x * 2e-5)
        .level(Who::Server, "connection.receive_queue", "", 60.0)
        .level(Who::Server, "process.parent", "srv:100", 1.0);
    for pid in 201..205 {
        let name = format!("srv:{pid}");
        planted = planted
            .per_s(Who::Server, "process.cpu", &name, |p| p.x * 2.0)
            .level(Who::Server, "process.parent", &name, 100.0)
            .change(move |t, _| t.server.iter_mut().for_each(|s| s.processes.push(name.clone())));
    }
    let (verdict, _) = judged(&planted);
    assert!(verdict.confidence < 0.9 && !verdict.sentence.contains("4 children"), "{verdict:#?}");
    assert!(!verdict.advice.iter().any(|advice| advice.contains("children")), "{verdict:#?}");
}

/// A server whose CPUs are full in the open loop, too, is limited by its CPUs both before and after the warm-up.
#[test]
fn cpus_that_are_full_after_the_warm_up_are_the_limit() {
    let (verdict, _) = judged(&uses(grown(5600.0), |p| warms_up(p, 5600.0, 710.0)));
    assert!(verdict.id == "server-cpu" && verdict.confidence >= 0.8, "{verdict:#?}");
}

/// An open loop that completed 40 % more than the sweep, with half of the CPUs, does not show what limits the server.
#[test]
fn cpus_with_room_in_a_faster_open_loop_are_no_sure_limit() {
    let verdict = |later_us: f64| judged(&uses(grown(3500.0), move |p| warms_up(p, 3500.0, later_us))).0;
    let (room, full) = (verdict(550.0), verdict(1140.0));
    assert!(room.confidence <= 0.75, "{room:#?}");
    assert!(full.id == "server-cpu" && full.confidence >= 0.9, "{full:#?}");
}

/// An open loop that completed hardly more than the sweep does not change the plateau of the sweep.
#[test]
fn a_plateau_that_an_open_loop_hardly_exceeds_stays_the_limit() {
    let (verdict, run) = judged(&uses(grown(2600.0), |p| warms_up(p, 2600.0, 1600.0)));
    assert!(verdict.id == "server-cpu" && verdict.confidence >= 0.9, "{verdict:#?}");
    assert!(run.findings.knee.is_some());
}
