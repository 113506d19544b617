//! Failed answers. If most answers fail, a full CPU does not count as the limit. If more answers fail than the
//! objective allows while CPU time is left, the CPU does not count as the limit either. The decisive trial of a run is
//! the load that represents the run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use run::{ErrorKind, FailureKind, Protocol, Run, SilentCloses, Trial};

use crate::Facts;
use crate::context::single::{clients, closed, failed_and_all, failed_share, server_of};
use crate::course::offered;
use crate::failed::failed_stretch::FailedStretch;
use crate::in_flight::upstreams::names;
use crate::number::{counted, figure, percent, ratio};
use crate::signals::good_work::fullness_by_good;
use crate::thresholds::{ALL_REFUSED, LIKELY, MOST_FAIL, TREND_SURE};

/// Failures that explain the result of a run better than CPU use does.
#[derive(Debug)]
pub(crate) struct Failures<'a> {
    run: &'a Run,
    /// Trial that shows the failures. Usually, the trial is the lowest load in which too many requests failed. If
    /// `stretch` is set, the trial with the most failures is chosen. If `at_every_load` is true, the trial with the
    /// most requests is chosen.
    pub(crate) trial: &'a Trial,
    /// Share of failed requests, 0 to 1. The share is computed from the requests of `trial`, or of all trials if
    /// `at_every_load` is true. If `stretch` is set, the share is 1.
    share: f64,
    /// True if most answers of the decisive trial (which represents the run) failed, so its figures do not describe the
    /// server's normal work.
    pub(crate) most: bool,
    /// True if the share of failed requests does not depend on the load. Failures that do not depend on the load show
    /// no limit of the server.
    pub(crate) at_every_load: bool,
    /// Stretch of time in which every request failed.
    pub(crate) stretch: Option<FailedStretch<'a>>,
}

impl<'a> Failures<'a> {
    /// Returns the failures that explain a run better than CPU use does.
    pub(crate) fn of(facts: &Facts<'a>) -> Option<Self> {
        Self::with(facts, had_time)
    }

    /// Returns the failures of a run, even if the server had no CPU time left. Callers must know that CPU use does not
    /// explain the run.
    pub(crate) fn without_other_cause(facts: &Facts<'a>) -> Option<Self> {
        Self::with(facts, |_, _| true)
    }

    fn with(facts: &Facts<'a>, counts: fn(&Facts<'_>, &Trial) -> bool) -> Option<Self> {
        let run = Some(facts.run).filter(|run| run.sent_requests())?;
        let failed = |trial: &'a Trial| Some((trial, failed_share(trial)?));
        let decisive = facts.decisive.and_then(failed).filter(|(_, share)| *share > MOST_FAIL);
        let most = decisive.is_some();
        if let Some(stretch) = &facts.stretch {
            let trial =
                stretch.trials.iter().copied().max_by(|a, b| failed_and_all(a).0.total_cmp(&failed_and_all(b).0))?;
            return Some(Self { run, trial, share: 1.0, most, at_every_load: false, stretch: facts.stretch.clone() });
        }
        if let Some((trial, share)) = at_every_load(facts) {
            return Some(Self { run, trial, share, most, at_every_load: true, stretch: None });
        }
        let broke = |(_, share): &(&Trial, f64)| *share > facts.limits.errors;
        let load = |trial: &Trial| trial.rates.offered_rate;
        let broken = facts.loaded().filter_map(failed).filter(broke);
        let first = broken.reduce(|a, b| if load(b.0) < load(a.0) { b } else { a });
        let idle = || first.filter(|(trial, _)| counts(facts, trial));
        let (trial, share) = decisive.and(first).or(decisive).or_else(idle)?;
        Some(Self { run, trial, share, most, at_every_load: false, stretch: None })
    }

    /// Returns a sentence about the failures: their share, their kinds, and the load at which they began.
    pub(crate) fn sentence(&self) -> String {
        if let Some(stretch) = &self.stretch {
            return stretch.sentence(&self.kinds());
        }
        if self.at_every_load {
            return format!("{} of the requests fail at every load{}", percent(self.share), self.kinds());
        }
        if self.is_only_load() {
            return format!("{} of the requests failed{}", percent(self.share), self.kinds());
        }
        let from = match closed(self.trial) {
            true => counted(clients(self.trial), "client"),
            false => format!("an offered {}", offered(self.run, self.trial)),
        };
        let (at, on) = if self.run.plan.load.stages.is_empty() { ("from", " on") } else { ("at", "") };
        format!("{at} {from}{on}, {} of the requests failed{}", percent(self.share), self.kinds())
    }

    /// Returns advice on the next step. The statuses 502 and 504 come from a gateway and point to the server behind the
    /// gateway (RFC 9110, 15.6.3 and 15.6.5). Status 429 means that the client sent too many requests in a given time
    /// (RFC 6585, section 4).
    pub(crate) fn advice(&self) -> String {
        let has = |wanted: &[&str]| self.trial.measured.tally.refusals().any(|(status, _)| wanted.contains(&status));
        if self.stretch.as_ref().is_some_and(|stretch| stretch.is_limited) {
            "Send fewer requests (--rate), or raise the server's limit: it allows only some requests in a time, and then refuses \
             all others (429 or the like). Then measure again."
                .into()
        } else if self.stretch.is_some() {
            "Read the server's log at that time: it tells why every request failed. A token or session may have expired, or the \
             server was not ready. Then measure again."
                .into()
        } else if let Some(advice) = self.silent_close_advice() {
            advice.into()
        } else if self.trial.tally.errors.count(ErrorKind::TryAgainLater) > 0 {
            "Send less load (fewer connections or messages), or give the server more resources: it closed connections because \
             it is overloaded, and asks clients to come back later. Then measure again."
                .into()
        } else if has(&["502", "504"]) {
            self.gateway_advice()
        } else if has(&["429"]) {
            "Send fewer requests (--rate), or raise the limit of the server or of what is in front of it: status 429 means too \
             many requests in a time. Then measure again."
                .into()
        } else {
            "Read the server's error log: it tells why these requests failed.".into()
        }
    }

    /// Returns the advice for a gateway whose upstreams did not answer, with the names of the upstreams.
    fn gateway_advice(&self) -> String {
        match server_of(self.trial).map(|view| names(&view.side.behind)).filter(|names| !names.is_empty()) {
            Some(names) => format!("{GATEWAY_ADVICE} Read the log of that upstream, too: {names}."),
            None => GATEWAY_ADVICE.into(),
        }
    }

    /// Returns the next step if the server closes each connection after some answers and gives no reason.
    fn silent_close_advice(&self) -> Option<&'static str> {
        let is_silent = matches!(self.trial.silent_closes()?, SilentCloses::AfterAnswers(_))
            && self.trial.first_reason(ErrorKind::ShortResponse).is_none();
        is_silent.then_some(match self.run.plan.load.protocol {
            Protocol::Http1(_) => {
                "Let the server announce the end of a connection (`Connection: close`), or measure with --new-connections: it \
                 closes each connection after some answers without a word, and the next request on it fails."
            }
            _ => {
                "Measure with --new-connections: the server closes each connection after some answers without a word, and the \
                 next request on it fails."
            }
        })
    }

    /// Returns true if only one load was measured. A single load does not show whether the failed share depends on the
    /// load.
    fn is_only_load(&self) -> bool {
        self.run.trials.iter().filter(|t| !t.kind.is_auxiliary()).count() == 1 && self.run.plan.load.stages.is_empty()
    }

    /// Lists the statuses and the kinds of the failures with their counts, and the first reason: ` (503: 1,240, resets:
    /// 3, first: "no backend")`.
    fn kinds(&self) -> String {
        let tally = &self.trial.measured.tally;
        let mut kinds: BTreeMap<String, u64> = tally.refusals().map(|(status, n)| (status.into(), n)).collect();
        let known: u64 = kinds.values().fold(0, |sum, n| sum.saturating_add(*n));
        kinds.insert("error answers".into(), tally.unexpected_status.saturating_sub(known));
        kinds.insert("without an answer".into(), tally.unanswered);
        kinds.extend(tally.errors.0.iter().map(|(kind, n)| (kind.words().into(), *n)));
        kinds.retain(|_, n| *n > 0);
        let each = kinds.iter().map(|(kind, n)| format!("{kind}: {}", figure(*n as f64)));
        let first = first_reason(self.trial).map(|reason| format!("first: {}", title_or_all(reason)));
        let each: Vec<String> = each.chain(first).collect();
        if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
    }
}

/// Advice if a gateway reports that it got no answer from its upstream.
const GATEWAY_ADVICE: &str = "Read the server's error log: it got no answer from its upstream. It may lack free ports, file \
                              descriptors or connections to that upstream; connections that stay open need fewer ports.";

/// Returns the reason of the first failure of one kind: the most frequent kind among those with a known reason.
fn first_reason(trial: &Trial) -> Option<&str> {
    let tally = &trial.tally;
    let count = |failure: &run::FirstFailure| match &failure.kind {
        FailureKind::Status(status) if status.is_empty() => tally.unexpected_status,
        FailureKind::Status(status) => tally.unexpected_statuses.get(status).copied().unwrap_or(0),
        FailureKind::Error(kind) => tally.errors.count(*kind),
    };
    // A failed request that is sent again does not count as failed. Kinds of failures whose requests were all sent
    // again are therefore skipped.
    let known = trial.first_failures.iter().filter(|failure| !failure.reason.is_empty() && count(failure) > 0);
    known.max_by_key(|failure| count(failure)).map(|failure| failure.reason.as_str())
}

/// Returns the title of the page if a reason is a page of HTML, in quotation marks; otherwise the reason.
fn title_or_all(reason: &str) -> Cow<'_, str> {
    // The lower-case copy is as long as the reason, so positions in the copy are positions in the reason.
    let lower = reason.to_ascii_lowercase();
    let title = || {
        let from = lower.find(TITLE)? + TITLE.len();
        let length = lower[from..].find("</title>")?;
        Some(reason[from..from + length].trim()).filter(|title| !title.is_empty())
    };
    title().map_or(Cow::Borrowed(reason), |title| format!("\"{title}\"").into())
}

/// Tag before the title of a page of HTML.
const TITLE: &str = "<title>";

/// Returns the trial with the most requests, and the failed share of all trials together. Returns `None` if the
/// objective allows the failed share of all trials, or if the share of a trial differs from it by more than chance
/// explains. Also returns `None` with a single load, if a load had no failure, or if nearly all requests failed.
fn at_every_load<'a>(facts: &Facts<'a>) -> Option<(&'a Trial, f64)> {
    let trials = || facts.sweep.iter().chain(&facts.search).copied();
    let counts: Vec<(f64, f64)> = trials().map(failed_and_all).filter(|(_, all)| *all > 0.0).collect();
    let sum = counts.iter().fold((0.0, 0.0), |sum, (failed, all)| (sum.0 + failed.min(*all), sum.1 + all));
    let share = ratio(sum.0, sum.1).filter(|share| (facts.limits.errors..ALL_REFUSED).contains(share))?;
    // The count of failures may differ by one by chance, so 1 is added to the allowed difference.
    let chance = |all: f64| TREND_SURE * (all * share * (1.0 - share)).sqrt() + 1.0;
    let is_equal = counts.iter().all(|(failed, all)| (failed - share * all).abs() <= chance(*all));
    // If any load has no failure, the failed share may depend on the load.
    let several = counts.len() > 1 && counts.iter().all(|(failed, _)| *failed > 0.0);
    let most = trials().max_by_key(|trial| trial.measured.tally.completed)?;
    (several && is_equal && share > facts.limits.errors).then_some((most, share))
}

/// Returns true if the server had CPU time left for good answers. The server had CPU time left if its CPUs and threads
/// were probably not full, or were full only of refusals.
fn had_time(facts: &Facts<'_>, trial: &Trial) -> bool {
    server_of(trial).and_then(|view| fullness_by_good(facts, &view)).is_some_and(|full| full < LIKELY)
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::Bottleneck;

    /// Judges a proxy that has one thread and runs out of local ports. From `clients` clients on, the proxy answers the
    /// share `share` of the requests with 502 at once.
    fn refuses_from(clients: f64, share: f64, thread_us: f64) -> Bottleneck {
        let change = move |t: &mut run::Trial, p: &Point| {
            if p.n >= clients {
                let failed = (share * t.measured.tally.completed as f64) as u64;
                t.measured.tally.unexpected_status = failed;
                t.measured.tally.status.insert("5xx".into(), failed);
                // Refusals cost the server little time, so their number grows with the number of clients.
                t.rates.completed_rate *= 1.0 + p.n / 64.0;
            }
        };
        let mut run = PlantedRun::new(60.0, 20_000.0)
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * thread_us)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| p.x * thread_us)
            .change(change)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    /// In this test, an error page of nginx filled three lines of loadline's answer.
    #[test]
    fn a_page_of_html_is_told_by_its_title() {
        let page = "\"<html> <HEAD><Title>502 Bad Gateway</TITLE></head> <body>\u{e4} <h1>502</h1></body></html>\"";
        assert_eq!(super::title_or_all(page), "\"502 Bad Gateway\"");
        for other in ["\"no backend\"", "\"<title></title>\"", "\"<title>\u{e4}"] {
            assert_eq!(super::title_or_all(other), other);
        }
    }

    #[test]
    fn a_thread_that_is_full_of_failures_is_no_limit() {
        let b = refuses_from(1.0, 0.8, 49.0);
        assert!(b.id == "unknown" && b.sentence.contains("5xx") && b.sentence.contains("from "), "{b:#?}");
        assert!(b.ruled_out.iter().any(|r| r.id == "server-single-thread" && r.why.contains("failed")), "{b:#?}");
        assert!(b.advice.iter().any(|next| next.starts_with("Read the server's error log")), "{b:#?}");
        let works = refuses_from(1e9, 0.8, 49.0);
        assert_eq!(works.id, "server-single-thread", "{works:#?}");
    }

    /// The server completes 10,000/s, and every fiftieth answer is a 500. In some trials, other programs took the
    /// server's CPU time.
    #[test]
    fn failures_that_do_not_depend_on_the_load_are_said_so_and_are_no_limit_on_purpose() {
        let fails = |t: &mut run::Trial, p: &Point| {
            if p.offered > 0.0 {
                // In the windows up to 5,000/s, other programs took the server's CPU time.
                let slowed = if p.offered > 5000.0 { 0.0 } else { 0.25 * t.rates.completed_rate };
                (t.rates.completed_rate, t.measured.tally.completed) = (slowed, (2.0 * slowed) as u64);
            }
            let tally = &mut t.measured.tally;
            tally.unexpected_status = tally.completed / 50;
            tally.unexpected_statuses = [("500".to_string(), tally.unexpected_status)].into();
        };
        let mut run =
            PlantedRun::new(1000.0, 10_000.0).steps(&[1, 2, 4]).rates(&[0.3, 0.4, 0.9, 1.15]).change(fails).run();
        crate::judge(&mut run);
        let (b, warnings) = (&run.findings.bottleneck, &run.findings.trust.warnings);
        assert_ne!(b.id, "server-rate-limit", "{b:#?}");
        assert!(!b.sentence.contains("from "), "{b:#?}");
        assert!(warnings.iter().any(|w| w.contains("2 % of the requests fail at every load")), "{warnings:#?}");
        assert!(run.findings.capacity.as_ref().is_none_or(|c| !c.held));
    }

    /// A WebSocket server closes the connections of four requests in five with code 1013. An earlier version of loadline
    /// advised to read the server's log.
    #[test]
    fn a_server_that_asks_to_come_later_gets_less_load() {
        let change = |t: &mut run::Trial, p: &Point| {
            if p.n >= 1.0 {
                let failed = 4 * t.measured.tally.completed;
                t.tally.errors.0.insert(run::ErrorKind::TryAgainLater, failed);
                t.measured.tally.errors = t.tally.errors.clone();
            }
        };
        let mut run = PlantedRun::new(60.0, 20_000.0)
            .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 10.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x * 10.0)
            .change(change)
            .run();
        crate::judge(&mut run);
        let found = &run.findings.bottleneck;
        assert!(found.sentence.contains("connections closed for overload"), "{found:#?}");
        assert!(found.advice.iter().any(|next| next.starts_with("Send less load")), "{found:#?}");
    }

    /// One answer in a hundred fails because the server's only thread is full.
    #[test]
    fn a_full_server_that_fails_now_and_then_is_full() {
        let b = refuses_from(8.0, 0.02, 49.0);
        assert_eq!(b.id, "server-single-thread", "{b:#?}");
    }
}
