//! The server refuses requests on purpose: it answers quickly with status 4xx or 5xx, while the rate of good answers
//! stays constant.

use run::{FigureUnit, Trial};

use super::rule::{PLAIN, Rule, Verdict};
use crate::Facts;
use crate::evidence::{measured, throttled};
use crate::link_queue;
use crate::number::{cpus, duration, figure, percent, rate, ratio};
use crate::refusals::Refusals;
use crate::server_queue;
use crate::signals::Signal;
use crate::signals::cpu::fullness;
use crate::single::{clients, good, refused, server_of, sides_of};
use crate::thresholds::{
    ALL_REFUSED, ALONE_REACHES, ASKED_FOR_MORE, BUSY, GUESS, HALF_BUSY, HELD_BACK, HINT, KEEPS_UP, LIKELY, REFUSED,
    SUREST, THROTTLED, TREND_SURE, TWO_SIGNS, WEAK_SIGN,
};
use crate::view::{Task, View};
use crate::waits;

pub(super) const RULE: Rule = Rule {
    id: "server-rate-limit",
    needs: &["status"],
    explains: &["client-cpu", "server-cpu", "server-single-thread", "network-medium", "accept-queue"],
    is_counted: |facts| most(facts).is_some_and(|trial| refused(trial) >= REFUSED),
    signals,
    judge,
    advice: &[
        "Look for a rate limit in the server's configuration (limit_req, limit_conn, middleware, an upstream quota).",
        "To measure the server itself, raise the limit or exempt the generator's address.",
    ],
    explain: "Refusals (429, 503 or the like) are cheap. A server that limits on purpose completes more and more answers \
              while the good ones stay at one rate, and neither its CPUs, its threads nor its upstream are full. A server that \
              fails under load is full, or its good rate falls. A server that fails the same share of a light load sets no \
              limit, either. A single load tells the two apart only by a status such as 429, or by good answers at a constant \
              rate. With a wrong path no answer is good. A limit may also delay answers. Then one client without pauses waits \
              for the limit's gap and reaches the highest rate alone, while arrivals below that rate are answered at once. A \
              fixed number of workers would delay both. A worker that still works after its answer has the same times, but \
              leaves the next request unread or waiting for a lock. A server without file descriptors refuses too, but not on \
              purpose; that rule comes first.",
    ..PLAIN
};

/// Returns the trial with the largest share of refused answers.
fn most<'a>(facts: &Facts<'a>) -> Option<&'a Trial> {
    facts.loaded().max_by(|a, b| refused(a).total_cmp(&refused(b)))
}

/// Returns the refused share of the answers. A limit that delays answers has none.
fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let signal = |trial: &Trial| {
        let events = refused(trial) * trial.measured.tally.completed as f64;
        Signal::counted("refused share of the answers", (refused(trial), events), REFUSED)
    };
    most(facts).map(signal).into_iter().collect()
}

fn judge(facts: &Facts<'_>) -> Verdict {
    let trials = || facts.loaded();
    let Some(worst) = most(facts) else {
        return Verdict::CannotSay(vec!["no trial completed anything".into()]);
    };
    if !facts.run.sent_requests() {
        return Verdict::CannotSay(vec!["the status of the answers".into()]);
    }
    if refused(worst) < REFUSED {
        return delays(facts).unwrap_or_else(|| {
            Verdict::RuledOut(format!("{} of the answers had an unexpected status", percent(refused(worst))))
        });
    }
    if trials().all(|t| refused(t) > ALL_REFUSED) {
        return Verdict::RuledOut("no answer had the expected status: check the path and the method".into());
    }
    let Refusals { trials: limited, lowest, middle, highest, constant, overload, .. } = &facts.refusals;
    let room = room(facts, limited);
    let confidence = match (facts.refusals.keep_one_rate(), room.is_some_and(|room| room >= LIKELY)) {
        (true, _) => room.map_or(TWO_SIGNS, |room| SUREST * room),
        (false, true) if *constant && *overload != Some(false) && facts.refusals.show_a_limit() => WEAK_SIGN,
        (false, true) if *constant && *overload != Some(false) && trials().count() == 1 => {
            return Verdict::CannotSay(vec![
                "answers at other loads: one load cannot tell a limit from a server that fails a part of all requests \
                 (run `loadline find`)"
                    .into(),
            ]);
        }
        (false, true) if *constant && *overload != Some(false) && facts.refusals.is_exceeded => {
            return Verdict::RuledOut(format!(
                "{} of the answers were refusals, but another load had more good answers per second and no refusals",
                percent(refused(worst))
            ));
        }
        (false, true) if *constant && *overload != Some(false) => {
            return Verdict::RuledOut(format!(
                "{} of the answers were refusals, and no fewer under a lighter load: a limit would let more of it pass",
                percent(refused(worst))
            ));
        }
        _ if *overload == Some(false) => {
            return Verdict::RuledOut(format!(
                "{} of the answers had an unexpected status{}, but few of these say that there were too many requests",
                percent(refused(worst)),
                by_status(worst)
            ));
        }
        _ => {
            return Verdict::RuledOut(format!(
                "{} of the answers were refusals, but good answers varied ({} to {}) or the server was busy: it fails under load and sets no limit",
                percent(refused(worst)),
                rate(*lowest),
                rate(*highest)
            ));
        }
    };
    if confidence < HINT {
        let share = percent(refused(worst));
        return Verdict::RuledOut(format!(
            "{share} of the answers were refusals, but the server or its upstream was full: it refuses what it cannot do"
        ));
    }
    bind(worst, confidence, *middle, limited.len())
}

/// Returns the probability that the server had CPU time left at the limit. A server whose CPUs, threads or upstream are
/// full refuses requests because they are full, at a rate that is as steady as that of a limit on purpose. `None` if its
/// CPU use is not known.
fn room(facts: &Facts<'_>, limited: &[&Trial]) -> Option<f64> {
    let full = limited.iter().filter_map(|t| server_of(t).and_then(|view| fullness(&view))).reduce(f64::min)?;
    let waits = crate::upstreams::full(&facts.upstreams).is_some();
    Some(if waits { 0.0 } else { 1.0 - full })
}

/// Decides whether the server delays answers to limit the rate. A client without pauses then waits for the limit's
/// interval and reaches the highest rate alone. Arrivals below that rate are answered sooner. A single worker would
/// make both wait for the service time. A shaped link with a burst has the same signs, but its packets wait on the
/// path.
fn delays(facts: &Facts<'_>) -> Option<Verdict> {
    let (one, most) = (facts.unloaded.filter(|t| clients(t) <= 1.0)?, facts.x_max()?);
    let r1_us = crate::single::r1_us(one).filter(|_| facts.limited() && good(one) >= ALONE_REACHES * most)?;
    // A limit lets no load have more.
    if facts.search.iter().any(|t| good(t) >= ASKED_FOR_MORE * most) {
        return None;
    }
    let below = |t: &&&Trial| t.rates.offered_rate <= KEEPS_UP * most && t.latency_us.count > 0;
    let quick = facts.search.iter().filter(below).find(|t| longest_us(t) * HELD_BACK < r1_us)?;
    // If CPU time makes up most of a response, its length follows the machine's speed, which differs between windows.
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
    let idle = used_share(&view).is_some_and(|used| used < BUSY);
    // A worker that still works after its answer has the same response times as a limiter. But a limiter reads a request
    // before it delays the answer, and the worker leaves it unread or makes it wait for a lock.
    let waits = server_queue::seen(facts, None).is_some() || waits::queue_inside(&facts.waits).is_some();
    let confidence = match idle {
        _ if waits => GUESS,
        true => WEAK_SIGN,
        false => LIKELY,
    };
    Some(Verdict::Binds { confidence, sentence, evidence })
}

/// Returns true if one client alone reached the highest rate of a sweep, and the server hardly used its CPUs. Either a
/// limit that delays answers or a single worker causes this; response times at a lower rate tell which.
pub fn may_delay(run: &run::Run) -> bool {
    let facts = Facts::of(run);
    let one = facts.unloaded.filter(|one| clients(one) <= 1.0).zip(facts.x_max());
    let reaches = |(one, most): (&Trial, f64)| facts.limited() && good(one) >= ALONE_REACHES * most;
    one.is_some_and(|pair| reaches(pair) && works(pair.0).is_some_and(|cpus| cpus < HALF_BUSY))
}

/// Returns the time that the server's threads ran or waited for a CPU, in CPUs.
fn works(trial: &Trial) -> Option<f64> {
    let workers = server_of(trial)?.workers();
    (!workers.is_empty()).then(|| workers.iter().map(Task::wants).sum())
}

/// Returns the upper end of the interval of a trial's mean response time, microseconds, assuming exponentially
/// distributed times.
fn longest_us(trial: &Trial) -> f64 {
    trial.latency_us.mean * (1.0 + TREND_SURE / (trial.latency_us.count as f64).sqrt())
}

/// Returns the number of refusals by status: ` (429: 120, 503: 3)`.
fn by_status(trial: &Trial) -> String {
    let each: Vec<String> =
        trial.measured.tally.refusals().map(|(status, n)| format!("{status}: {}", figure(n as f64))).collect();
    if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
}

fn used_share(view: &View<'_>) -> Option<f64> {
    ratio(view.cpu_used()?, view.cpu_allowed()?)
}

fn bind(worst: &Trial, confidence: f64, limit: f64, trials: usize) -> Verdict {
    let view = server_of(worst).unwrap_or_else(|| View::new("client", worst, &worst.client));
    let share = refused(worst);
    let mut evidence = vec![
        measured(
            &view,
            ("unexpected_status", ""),
            (share, FigureUnit::Plain),
            Some(REFUSED),
            format!("{} of the answers were refusals{}", percent(share), by_status(worst)),
        ),
        measured(
            &view,
            ("goodput", ""),
            (limit, FigureUnit::PerSecond),
            None,
            match trials {
                1 => format!("good answers came at {}", rate(limit)),
                _ => format!("good answers stayed near {} in {trials} trials", rate(limit)),
            },
        ),
    ];
    if let Some(used) = view.cpu_used().filter(|_| view.role == "server") {
        let text = format!("the server used {}", cpus(used));
        evidence.push(measured(&view, ("process.cpu", ""), (used, FigureUnit::Cpus), view.cpu_allowed(), text));
    }
    let sentence = format!("the server limits the rate on purpose: it serves {} and refuses the rest", rate(limit));
    Verdict::Binds { confidence, sentence, evidence }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who, refuses_beyond_500};

    /// Seen live: a busy machine starved the generator, and an earlier version named it at confidence 0.3.
    #[test]
    fn a_starved_generator_does_not_hold_the_good_answers_at_one_rate() {
        let mut run = refuses_beyond_500()
            .per_s(Who::Client, "process.cpu", "loadline:50", |_| 250_000.0)
            .per_s(Who::Client, "thread.cpu", "shard0:50/51", |_| 250_000.0)
            .per_s(Who::Client, "thread.run_delay", "shard0:50/51", |_| 400_000.0)
            .run();
        crate::judge(&mut run);
        let (verdict, trust) = (&run.findings.bottleneck, &run.findings.trust);
        assert_eq!(verdict.id, "server-rate-limit", "{verdict:#?}");
        assert!(!trust.warnings.iter().any(|w| w.contains("starved")), "{trust:#?}");
    }

    /// A single load cannot show that the rate of good answers has a ceiling, so the response statuses decide.
    #[test]
    fn one_load_shows_a_limit_by_statuses_of_too_many_requests_alone() {
        let verdict = |status: &str| {
            let mut run = refuses_beyond_500().run();
            let mut trial = run.trials.iter().rev().find(|t| t.measured.tally.unexpected_status > 0).unwrap().clone();
            trial.kind = run::TrialKind::Fixed;
            let tally = &mut trial.measured.tally;
            tally.unexpected_statuses = [(status.into(), tally.unexpected_status)].into();
            run.trials = vec![trial];
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let limited = verdict("429");
        assert!(limited.id == "server-rate-limit" && limited.evidence[0].text.contains("(429: "), "{limited:#?}");
        for status in ["401", "404", "500", "503"] {
            assert_eq!(verdict(status).id, "unknown", "{status}");
        }
        let failing = verdict("503");
        assert!(failing.sentence.contains("of the requests failed (503: "), "{failing:#?}");
        assert!(failing.missing.iter().any(|missing| missing.contains("one load cannot tell a limit")), "{failing:#?}");
    }

    /// Seen live with memcached, which takes 1,024 connections: 32 clients had 151,000 good answers per second, and
    /// 1,024 clients had 36,000 beside refusals.
    #[test]
    fn no_load_without_refusals_completes_more_than_a_limit() {
        let with_status = |status: &'static str| {
            let refuse = move |t: &mut run::Trial, p: &crate::planted::Point| {
                if p.n >= 128.0 && t.kind == run::TrialKind::Sweep {
                    (t.rates.completed_rate, t.rates.goodput) = (38_000.0, 36_000.0);
                    t.measured.tally.completed = 76_000;
                    t.measured.tally.unexpected_status = 4000;
                    if !status.is_empty() {
                        t.measured.tally.unexpected_statuses = [(status.into(), 4000)].into();
                    }
                }
            };
            let mut run = PlantedRun::new(60.0, 151_000.0).rates(&[]).change(refuse).run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        assert_ne!(with_status("").id, "server-rate-limit");
        assert_eq!(with_status("429").id, "server-rate-limit", "the status says so");
    }

    /// Seen live: a node server with one full thread refused 503 above ten waiting requests. It was called a limit on
    /// purpose, with certainty, since its thread used less than half of the host's CPUs.
    #[test]
    fn a_server_that_refuses_because_its_thread_is_full_sets_no_limit_on_purpose() {
        let refusing = |thread: f64| {
            let busy = move |p: &crate::planted::Point| thread * 1e6 * (p.x / 500.0).min(1.0);
            let mut run = refuses_beyond_500()
                .per_s(Who::Server, "process.cpu", "srv:100", busy)
                .per_s(Who::Server, "thread.cpu", "srv:100/101", busy)
                .run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (full, idle) = (refusing(0.99), refusing(0.3));
        let out = full.ruled_out.iter().find(|out| out.id == "server-rate-limit").map(|out| out.why.as_str());
        assert!(out.is_some_and(|why| why.contains("it refuses what it cannot do")), "{full:#?}");
        assert!(idle.id == "server-rate-limit" && idle.confidence >= 0.9, "{idle:#?}");
    }

    /// Makes a server that answers one client 200 times per second, and arrivals below that rate within `us`.
    fn delaying(us: f64) -> PlantedRun {
        PlantedRun::new(5000.0, 200.0).change(move |t, p| {
            if t.kind == run::TrialKind::Search && p.offered < 190.0 {
                (t.latency_us.mean, t.latency_us.p50) = (us, us);
            }
        })
    }

    fn judged(planted: &PlantedRun) -> run::Bottleneck {
        let mut run = planted.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    /// A worker that still works after its answer leaves the next request unread, as a limiter does not.
    #[test]
    fn a_worker_that_rests_after_its_answer_is_no_limit_on_purpose() {
        let rests = judged(&delaying(80.0).level(Who::Server, "connection.receive_queue", "", 60.0));
        assert_eq!(rests.id, "server-concurrency", "{rests:#?}");
    }

    /// Seen live with a firewall that let 40 SYNs through per second. The closed loop reached 6/s, since each client
    /// waited a second for its next SYN, and the open loop 40/s.
    #[test]
    fn a_rate_that_another_load_exceeds_is_no_limit() {
        let exceeds = delaying(80.0).rates(&[0.5, 1.5]).change(|t, p| {
            if t.kind == run::TrialKind::Search {
                (t.rates.completed_rate, t.rates.goodput) = (p.offered, p.offered);
                (t.latency_us.mean, t.latency_us.p50) = (80.0, 80.0);
            }
        });
        assert_ne!(judged(&exceeds).id, "server-rate-limit", "{:#?}", judged(&exceeds));
    }

    #[test]
    fn a_limiter_that_delays_is_distinguished_from_a_single_worker() {
        let answered_in = |us: f64| judged(&delaying(us));
        let b = answered_in(80.0);
        assert!(b.id == "server-rate-limit" && b.sentence.contains("delays"), "{b:#?}");
        assert_eq!(answered_in(4800.0).id, "server-concurrency");
    }

    /// Seen live with a Go server that computes behind a mutex, beside other programs: one client reached 1,218/s, and
    /// answers at half that rate were faster.
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

    /// With a quota, one client waits for the next period, and arrivals below its rate are answered at once.
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

    /// The limit holds each request for 3.3 ms, and answers take 2.5 ms. A worker cannot answer faster than its holding
    /// time.
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
