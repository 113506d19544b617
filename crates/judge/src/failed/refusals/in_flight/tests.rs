//! Simulated servers with a limit on requests in flight, or with a rate limit. The simulated server refuses all other
//! requests at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use run::{Hist, Trial};

use super::super::{Kept, Refusals};

/// Length of a simulated window, seconds.
const LENGTH_S: f64 = 1.0;
/// Number of requests that a rate limit lets pass at once.
const BURST: f64 = 2.0;

/// Limit of a simulated server.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// Maximum number of requests in the server at a time.
    InFlight(u32),
    /// Maximum number of requests per second (token bucket).
    Rate(f64),
}

/// Load on a simulated server.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// Number of clients that never pause.
    Clients(u32),
    /// Random arrivals per second.
    Arrivals(f64),
}

/// A simulated window of a server that has a limit.
#[derive(Clone, Copy, Debug)]
struct Window {
    limit: Limit,
    load: Load,
    /// Time for which the server handles a request, seconds.
    service_s: f64,
    /// Mean time that a request spends on the network, seconds. A refused request spends this time on the network, too.
    way_s: f64,
}

/// Event of the simulation: a request arrives at the server, or its answer leaves the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives,
    Ends,
}

/// Queue of events in order of time. An entry has the time of the event, its kind, and the start of the request, in
/// nanoseconds.
type Events = BinaryHeap<Reverse<(u64, Event, u64)>>;
/// Function that adds a request with a given start time, nanoseconds.
type Start<'s> = &'s mut dyn FnMut(&mut Events, u64);

impl Window {
    fn trial(self, random: &mut fastrand::Rng) -> Trial {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let (mut good, mut refused, mut events) = (Hist::new(), Hist::new(), Events::new());
        let mut way = random.fork();
        let mut start = |events: &mut Events, now: u64| {
            events.push(Reverse((now + ns(self.way_s * (0.5 + way.f64())), Event::Arrives, now)));
        };
        self.first(random, &mut start, &mut events);
        let (mut busy, mut next_ns) = (0_u32, 0_u64);
        while let Some(Reverse((now, event, began))) = events.pop().filter(|Reverse((now, ..))| *now < ns(LENGTH_S)) {
            let passes = match self.limit {
                Limit::InFlight(most) => busy < most,
                Limit::Rate(_) => now >= next_ns,
            };
            match event {
                Event::Arrives if passes => {
                    busy += 1;
                    if let Limit::Rate(rate) = self.limit {
                        next_ns = next_ns.max(now.saturating_sub(ns(BURST / rate))) + ns(1.0 / rate);
                    }
                    events.push(Reverse((now + ns(self.service_s), Event::Ends, began)));
                    continue;
                }
                Event::Arrives => refused.record_ns(now - began),
                Event::Ends => {
                    busy -= 1;
                    good.record_ns(now - began);
                }
            }
            if matches!(self.load, Load::Clients(_)) {
                start(&mut events, now);
            }
        }
        trial(good, refused)
    }

    /// Adds the first request of each client, or all requests of an open loop.
    fn first(self, random: &mut fastrand::Rng, start: Start<'_>, events: &mut Events) {
        match self.load {
            Load::Clients(clients) => (0..clients).for_each(|_| start(events, 0)),
            Load::Arrivals(rate) => {
                let mut at_s = 0.0;
                while at_s < LENGTH_S {
                    start(events, (at_s * 1e9) as u64);
                    at_s -= (1.0 - random.f64()).ln() / rate;
                }
            }
        }
    }
}

fn trial(good: Hist, refused: Hist) -> Trial {
    let (answered, bad) = (good.len() + refused.len(), refused.len());
    let mut trial = Trial::default();
    (trial.measured.length_s, trial.rates.completed_rate) = (LENGTH_S, answered as f64 / LENGTH_S);
    (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (answered, bad);
    trial.measured.tally.unexpected_statuses = [("503".into(), bad)].into();
    trial.histograms = [("response".into(), good), ("refused".into(), refused)].into();
    trial
}

/// Returns the quantity that a server keeps constant in a simulated search. The search has two open loops above the
/// limit, and two closed loops with several times as many clients. In the closed loops, a request takes `slower` times
/// as long.
fn kept(limit: Limit, (service_s, way_s): (f64, f64), slower: f64, random: &mut fastrand::Rng) -> Option<Kept> {
    let (most, rate) = match limit {
        Limit::InFlight(most) => (most, f64::from(most) / service_s),
        Limit::Rate(rate) => ((rate * service_s).ceil() as u32, rate),
    };
    let loads = [
        (Load::Arrivals(1.3 * rate), 1.0),
        (Load::Arrivals(2.0 * rate), 1.0),
        (Load::Clients(3 * most.max(2)), slower),
        (Load::Clients(5 * most.max(2)), slower),
    ];
    let all = loads.map(|(load, slower)| Window { limit, load, service_s: service_s * slower, way_s }.trial(random));
    let all: Vec<&Trial> = all.iter().collect();
    Refusals::of(all.iter().copied(), &all).kept()
}

/// Counts the results of simulated searches, first with a limit on requests in flight, then with a rate limit. `slower`
/// returns the factor by which the service time grows under a heavy load.
fn counts(seeds: u64, slower: fn(&mut fastrand::Rng) -> f64) -> [[usize; 3]; 2] {
    let mut found = [[0; 3]; 2];
    for seed in 0..seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        let most = [1, 2, 4, 16, 50][seed as usize % 5];
        let times = (0.02 + 0.06 * random.f64(), 0.002 + 0.004 * random.f64());
        let slower = slower(&mut random);
        let limits = [Limit::InFlight(most), Limit::Rate(f64::from(most) / times.0)];
        for (counts, limit) in found.iter_mut().zip(limits) {
            match kept(limit, times, slower, &mut random) {
                Some(Kept::Rate) => counts[0] += 1,
                Some(Kept::InFlight) => counts[1] += 1,
                Some(Kept::Either) | None => counts[2] += 1,
            }
        }
    }
    println!("limit in flight [rate, in flight, open]: {:?}; rate limit: {:?}", found[0], found[1]);
    found
}

/// A limit of 50 requests in flight was reported as a rate limit (95 % sure) by an earlier version of loadline, because
/// response times differed by 6 %.
#[test]
fn a_response_time_that_hardly_changes_separates_no_limits() {
    let [in_flight, rate] = counts(100, |random| 1.0 + 0.1 * random.f64());
    assert_eq!((in_flight[0], rate[1]), (0, 0), "no limit is taken for the other");
    assert!(in_flight[2] >= 90, "{in_flight:?}");
}

#[test]
fn no_limit_is_taken_for_the_other_if_answers_take_longer() {
    let [in_flight, rate] = counts(200, |random| 1.0 + random.f64());
    assert_eq!((in_flight[0], rate[1]), (0, 0));
}

/// Under a heavy load, answers take twice as long. With a limit on requests in flight, doubling the response time
/// halves the rate.
#[test]
fn a_response_time_that_doubles_separates_the_limits() {
    let [in_flight, rate] = counts(100, |_| 2.0);
    assert_eq!((in_flight[0], rate[1]), (0, 0));
    assert!(in_flight[1] >= 50 && rate[0] >= 50, "{in_flight:?} {rate:?}");
}

#[test]
fn times_that_are_unknown_leave_the_limit_open() {
    let mut random = fastrand::Rng::with_seed(1);
    let window = Window { limit: Limit::Rate(500.0), load: Load::Arrivals(800.0), service_s: 0.01, way_s: 0.001 };
    let mut known = window.trial(&mut random);
    known.histograms.remove("refused");
    let open = Refusals::of(std::iter::once(&known), &[&known]);
    assert_eq!((open.kept(), open.in_flight.is_kept), (Some(Kept::Either), false));
}
