use run::{Change, Run};

use super::model::{Model, ServerCpu};
use super::what_if;
use crate::planted::{PlantedRun, Who};

/// Makes a run that reaches 200 requests per second. One thread is full, at 5 ms per request, while some CPUs are idle.
pub(super) fn planted() -> Run {
    let mut run = PlantedRun::new(20_000.0, 200.0).run();
    crate::judge(&mut run);
    run
}

/// Makes a run of a server on four CPUs. The server's only busy thread is full at 400 requests per second.
pub(super) fn full() -> Run {
    let cpu = |p: &crate::planted::Point| p.x / 400.0 * 1e6;
    let planted = PlantedRun::new(2500.0, 400.0).per_s(Who::Server, "process.cpu", "srv:100", cpu);
    let mut run = planted.per_s(Who::Server, "thread.cpu", "srv:100/100", cpu).run();
    crate::judge(&mut run);
    run
}

/// Makes a model with 400 µs of CPU time per request on one thread, and 50 µs elsewhere.
pub(super) fn capped(quota: f64, users: u32, think_s: f64) -> Model {
    let cpu = ServerCpu { work_s: 400e-6, beside_s: 0.0, behind_s: 0.0, cpus: 2.0, threads: 1.0, quota };
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

/// One CPU can serve 400 requests per second. At 100 requests per second, all requests are surely answered. At 600
/// requests per second, two thirds of the requests are answered.
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
    // requests per second.
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

/// Each limit and each point of the curve lies within its interval. A prediction for 100 CPUs contains a warning that
/// the prediction is an extrapolation.
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

/// In the run, each cycle of a user took 100 ms, of which 90 ms were think time. Unless the change sets another think
/// time, users keep the think time of the run.
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

/// A server without a quota can use all CPUs, so a prediction for a quota of 0.1 CPUs is an extrapolation. If no thread
/// was busy, the effect of sixty threads is unknown.
#[test]
fn far_extrapolations_are_marked_without_a_quota_and_without_threads() {
    let said = |run: &Run, change| what_if(run, &change).unwrap().assumptions;
    let far = said(&full(), Change { quota_cpus: Some(0.1), ..Change::default() });
    assert!(far.iter().any(|a| a.contains("CPUs of quota") && a.contains("extrapolation")), "{far:?}");
    let near = said(&full(), Change { quota_cpus: Some(2.0), ..Change::default() });
    assert!(!near.iter().any(|a| a.contains("extrapolation")), "{near:?}");
    // Each thread was busy for less than a twentieth of the time.
    let mut run = PlantedRun::new(2500.0, 4000.0).steps(&[1, 2]).rates(&[]).run();
    crate::judge(&mut run);
    let unknown = said(&run, Change { workers: Some(60), ..Change::default() });
    assert!(unknown.iter().any(|a| a.contains("all of these 60 are assumed to work")), "{unknown:?}");
}

/// Nearly all threads of a server wait for one lock. An earlier version of loadline predicted twice the rate for twice
/// the workers.
#[test]
fn more_workers_are_no_answer_to_a_lock() {
    let run = |is_seen: bool| {
        let change = move |t: &mut run::Trial, _: &crate::planted::Point| {
            let waits = Box::new(crate::waits::tests::locked(run::FutexKind::OwnedMutex));
            t.server.iter_mut().filter(|_| is_seen).for_each(|side| side.waits = Some(waits.clone()));
        };
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).shared().change(change).run();
        crate::judge(&mut run);
        run
    };
    let workers = Change { workers: Some(8), ..Change::default() };
    let (locked, unseen) = (run(true), run(false));
    assert_eq!(locked.findings.bottleneck.id, "server-concurrency", "{:#?}", locked.findings.bottleneck);
    let refused = what_if(&locked, &workers).unwrap_err();
    assert!(refused.contains("wait for one lock") && refused.contains("more workers do not"), "{refused}");
    assert!(locked.findings.what_if.is_empty(), "{:?}", locked.findings.what_if);
    assert!(what_if(&unseen, &workers).is_ok() && !unseen.findings.what_if.is_empty());
}
