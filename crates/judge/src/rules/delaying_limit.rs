//! Rate limits that delay answers on purpose instead of refusing requests. Limits that delay answers are part of the
//! rule `server-rate-limit`.

use run::FigureUnit;

use super::rule::{Verdict, cannot_say};
use crate::context::evidence::measured;
use crate::context::single::server_of;
use crate::context::view::View;
use crate::in_flight::delayed::{Delayed, NoLimit, fills_alone, works};
use crate::in_flight::upstreams::awaited::Awaited;
use crate::number::rate;
use crate::thresholds::{BUSY, GUESS, HALF_BUSY, LIKELY, PILED_UP, WAIT_MOSTLY, WEAK_SIGN};
use crate::{Facts, in_flight::server_queue, in_flight::upstreams, waits};

/// Decides whether the server delays answers to limit the rate, by the signs of [`Delayed`]. A traffic shaper that lets
/// bursts pass shows the same signs, but its packets wait on the network path.
pub(super) fn delays(facts: &Facts<'_>) -> Option<Verdict> {
    let delayed = Delayed::of(facts)?;
    match delayed.no_limit() {
        Some(NoLimit::Seen(text)) => return Some(Verdict::RuledOut(text)),
        Some(NoLimit::Missing(what)) => return Some(cannot_say(what)),
        None => {}
    }
    if let Some(awaited) = waits_behind(facts, &delayed) {
        return Some(Verdict::RuledOut(awaited.words()));
    }
    // A server answers quickly until the pipe is full, and again after the reader emptied it.
    if let Some(pipe) = &facts.full_pipe {
        return Some(Verdict::RuledOut(format!("{}, but {}", delayed.text, pipe.words())));
    }
    let Delayed { one, most, r1_us, quick_us, text } = delayed;
    let view = server_of(one).unwrap_or_else(|| View::new("client", one, &one.client));
    let evidence = vec![measured(&view, ("latency_us.mean", ""), (r1_us, FigureUnit::Micros), Some(quick_us), text)];
    let sentence = format!("the server limits the rate on purpose: it serves {} and delays the rest", rate(most));
    let idle = view.cpu_share().is_some_and(|used| used < BUSY);
    // A worker that goes on working after its answer delays the next answer, as a rate limit does, but leaves the next
    // request unread. A server that limits its rate reads the next request at once. Workers that wait for another
    // program while they hold requests do not limit the rate on purpose.
    let waits = server_queue::seen(facts, None).is_some() || waits::hold_requests(&facts.waits);
    let confidence = match idle {
        _ if waits => GUESS,
        true => WEAK_SIGN,
        false => LIKELY,
    };
    Some(Verdict::Binds { confidence, sentence, evidence })
}

/// Returns the upstream for which more requests wait than without a limit. If most requests wait for the upstream, it
/// may limit the rate on purpose, or a link to it may be full. While the rest of a long reply arrives, its connection
/// does not count as waiting. The upstream therefore counts as awaited if half of the requests in flight wait for it.
/// Without a limit, as many requests wait as arrive during one quick answer (Little's law).
fn waits_behind<'a>(facts: &Facts<'a>, delayed: &Delayed<'_>) -> Option<Awaited<'a>> {
    let without_limit = delayed.most * delayed.quick_us / 1e6;
    let is_most =
        |all: &Awaited<'_>| all.waiting >= WAIT_MOSTLY * all.in_flight && all.waiting >= PILED_UP * without_limit;
    upstreams::awaited::most_awaited(facts).filter(is_most)
}

/// Returns the upstream that delays the answers (or the link to it), if any.
pub(super) fn delays_behind<'a>(facts: &Facts<'a>) -> Option<Awaited<'a>> {
    waits_behind(facts, &Delayed::of(facts)?)
}

/// Returns true if the server probably delays answers on purpose, and no unread request points to a busy worker.
pub(super) fn delays_for_sure(facts: &Facts<'_>) -> bool {
    matches!(delays(facts), Some(Verdict::Binds { confidence, .. }) if confidence >= LIKELY)
}

/// Returns true if a single client reached the highest rate of the sweep, and the server used less than half a CPU. The
/// cause is either a limit that delays answers or a single worker. Response times at a lower rate show whether a limit
/// or a single worker is the cause.
pub fn may_delay(run: &run::Run) -> bool {
    let alone = fills_alone(&Facts::of(run)).and_then(|(one, _)| works(one));
    alone.is_some_and(|cpus| cpus < HALF_BUSY)
}

#[cfg(test)]
mod tests {
    use crate::planted::proofs::waits;
    use crate::planted::{PlantedRun, Who};

    /// Makes a run of a server that answers one client 200 times per second, but needs only `us` microseconds at a
    /// lower rate.
    fn delaying(us: f64) -> PlantedRun {
        PlantedRun::new(5000.0, 200.0).change(move |t, p| {
            if t.kind == run::TrialKind::Search && p.offered < 190.0 {
                (t.latency_us.mean, t.latency_us.p50) = (us, us);
            }
        })
    }

    /// A worker that still works on a request after it has sent the answer leaves the next request unread. A server
    /// that limits its rate on purpose has already read the next request.
    #[test]
    fn a_worker_that_rests_after_its_answer_is_no_limit_on_purpose() {
        let rests = delaying(80.0).level(Who::Server, "connection.receive_queue", "", 60.0).verdict();
        assert_eq!(rests.id, "server-concurrency", "{rests:#?}");
    }

    /// A Kafka broker stops reading from a client that exceeds its quota, and a Netty server with traffic shaping does
    /// so, too. The client's next request waits unread, as it would in front of a single worker. An earlier version of
    /// loadline said "handles only about 0.976 requests at a time" and advised more threads. An experiment supported
    /// this wrong verdict with 90 %.
    #[test]
    fn a_limit_that_stops_reading_may_look_like_one_worker() {
        let muted = || {
            delaying(500.0)
                .level(Who::Server, "connection.receive_queue", "", 60.0)
                .none(Who::Server, "thread.cpu")
                .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x * 8.0)
        };
        let b = muted().verdict();
        assert!(b.id == "server-concurrency" && b.confidence < 0.6, "{b:#?}");
        assert!(b.sentence.contains("a limit that stops reading") && !b.sentence.contains("at a time"), "{b:#?}");
        assert!(b.advice.len() == 1 && b.advice[0].contains("a limit that stops reading"), "{:?}", b.advice);
        let (proof, found) = waits(muted().run(), b, Some(1.0));
        assert!(proof.outcome == run::ProofOutcome::NotTested && found.confidence < 0.6, "{}: {found:#?}", proof.why);
        assert!(proof.why.contains("a client without pauses waits"), "{}", proof.why);
        let mut judged = muted().run();
        crate::judge(&mut judged);
        assert!(crate::prove::may_be_rate_limit(&judged), "more source addresses are the next test");
    }

    /// This test repeats a situation that was observed with nginx in front of an upstream behind a shaped link. An
    /// earlier version of loadline said "limits the rate on purpose" with a confidence of 70 %.
    #[test]
    fn a_server_whose_requests_wait_for_an_upstream_delays_none_itself() {
        const ADDRESS: &str = "10.0.0.2:8000";
        let waiting = |replies: f64| {
            let planted = delaying(80.0)
                .level(Who::Server, "behind.connections", ADDRESS, 64.0)
                .level(Who::Server, "behind.busy", ADDRESS, replies)
                .change(|trial, _| {
                    let upstream = run::Upstream { address: ADDRESS.into(), depth: 1, ..run::Upstream::default() };
                    trial.server.iter_mut().for_each(|side| side.behind.push(upstream.clone()));
                });
            planted.verdict()
        };
        assert_eq!(waiting(0.0).id, "server-rate-limit");
        let behind = waiting(1000.0);
        assert!(behind.id == "server-concurrency" && behind.sentence.contains(ADDRESS), "{behind:#?}");
    }

    /// This test repeats a situation that was observed with a Go server that writes its log to a pipe, which `pv -L`
    /// reads slowly. The server is quick until the pipe is full. An earlier version of loadline said "limits the rate on
    /// purpose" with a confidence of 70 %.
    #[test]
    fn a_server_that_waits_for_a_full_pipe_limits_no_rate_on_purpose() {
        let logging = |state: run::ThreadState| {
            let mut run = delaying(80.0).run();
            for side in run.trials.iter_mut().filter_map(|trial| trial.server.as_mut()) {
                let states = [(state, "pipe to pv:9", 0.84), (run::ThreadState::Events, "", 1.0)];
                let profile = crate::waits::tests::process(8.0, &states);
                side.waits = Some(Box::new(run::WaitProfile { clients: None, ..profile }));
            }
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (full, empty) = (logging(run::ThreadState::FullPipe), logging(run::ThreadState::Events));
        assert_eq!((full.id.as_str(), empty.id.as_str()), ("server-concurrency", "server-rate-limit"), "{full:#?}");
    }

    /// This test repeats a situation that was observed with a real firewall: only 40 SYNs per second pass. The closed
    /// loop reached 6/s, because each client waited a second until the client repeated its SYN. The open loop reached
    /// 40/s.
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

    /// This test repeats a situation that was observed with a Go server that computes under a mutex, while other
    /// programs ran. One client reached 1,218 requests per second, and at half of this rate answers were faster.
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
    /// that needs 3.3 ms per request could not answer in 2.5 ms, so the server limits its rate.
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
