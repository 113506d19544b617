//! Tests of searches that reach limits of the generator (its number of connections, its pipeline), or a limit on
//! purpose of the server.

use load::{Service, SimServer};
use run::{Intensity, Plan, TrialKind};
use testkit::VirtualServer;

use crate::known::SEEDS;
use crate::models::{m_m_1, server};

#[test]
fn no_step_uses_more_connections_than_it_is_allowed() {
    let mut known = m_m_1();
    known.plan.search.max_connections = 3;
    let run = known.at(1).find().unwrap();
    let most = run.trials.iter().map(|t| t.tally.connected).max();
    assert!(run.trials.len() > 3 && most == Some(3), "{most:?} connections at once, 3 are allowed");
}

/// A single worker is full with few connections. An earlier version of loadline ended the sweep at this number of
/// connections. A server that completes 5 requests per second needs 13 s to answer 64 connections once. A step of a
/// search of 30 s cannot be so long.
#[test]
fn the_number_of_connections_that_the_user_chose_is_tried() {
    let mut plan = Plan::default();
    (plan.search.max_connections, plan.search.reach_max) = (64, true);
    let tried = |run: &run::Run| {
        let sizes = run.trials.iter().filter(|t| t.kind == TrialKind::Sweep).map(|t| &t.intensity);
        sizes.filter(|load| matches!(load, Intensity::Closed { connections: 64, .. })).count()
    };
    let find = |service_us: u64, budget_s: f64, seed: u64| plan_of(&plan, budget_s, service_us, seed).find().unwrap();
    for seed in 1..=SEEDS {
        for budget_s in [10.0, 30.0] {
            let run = find(2_000, budget_s, seed);
            assert_eq!(tried(&run), 1, "{budget_s} s, seed {seed}: {:?}", run.notes);
            let capacity = run.findings.capacity.as_ref().unwrap();
            assert!((0.85..=1.05).contains(&(capacity.rate / 500.0)), "{budget_s} s, seed {seed}: {capacity:?}");
        }
    }
    let slow = find(200_000, 30.0, 1);
    assert_eq!(tried(&slow), 0);
    assert!(slow.notes.iter().any(|note| note.text.starts_with("64 connections (--connections) were not tried")));
}

/// Each worker keeps its connection, as the processes of Apache do: for 100 requests, and for 5 s without a request. A
/// request on a connection without a worker waits, although other workers have nothing to do. An earlier version of
/// loadline opened 64 connections, and reported half of the capacity.
#[test]
fn a_server_with_a_connection_per_worker_gets_as_many_connections_as_workers() {
    for (workers, closes_after) in [(8, 0), (10, 0), (8, 100), (3, 100)] {
        let apache = SimServer {
            accept_at_once: false,
            keeps_connections: true,
            keep_alive_ns: 5_000_000_000,
            closes_after,
            ..server(Service::Constant, 20_000, workers)
        };
        let full = f64::from(workers) * 50.0;
        for seed in 1..=SEEDS {
            let run = VirtualServer::new(apache.clone(), Plan::default(), seed).find().unwrap();
            let capacity = run.findings.capacity.as_ref().unwrap();
            let share = capacity.rate / full;
            assert!((0.85..=1.03).contains(&share), "{workers}, {closes_after}, {seed}: {share} {capacity:?}");
            let open = run.trials.iter().filter_map(|t| match t.intensity {
                Intensity::Open { max_connections, .. } => Some(max_connections),
                _ => None,
            });
            assert!(open.clone().all(|most| most == workers), "{workers}: {:?}", open.collect::<Vec<_>>());
        }
    }
}

fn plan_of(plan: &Plan, budget_s: f64, service_us: u64, seed: u64) -> VirtualServer {
    let mut plan = plan.clone();
    plan.search.budget_s = budget_s;
    VirtualServer::new(server(Service::Constant, service_us, 1), plan, seed)
}

/// With eight connections, a server at a distance of 40 ms completes 200/s, however fast it is.
#[test]
fn connections_that_are_all_in_use_are_no_failure_of_the_server() {
    let mut plan = Plan::default();
    plan.search.max_connections = 8;
    let far = SimServer { rtt_ns: 40_000_000, ..server(Service::Exponential, 100, 4) };
    for seed in 1..=SEEDS {
        let run = VirtualServer::new(far.clone(), plan.clone(), seed).find().unwrap();
        let capacity = run.findings.capacity.as_ref().unwrap();
        let own = capacity.own_limit.unwrap_or_else(|| panic!("{capacity:?}"));
        assert!(capacity.held && capacity.failed_at.is_none() && own.connections == 8, "{capacity:?}");
        assert!((150.0..=201.0).contains(&capacity.rate), "{capacity:?}");
    }
}

/// With a pipeline of 16, sweep and open loop can reach the same rate on one connection. This rate is 1600/s: 16
/// requests per round trip of 10 ms. With only one request in flight, the open loop would reach only 100/s on its
/// single connection.
#[test]
fn the_open_loop_has_the_pipeline_of_the_sweep() {
    let mut plan = Plan::default();
    plan.load.intensity = run::Intensity::Closed { connections: 1, pipeline: 16, think: run::ThinkTime::default() };
    plan.search.max_connections = 64;
    let queue = SimServer { rtt_ns: 10_000_000, ..server(Service::Exponential, 1000, 1) };
    for seed in 1..=SEEDS {
        let run = VirtualServer::new(queue.clone(), plan.clone(), seed).find().unwrap();
        let open = run.trials.iter().filter(|t| t.kind == run::TrialKind::Search);
        assert!(open.clone().all(|t| t.intensity.pipeline() == 16 && t.tally.connected <= 4), "seed {seed}");
        let capacity = run.findings.capacity.as_ref().unwrap();
        assert!((0.9..=1.05).contains(&(capacity.rate / 1000.0)) && capacity.own_limit.is_none(), "{capacity:?}");
    }
}

/// The server takes 50 requests at a time, each for 100 ms, and refuses all others. The server's rate of good answers
/// is as constant as with a rate limit. An earlier version of loadline called the limit on requests in flight a rate
/// limit.
#[test]
fn a_limit_on_requests_in_flight_is_no_sure_rate_limit() {
    for seed in 1..=SEEDS {
        let slots = SimServer { refuses_if_full: true, rtt_ns: 1_000_000, ..server(Service::Constant, 100_000, 50) };
        let run = VirtualServer::new(slots, Plan::default(), seed).find().unwrap();
        let verdict = &run.findings.bottleneck;
        let names_both = verdict.confidence <= 0.5 && verdict.sentence.contains("requests at a time");
        assert!(verdict.id == "unknown" || names_both, "{seed}: {verdict:#?}");
    }
}
