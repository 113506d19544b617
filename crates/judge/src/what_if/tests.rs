use run::{Change, Run};

use super::model::{Model, ServerCpu};
use super::solve::solve;
use super::what_if;
use crate::planted::{PlantedRun, Who};

/// Makes a run that reaches 200 requests per second. One thread is full, at 5 ms per request, and CPUs are left.
fn planted() -> Run {
    let mut run = PlantedRun::new(20_000.0, 200.0).run();
    crate::judge(&mut run);
    run
}

#[test]
fn a_change_of_nothing_is_an_error() {
    assert!(what_if(&planted(), &Change::default()).unwrap_err().contains("no change given"));
    let empty = what_if(&Run::default(), &Change { users: Some(1), ..Change::default() });
    assert!(empty.unwrap_err().contains("no trial"));
}

#[test]
fn few_users_who_think_long_leave_room() {
    let change = Change { users: Some(10), think_s: Some(5.0), ..Change::default() };
    let answer = what_if(&planted(), &change).unwrap();
    // Ten users who think for 5 s send at most two requests per second.
    assert!(answer.rate.value < 2.0 && answer.rate.value > 1.8, "{answer:#?}");
    assert!(answer.bottleneck.is_none(), "{answer:#?}");
    assert!(answer.rate.low <= answer.rate.value && answer.rate.value <= answer.rate.high);
    assert!(answer.curve.windows(2).all(|w| w[0].users < w[1].users && w[0].rate <= w[1].rate + 1e-9));
}

#[test]
fn what_if_names_the_figures_that_the_run_lacks() {
    let mut run = planted();
    for t in &mut run.trials {
        t.server = None;
        t.client.recording.columns.retain(|c| !c.counter.as_str().starts_with("interface"));
    }
    crate::judge(&mut run);
    let of = |change| what_if(&run, &change).unwrap_err();
    assert!(of(Change { server_cpus: Some(2.0), ..Change::default() }).contains("--server-pid"));
    assert!(of(Change { link_bytes_per_s: Some(1e6), ..Change::default() }).contains("no link"));
}

#[test]
fn a_limit_on_purpose_is_not_lifted_by_resources() {
    let mut run = planted();
    run.findings.bottleneck.id = "server-rate-limit".into();
    assert!(what_if(&run, &Change { server_cpus: Some(2.0), ..Change::default() }).unwrap_err().contains("on purpose"));
}

#[test]
fn a_change_is_named_with_the_value_before_it_and_no_capacity_exceeds_a_resource() {
    let run = planted();
    let users = run.trials[run.findings.picks.decisive.unwrap()].intensity.in_flight().unwrap();
    let answer = what_if(&run, &Change { users: Some(512), think_s: Some(0.1), ..Change::default() }).unwrap();
    assert_eq!(answer.changes, [format!("512 users instead of {users}"), "think time 100 ms".into()]);
    assert!(answer.capacity.high <= answer.resources[0].high.max(answer.capacity.value), "{answer:#?}");
    let workers = super::change::in_words(
        &Model { places: Some(3.92), ..capped(f64::INFINITY, 1, 0.0) },
        &Change { workers: Some(8), quota_cpus: Some(1.0), ..Change::default() },
    );
    assert_eq!(workers, ["8 workers instead of about 4", "a quota of 1 CPU"]);
}

/// Makes a model with 400 µs of CPU time per request on one thread, and 50 µs elsewhere.
fn capped(quota: f64, users: u32, think_s: f64) -> Model {
    let cpu = ServerCpu { work_s: 400e-6, beside_s: 0.0, cpus: 2.0, threads: 1.0, quota };
    Model {
        server_cpu: Some(cpu),
        others: Vec::new(),
        link_bytes_per_s: None,
        places: None,
        unloaded_s: 450e-6,
        elsewhere_s: 50e-6,
        one_level: false,
        arriving_s: None,
        users,
        think_s,
        arrivals: None,
        contention: None,
        rate: 1.0,
        requests: 1.0,
        usable: std::collections::BTreeMap::new(),
    }
}

/// The generator and the server's only thread share two CPUs. With cheap requests, the CPUs are full first. With
/// expensive requests, the thread is full first.
#[test]
fn dearer_requests_never_raise_the_rate() {
    let rate = |factor: f64| {
        let (work_s, beside_s) = (2.8e-6 * factor, 3.2e-6);
        let cpu = ServerCpu { work_s, beside_s, cpus: 2.0, threads: 1.0, quota: f64::INFINITY };
        solve(&Model { server_cpu: Some(cpu), elsewhere_s: 18e-6, ..capped(f64::INFINITY, 4, 0.0) }).0
    };
    let rates: Vec<f64> = (0..60).map(|step| rate(0.5 + 0.05 * f64::from(step))).collect();
    assert!(rates.windows(2).all(|pair| pair[1] < pair[0]), "{rates:?}");
}

/// A quota stops a server for a part of each period. Until the quota is used up, the quota slows no request.
#[test]
fn a_quota_caps_the_rate_and_slows_nothing_below_it() {
    let (rate, response_s) = solve(&capped(0.2, 1, 0.0));
    assert!((rate - 500.0).abs() < 1e-6 && (response_s - 2e-3).abs() < 1e-9, "{rate}/s, {response_s} s");
    assert!((solve(&capped(0.4, 1, 0.0)).0 - 1000.0).abs() < 1e-6);
    let (rate, response_s) = solve(&capped(0.2, 1, 10e-3));
    assert!((rate - 1.0 / 10.45e-3).abs() < 1e-3 && (response_s - 450e-6).abs() < 1e-9, "{rate}/s, {response_s} s");
    assert_eq!(solve(&capped(0.2, 1, 10e-3)), solve(&capped(f64::INFINITY, 1, 10e-3)));
}

/// In an M/M/1 queue, a request waits for the requests that arrived before it. At rates above the limit of the first
/// full resource, the wait is infinite.
#[test]
fn arrivals_queue_and_above_the_capacity_the_wait_is_infinite() {
    let model = |rate| Model { arrivals: Some(rate), ..capped(f64::INFINITY, 1, 0.0) };
    let (rate, response_s) = solve(&model(1250.0));
    assert!((rate - 1250.0).abs() < 1e-9 && (response_s - (800e-6 + 50e-6)).abs() < 1e-9, "{rate}/s, {response_s} s");
    assert_eq!(solve(&model(2600.0)), (2500.0, f64::INFINITY));
    let quota = Model { arrivals: Some(600.0), ..capped(0.2, 1, 0.0) };
    assert_eq!(solve(&quota), (500.0, f64::INFINITY));
}

/// One CPU can serve 400 requests per second. At 100 per second, all requests are surely answered. At 600 per second,
/// two thirds of the requests are answered.
#[test]
fn a_rate_of_arrivals_is_answered_with_intervals() {
    let planted = full();
    let at = |rate| what_if(&planted, &Change { rate: Some(rate), ..Change::default() }).unwrap();
    let few = at(100.0);
    assert_eq!((few.rate.value, few.rate.low, few.rate.high), (100.0, 100.0, 100.0), "{few:#?}");
    assert!(few.response_us.low < few.response_us.value && few.response_us.value < few.response_us.high, "{few:#?}");
    assert!(few.bottleneck.is_none() && few.curve.len() == 20, "{few:#?}");
    assert!(few.curve.windows(2).all(|w| w[0].response_us <= w[1].response_us), "{few:#?}");
    let many = at(600.0);
    assert!(many.response_us.value.is_infinite() && many.rate.high < 600.0, "{many:#?}");
    assert!((many.rate.value / 400.0 - 1.0).abs() < 0.1, "{many:#?}");
    assert!(many.bottleneck.is_some() && many.curve.iter().any(|p| p.response_us.is_finite()), "{many:#?}");
    let both = Change { rate: Some(1.0), users: Some(1), ..Change::default() };
    assert!(what_if(&planted, &both).unwrap_err().contains("not both"));
}

/// A shaper limits the link to 8 % of the interface's rate, and the shaper's queue is full. The measured rate is
/// therefore the maximum rate of the link.
#[test]
fn a_full_link_of_unknown_rate_carries_what_it_carried() {
    // In each direction, a request has two packets with 700 bytes together, or 748 bytes with framing. The rate is 100
    // per second.
    let mut run = PlantedRun::new(10_000.0, 100.0)
        .level(Who::Server, "qdisc.backlog", "eth0 htb 1:", 6000.0)
        .per_s(Who::Server, "qdisc.overlimits", "eth0 htb 1:", |_| 50.0)
        .level(Who::Server, "connection.rtt", "", 80_000.0)
        .run();
    crate::judge(&mut run);
    assert_eq!(run.findings.bottleneck.id, "network-medium", "{:#?}", run.findings.bottleneck);
    let now = run.findings.capacity.as_ref().unwrap().rate;
    let change = Change { link_bytes_per_s: Some(2.0 * 74_800.0), users: Some(64), ..Change::default() };
    let answer = what_if(&run, &change).unwrap();
    assert!((answer.rate.value / 200.0 - 1.0).abs() < 0.05, "{answer:#?}");
    assert!((answer.capacity.value / now - 2.0).abs() < 0.05, "{answer:#?}");
    assert_eq!(answer.bottleneck.unwrap().id, "network-medium");
}

/// Each limit and each point of the curve lies within its interval. An answer for 100 CPUs warns that it is an
/// extrapolation.
#[test]
fn each_figure_has_an_interval_and_what_is_far_is_said() {
    let planted = full();
    let answer = what_if(&planted, &Change { server_cpus: Some(100.0), ..Change::default() }).unwrap();
    assert!(answer.assumptions.iter().any(|a| a.contains("100 CPUs") && a.contains("extrapolation")), "{answer:#?}");
    let near = what_if(&planted, &Change { server_cpus: Some(3.0), users: Some(16), ..Change::default() }).unwrap();
    assert!(!near.assumptions.iter().any(|a| a.contains("extrapolation")), "{:?}", near.assumptions);
    assert!(!near.resources.is_empty() && near.curve.len() > 3, "{near:#?}");
    for r in &near.resources {
        let is_within = r.low < r.limit && r.limit < r.high;
        assert!(if r.at_least { r.low == r.limit && r.high.is_infinite() } else { is_within }, "{r:?}");
    }
    assert!(near.resources.iter().any(|r| !r.at_least), "{near:#?}");
    for p in &near.curve {
        assert!(p.rate_low < p.rate && p.rate < p.rate_high, "{p:?}");
        assert!(p.response_low_us < p.response_us && p.response_us < p.response_high_us, "{p:?}");
    }
}

/// With four CPUs, twice the CPU time per request halves the capacity.
#[test]
fn changes_are_made_together() {
    let planted = full();
    let capacity = |change| what_if(&planted, &change).unwrap().capacity.value;
    let one = capacity(Change { server_cpus: Some(4.0), workers: Some(64), users: Some(512), ..Change::default() });
    let both = Change { request_cpu: Some(2.0), server_cpus: Some(4.0), workers: Some(64), ..Change::default() };
    let both = capacity(Change { users: Some(512), ..both });
    assert!((one / both - 2.0).abs() < 0.05, "{one} with more CPUs, {both} at twice the cost");
}

/// The list begins with the resource that is full first. To double the capacity, about twice as much of the first
/// listed resource is needed.
#[test]
fn to_double_names_resources_in_the_order_in_which_they_stop_the_server() {
    let needed = full().findings.what_if;
    assert!(needed.first().is_some_and(|n| (1.7..2.4).contains(&n.factor)), "{needed:#?}");
    assert!(needed.windows(2).all(|w| w[0].factor >= w[1].factor && w[0].reaches <= w[1].reaches), "{needed:#?}");
}

/// Makes a run of a server on four CPUs. The server's only busy thread is full at 400 requests per second.
fn full() -> Run {
    let cpu = |p: &crate::planted::Point| p.x / 400.0 * 1e6;
    let planted = PlantedRun::new(2500.0, 400.0).per_s(Who::Server, "process.cpu", "srv:100", cpu);
    let mut run = planted.per_s(Who::Server, "thread.cpu", "srv:100/100", cpu).run();
    crate::judge(&mut run);
    run
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
                // No change can add CPUs to the generator.
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

/// In the run, each cycle of a user took 100 ms, of which 90 ms were think time. Users keep the think time of the run
/// unless the change sets another think time.
#[test]
fn users_of_the_run_go_on_thinking() {
    let mut run = PlantedRun::new(10_000.0, 4000.0).steps(&[1, 2, 4, 8]).rates(&[]).run();
    for trial in &mut run.trials {
        let run::Intensity::Closed { think, connections, .. } = &mut trial.intensity else { unreachable!() };
        think.mean_ms = 90.0;
        let rate = f64::from(*connections) / 0.1;
        trial.latency_us.mean = 10_000.0;
        (trial.rates.completed_rate, trial.rates.goodput) = (rate, rate);
    }
    crate::judge(&mut run);
    let rate = |change| what_if(&run, &change).unwrap();
    let same = rate(Change { users: Some(8), ..Change::default() });
    assert!((same.rate.value / 80.0 - 1.0).abs() < 0.1 && (same.now / 80.0 - 1.0).abs() < 0.1, "{same:#?}");
    let longer = rate(Change { users: Some(8), think_s: Some(0.19), ..Change::default() });
    assert!((longer.rate.value / 40.0 - 1.0).abs() < 0.1, "the time is set, not added: {longer:#?}");
}

/// Every answer takes 20 ms longer. With the added 20 ms, no answer comes within 15 ms, and 180 ms of a 200 ms limit
/// are left.
#[test]
fn an_added_delay_shortens_the_time_that_an_objective_leaves() {
    let with = |p99_us: Option<f64>, delay_s: f64| {
        let mut run = PlantedRun::new(2500.0, 4000.0).rates(&[0.3, 0.5, 0.7, 0.9, 0.95, 1.15]).run();
        run.plan.objective.p99_us = p99_us;
        crate::judge(&mut run);
        let answer = what_if(&run, &Change { delay_s: Some(delay_s), ..Change::default() }).unwrap();
        (run.findings.capacity.unwrap().rate, answer)
    };
    let (before, none) = with(Some(15_000.0), 0.02);
    assert!(before > 1000.0 && none.capacity.value == 0.0 && none.capacity.high == 0.0, "{none:#?}");
    assert!(none.assumptions.iter().any(|a| a.contains("no rate holds")), "{:?}", none.assumptions);
    let (before, some) = with(Some(200_000.0), 0.02);
    assert!(some.capacity.value > 0.5 * before && some.capacity.value <= before, "{before}: {some:#?}");
    // The user set no limit on the response time. The default limit is ten times the median of a single client, so it
    // grows with this median.
    let (before, own) = with(None, 0.02);
    assert!((own.capacity.value / before - 1.0).abs() < 0.05, "{before}: {own:#?}");
}

/// A run without a quota could use all its CPUs. If the run shows no busy thread, the effect of sixty threads is
/// unknown.
#[test]
fn far_extrapolations_are_marked_without_a_quota_and_without_threads() {
    let said = |run: &Run, change| what_if(run, &change).unwrap().assumptions;
    let far = said(&full(), Change { quota_cpus: Some(0.1), ..Change::default() });
    assert!(far.iter().any(|a| a.contains("CPUs of quota") && a.contains("extrapolation")), "{far:?}");
    let near = said(&full(), Change { quota_cpus: Some(2.0), ..Change::default() });
    assert!(!near.iter().any(|a| a.contains("extrapolation")), "{near:?}");
    // No thread was busy for as much as a twentieth of the time.
    let mut run = PlantedRun::new(2500.0, 4000.0).steps(&[1, 2]).rates(&[]).run();
    crate::judge(&mut run);
    let unknown = said(&run, Change { workers: Some(60), ..Change::default() });
    assert!(unknown.iter().any(|a| a.contains("all of these 60 are assumed to work")), "{unknown:?}");
}

/// The next bottleneck and the answer of `what-if` are computed from one queueing network. The next bottleneck and
/// `what-if` give a resource the same limit, and no measured rate exceeds this limit.
#[test]
fn the_next_bottleneck_and_what_if_name_one_ceiling_that_no_measured_rate_passes() {
    let mut compared = 0;
    // The first of the two compared runs is unchanged. In the second run, the generator uses more than half of its
    // thread.
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
/// 100 % or an interval, and it compares with the measured rate.
#[test]
fn a_rate_beyond_the_bounds_of_a_light_load_is_not_known() {
    let mut run = PlantedRun::new(1000.0, 1e9).steps(&[1, 2]).rates(&[]).run();
    crate::judge(&mut run);
    let measured = crate::single::good(&run.trials[run.findings.picks.decisive.unwrap()]);
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

/// One thread is 88 % busy at the plateau. The model treats the thread as full at the plateau, so the predicted rate of
/// more users is the highest measured rate.
#[test]
fn a_resource_full_at_the_highest_rate_is_full_at_that_rate_in_the_model() {
    let cpu = |p: &crate::planted::Point| p.x / 315.0 * 0.88e6;
    let planted = PlantedRun::new(3000.0, 315.0).none(Who::Server, "thread.cpu").per_s(
        Who::Server,
        "process.cpu",
        "srv:100",
        cpu,
    );
    let mut run = planted.per_s(Who::Server, "thread.cpu", "srv:100/101", cpu).run();
    crate::judge(&mut run);
    assert_eq!(run.findings.bottleneck.id, "server-single-thread", "{:#?}", run.findings.bottleneck);
    let answer = what_if(&run, &Change { users: Some(512), ..Change::default() }).unwrap();
    assert!((answer.rate.value / 315.0 - 1.0).abs() < 0.02, "{answer:#?}");
    let twice = what_if(&run, &Change { users: Some(512), workers: Some(2), ..Change::default() }).unwrap();
    assert!((twice.rate.value / 630.0 - 1.0).abs() < 0.05, "{twice:#?}");
}

/// Makes a run of a server that sleeps for 20 ms and uses 101 µs of CPU time per answer. The run has one load, with
/// `connections` connections.
fn sleeps(connections: u32) -> Run {
    let rate = f64::from(connections) / 20.6e-3;
    let mut run = PlantedRun::new(20_600.0, 1e9)
        .steps(&[connections])
        .rates(&[])
        .per_s(Who::Server, "process.cpu", "srv:100", move |_| rate * 101.0)
        .change(|t, _| t.kind = run::TrialKind::Fixed)
        .run();
    crate::judge(&mut run);
    run
}

/// An earlier version of the model left out the time for which the server sleeps. Without the sleep, the model
/// predicted 23,500 requests per second for more CPUs, which in fact change nothing.
#[test]
fn the_model_contains_time_that_no_counter_explains() {
    for connections in [1, 4, 8] {
        let (run, rate) = (sleeps(connections), f64::from(connections) / 20.6e-3);
        let more = what_if(&run, &Change { server_cpus: Some(8.0), ..Change::default() }).unwrap();
        assert!((more.now / rate - 1.0).abs() < 0.03 && (more.rate.value / rate - 1.0).abs() < 0.03, "{more:#?}");
        assert!(more.rate.low <= rate && rate <= more.rate.high && more.rate.high < 1.2 * rate, "{more:#?}");
        assert!(more.capacity.value.is_nan(), "one load level shows no capacity: {more:#?}");
        let users = what_if(&run, &Change { users: Some(10 * connections), ..Change::default() }).unwrap();
        assert!(users.rate.value < 10.3 * rate, "{users:#?}");
        // The server may have had only as many workers as there were clients.
        assert!(connections == 1 || users.rate.low <= 1.05 * rate, "{users:#?}");
    }
}

#[test]
fn a_model_that_misses_the_measured_rate_predicts_nothing() {
    let cpu = |p: &crate::planted::Point| p.x * 10.0;
    let planted = PlantedRun::new(20_000.0, 200.0).none(Who::Server, "thread.cpu");
    let mut run = planted.per_s(Who::Server, "process.cpu", "srv:100", cpu).run();
    crate::judge(&mut run);
    // A single client's request took 2 ms. No counter shows why several clients completed only 200 requests per second.
    let alone = run.trials.iter_mut().find(|t| crate::single::clients(t) <= 1.0).unwrap();
    (alone.latency_us.mean, alone.latency_us.p50) = (2000.0, 2000.0);
    run.findings.bottleneck.id = "unknown".into();
    let answer = what_if(&run, &Change { users: Some(64), ..Change::default() });
    assert!(answer.as_ref().is_err_and(|why| why.contains("do not explain its rate")), "{answer:#?}");
}
