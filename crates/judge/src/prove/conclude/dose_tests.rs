//! Tests of doses. A dose is the share of a resource that a lever (temporary change by an experiment) takes. The tests
//! cover a dose that the lever did not reach, a dose whose effect a quota hides, and a dose so large that the rest of
//! the resource becomes full.

use run::{ElasticityBasis, ProofOutcome};

use super::tests::outcome;
use super::*;
use crate::planted::proofs::*;
use crate::thresholds::UNDECIDED;

/// In this observed case, the server had 5.5 requests/s. The run had enough time for slots with a lever on the server's
/// CPU, but not for a lever on the generator's CPU.
#[test]
fn a_generator_without_slots_is_excluded_by_the_cpu_that_it_wanted() {
    let sparse = |run: Run| {
        tried_on(run, argued(sleeps()), |proof, _| {
            let mut trial = slots("server-cpu", 0.01, 0.0);
            trial.levers.retain(|lever| lever.lever == "server-cpu");
            proof.trials.push(trial);
            proof.untried.push(run::UnusedLever { lever: "client-cpu".into(), why: "too few requests".into() });
        })
    };
    let idle = sparse(sleeps());
    assert_eq!(outcome(&idle), (ProofOutcome::Supported, "server-concurrency"), "{}", idle.0.why);
    let part = idle.0.elasticities.iter().find(|part| part.lever == "client-cpu").unwrap();
    assert!(part.basis == ElasticityBasis::Wanted && part.estimate.high < 0.2, "{part:?}");
    let mut unread = sleeps();
    unread.trials.iter_mut().for_each(|trial| trial.client = run::Side::default());
    let unread = sparse(unread);
    assert_eq!(
        outcome(&unread).0,
        ProofOutcome::NotTested,
        "nothing tells what the generator wanted: {}",
        unread.0.why
    );
}

#[test]
fn a_dose_that_a_quota_hides_is_said() {
    let (proof, verdict) = hidden_by_a_quota();
    assert_eq!(outcome(&(proof.clone(), verdict)), (ProofOutcome::Inconclusive, "client-cpu"), "{}", proof.why);
    assert!(proof.why.contains("a quota hides the effect") && !proof.why.contains("instead of"), "{}", proof.why);
}

/// An earlier version of loadline printed the upper bound of the elasticity where it should print the dose.
#[test]
fn the_printed_dose_is_the_one_that_was_measured() {
    let (proof, _) = bounded();
    let measured = proof.measured.clone().unwrap();
    assert_eq!((measured.dose, proof.elasticities[0].basis), (0.25, ElasticityBasis::Wanted), "{proof:?}");
    assert!(proof.why.contains("explains at most 5.20 %") && !proof.why.contains("94.8"), "{}", proof.why);
}

/// A report on Django's own server said that its CPU "was wanted only 17.3 % of the time", although the server computed
/// for 90 % of the time.
#[test]
fn the_counters_bound_the_share_of_time_for_which_a_cpu_was_wanted() {
    let (proof, _) = misses_threads();
    let own = &proof.elasticities[0];
    assert!(own.estimate.high > 0.85 && !proof.why.contains("17"), "{own:?}: {}", proof.why);
}

/// The CPU thief (a busy loop that slows the generator) got 0.028 of a CPU instead of 0.25. An earlier version of
/// loadline excluded the generator's CPU as the limit, although the CPU thief hardly slowed the generator.
#[test]
fn a_lever_that_did_not_act_refutes_nothing() {
    let found = starved_thief("client-cpu");
    assert_eq!(outcome(&found), (ProofOutcome::Inconclusive, "client-cpu"), "{}", found.0.why);
    assert!(found.0.why.contains("2.80 %") && found.1.confidence == 0.8, "{found:?}");
    let rest = starved_thief("server-concurrency");
    assert_eq!(outcome(&rest), (ProofOutcome::NotTested, "server-concurrency"), "{}", rest.0.why);
    assert!(rest.0.why.contains("the generator's CPU"), "{}", rest.0.why);
}

/// A CPU quota limited the generator, whatever the speed of its CPU was. An earlier version of loadline wrongly
/// excluded a generator at its quota as the limit.
#[test]
fn a_generator_at_its_quota_is_not_excluded() {
    let held = crate::planted::PlantedRun::new(1000.0, 2000.0)
        .per_s(crate::planted::Who::Client, "cgroup.cpu_periods", "/gen", |_| 10.0)
        .per_s(crate::planted::Who::Client, "cgroup.cpu_throttled_periods", "/gen", |_| 8.0)
        .run();
    let found = waits(held, verdict("client-cpu", 0.8), None);
    assert_eq!(outcome(&found), (ProofOutcome::Inconclusive, "client-cpu"), "{}", found.0.why);
}

/// A process that is 93 % busy becomes the limit as soon as a lever takes a quarter of its CPU. Without the lever,
/// another process is the limit, so a faster CPU gains nothing. An earlier version of loadline concluded that the
/// nearly full process is proven to be the limit.
#[test]
fn a_lever_that_fills_its_resource_proves_nothing() {
    for used in [0.91, 0.93, 0.95, 0.97] {
        for found in [upstream_in_use(used, 0.75 / used), thread_in_use(used, 0.75 / used)] {
            let part = found.0.parts().find(|part| part.estimate.value > 0.5).unwrap();
            assert!(part.estimate.low < 0.1, "{used}: {part:?}");
            assert_eq!(outcome(&found).0, ProofOutcome::Inconclusive, "{used}: {}", found.0.why);
            assert!(found.0.why.contains("a smaller dose") && found.1.confidence <= UNDECIDED, "{}", found.0.why);
        }
    }
    let link = link_in_use(0.87, 0.86);
    assert_eq!(outcome(&link), (ProofOutcome::Inconclusive, "network-medium"), "{}", link.0.why);
    assert!(link.0.why.contains("in use only 87"), "{}", link.0.why);
}

#[test]
fn a_resource_whose_utilization_excludes_that_the_lever_filled_it_is_proven() {
    for used in [0.93, 0.98, 0.99, 1.0] {
        for found in [upstream_in_use(used, 0.753), thread_in_use(used, 0.753), link_in_use(used, 0.753)] {
            assert_eq!(found.0.outcome, ProofOutcome::Proven, "{used}: {}", found.0.why);
        }
    }
}

/// PostgreSQL starts a process per connection. An earlier version of the lever watched only processes that existed
/// before the load. These processes hardly needed the CPU, so loadline excluded the CPU as the limit.
#[test]
fn a_bound_that_throughput_contradicts_excludes_nothing() {
    let (proof, verdict) = watches_too_few();
    assert_eq!(outcome(&(proof.clone(), verdict)), (ProofOutcome::Inconclusive, "server-cpu"), "{}", proof.why);
    assert_eq!(proof.elasticities[0].basis, ElasticityBasis::Open, "{proof:?}");
    assert!(proof.why.contains("cut throughput") && proof.why.contains("other processes also use it"), "{}", proof.why);
}

/// This test repeats a situation that was observed with a quota of 0.945 CPUs on an event loop. The lever slows the
/// event loop to three quarters of its speed, so that the loop itself becomes the limit, not the quota.
#[test]
fn a_dose_that_exposes_a_close_second_limit_leaves_sure_counters_sure() {
    let quota = || crate::planted::planted("server-cpu-quota").unwrap();
    let of = |confidence| {
        tried_on(quota(), verdict("server-cpu-quota", confidence), |proof, _| {
            proof.trials.push(slots("server-cpu", 0.9, 0.02));
        })
    };
    let (proof, verdict) = of(0.95);
    assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::Inconclusive, 0.95), "{}", proof.why);
    assert!(proof.why.contains("the counters are sure"), "{}", proof.why);
    assert_eq!(of(0.7).0.outcome, ProofOutcome::Refuted);
}
