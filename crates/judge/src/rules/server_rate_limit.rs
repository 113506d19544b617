//! Rule for a server that limits the rate on purpose. The server quickly answers requests with status 4xx or 5xx, and
//! the rate of good answers stays constant.

use run::{FigureUnit, Trial};

use super::at_a_time::{AtATime, advice, at_a_time};
use super::delaying_limit::delays;
use super::rule::{PLAIN, Rule, Verdict};
use crate::Facts;
use crate::evidence::measured;
use crate::number::{cpus, figure, percent, rate};
use crate::refusals::Refusals;
use crate::signals::Signal;
use crate::signals::cpu::fullness;
use crate::single::{refused, server_of};
use crate::thresholds::{ALL_REFUSED, HINT, LIKELY, REFUSED, SUREST, TWO_SIGNS, WEAK_SIGN};
use crate::view::View;

pub(super) const RULE: Rule = Rule {
    id: "server-rate-limit",
    needs: &["status"],
    explains: &["client-cpu", "server-cpu", "server-single-thread", "network-medium", "accept-queue"],
    is_counted: |facts| most(facts).is_some_and(|trial| refused(trial) >= REFUSED),
    signals,
    judge,
    advise: advice,
    advice: &[
        "Look for a rate limit in the server's configuration (limit_req, limit_conn, middleware, an upstream quota).",
        "To measure the server itself, raise the limit or exempt the generator's address.",
    ],
    explain: "Refusals (429, 503 or the like) are cheap. A server that limits on purpose completes more and more \
              answers while the good ones stay at one rate, and neither its CPUs, its threads nor its upstream are \
              full. A server that fails under load is full, or its good rate falls. A server that fails the same \
              share of a light load sets no limit, either. A single load tells the two apart only by a status such \
              as 429, or by good answers at a constant rate. If at least one good answer is always in progress, and \
              always about as many, a limit of requests at a time (limit_conn, a connection pool) looks the same, \
              and the confidence is 0.5. So it is if requests waited before any was refused: workers with a bounded \
              queue do that, too. With a wrong path no answer is good. A limit may also delay answers. Then \
              one client without pauses waits for the limit's gap and reaches the highest rate alone, while arrivals \
              below that rate are answered at once. A fixed number of workers would delay both. A worker that still \
              works after its answer has the same times, but leaves the next request unread or waiting for a lock. A \
              server without file descriptors refuses too, but not on purpose; that rule comes first.",
    ..PLAIN
};

/// Returns the trial with the largest share of refused answers.
fn most<'a>(facts: &Facts<'a>) -> Option<&'a Trial> {
    facts.loaded().max_by(|a, b| refused(a).total_cmp(&refused(b)))
}

/// Returns the refused share of the answers as a signal. For a limit that delays answers, the refused share is 0.
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
    let at_a_time = at_a_time(facts);
    // A status such as 429 says that the server refuses on purpose, by requests per second or by requests at a time.
    // However, if requests waited at the same rate before any request was refused, the server was full before its
    // limit.
    let is_open = at_a_time.as_ref().is_some_and(|limit| limit.queue.is_some() || !facts.refusals.is_named);
    let confidence = if is_open { confidence.min(LIKELY) } else { confidence };
    bind(worst, confidence, (*middle, limited.len()), at_a_time)
}

/// Returns the probability that the server had CPU time left while it refused requests. Returns `None` if the server's
/// CPU use is unknown. A server without CPU time left refuses requests because it is full, not on purpose; the rate of
/// good answers is steady in both cases. Returns 0 for a server that waits for a full upstream.
fn room(facts: &Facts<'_>, limited: &[&Trial]) -> Option<f64> {
    let full = limited.iter().filter_map(|t| server_of(t).and_then(|view| fullness(&view))).reduce(f64::min)?;
    let waits = crate::upstreams::full(facts).is_some();
    Some(if waits { 0.0 } else { 1.0 - full })
}

/// Lists the numbers of refusals by status: ` (429: 120, 503: 3)`.
fn by_status(trial: &Trial) -> String {
    by_status_if(trial, |_| true)
}

/// Returns the number of refusals by status, for statuses that `keep` accepts.
fn by_status_if(trial: &Trial, keep: fn(&str) -> bool) -> String {
    let kept = trial.measured.tally.refusals().filter(|(status, _)| keep(status));
    let each: Vec<String> = kept.map(|(status, n)| format!("{status}: {}", figure(n as f64))).collect();
    if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
}

fn bind(worst: &Trial, confidence: f64, (limit, trials): (f64, usize), at_a_time: Option<AtATime>) -> Verdict {
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
    let sentence = match at_a_time {
        Some(AtATime { text, queue }) => {
            evidence.extend(queue);
            format!(
                "the server refuses what exceeds {}, or {text}: its limit is one of requests per second, or of requests at a time",
                rate(limit)
            )
        }
        None => {
            // Older runs record only status classes such as 5xx. A status class (such as 5xx) may include refusals by
            // the limit, so classes are left out.
            let others = by_status_if(worst, |status| !run::is_overload(status) && !status.ends_with("xx"));
            let others = if others.is_empty() { others } else { format!("; other answers failed{others}") };
            format!("the server limits the rate on purpose: it serves {} and refuses the rest{others}", rate(limit))
        }
    };
    Verdict::Binds { confidence, sentence, evidence }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who, refuses_beyond_500, refuses_beyond_500_after};

    /// This test repeats a situation that was observed on a busy machine: the generator lacked CPU time, and an earlier
    /// version of loadline named the generator as the bottleneck.
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

    /// An earlier version of loadline said "limits the rate on purpose, 95 %" about Varnish in front of a backend with
    /// at most 30 connections. A rate limit is still possible, because the number of open connections would be the same
    /// with a rate limit.
    #[test]
    fn a_full_pool_of_connections_that_refuses_is_a_guess() {
        let with_connections = |count: f64| {
            let behind = |t: &mut run::Trial, _: &crate::planted::Point| {
                let upstream = run::Upstream {
                    address: "127.0.0.1:9402".into(),
                    depth: 1,
                    processes: vec!["app:200".into()],
                    ..run::Upstream::default()
                };
                t.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
            };
            let mut run = refuses_beyond_500_after(10_000.0)
                .level(Who::Server, "behind.connections", "127.0.0.1:9402", count)
                .level(Who::Server, "behind.busy", "127.0.0.1:9402", count)
                .change(behind)
                .run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (pool, other) = (with_connections(5.0), with_connections(50.0));
        assert!(pool.sentence.contains("srv has 5 connections to app") && pool.confidence <= 0.5, "{pool:#?}");
        assert!(other.sentence.contains("on purpose") && other.confidence >= 0.9, "{other:#?}");
    }

    /// The server answers 500 requests per second, each after 10 ms: 5 requests at a time. If the response times
    /// differ between two loads, but not the rates of good answers, the limit is one of requests per second.
    #[test]
    fn a_limit_of_requests_per_second_is_told_from_one_of_requests_at_a_time() {
        let verdict = |status: &'static str, slower: f64, r1_us: f64| {
            let refuse = move |t: &mut run::Trial, p: &crate::planted::Point| {
                let n = t.measured.tally.unexpected_status;
                t.measured.tally.unexpected_statuses = [(status.into(), n)].into_iter().filter(|s| s.1 > 0).collect();
                t.latency_us.mean = if p.n > 64.0 { slower * r1_us } else { r1_us };
            };
            let mut run = refuses_beyond_500_after(r1_us).change(refuse).run();
            crate::judge(&mut run);
            let found = run.findings.bottleneck;
            let names_both = found.sentence.contains("or of requests at a time");
            (found.id == "server-rate-limit", found.confidence >= 0.9, names_both)
        };
        assert_eq!(verdict("503", 1.0, 10_000.0), (true, false, true), "5 at a time, or 500/s");
        assert_eq!(verdict("503", 2.0, 10_000.0), (true, true, false), "5 and 10 at a time");
        assert_eq!(verdict("429", 1.0, 10_000.0), (true, true, true), "too many requests, of either kind");
        assert_eq!(verdict("429", 2.0, 10_000.0), (true, true, false), "5 and 10 at a time");
        assert_eq!(verdict("503", 1.0, 500.0), (true, true, false), "a quarter of a request at a time");
    }

    /// A single load cannot show that the rate of good answers has an upper limit, so the statuses of the answers
    /// decide.
    #[test]
    fn one_load_shows_a_limit_by_statuses_of_too_many_requests_alone() {
        let with_series = |status: &str, series: [Vec<f64>; 2]| {
            let mut run = refuses_beyond_500().run();
            let mut trial = run.trials.iter().rev().find(|t| t.measured.tally.unexpected_status > 0).unwrap().clone();
            trial.kind = run::TrialKind::Fixed;
            [trial.measured.series_completed, trial.measured.series_refused] = series;
            let tally = &mut trial.measured.tally;
            tally.unexpected_statuses = [(status.into(), tally.unexpected_status)].into();
            run.trials = vec![trial];
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let verdict = |status: &str| with_series(status, Default::default());
        let limited = verdict("429");
        // A single load does not tell whether the server limits requests per second or requests at a time.
        assert!(limited.sentence.ends_with("or of requests at a time"), "{limited:#?}");
        assert!(limited.id == "server-rate-limit" && limited.evidence[0].text.contains("(429: "), "{limited:#?}");
        for status in ["401", "404", "500", "503"] {
            assert_eq!(verdict(status).id, "unknown", "{status}");
        }
        let all: Vec<f64> = (0..30).map(|i| 200.0 + 20.0 * f64::from(i % 7)).collect();
        let every_fifth = all.iter().map(|rate| rate / 5.0).collect();
        assert_eq!(with_series("429", [all, every_fifth]).id, "unknown", "every fifth request at any rate");
        let failing = verdict("503");
        assert!(failing.sentence.contains("of the requests failed (503: "), "{failing:#?}");
        assert!(failing.missing.iter().any(|missing| missing.contains("one load cannot tell a limit")), "{failing:#?}");
    }

    /// Half of the refusals of this server come from its rate limit; the other half has another cause.
    #[test]
    fn refusals_of_another_kind_are_not_those_of_a_limit() {
        let mut run = refuses_beyond_500().run();
        for trial in &mut run.trials {
            let tally = &mut trial.measured.tally;
            let half = tally.unexpected_status / 2;
            tally.unexpected_statuses = [("429", tally.unexpected_status - half), ("401", half)]
                .into_iter()
                .filter(|(_, n)| *n > 0)
                .map(|(status, n)| (status.into(), n))
                .collect();
        }
        crate::judge(&mut run);
        let b = &run.findings.bottleneck;
        assert!(b.id == "server-rate-limit" && b.sentence.contains("; other answers failed (401: "), "{b:#?}");
    }

    /// This test repeats a situation that was observed with memcached, which accepts at most 1,024 connections. 32
    /// clients got 151,000 good answers per second. 1,024 clients got only 36,000 good answers per second, and
    /// refusals.
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

    /// This test repeats a situation that was observed with a Node.js server whose only thread was full: it refused
    /// requests with status 503 while ten others waited. An earlier version of this rule was certain of a deliberate
    /// limit, because the thread used less than half of the host's CPUs.
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

    /// A circuit breaker opens beyond 1,600 requests per second, and then lets 100 requests per second pass. An earlier
    /// version of this rule said "it serves 100/s" with 95 %.
    #[test]
    fn a_circuit_breaker_that_opened_is_no_limit_of_the_rate() {
        let open = |t: &mut run::Trial, p: &crate::planted::Point| {
            if p.offered > 1600.0 {
                (t.rates.completed_rate, t.rates.goodput) = (p.offered, 100.0);
                t.measured.tally.completed = (2.0 * p.offered) as u64;
                t.measured.tally.unexpected_status = (2.0 * (p.offered - 100.0)) as u64;
                t.measured.tally.unexpected_statuses = [("503".into(), t.measured.tally.unexpected_status)].into();
            }
        };
        let b = PlantedRun::new(5000.0, 1600.0).rates(&[0.5, 1.05, 1.3, 1.7]).change(open).verdict();
        assert!(b.id != "server-rate-limit" || b.confidence <= 0.5, "{b:#?}");
    }
}
