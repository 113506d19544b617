//! Rule for a server that limits the rate on purpose. The server quickly answers requests with status 4xx or 5xx, and
//! the rate of good answers stays constant.

use run::{Evidence, FigureUnit, Trial};

use super::at_a_time::{AtATime, at_a_time};
use super::delaying_limit::delays;
use super::limit_kind::{advice, kept_line};
use super::per_period;
use super::rule::{PLAIN, Rule, Verdict};
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{refused, server_of};
use crate::context::view::View;
use crate::failed::refusals::{Level, Refusals};
use crate::number::{cpus, figure, percent, rate};
use crate::signals::Signal;
use crate::signals::good_work::fullness_by_good;
use crate::thresholds::{ALL_REFUSED, HINT, LIKELY, REFUSED, SUREST, TWO_SIGNS, WEAK_SIGN};
use crate::waits;

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
        "Raise the limit or exempt the generator's address, to measure the server itself.",
    ],
    explain: "Refusals (429, 503 or the like) are cheap. A server that limits on purpose completes more and more \
              answers while the good ones stay at one rate, and neither its CPUs, its threads nor its upstream are \
              full. A server that fails under load is full, or its good rate falls. A server that fails the same share \
              of a light load sets no limit, either. A single load tells the two apart only by a status such as 429, \
              or by good answers at a constant rate. A limit on requests in flight (limit_conn, a semaphore, a \
              connection pool) keeps the rate of good answers times their response time constant, so the rate falls if \
              answers take longer. A rate limit keeps the rate constant, however long answers take. If neither \
              changed, nothing separates the two limits, and the confidence is 0.5. The confidence is also 0.5 if \
              requests waited before any was refused, because workers with a bounded queue do the same. If no answer \
              is good, the path or the method may be wrong, and the rule does not apply. A limit may also delay \
              answers. In this case, one client without pauses waits for the limit's gap and reaches the highest rate \
              alone, while arrivals below that rate are answered at once. A fixed number of workers would delay both \
              kinds of requests. A worker that still works after its answer has the same times, but leaves the next \
              request unread or waiting for a lock. A server without file descriptors refuses too, but not on purpose; \
              that rule comes first. A limit of requests per period (2,000 per 10 s) answers a burst at the beginning \
              of each period, and refuses everything after it. Bursts with equal numbers of good answers, which begin \
              at equal intervals, show the limit and its period.",
    ..PLAIN
};

/// Returns the trial with the largest share of refused answers.
fn most<'a>(facts: &Facts<'a>) -> Option<&'a Trial> {
    facts.loaded().max_by(|a, b| refused(a).total_cmp(&refused(b)))
}

/// Returns the share of refused answers as a signal. For a limit that delays answers, the share of refused answers is
/// 0.
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
    if let Some(limit) = &facts.period_limit {
        return per_period::bind(facts, limit);
    }
    if refused(worst) < REFUSED {
        return delays(facts).unwrap_or_else(|| {
            Verdict::RuledOut(format!("{} of the answers had an unexpected status", percent(refused(worst))))
        });
    }
    if trials().all(|t| refused(t) > ALL_REFUSED) {
        return Verdict::RuledOut("no answer had the expected status: check the path and the method".into());
    }
    let Refusals { rate: Level { lowest, highest, constant, .. }, overload, .. } = &facts.refusals;
    let room = room(facts, limited(&facts.refusals));
    let keeps = facts.refusals.keep_one_rate() || facts.refusals.keep_one_number_in_flight();
    let confidence = match (keeps, room.is_some_and(|room| room >= LIKELY)) {
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
    // A status such as 429 says that the server refuses on purpose, because of requests per second or requests at a
    // time. If requests waited at the same rate before the first refusal, the server was full before it reached the
    // limit. If only the number of requests in flight stayed constant, the kind of limit is known.
    let is_sure = facts.refusals.is_named || facts.refusals.keeps_in_flight();
    let is_open = at_a_time.as_ref().is_some_and(|limit| limit.queue.is_some() || !is_sure);
    let confidence = if is_open { confidence.min(LIKELY) } else { confidence };
    bind(facts, worst, confidence, at_a_time)
}

/// Returns the trials that show the limit: all that have about the same rate of good answers. If the server limits the
/// requests in flight, the rate of good answers differs between trials, so all trials with refusals show the limit.
fn limited<'r, 'a>(refusals: &'r Refusals<'a>) -> &'r [&'a Trial] {
    if refusals.keeps_in_flight() { &refusals.refusing } else { &refusals.trials }
}

/// Returns the probability that the server had CPU time left while it refused requests. Returns `None` if the server's
/// CPU use is unknown. A server without CPU time left refuses requests because it is full, not on purpose. The rate of
/// good answers is steady in both cases. CPU time that refusals use counts as time left. Returns 0 for a server that
/// waits for a full upstream.
fn room(facts: &Facts<'_>, limited: &[&Trial]) -> Option<f64> {
    let views = limited.iter().filter_map(|trial| server_of(trial));
    let full = views.filter_map(|view| fullness_by_good(facts, &view)).reduce(f64::min)?;
    let waits = crate::in_flight::upstreams::full(facts).is_some() || refuses_for_workers(facts);
    Some(if waits { 0.0 } else { 1.0 - full })
}

/// Returns true if a gateway refuses requests because requests queue for all workers behind it. The workers are then
/// the limit, and the gateway does not refuse on purpose.
pub(crate) fn refuses_for_workers(facts: &Facts<'_>) -> bool {
    facts.refusals.by_gateway && waits::queue_inside(&facts.waits).is_some()
}

/// Lists the numbers of refusals by status: ` (429: 120, 503: 3)`.
fn by_status(trial: &Trial) -> String {
    by_status_if(trial, |_| true)
}

/// Returns the number of refusals by status, for statuses that `keep` accepts.
fn by_status_if(trial: &Trial, keep: impl Fn(&str) -> bool) -> String {
    let kept = trial.measured.tally.refusals().filter(|(status, _)| keep(status));
    let each: Vec<String> = kept.map(|(status, n)| format!("{status}: {}", figure(n as f64))).collect();
    if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
}

fn bind(facts: &Facts<'_>, worst: &Trial, confidence: f64, at_a_time: Option<AtATime>) -> Verdict {
    let refusals = &facts.refusals;
    let view = server_of(worst).unwrap_or_else(|| View::new("client", worst, &worst.client));
    let share = refused(worst);
    let mut evidence = vec![measured(
        &view,
        ("unexpected_status", ""),
        (share, FigureUnit::Plain),
        Some(REFUSED),
        format!("{} of the answers were refusals{}", percent(share), by_status(worst)),
    )];
    evidence.extend(rate_line(refusals, &view));
    evidence.extend(kept_line(facts, &view));
    if let Some(used) = view.cpu_used().filter(|_| view.role == "server") {
        let text = format!("the server used {}", cpus(used));
        evidence.push(measured(&view, ("process.cpu", ""), (used, FigureUnit::Cpus), view.cpu_allowed(), text));
    }
    let limit = refusals.rate.middle;
    let others = other_failures(worst, refusals.by_gateway);
    let sentence = match at_a_time {
        Some(AtATime { text, queue }) if refusals.keeps_in_flight() => {
            evidence.extend(queue);
            format!("the server limits the requests in flight: it takes only {text} and refuses the rest{others}")
        }
        Some(AtATime { text, queue }) => {
            evidence.extend(queue);
            format!(
                "the server refuses what exceeds {}, or {text}: its limit is one of requests per second, or of requests at a time",
                rate(limit)
            )
        }
        None => {
            format!("the server limits the rate on purpose: it serves {} and refuses the rest{others}", rate(limit))
        }
    };
    Verdict::Binds { confidence, sentence, evidence }
}

/// Returns evidence of a rate of good answers that stayed constant. Returns `None` if the rate of good answers did not
/// stay constant.
fn rate_line(refusals: &Refusals<'_>, view: &View<'_>) -> Option<Evidence> {
    let (limit, trials) = (refusals.rate.middle, refusals.trials.len());
    let text = match trials {
        1 => format!("good answers came at {}", rate(limit)),
        _ => format!("good answers stayed near {} in {trials} trials", rate(limit)),
    };
    let is_rate = !refusals.keeps_in_flight();
    is_rate.then(|| measured(view, ("goodput", ""), (limit, FigureUnit::PerSecond), None, text))
}

/// Returns text about answers that failed with a status that does not mean overload. Older runs record only status
/// classes such as 5xx. A status class may include refusals by the limit, so classes are not used.
fn other_failures(trial: &Trial, by_gateway: bool) -> String {
    let is_limit = |status: &str| run::is_overload(status) || by_gateway && run::is_gateway_failure(status);
    let others = by_status_if(trial, |status| !is_limit(status) && !status.ends_with("xx"));
    if others.is_empty() { others } else { format!("; other answers failed{others}") }
}

#[cfg(test)]
mod tests;
