//! Operational laws applied to a run: steps of the sweep, Little's law, bounds of a closed system.
//!
//! Source: operational analysis (P. Denning, J. Buzen) as R. Blake uses it. X is the completed rate, U the utilization,
//! and N the number of clients. R is the response time (R1 with one client), and Z the think time. D is the demand per
//! request on a device. N = X (R + Z); U = X D; X <= min(N / (R1 + Z), 1 / Dmax); R >= max(R1, N Dmax - Z).

use run::{Intensity, Trial};

use crate::Facts;
use crate::context::single::{clients, closed, good};
use crate::context::sweep::Plateau;
use crate::network::ack_timer;
use crate::number::{finite, positive, ratio};
use crate::thresholds::{BEYOND_BOUND, NEARLY_FULL, UNANSWERED};

/// One step of a sweep, with the changes since the step before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    /// Number of clients in this step.
    pub(crate) n: f64,
    /// Good answers per second: completed, and with the expected status and content.
    pub(crate) x: f64,
    /// Mean response time of this step, microseconds.
    pub(crate) r_us: f64,
    /// Relative growth of `x` since the step before; absent in the first step.
    pub(crate) growth: Option<f64>,
    /// Growth of the response time since the step before, microseconds per added client; absent in the first step.
    pub(crate) dr_us: Option<f64>,
}

/// Returns the steps of the sweep.
pub(crate) fn steps(facts: &Facts<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for trial in &facts.sweep {
        let (n, x) = (clients(trial), good(trial));
        let r_us = positive(trial.latency_us.mean).or_else(|| ratio(n * 1e6, x)).unwrap_or(0.0);
        let before = steps.last();
        let growth = before.and_then(|b| ratio(x, b.x)).map(|g| g - 1.0);
        let dr_us = before.and_then(|b| ratio(r_us - b.r_us, n - b.n));
        steps.push(Step { n, x, r_us, growth, dr_us });
    }
    steps
}

/// A lower bound on the utilization of the busiest resource, whatever this resource is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LeastUse {
    /// Utilization, 0 to 1.
    pub(crate) utilization: f64,
    /// Response time at the last step of the sweep, divided by the response time of the lightest step.
    pub(crate) slower: f64,
}

/// Returns the lower bound on the utilization of the busiest resource at the last step of the sweep. A request never
/// waits longer than it would if all other requests were in front of it at the resource with the largest demand: R <=
/// R1 + (N - 1) Dmax. Therefore, U = X Dmax >= X (R - R1) / (N - 1). Source: J. Zahorjan, K. Sevcik, D. Eager and B.
/// Galler, *Balanced job bound analysis of queueing networks* (1982).
pub(crate) fn least_use(facts: &Facts<'_>) -> Option<LeastUse> {
    let steps = steps(facts);
    let last = steps.last()?;
    let r1_us = crate::context::single::r1_us(facts.unloaded?)?;
    let most_demand_us = positive(last.r_us - r1_us)? / positive(last.n - 1.0)?;
    let utilization = finite(last.x * most_demand_us / 1e6)?.min(1.0);
    Some(LeastUse { utilization, slower: ratio(last.r_us, r1_us)? })
}

/// Returns two numbers of requests in flight of one trial: the counted number, and the number by Little's law (rate
/// times response time). The counted and the computed number come from one window, so they should agree. Returns `None`
/// if many requests were never answered, since these requests have no response time.
pub(crate) fn little(trial: &Trial) -> Option<(f64, f64)> {
    let unanswered = match &trial.intensity {
        Intensity::SClients { .. } => 0.0,
        intensity => trial.tally.phantom as f64 * f64::from(intensity.pipeline()),
    };
    let seen = positive(trial.rates.concurrency - unanswered).filter(|seen| unanswered <= UNANSWERED * seen)?;
    if trial.latency_us.count == 0 && trial.service_us.count == 0 {
        return None;
    }
    let service = if trial.service_us.count > 0 { &trial.service_us } else { &trial.latency_us };
    let lost = service.unanswered_share();
    let mean_us = with_refusals(trial, service.mean)?;
    // The mean includes the times until failures. Failed requests were in flight, but are not in the completed rate.
    let rate = ratio(trial.rates.completed_rate, 1.0 - lost)?;
    Some((seen, positive(rate * mean_us / 1e6).filter(|_| lost <= UNANSWERED)?))
}

/// Returns the mean time of all answers, including refusals, microseconds. `good_us` is the mean time of the good
/// answers. Returns `None` if the times of refusals are unknown, or include the time before the send, as in an open
/// loop.
fn with_refusals(trial: &Trial, good_us: f64) -> Option<f64> {
    let tally = &trial.measured.tally;
    let Some(refused) = ratio(tally.unexpected_status as f64, tally.completed as f64).filter(|share| *share > 0.0)
    else {
        return Some(good_us);
    };
    let times = trial.histograms.get("refused").filter(|hist| !hist.is_empty() && closed(trial))?;
    Some((1.0 - refused) * good_us + refused * times.mean_us())
}

/// Returns the mean think time of a closed loop, microseconds.
pub(crate) fn think_us(trial: &Trial) -> f64 {
    match &trial.intensity {
        Intensity::Closed { think, .. } => finite(think.mean_ms * 1e3).unwrap_or(0.0).max(0.0),
        _ => 0.0,
    }
}

/// Returns the upper bound of the rate with `n` clients, requests per second: the lesser of N / (R1 + Z) and 1 / Dmax.
pub(crate) fn bound(n: f64, r1_us: f64, think_us: f64, d_max_s: Option<f64>) -> Option<f64> {
    let by_clients = ratio(n * 1e6, r1_us + think_us)?;
    let by_device = d_max_s.and_then(positive).map(|d| 1.0 / d);
    Some(by_device.map_or(by_clients, |d| d.min(by_clients)))
}

/// Returns the first step of the sweep whose rate exceeds N / (R1 + Z), the upper bound of the rate of N clients. R1 is
/// the response time with the fewest clients, and Z is the think time. A rate above this bound shows that R1 is longer
/// than the service time. With a single client, each request needs a wake-up of its own, but requests of several
/// clients share wake-ups. The step with the fewest clients, from which R1 comes, is not compared with the bound.
/// Refusals do not count, because they need no service.
pub(crate) fn beyond_bound<'a>(facts: &Facts<'a>) -> Option<&'a Trial> {
    let unloaded = facts.unloaded?;
    let r1 = crate::context::single::r1_us(unloaded)?;
    let over = |t: &&&Trial| {
        let bound = bound(clients(t), r1, think_us(t), None);
        clients(t) > clients(unloaded) && bound.is_some_and(|b| good(t) > BEYOND_BOUND * b)
    };
    facts.sweep.iter().find(over).copied()
}

/// Returns the service time of one request, microseconds: R1 (the response time with one client) minus the waits for
/// delayed acknowledgements, during which no worker is occupied. Returns `None` if R1 is not the service time; see
/// [`beyond_bound`].
pub(crate) fn service_us(facts: &Facts<'_>) -> Option<f64> {
    if beyond_bound(facts).is_some() {
        return None;
    }
    let wait_us = ack_timer::wait_without_worker_us(facts).unwrap_or(0.0);
    positive(crate::context::single::r1_us(facts.unloaded?)? - wait_us)
}

/// Returns true if throughput still grew with the clients, and the server handled nearly all requests of each load at
/// once. The number of requests that are handled is the rate times the service time (Little's law). Hardly any request
/// waited in any load, so no queue inside the server limits the rate.
pub(crate) fn handles_nearly_all(facts: &Facts<'_>) -> bool {
    let Some(service_us) = service_us(facts).filter(|_| facts.plateau == Plateau::Grows) else { return false };
    let handled = |trial: &Trial| ratio(good(trial) * service_us / 1e6, positive(trial.rates.concurrency)?);
    facts.loaded().chain(facts.failing).all(|trial| handled(trial).is_none_or(|share| share >= NEARLY_FULL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_the_source_come_out() {
        // Example of Blake 1993: a request without load takes 5.1138 ms (R1). A device with a demand of 1.945 ms is the
        // limit from 2.63 clients on.
        let with_two = bound(2.0, 5113.8, 0.0, Some(1.0 / 514.252)).unwrap();
        assert!((with_two - 391.1).abs() < 0.1);
        let with_five = bound(5.0, 5113.8, 0.0, Some(1.0 / 514.252)).unwrap();
        assert!((with_five - 514.252).abs() < 1e-9);
        assert!(bound(1.0, 0.0, 0.0, None).is_none());
    }

    /// If there are few answers, the mean response time R1 of a single client is inexact. The measured rate of one
    /// client may exceed 1 / R1, although 1 / R1 is the upper bound of this rate.
    #[test]
    fn one_client_never_does_more_than_the_work_of_one() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 300.0)
            .change(|trial, point| {
                if point.n == 1.0 {
                    trial.latency_us.mean *= 1.2;
                }
            })
            .steps(&[1, 16, 32])
            .run();
        crate::judge(&mut run);
        let warnings = &run.findings.trust.warnings;
        assert!(
            !warnings.iter().any(|warning| warning.starts_with("R1 is too high, so no knee is given")),
            "{warnings:?}"
        );
    }

    #[test]
    fn little_needs_both_figures() {
        let mut trial = Trial::default();
        assert!(little(&trial).is_none());
        trial.rates.concurrency = 4.0;
        trial.rates.completed_rate = 200.0;
        trial.latency_us = run::Summary { count: 400, mean: 20_000.0, ..run::Summary::default() };
        assert_eq!(little(&trial), Some((4.0, 4.0)));
        // A tenth of the requests failed after the same time. An earlier version of loadline left them out.
        let with_failures = Trial { rates: run::Rates { completed_rate: 180.0, ..trial.rates }, ..trial.clone() };
        let latency_us = run::Summary { count: 360, unanswered: 40, ..trial.latency_us };
        let (seen, law) = little(&Trial { latency_us, ..with_failures }).unwrap();
        assert!(seen == 4.0 && (law - 4.0).abs() < 1e-9, "{law}");
        (trial.rates.concurrency, trial.rates.completed_rate, trial.tally.phantom) = (41.0, 2000.0, 1);
        trial.intensity = Intensity::Closed { connections: 41, pipeline: 1, think: run::ThinkTime::default() };
        assert_eq!(little(&trial), Some((40.0, 40.0)), "one connection was never answered");
        trial.tally.phantom = 30;
        assert_eq!(little(&trial), None);
        trial.tally.phantom = 0;
        // Every second answer is a refusal that comes after 60 ms.
        (trial.rates.concurrency, trial.rates.completed_rate) = (8.0, 200.0);
        (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (400, 200);
        assert_eq!(little(&trial), None, "the times of refusals are unknown");
        let mut refused = run::Hist::new();
        (0..200).for_each(|_| refused.record_ns(60_000_000));
        trial.histograms.insert("refused".into(), refused);
        let (seen, law) = little(&trial).unwrap();
        assert!((law / seen - 1.0).abs() < 0.01, "{seen} {law}");
        (trial.measured.tally.completed, trial.measured.tally.unexpected_status) = (0, 0);
        // In this observed case, `python3 -m http.server` got 5,000 requests/s. Of 114 requests in flight, 111 waited
        // on connections that the server never accepted.
        trial.intensity =
            Intensity::Open { rate: 5000.0, arrival: run::Arrival::Poisson, max_connections: 10_000, pipeline: 1 };
        (trial.rates.concurrency, trial.tally.phantom) = (114.0, 111);
        assert_eq!(little(&trial), None);
    }
}
