//! The search for a capacity in users against a closed queue whose capacity is known exactly, in virtual time.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

use load::SimServer;
use run::{Intensity, Plan, ThinkTime};
use testkit::VirtualServer;
use testkit::queueing::users_tail;

/// One server of 1 ms in the mean; a 99th percentile of 30 ms; users who think 400 ms in the mean.
const SERVICE_S: f64 = 0.001;
const LIMIT_S: f64 = 0.03;
const THINK_S: f64 = 0.4;
const SEEDS: u64 = 12;

fn plan() -> Plan {
    let mut plan = Plan::default();
    plan.objective.p99_us = Some(LIMIT_S * 1e6);
    (plan.search.users, plan.search.max_connections) = (true, 5000);
    let think = ThinkTime { mean_ms: THINK_S * 1e3, exponential: true };
    plan.load.intensity = Intensity::Closed { connections: 1, pipeline: 1, think };
    plan
}

/// Most users of whose requests at most one in a hundred takes longer than the limit.
fn exact() -> u32 {
    (1..5000).take_while(|users| users_tail(*users, THINK_S, SERVICE_S, LIMIT_S) <= 0.01).last().unwrap()
}

#[test]
fn users_who_think_are_counted_as_many_as_the_closed_queue_takes() {
    let exact = f64::from(exact());
    let brackets: Vec<(f64, f64)> = (1..=SEEDS)
        .map(|seed| {
            let run = VirtualServer::new(SimServer::default(), plan(), seed).find_users().unwrap();
            let users = run.findings.users.clone().unwrap();
            assert!(run.trials.iter().all(|t| t.label.contains("user")), "no open loop stands beside it");
            (f64::from(users.held.unwrap()) / exact, f64::from(users.failed.unwrap()) / exact)
        })
        .collect();
    println!("exact {exact}, found {brackets:.3?}");
    let middles: Vec<f64> = brackets.iter().map(|(held, failed)| (held * failed).sqrt()).collect();
    let mean = middles.iter().sum::<f64>() / middles.len() as f64;
    // A p99 of a window of a second scatters, so single brackets lie some percent beside the capacity.
    assert!((mean - 1.0).abs() < 0.08, "{mean} {middles:?}");
    assert!(middles.iter().all(|ratio| (ratio - 1.0).abs() < 0.25), "{middles:?}");
}
