//! Rate limits that delay answers on purpose instead of refusing requests. The rule `server-rate-limit` covers limits
//! that delay answers, too.

use run::{FigureUnit, Trial};

use super::rule::Verdict;
use crate::evidence::{measured, throttled};
use crate::number::{duration, rate};
use crate::single::{clients, good, r1_us, server_of, sides_of};
use crate::thresholds::{
    ALONE_REACHES, ASKED_FOR_MORE, BUSY, GUESS, HALF_BUSY, HELD_BACK, KEEPS_UP, LIKELY, THROTTLED, TREND_SURE,
    WEAK_SIGN,
};
use crate::view::{Task, View};
use crate::{Facts, link_queue, server_queue, waits};

/// Decides whether the server delays answers to limit the rate. With a limit that delays answers, one client that never
/// pauses waits for the limit's interval before each answer. Under a limit that delays answers, a single client already
/// reaches the highest rate of the sweep. Requests that arrive at a lower rate are answered sooner. With a single
/// worker instead of a limit, all requests would take at least the service time. A traffic shaper that lets bursts pass
/// has the signs of a limit, too, but its packets wait on the network path.
pub(super) fn delays(facts: &Facts<'_>) -> Option<Verdict> {
    let (one, most) = fills_alone(facts)?;
    let r1_us = r1_us(one)?;
    // If another load has a clearly higher rate of good answers than `most`, the server does not limit the rate to
    // `most`.
    if facts.search.iter().any(|t| good(t) >= ASKED_FOR_MORE * most) {
        return None;
    }
    let below = |t: &&&Trial| t.rates.offered_rate <= KEEPS_UP * most && t.latency_us.count > 0;
    let quick = facts.search.iter().filter(below).find(|t| longest_us(t) * HELD_BACK < r1_us)?;
    // If response times consist mostly of CPU time, the response times follow the machine's speed. The machine's speed
    // differs between windows, so a faster answer in another window is no sign of a limit.
    if works(one).is_some_and(|cpus| cpus >= HALF_BUSY) {
        return None;
    }
    let view = server_of(one).unwrap_or_else(|| View::new("client", one, &one.client));
    let text = format!(
        "a client without pauses waits {} for each answer; at an offered {} an answer takes {}",
        duration(r1_us),
        rate(quick.rates.offered_rate),
        duration(quick.latency_us.mean)
    );
    let quota = sides_of(one).iter().filter_map(throttled).find(|held| held.share >= THROTTLED);
    if let Some(held) = quota {
        return Some(Verdict::RuledOut(format!("{text}, but {}", held.evidence.text)));
    }
    if let Some(queue) = link_queue::on_the_way(one) {
        return Some(Verdict::RuledOut(format!("{text}, but {}", queue.text)));
    }
    if link_queue::is_hidden(one) {
        return Some(Verdict::CannotSay(vec!["round trips while the CPUs of both hosts have room".into()]));
    }
    let evidence =
        vec![measured(&view, ("latency_us.mean", ""), (r1_us, FigureUnit::Micros), Some(quick.latency_us.mean), text)];
    let sentence = format!("the server limits the rate on purpose: it serves {} and delays the rest", rate(most));
    let idle = view.cpu_share().is_some_and(|used| used < BUSY);
    // A worker that goes on working after its answer causes response times like a limiter does. A server that limits
    // its rate reads the next request at once. A worker that still works leaves the next request unread, or lets it
    // wait for a lock.
    let waits = server_queue::seen(facts, None).is_some() || waits::queue_inside(&facts.waits).is_some();
    let confidence = match idle {
        _ if waits => GUESS,
        true => WEAK_SIGN,
        false => LIKELY,
    };
    Some(Verdict::Binds { confidence, sentence, evidence })
}

/// Returns true if a single client reached the highest rate of the sweep, and the server used less than half a CPU. The
/// cause is either a limit that delays answers or a single worker. Response times at a lower rate show whether a limit
/// or a single worker is the cause.
pub fn may_delay(run: &run::Run) -> bool {
    let alone = fills_alone(&Facts::of(run)).and_then(|(one, _)| works(one));
    alone.is_some_and(|cpus| cpus < HALF_BUSY)
}

/// Returns the trial with one client and the highest rate of the sweep, if this client alone nearly reached the rate.
/// Returns `None` if no load shows a limit.
fn fills_alone<'a>(facts: &Facts<'a>) -> Option<(&'a Trial, f64)> {
    let (one, most) = (facts.unloaded.filter(|one| clients(one) <= 1.0)?, facts.x_max()?);
    (facts.limited() && good(one) >= ALONE_REACHES * most).then_some((one, most))
}

/// Returns the number of CPUs that the server's threads needed: their time running or waiting for a CPU, per second.
fn works(trial: &Trial) -> Option<f64> {
    let workers = server_of(trial)?.workers();
    (!workers.is_empty()).then(|| workers.iter().map(Task::wants).sum())
}

/// Returns the upper end of the confidence interval of a trial's mean response time, microseconds. Assumes that
/// response times have an exponential distribution.
fn longest_us(trial: &Trial) -> f64 {
    trial.latency_us.mean * (1.0 + TREND_SURE / (trial.latency_us.count as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Makes a run of a server that answers one client 200 times per second, and answers requests at a lower rate
    /// within `us` microseconds.
    fn delaying(us: f64) -> PlantedRun {
        PlantedRun::new(5000.0, 200.0).change(move |t, p| {
            if t.kind == run::TrialKind::Search && p.offered < 190.0 {
                (t.latency_us.mean, t.latency_us.p50) = (us, us);
            }
        })
    }

    /// A worker that goes on working after its answer leaves the next request unread. A server that limits its rate on
    /// purpose would already have read the next request.
    #[test]
    fn a_worker_that_rests_after_its_answer_is_no_limit_on_purpose() {
        let rests = delaying(80.0).level(Who::Server, "connection.receive_queue", "", 60.0).verdict();
        assert_eq!(rests.id, "server-concurrency", "{rests:#?}");
    }

    /// This case occurred with a real firewall that let 40 SYNs per second pass. The closed loop reached 6/s, because
    /// each client waited a second until the client repeated its SYN. The open loop reached 40/s.
    #[test]
    fn a_rate_that_another_load_exceeds_is_no_limit() {
        let exceeds = delaying(80.0).rates(&[0.5, 1.5]).change(|t, p| {
            if t.kind == run::TrialKind::Search {
                (t.rates.completed_rate, t.rates.goodput) = (p.offered, p.offered);
                (t.latency_us.mean, t.latency_us.p50) = (80.0, 80.0);
            }
        });
        assert_ne!(exceeds.verdict().id, "server-rate-limit", "{:#?}", exceeds.verdict());
    }

    #[test]
    fn a_limiter_that_delays_is_distinguished_from_a_single_worker() {
        let answered_in = |us: f64| delaying(us).verdict();
        let b = answered_in(80.0);
        assert!(b.id == "server-rate-limit" && b.sentence.contains("delays"), "{b:#?}");
        assert_eq!(answered_in(4800.0).id, "server-concurrency");
    }

    /// This case occurred with a Go server that computes under a mutex, while other programs ran. One client reached
    /// 1,218/s, and at half of this rate answers were faster.
    #[test]
    fn work_that_is_faster_in_another_window_is_no_limit() {
        let answered = |cpu_us: f64| {
            let change = |t: &mut run::Trial, p: &crate::planted::Point| {
                if t.kind == run::TrialKind::Search && p.offered < 190.0 {
                    (t.latency_us.mean, t.latency_us.p50, t.latency_us.count) = (3500.0, 3500.0, 3000);
                }
            };
            let planted = PlantedRun::new(5000.0, 200.0)
                .change(change)
                .none(Who::Server, "thread.cpu")
                .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * cpu_us)
                .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| p.x * cpu_us / 2.0)
                .per_s(Who::Server, "thread.cpu", "srv:100/102", move |p| p.x * cpu_us / 2.0);
            let mut run = planted.run();
            crate::judge(&mut run);
            run.findings.bottleneck.id
        };
        assert_eq!(answered(100.0), "server-rate-limit");
        assert_ne!(answered(4800.0), "server-rate-limit");
    }

    #[test]
    fn a_lower_rate_is_worth_a_window_where_one_client_fills_an_idle_server() {
        let of = |r1_us: f64, most: f64, cpu_us: f64| {
            let planted = PlantedRun::new(r1_us, most)
                .rates(&[])
                .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * cpu_us)
                .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| p.x * cpu_us);
            super::may_delay(&planted.run())
        };
        assert!(of(5000.0, 200.0, 50.0));
        assert!(!of(5000.0, 200.0, 4900.0), "a thread is full");
        assert!(!of(5000.0, 200.0, 2600.0), "half of the response is work");
        assert!(!of(5000.0, 800.0, 50.0), "four clients reach more than one");
    }

    /// With a CPU quota, one client that never pauses waits for the quota's next period. Requests at a lower rate are
    /// answered at once.
    #[test]
    fn a_quota_of_either_side_is_no_limit_on_purpose() {
        let held = |who: Who, group: &str| {
            let change = |t: &mut run::Trial, p: &crate::planted::Point| {
                if t.kind == run::TrialKind::Search && p.offered < 190.0 {
                    (t.latency_us.mean, t.latency_us.p50) = (80.0, 80.0);
                }
            };
            let mut run = PlantedRun::new(5000.0, 200.0)
                .level(who, "cgroup.cpu_quota", group, 0.3)
                .per_s(who, "cgroup.cpu_periods", group, |_| 10.0)
                .per_s(who, "cgroup.cpu_throttled_periods", group, |_| 9.0)
                .change(change)
                .run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (server, client) = (held(Who::Server, "/srv"), held(Who::Client, "/gen"));
        assert_eq!(server.id, "server-cpu-quota", "{server:#?}");
        assert_eq!(client.id, "client-cpu", "{client:#?}");
    }

    /// A client that never pauses waits 3.3 ms for each answer. At a lower rate, answers take only 2.5 ms. A worker
    /// that needs 3.3 ms per request could not answer in 2.5 ms, so there is a limit.
    #[test]
    fn a_limit_that_delays_by_less_than_its_service_is_told_too() {
        let answered_in = |us: f64, count: u64| {
            let change = move |t: &mut run::Trial, p: &crate::planted::Point| {
                if t.kind == run::TrialKind::Search && p.offered < 280.0 {
                    (t.latency_us.mean, t.latency_us.p50, t.latency_us.count) = (us, us, count);
                }
            };
            let mut run = PlantedRun::new(3300.0, 303.0).change(change).run();
            crate::judge(&mut run);
            run.findings.bottleneck.id
        };
        assert_eq!(answered_in(2500.0, 3000), "server-rate-limit");
        assert_ne!(answered_in(2500.0, 30), "server-rate-limit", "thirty answers do not show it");
        assert_ne!(answered_in(3200.0, 3000), "server-rate-limit");
    }
}
