//! Tests of the resources that limit the server next, and of the bounds that a light load shows.

use run::Change;

use super::model::Model;
use super::tests::full;
use super::what_if;
use crate::planted::{PlantedRun, Who};

/// The list begins with the resource that is full first. To double the capacity, about twice as much of the first
/// listed resource is needed.
#[test]
fn to_double_names_resources_in_the_order_in_which_they_stop_the_server() {
    let needed = full().findings.what_if;
    assert!(needed.first().is_some_and(|n| (1.7..2.4).contains(&n.factor)), "{needed:#?}");
    assert!(needed.windows(2).all(|w| w[0].factor >= w[1].factor && w[0].reaches <= w[1].reaches), "{needed:#?}");
}

/// Asks `what-if` about the resources that the report lists under "To double this". With each further listed resource,
/// the server reaches the predicted rate, and in the end the capacity doubles.
#[test]
fn the_change_that_is_said_to_double_the_rate_doubles_it_in_what_if() {
    let threads = |busy: u32| {
        let cpu = |p: &crate::planted::Point| p.x / 400.0 * 1e6;
        let planted = PlantedRun::new(2500.0, 400.0).per_s(Who::Server, "process.cpu", "srv:100", cpu);
        let planted = planted.none(Who::Server, "thread.cpu");
        let planted = (0..busy).fold(planted, |planted, i| {
            let share = move |p: &crate::planted::Point| p.x / 400.0 * 1e6 / f64::from(busy);
            planted.per_s(Who::Server, "thread.cpu", &format!("srv:100/{}", 100 + i), share)
        });
        // The server misses the objective at a rate at which no resource is full yet.
        let mut run = planted.level(Who::Server, "process.cpus_allowed", "srv:100", 1.0).run();
        run.plan.objective.p99_us = Some(50_000.0);
        crate::judge(&mut run);
        run
    };
    for run in [full(), threads(1), threads(2)] {
        let (needed, today) = (&run.findings.what_if, run.findings.capacity.as_ref().unwrap().rate);
        assert!(!needed.is_empty(), "{}", run.findings.bottleneck.id);
        let mut change = Change { users: Some(512), ..Change::default() };
        for (at, one) in needed.iter().enumerate() {
            let now =
                Model::of(&crate::Facts::of(&run), &run.trials[run.findings.picks.decisive.unwrap()], "").unwrap();
            let cpu = now.server_cpu.unwrap();
            match one.id.as_str() {
                "server-cpu" => change.server_cpus = Some(one.factor * cpu.cpus),
                "server-single-thread" => change.workers = Some((one.factor * cpu.threads).ceil() as u32),
                // `what-if` has no change that adds CPUs to the generator, so the test ends here.
                "client-cpu" => break,
                other => panic!("{other}"),
            }
            let then = what_if(&run, &change).unwrap().capacity.value;
            assert!(then > 0.97 * one.reaches, "{at}: {then} with {change:?}, and {needed:#?}");
            if at + 1 == needed.len() {
                assert!((then / today / 2.0 - 1.0).abs() < 0.05, "{then} of {today}: {needed:#?}");
            }
        }
    }
}

/// The next bottleneck and the answer of `what-if` are computed from one queueing network. The next bottleneck and
/// `what-if` give a resource the same limit, and no measured rate exceeds this limit.
#[test]
fn the_next_bottleneck_and_what_if_name_one_ceiling_that_no_measured_rate_passes() {
    let mut compared = 0;
    // The first of the two compared runs is unchanged. In the second of the compared runs, the generator uses more than
    // half of its thread.
    let busy = |p: &crate::planted::Point| p.x / p.capacity * 0.6e6;
    let both = |planted: &crate::planted::Planted| {
        let alone = (planted.plant)();
        let beside = (planted.plant)().per_s(Who::Client, "process.cpu", "loadline:50", busy).per_s(
            Who::Client,
            "thread.cpu",
            "shard0:50/51",
            busy,
        );
        [alone.run(), beside.run()]
    };
    for (planted, mut run) in crate::planted::PLANTED.iter().flat_map(|p| both(p).map(|run| (p, run))) {
        crate::judge(&mut run);
        let most = run.findings.outcomes.iter().filter_map(|o| o.good_rate).fold(0.0, f64::max);
        let same = Change { users: Some(8), ..Change::default() };
        let Ok(answer) = what_if(&run, &same) else { continue };
        for resource in &answer.resources {
            assert!(resource.limit >= (1.0 - 1e-9) * most, "{}: {resource:?} below {most}", planted.story);
        }
        let verdict = &run.findings.bottleneck;
        let named = answer.resources.iter().find(|r| r.id == verdict.id && planted.id == verdict.id);
        let ended = run.findings.knee.is_some();
        assert!(named.is_none_or(|r| !ended || r.limit <= (1.0 + 1e-9) * most), "{}: {named:?}, {most}", planted.story);
        let Some(next) = &verdict.next else { continue };
        let bound = answer.resources.iter().find(|r| r.id == next.id).map(|r| r.at_least);
        assert_eq!(bound, Some(next.rate.is_none()), "{}: {next:?}", planted.story);
        let base = answer.resources.iter().find(|r| r.id == next.id).map(|r| r.limit);
        assert!(base.is_some(), "{}: {next:?} is no resource of {:?}", planted.story, answer.resources);
        let Some(rate) = next.rate else { continue };
        assert!(base.is_some_and(|base| (base / rate - 1.0).abs() < 1e-9), "{}: {base:?} and {rate}", planted.story);
        compared += 1;
    }
    assert!(compared >= 10, "{compared} planted runs have a next bottleneck with a rate");
}

/// Two clients use a server that could serve many more, so most of the cost is wake-ups.
#[test]
fn a_light_load_gives_no_rate_of_the_next_bottleneck() {
    let mut run = PlantedRun::new(1000.0, 1e9).steps(&[1, 2]).rates(&[]).run();
    crate::judge(&mut run);
    let next = run.findings.bottleneck.next.clone().unwrap();
    assert!(next.rate.is_none() && next.why.contains("or more"), "{next:?}");
    let answer = what_if(&run, &Change { users: Some(64), ..Change::default() }).unwrap();
    assert!(answer.assumptions[0].contains("a lower bound"), "{:?}", answer.assumptions);
    assert!(answer.resources.iter().all(|resource| resource.at_least), "{:?}", answer.resources);
}

/// A light load shows only a lower bound of the rate. The answer to a higher rate must not claim a bottleneck, a use of
/// 100 % or an interval. The answer must compare the asked rate with the measured rate.
#[test]
fn a_rate_beyond_the_bounds_of_a_light_load_is_not_known() {
    let mut run = PlantedRun::new(1000.0, 1e9).steps(&[1, 2]).rates(&[]).run();
    crate::judge(&mut run);
    let measured = crate::context::single::good(&run.trials[run.findings.picks.decisive.unwrap()]);
    let at = |change| what_if(&run, &change).unwrap();
    let limit = at(Change { rate: Some(1.0), ..Change::default() }).resources[0].limit;
    let beyond = at(Change { rate: Some(2.5 * limit), ..Change::default() });
    assert!(beyond.at_least && beyond.bottleneck.is_none(), "{beyond:#?}");
    assert!((beyond.now / measured - 1.0).abs() < 1e-9, "{} instead of {measured}", beyond.now);
    assert!(beyond.rate.value <= limit && beyond.rate.high.is_infinite() && beyond.response_us.value.is_nan());
    let first = &beyond.resources[0];
    assert!(first.utilization.is_nan() && first.low == first.limit && first.high.is_infinite(), "{first:?}");
    assert!(beyond.curve.iter().all(|point| point.rate < limit), "{:?}", beyond.curve);
    let near = at(Change { rate: Some(0.9 * limit), ..Change::default() });
    assert_eq!((near.at_least, near.rate.value, near.rate.high), (true, 0.9 * limit, 0.9 * limit));
    assert!(near.response_us.value.is_finite() && near.response_us.low.is_nan(), "{near:#?}");
    let users = at(Change { users: Some(1000), ..Change::default() });
    assert!(users.at_least && users.rate.high.is_infinite() && users.response_us.low.is_nan(), "{users:#?}");
    let few = at(Change { rate: Some(0.1 * limit), ..Change::default() });
    assert!(!few.at_least && (few.resources[0].utilization - 0.1).abs() < 1e-6, "{few:#?}");
}
