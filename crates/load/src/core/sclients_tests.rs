//! Tests of S-Clients with a virtual clock. Expected values come from formulas, or were computed by hand.

use run::{Arrival, ErrorKind, Intensity, LoadPart, LoadPlan, Pace, Summary, ThinkTime};

use super::tests::{full_listener, plan};
use crate::{Service, SimObservations, SimServer, simulate};

fn sclients(descriptors: u32, timeout_ms: f64) -> Intensity {
    Intensity::SClients { descriptors, connect_timeout_ms: timeout_ms, think: ThinkTime::default(), pace: None }
}

fn overloaded(descriptors: u32, timeout_ms: f64, seconds: f64) -> (LoadPart, SimObservations) {
    let mut plan = plan(sclients(descriptors, timeout_ms), seconds);
    plan.drain_s = 0.0;
    simulate(&plan, &full_listener()).unwrap()
}

#[test]
fn s_clients_offer_d_over_t_to_the_arrival() {
    // There are 50 descriptors, and T is 500 ms. The first two connects succeed: the worker serves one connection, and
    // the other waits in the accept queue. Each of the two successful connects is replaced by another connect at once.
    // All later connects start exactly 10 ms apart.
    let (part, seen) = overloaded(50, 500.0, 10.0);
    assert_eq!(part.total.connected, 2);
    assert_eq!(part.total.attempted, 1000 + 2);
    assert_eq!(seen.syns_ns.len(), 1002);
    assert_eq!(seen.dropped, 1000);
    assert!(seen.syns_ns.iter().all(|at| at % 10_000_000 == 0));
    assert_eq!(part.total.errors.0[&ErrorKind::ConnectTimeout], 950);
}

#[test]
fn the_offered_rate_is_linear_in_descriptors() {
    let counts: Vec<u64> = [100, 200, 400, 800].iter().map(|&d| overloaded(d, 250.0, 4.0).0.total.attempted).collect();
    assert_eq!(counts, [1602, 3202, 6402, 12_802]);
}

#[test]
fn an_established_connection_leaves_the_descriptors_at_once() {
    // The server answers in 1 µs, so each descriptor connects for one round trip of 2 ms.
    let server = SimServer { service: Service::Constant, service_ns: 1000, rtt_ns: 2_000_000, ..SimServer::default() };
    let (part, _) = simulate(&plan(sclients(10, 500.0), 1.0), &server).unwrap();
    // The starts of the first connects are spread over 500 ms, and the mean start is at 225 ms. After its start, each
    // of the 10 descriptors connects every 2 ms, so there are 10 × (1000 - 225) / 2 connects.
    let expected = 10.0 * (1000.0 - 225.0) / 2.0;
    assert!((part.total.attempted as f64 / expected - 1.0).abs() < 0.01, "{}", part.total.attempted);
    assert_eq!(part.total.completed, part.total.sent);
    assert!(part.total.errors.0.is_empty());
}

#[test]
fn a_connection_that_is_never_answered_is_a_phantom() {
    let mut plan = plan(sclients(4, 100.0), 5.0);
    (plan.timeout_s, plan.drain_s) = (1.0, 0.1);
    let (part, _) = simulate(&plan, &full_listener()).unwrap();
    assert_eq!(part.total.connected, part.total.sent);
    assert_eq!(part.total.errors.0[&ErrorKind::ResponseTimeout] + part.total.unanswered, part.total.sent);
    assert_eq!(part.total.phantom, part.total.sent);
}

#[test]
fn simple_clients_stay_at_the_servers_rate_where_s_clients_do_not() {
    let server = SimServer {
        accept_at_once: false,
        service: Service::Constant,
        service_ns: 7_692_308,
        backlog: 8,
        ..SimServer::default()
    };
    let mut simple = plan(Intensity::Closed { connections: 40, pipeline: 1, think: ThinkTime::default() }, 20.0);
    (simple.new_connections, simple.drain_s) = (true, 0.0);
    let (part, seen) = simulate(&simple, &server).unwrap();
    let capacity = 130.0 * 20.0;
    assert!((part.measured.completed as f64 / capacity - 1.0).abs() < 0.02, "{}", part.measured.completed);
    assert!((seen.syns_ns.len() as f64) < 1.35 * capacity, "{}", seen.syns_ns.len());
    let mut pushing = plan(sclients(1032, 500.0), 20.0);
    pushing.drain_s = 0.0;
    let (part, seen) = simulate(&pushing, &server).unwrap();
    assert!((part.measured.completed as f64 / capacity - 1.0).abs() < 0.02, "{}", part.measured.completed);
    assert!(seen.syns_ns.len() as f64 >= 2064.0 * 20.0, "{}", seen.syns_ns.len());
}

fn paced(descriptors: u32, timeout_ms: f64, rate: f64, arrival: Arrival) -> Intensity {
    let (think, pace) = (ThinkTime::default(), Some(Pace { rate, arrival }));
    Intensity::SClients { descriptors, connect_timeout_ms: timeout_ms, think, pace }
}

#[test]
fn paced_s_clients_connect_when_the_arrival_process_says_so() {
    // 100 descriptors could make 200 connects per second. The arrival process starts 50 connects per second, and no
    // connect is repeated.
    let mut plan = plan(paced(100, 500.0, 50.0, Arrival::Constant), 10.0);
    plan.drain_s = 0.0;
    let (part, seen) = simulate(&plan, &full_listener()).unwrap();
    assert_eq!((part.total.due, part.total.attempted, part.offered), (500, 500, 500.0));
    assert!(seen.syns_ns.iter().all(|at| at % 20_000_000 == 0) && seen.syns_ns.len() == 500);
    // Two of the 500 connects succeed. The other connects fail, except the connects of the last 500 ms, which are in
    // progress at the end.
    assert_eq!(part.total.errors.0[&ErrorKind::ConnectTimeout], 500 - 2 - 25);
    let (part, seen) = simulate(&LoadPlan { phase: 0.25, ..plan }, &full_listener()).unwrap();
    assert_eq!(part.total.due, 500);
    assert!(seen.syns_ns.iter().all(|at| at % 20_000_000 == 5_000_000));
}

#[test]
fn any_arrival_process_drives_s_clients_at_its_own_times() {
    let server = SimServer { service: Service::Constant, service_ns: 1000, ..SimServer::default() };
    for arrival in [
        Arrival::Poisson,
        Arrival::Bursty { peak: 6.0, share: 0.05, period_s: 1.0 },
        Arrival::SelfSimilar { hurst: 0.8 },
    ] {
        let (part, seen) = simulate(&plan(paced(10_000, 500.0, 400.0, arrival.clone()), 5.0), &server).unwrap();
        let mut due = crate::arrivals::Arrivals::new(&arrival, 400.0, (0, 1), 0.0, 1);
        let expected: Vec<u64> = std::iter::from_fn(|| Some(due.next_ns())).take(seen.syns_ns.len()).collect();
        assert_eq!(seen.syns_ns, expected, "{arrival:?}");
        let t = &part.total;
        assert_eq!((t.due, t.sent, t.completed), (t.attempted, t.attempted, t.attempted), "{arrival:?} {t:?}");
    }
}

#[test]
fn arrivals_that_find_no_descriptor_wait_and_are_told() {
    // If no connect succeeds, 5 descriptors with T = 500 ms can start only 10 of the 20 connects that are due per
    // second.
    let mut plan = plan(paced(5, 500.0, 20.0, Arrival::Constant), 10.0);
    plan.drain_s = 0.0;
    let (part, _) = simulate(&plan, &full_listener()).unwrap();
    assert_eq!((part.total.due, part.offered), (200, 200.0));
    assert!((100..=108).contains(&part.total.attempted), "{}", part.total.attempted);
    assert!(part.histograms["blocked"].quantile_us(0.9) > 3e6, "{:?}", Summary::of(&part.histograms["blocked"]));
    assert_eq!(part.histograms["schedule_lag"], part.histograms["blocked"]);
    assert!(part.notes.iter().any(|n| n.contains("without a free descriptor")), "{:?}", part.notes);
}

#[test]
fn the_first_connects_of_several_processes_interleave() {
    // Four processes with 25 descriptors each must act like one process with 100 descriptors. The SYNs of all processes
    // together must have equal gaps of 5 ms.
    let whole = LoadPlan { drain_s: 0.0, ..plan(sclients(25, 500.0), 0.4) };
    let mut syns: Vec<u64> = (0..4)
        .flat_map(|i| {
            simulate(&LoadPlan { phase: whole.share_phase(i, 4), ..whole.clone() }, &full_listener()).unwrap().1.syns_ns
        })
        .collect();
    syns.sort_unstable();
    syns.dedup();
    assert!(syns.len() == 80 && syns.windows(2).all(|w| w[1] - w[0] == 5_000_000), "{syns:?}");
}

/// If a generator is far behind, all of its descriptors are due at the same time. One pass of the event loop must not
/// handle all of these connects.
#[test]
fn descriptors_due_at_once_take_turns() {
    use crate::driver::{Batch, Driver as _};
    let plan = crate::share::prepared(&plan(sclients(1000, 500.0), 1.0)).unwrap();
    let client = proto::echo::ClientPlan::new(1);
    let task = crate::share::task(&plan, 0, 0, u64::from(u32::MAX));
    let (request, answer) = crate::ceiling::exchange(&plan, &client);
    let mut driver = crate::drivers::sim::SimDriver::new(task.capacity(), &full_listener(), request, &answer);
    let mut core = super::Core::new(task, &client);
    core.start(driver.ops());
    driver.wait(10_000_000_000, Batch::default(), |_, _| {}).unwrap();
    let attempted = [(); 5].map(|()| {
        core.advance(driver.ops());
        core.record.counts.attempted
    });
    assert_eq!(attempted, [256, 512, 768, 1000, 1000]);
}
