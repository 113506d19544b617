//! Servers whose capacity for an objective can be computed exactly.

use load::{Service, SimServer, TokenBucket};
use run::Plan;
use testkit::queueing::{bucket_refuses, dm1_capacity, highest, md1_tail, mm1_capacity, mmc_tail};

use crate::known::{Known, SLOW};

/// Returns a server model with the given service time, microseconds, and the given number of workers.
pub(crate) fn server(service: Service, service_us: u64, workers: u32) -> SimServer {
    SimServer { service, service_ns: service_us * 1000, workers, ..SimServer::default() }
}

/// Returns a server of one worker with exponential service times.
pub(crate) fn m_m_1() -> Known {
    let mm1 = |p99_us: f64| mm1_capacity(10_000.0, 1.0 - SLOW, p99_us / 1e6);
    Known::queue("M/M/1, p99", server(Service::Exponential, 100, 1), 5000.0, mm1)
}

/// Returns a server of one worker with a constant service time.
pub(crate) fn m_d_1() -> Known {
    let md1 = |p99_us: f64| highest(10_000.0, |rate| md1_tail(1e-4, rate, p99_us / 1e6) <= SLOW);
    Known::queue("M/D/1, p99", server(Service::Constant, 100, 1), 1000.0, md1)
}

/// Returns a server of eight workers with exponential service times.
pub(crate) fn m_m_8() -> Known {
    let mm8 = |p99_us: f64| highest(10_000.0, |rate| mmc_tail(8, 1250.0, rate, p99_us / 1e6) <= SLOW);
    Known::queue("M/M/8, p99", server(Service::Exponential, 800, 8), 8000.0, mm8)
}

/// Returns an M/M/1 queue with a limit on the median, so that half of the requests may exceed the limit.
pub(crate) fn median() -> Known {
    let mut known = Known::queue("M/M/1, p50", server(Service::Exponential, 100, 1), 693.0, |us| {
        mm1_capacity(10_000.0, 0.5, us / 1e6)
    });
    known.plan.objective.p99_us = None;
    known.plan.objective.p50_us = Some(known.limit);
    known
}

/// Returns an M/M/1 queue with a limit on the mean response time. The mean response time is 1 / (mu - lambda).
pub(crate) fn mean() -> Known {
    let mut known = Known::queue("M/M/1, mean", server(Service::Exponential, 100, 1), 1000.0, |us| 10_000.0 - 1e6 / us);
    known.plan.objective.p99_us = None;
    known.plan.objective.mean_us = Some(known.limit);
    known
}

/// Returns an M/M/1 queue with two limits: 1200 us for the 99.9th percentile, which is exceeded first, and 400 us for
/// the mean.
pub(crate) fn together() -> Known {
    let mm1 = |p99_9_us: f64| mm1_capacity(10_000.0, 0.999, p99_9_us / 1e6);
    let mut known = Known::queue("M/M/1, p99.9 and mean", server(Service::Exponential, 100, 1), 1200.0, mm1);
    known.plan.objective.p99_us = None;
    known.plan.objective.p99_9_us = Some(known.limit);
    known.plan.objective.mean_us = Some(400.0);
    known
}

/// Returns a server of eight workers with the default objective of `find`. The capacity follows from the objective's
/// limit on the median, ten times the unloaded median. The limit on the 99th percentile is so long that the queue needs
/// a whole measurement to reach it.
pub(crate) fn own_objective() -> Known {
    let capacity = |p50_us: f64| {
        highest(10_000.0, |rate| {
            let late = |us: f64| mmc_tail(8, 1250.0, rate, us / 1e6);
            late(p50_us) <= 0.5 && late(100_000.0) <= SLOW
        })
    };
    let mut known = Known::queue("M/M/8, find's own", server(Service::Exponential, 800, 8), 5545.0, capacity);
    known.plan.objective.p50_us = Some(known.limit);
    known.plan.objective.p99_us = Some(100_000.0);
    known
}

/// Returns a server with exponential service times of 5 ms, as in many applications, and with the default objective of
/// `find`. At only 200 requests per second, the search uses equal gaps between arrivals, so the queue is D/M/1.
pub(crate) fn slow_application() -> Known {
    let capacity = |p50_us: f64| dm1_capacity(200.0, 0.5, p50_us / 1e6);
    let mut known =
        Known::queue("D/M/1 of 5 ms, find's own", server(Service::Exponential, 5000, 1), 34_660.0, capacity);
    known.plan.objective.p50_us = Some(known.limit);
    known.plan.objective.p99_us = Some(346_600.0);
    known
}

/// Returns a server with a token bucket of 20 tokens, which gets 6000 tokens per second. The server refuses requests
/// without a token.
pub(crate) fn bucket() -> Known {
    let limit = Some(TokenBucket { rate: 6000, burst: 20 });
    let mut plan = Plan::default();
    plan.objective.p99_us = Some(20_000.0);
    Known {
        name: "token bucket",
        server: SimServer { limit, rtt_ns: 1_000_000, ..server(Service::Constant, 10, 4) },
        limit: plan.objective.errors,
        plan,
        capacity: |share| 6000.0 * highest(2.0, |load| bucket_refuses(20, load) <= share),
    }
}

/// Returns a server with eight workers that need 8 ms per request on average. The objective limits the median to 55.45
/// ms (as `find` does by default), and the 99th percentile to 1 s.
pub(crate) fn slow_slots() -> Known {
    let capacity = |p50_us: f64| highest(1000.0, |rate| mmc_tail(8, 125.0, rate, p50_us / 1e6) <= 0.5);
    let mut known =
        Known::queue("M/M/8 of 8 ms, find's own", server(Service::Exponential, 8000, 8), 55_450.0, capacity);
    known.plan.objective.p50_us = Some(known.limit);
    known.plan.objective.p99_us = Some(1_000_000.0);
    known
}

/// Returns a server that handles one request at a time, 8 ms each. The limit on the 99th percentile is nearly as long
/// as a measurement. If requests arrive at equal intervals, they wait only if they arrive faster than the server
/// handles them.
pub(crate) fn long_limit() -> Known {
    Known::queue("D/D/1 of 8 ms, p99 of 1 s", server(Service::Constant, 8000, 1), 1_000_000.0, |_| 125.0)
}

/// Returns a server with exponential service times of 8 ms, and a limit of 1 s on the 99th percentile.
pub(crate) fn long_limit_of_random_work() -> Known {
    let capacity = |p99_us: f64| dm1_capacity(125.0, 1.0 - SLOW, p99_us / 1e6);
    Known::queue("D/M/1 of 8 ms, p99 of 1 s", server(Service::Exponential, 8000, 1), 1_000_000.0, capacity)
}
