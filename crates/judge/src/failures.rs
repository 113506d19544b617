//! Failed answers: if they are most of the answers, or break the objective while the server has time left, no CPU is
//! the limit.

use std::collections::BTreeMap;

use run::{Run, Trial};

use crate::Facts;
use crate::course::offered;
use crate::number::{figure, percent};
use crate::signals::chance;
use crate::signals::cpu::full;
use crate::single::{clients, closed, failed_share, server_of};
use crate::thresholds::{LIKELY, MOST_FAIL};
use crate::view::Task;

/// Failures that say more than the use of any CPU.
#[derive(Debug)]
pub(crate) struct Failures<'a> {
    run: &'a Run,
    /// Trial with the lowest load in which too many answers failed.
    trial: &'a Trial,
    /// Share of its answers that failed, 0 to 1.
    share: f64,
    /// True if most answers of the decisive trial failed. Its figures then say nothing about work.
    pub(crate) most: bool,
}

impl<'a> Failures<'a> {
    pub(crate) fn of(facts: &Facts<'a>) -> Option<Self> {
        let failed = |trial: &'a Trial| Some((trial, failed_share(trial)?));
        let decisive = facts.decisive.and_then(failed).filter(|(_, share)| *share > MOST_FAIL);
        let broke = |(_, share): &(&Trial, f64)| *share > facts.limits.errors;
        let load = |trial: &Trial| if closed(trial) { clients(trial) } else { trial.rates.offered_rate };
        let of_search = facts.search.iter().copied().filter_map(failed).filter(broke);
        let of_sweep = facts.sweep.iter().copied().filter_map(failed).filter(broke);
        let least = |a: (&'a Trial, f64), b: (&'a Trial, f64)| if load(b.0) < load(a.0) { b } else { a };
        let first = of_search.reduce(least).or_else(|| of_sweep.reduce(least));
        let idle = || first.filter(|(trial, _)| had_time(trial));
        let (trial, share) = decisive.and(first).or(decisive).or_else(idle)?;
        facts.run.sent_requests().then_some(Self { run: facts.run, trial, share, most: decisive.is_some() })
    }

    /// Returns what failed, how, and from which load on.
    pub(crate) fn sentence(&self) -> String {
        let from = match closed(self.trial) {
            true => format!("{} clients", figure(clients(self.trial))),
            false => format!("an offered {}", offered(self.run, self.trial)),
        };
        let (at, on) = if self.run.plan.load.stages.is_empty() { ("from", " on") } else { ("at", "") };
        format!("{at} {from}{on}, {} of the requests failed{}", percent(self.share), self.kinds())
    }

    /// Returns the statuses of the failures, and the number of requests without an answer: ` (5xx: 1,240)`.
    fn kinds(&self) -> String {
        let tally = &self.trial.measured.tally;
        let mut kinds: BTreeMap<String, u64> = tally.refusals().map(|(status, n)| (status.into(), n)).collect();
        kinds.insert("without an answer".into(), tally.error_count() + tally.unanswered);
        kinds.retain(|_, n| *n > 0);
        let each: Vec<String> = kinds.iter().map(|(kind, n)| format!("{kind}: {}", figure(*n as f64))).collect();
        if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) }
    }
}

/// Returns true if the server had time left: neither its CPUs nor any of its threads were likely to be full.
fn had_time(trial: &Trial) -> bool {
    let Some(view) = server_of(trial) else { return false };
    let share = view.cpu_used().zip(view.cpu_allowed()).map(|(used, allowed)| used / allowed);
    let thread = view.workers().iter().map(Task::wants).reduce(f64::max);
    let likely_full = |share: f64| chance(full("", &view, share).log_odds()) >= LIKELY;
    share.is_some() && ![share, thread].into_iter().flatten().any(likely_full)
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::Bottleneck;

    /// A proxy of one thread without a free local port: from so many clients on it answers most requests with 502 at once.
    fn refuses_from(clients: f64, share: f64, thread_us: f64) -> Bottleneck {
        let change = move |t: &mut run::Trial, p: &Point| {
            if p.n >= clients {
                let failed = (share * t.measured.tally.completed as f64) as u64;
                t.measured.tally.unexpected_status = failed;
                t.measured.tally.status.insert("5xx".into(), failed);
                // Refusals are cheap: the more clients, the more of them.
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

    #[test]
    fn a_thread_that_is_full_of_failures_is_no_limit() {
        let b = refuses_from(1.0, 0.8, 49.0);
        assert!(b.id == "unknown" && b.sentence.contains("5xx") && b.sentence.contains("from "), "{b:#?}");
        assert!(b.ruled_out.iter().any(|r| r.id == "server-single-thread" && r.why.contains("failed")), "{b:#?}");
        let works = refuses_from(1e9, 0.8, 49.0);
        assert_eq!(works.id, "server-single-thread", "{works:#?}");
    }

    /// One answer in a hundred fails at a server whose thread is full: it fails because it is full.
    #[test]
    fn a_full_server_that_fails_now_and_then_is_full() {
        let b = refuses_from(8.0, 0.02, 49.0);
        assert_eq!(b.id, "server-single-thread", "{b:#?}");
    }
}
