//! Tests of the three kinds of load with a virtual clock. Expected values come from formulas, or were computed by hand.

use run::{Arrival, Intensity, LoadPart, LoadPlan, Protocol, Summary, ThinkTime};

use crate::{Service, SimServer, simulate};

pub(super) fn plan(intensity: Intensity, duration_s: f64) -> LoadPlan {
    LoadPlan {
        protocol: Protocol::Echo { message_bytes: 1 },
        intensity,
        duration_s,
        warmup_s: 0.0,
        drain_s: 60.0,
        timeout_s: 1e6,
        ..LoadPlan::default()
    }
}

fn open(rate: f64, arrival: Arrival) -> Intensity {
    Intensity::Open { rate, arrival, max_connections: 10_000, pipeline: 1 }
}

/// A server that never answers. The server accepts one connection, and a second connection fills its accept queue. All
/// later connects fail when the timeout T has passed.
pub(super) fn full_listener() -> SimServer {
    SimServer {
        accept_at_once: false,
        backlog: 0,
        service_ns: u64::MAX / 4,
        service: Service::Constant,
        ..SimServer::default()
    }
}

fn mean_us(part: &LoadPart, name: &str) -> f64 {
    part.histograms[name].mean_us()
}

#[test]
fn m_m_1_has_its_response_time() {
    // M/M/1 with utilisation ρ = 0.7 and a mean service time S = 1 ms. The mean response time is R = S / (1 - ρ) =
    // 3.333 ms.
    let (part, _) = simulate(&plan(open(700.0, Arrival::Poisson), 2000.0), &SimServer::default()).unwrap();
    let r = mean_us(&part, "response");
    assert!((r / 3333.3 - 1.0).abs() < 0.03, "{r}");
    // By Little's law, the mean number of requests in flight is the rate multiplied by the mean response time.
    let n = part.in_flight_s / part.measured_s;
    assert!((n / (0.7 * r / 1e3) - 1.0).abs() < 0.01, "{n}");
}

#[test]
fn m_d_1_waits_half_as_long() {
    // M/D/1 with utilisation ρ = 0.7 and a service time S = 1 ms. The mean response time is R = S + ρ S / (2 (1 - ρ)) =
    // 2.1667 ms.
    let server = SimServer { service: Service::Constant, ..SimServer::default() };
    let (part, _) = simulate(&plan(open(700.0, Arrival::Poisson), 1000.0), &server).unwrap();
    let r = mean_us(&part, "response");
    assert!((r / 2166.7 - 1.0).abs() < 0.03, "{r}");
}

#[test]
fn a_closed_loop_obeys_its_bounds() {
    // N = 4 clients pause for Z = 9 ms after each answer, and the service time is 1 ms. Because nothing queues in the
    // steady state, the response time is R = 1 ms. The throughput is X = N / (R + Z).
    let server = SimServer { service: Service::Constant, ..SimServer::default() };
    let think = ThinkTime { mean_ms: 9.0, exponential: false };
    let closed = Intensity::Closed { connections: 4, pipeline: 1, think };
    let (part, _) = simulate(&plan(closed, 10.0), &server).unwrap();
    assert!((part.measured.completed as f64 - 4000.0).abs() <= 8.0, "{}", part.measured.completed);
    // Without pauses, the server is always busy: it completes 1000 requests per second, and the response time is R = N
    // S.
    let closed = Intensity::Closed { connections: 8, pipeline: 1, think: ThinkTime::default() };
    let (part, _) = simulate(&plan(closed, 10.0), &server).unwrap();
    assert!((part.measured.completed as f64 - 10_000.0).abs() <= 8.0, "{}", part.measured.completed);
    assert!((mean_us(&part, "response") - 8000.0).abs() < 20.0);
}

#[test]
fn a_pipeline_keeps_its_depth_in_flight() {
    let server = SimServer { service: Service::Constant, ..SimServer::default() };
    let closed = Intensity::Closed { connections: 2, pipeline: 5, think: ThinkTime::default() };
    let (part, _) = simulate(&plan(closed, 2.0), &server).unwrap();
    assert!((part.in_flight_s / part.measured_s - 10.0).abs() < 0.1, "{}", part.in_flight_s);
    assert_eq!(part.total.sent, part.total.completed);
}

#[test]
fn a_stall_shows_in_the_open_loop_at_its_full_length() {
    // The rate is 100 per second, the service time is 1 ms, and the server stalls for 2 s of 10 s. The requests that
    // become due during the stall are a fifth of all requests, and wait for 1 s on average. A generator that measured
    // from the time of sending would see only one slow request (coordinated omission).
    let server = SimServer {
        service: Service::Constant,
        stalls_ns: vec![(4_000_000_000, 6_000_000_000)],
        ..SimServer::default()
    };
    let (part, _) = simulate(&plan(open(100.0, Arrival::Constant), 10.0), &server).unwrap();
    let response = &part.histograms["response"];
    assert_eq!(part.total.due, 1000);
    assert!((response.quantile_us(0.90) / 1e6 - 1.1).abs() < 0.15, "{}", response.quantile_us(0.90));
    assert!((Summary::of(response).max / 1e6 - 2.0).abs() < 0.02);
    // If the pool may have only one connection, response times are as long as with many connections, mostly because
    // requests wait before they are sent.
    let one = Intensity::Open { rate: 100.0, arrival: Arrival::Constant, max_connections: 1, pipeline: 1 };
    let (part, _) = simulate(&plan(one, 10.0), &server).unwrap();
    assert!((part.histograms["response"].quantile_us(0.90) / 1e6 - 1.1).abs() < 0.15);
    assert!(part.histograms["service"].quantile_us(0.90) < 2_000.0);
    assert!((part.histograms["blocked"].quantile_us(0.90) / 1e6 - 1.1).abs() < 0.15);
    assert!((part.histograms["schedule_lag"].quantile_us(0.90) / 1e6 - 1.1).abs() < 0.15);
    assert_eq!(part.histograms["schedule_lag"].len(), part.measured.sent);
}

#[test]
fn a_stall_at_the_end_of_the_window_is_recorded_with_its_age() {
    // While clients of a closed loop wait for an answer, they send nothing. If the measured window ends 0.9 s after the
    // start of a stall, it contains no long response time. The delayed answers come later.
    let server = SimServer {
        service: Service::Constant,
        stalls_ns: vec![(2_100_000_000, 3_500_000_000)],
        ..SimServer::default()
    };
    let closed = Intensity::Closed { connections: 4, pipeline: 1, think: ThinkTime::default() };
    let (part, _) = simulate(&LoadPlan { drain_s: 2.0, warmup_s: 1.0, ..plan(closed, 2.0) }, &server).unwrap();
    let longest = Summary::of(&part.histograms["response"]).max;
    assert!(longest < 100_000.0, "{longest}");
    let ages = Summary::of(&part.histograms["under_way"]);
    assert!(ages.count == 4 && (ages.max / 0.9e6 - 1.0).abs() < 0.02, "{ages:?}");
    // In an open loop, requests that wait for a connection count as in flight, too.
    let one = Intensity::Open { rate: 100.0, arrival: Arrival::Constant, max_connections: 1, pipeline: 1 };
    let (part, _) = simulate(&LoadPlan { drain_s: 2.0, warmup_s: 1.0, ..plan(one, 2.0) }, &server).unwrap();
    let ages = Summary::of(&part.histograms["under_way"]);
    assert!((ages.count as i64 - 90).abs() <= 2 && (ages.max / 0.9e6 - 1.0).abs() < 0.03, "{ages:?}");
}

#[test]
fn a_pause_of_a_good_server_is_no_reason_for_thousands_of_connections() {
    // A server that could complete 125,000 requests per second gets 50,000 requests per second. Once a second, the
    // server stalls for 50 ms, so 2500 requests wait after each stall.
    let stalls_ns = (1..5).map(|s| (s * 1_000_000_000, s * 1_000_000_000 + 50_000_000)).collect();
    let server = SimServer { service_ns: 8_000, rtt_ns: 100_000, stalls_ns, ..SimServer::default() };
    let (part, seen) = simulate(&plan(open(50_000.0, Arrival::Poisson), 5.0), &server).unwrap();
    assert!(seen.syns_ns.len() < 1000, "{}", seen.syns_ns.len());
    assert_eq!((part.total.completed, part.total.due), (part.total.sent, part.total.sent));
    let (held_back, past) = (part.total.connects_held_back, part.total.connects_past_need);
    let opened = seen.syns_ns.len() as u64;
    assert!(held_back > 1000 && past < opened, "{held_back} held back, {past} of {opened} opened in vain");
}

#[test]
fn a_slow_server_gets_the_connections_that_it_needs() {
    // If 500 requests start per second and each takes 1 s, 500 requests are in flight. The first answers come after 1
    // s. After the first answers, the pool grows with the number of answers.
    let second = 1_000_000_000;
    let server = SimServer { service: Service::Constant, service_ns: second, workers: 10_000, ..SimServer::default() };
    let slow = LoadPlan { warmup_s: 5.0, ..plan(open(500.0, Arrival::Constant), 5.0) };
    let (part, seen) = simulate(&slow, &server).unwrap();
    let in_flight = part.in_flight_s / part.measured_s;
    assert!((in_flight / 500.0 - 1.0).abs() < 0.1, "{in_flight}");
    assert!(part.histograms["response"].quantile_us(0.99) < 1.1e6, "{:?}", Summary::of(&part.histograms["response"]));
    assert!((500..1100).contains(&seen.syns_ns.len()), "{}", seen.syns_ns.len());
}

#[test]
fn due_requests_that_never_left_are_counted() {
    // One connection with a service time of 1 ms completes 1000 of the planned 2000 requests per second.
    let one = Intensity::Open { rate: 2000.0, arrival: Arrival::Constant, max_connections: 1, pipeline: 1 };
    let server = SimServer { service: Service::Constant, ..SimServer::default() };
    let (part, _) = simulate(&plan(one, 2.0), &server).unwrap();
    assert_eq!(part.total.due, 4000);
    assert!((part.total.sent as i64 - 2000).abs() <= 2, "{}", part.total.sent);
    assert_eq!(part.total.completed, part.total.sent);
    assert_eq!(part.offered, 4000.0);
}

#[test]
fn an_open_loop_pipelines_once_its_pool_is_full() {
    // The round-trip time is 40 ms. 8 connections can complete 200 requests per second with one request in flight each,
    // and 1600 per second with 8 requests in flight each.
    let far = SimServer { service: Service::Constant, service_ns: 1000, rtt_ns: 40_000_000, ..SimServer::default() };
    let run = |pipeline| {
        let one = Intensity::Open { rate: 800.0, arrival: Arrival::Poisson, max_connections: 8, pipeline };
        simulate(&LoadPlan { warmup_s: 1.0, drain_s: 0.0, ..plan(one, 10.0) }, &far).unwrap()
    };
    let (alone, _) = run(1);
    assert!((alone.measured.completed as f64 / 2000.0 - 1.0).abs() < 0.01, "{}", alone.measured.completed);
    let (piped, seen) = run(8);
    let mean = mean_us(&piped, "response");
    assert!((piped.measured.completed as f64 / 8000.0 - 1.0).abs() < 0.05, "{}", piped.measured.completed);
    assert!(seen.syns_ns.len() == 8 && (mean / 40_000.0 - 1.0).abs() < 0.02, "{mean} us, {}", seen.syns_ns.len());
    assert_eq!(piped.total.unanswered + piped.total.completed, piped.total.sent);
}

#[test]
fn a_pipelined_pool_opens_connections_first() {
    let server = SimServer { service: Service::Constant, service_ns: 10_000_000, workers: 100, ..SimServer::default() };
    // If 500 requests start per second and each takes 10 ms, 5 requests are in flight. Each of the 5 requests in flight
    // gets its own connection, although one connection could take four.
    let open = Intensity::Open { rate: 500.0, arrival: Arrival::Constant, max_connections: 8, pipeline: 4 };
    let (part, seen) = simulate(&plan(open, 5.0), &server).unwrap();
    assert!((5..=8).contains(&seen.syns_ns.len()), "{}", seen.syns_ns.len());
    assert!(part.histograms["response"].quantile_us(0.99) < 10_500.0);
}

#[test]
fn a_request_with_its_own_connection_begins_with_the_connect() {
    // A connect and an exchange each take a round trip of 20 ms, and the service takes 1 ms.
    let server = SimServer { service: Service::Constant, rtt_ns: 20_000_000, ..SimServer::default() };
    let closed = Intensity::Closed { connections: 2, pipeline: 1, think: ThinkTime::default() };
    let closed = LoadPlan { new_connections: true, warmup_s: 1.0, ..plan(closed, 5.0) };
    let open = LoadPlan { intensity: open(20.0, Arrival::Constant), ..closed.clone() };
    for plan in [closed, open] {
        let (part, _) = simulate(&plan, &server).unwrap();
        let [response, service, connect] = ["response", "service", "connect"].map(|name| mean_us(&part, name));
        assert!((response / 41_000.0 - 1.0).abs() < 0.02, "{response} us in {:?}", plan.intensity);
        assert!(
            (service / 21_000.0 - 1.0).abs() < 0.03 && (connect / 20_000.0 - 1.0).abs() < 0.01,
            "{service} {connect}"
        );
    }
}

#[test]
fn connects_under_way_at_the_end_have_an_age() {
    // The server's only worker serves one of the five connections, and a second one waits in the accept queue. The
    // other three clients try to connect until the end of the load.
    let closed = Intensity::Closed { connections: 5, pipeline: 1, think: ThinkTime::default() };
    let mut plan = LoadPlan { new_connections: true, warmup_s: 1.0, drain_s: 0.0, ..plan(closed, 2.0) };
    plan.connect_timeout_s = 60.0;
    let (part, _) = simulate(&plan, &full_listener()).unwrap();
    // The three clients without a connection count as failures in the measured window.
    let [ages, failures] = ["under_way", "unanswered"].map(|name| Summary::of(&part.histograms[name]));
    assert_eq!(ages.count + failures.count, 5, "{ages:?} {failures:?}");
    assert!((failures.max / 3e6 - 1.0).abs() < 0.01, "{failures:?}");
}
