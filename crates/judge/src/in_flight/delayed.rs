//! Signs of a server that delays answers, perhaps on purpose. If a server limits its rate by delaying answers, each
//! answer to a client that never pauses is late. At a lower rate, the same server answers sooner. A server with a
//! single worker and no rate limit needs at least the service time for each request, at any rate.

use run::Trial;

use crate::context::evidence::throttled;
use crate::context::single::{clients, good, r1_us, server_of, sides_of};
use crate::context::view::Task;
use crate::number::{duration, rate};
use crate::thresholds::{ALONE_REACHES, ASKED_FOR_MORE, HALF_BUSY, HELD_BACK, KEEPS_UP, THROTTLED, TREND_SURE};
use crate::{Facts, in_flight::upstreams, network::link_queue, waits};

/// Signs of delayed answers: at a lower rate, answers come sooner than to one client that never pauses.
#[derive(Clone, Debug)]
pub(crate) struct Delayed<'a> {
    /// Trial with one client.
    pub(crate) one: &'a Trial,
    /// Highest rate of good answers, requests per second. A single client reaches nearly the rate `most`.
    pub(crate) most: f64,
    /// Mean response time of one client, microseconds.
    pub(crate) r1_us: f64,
    /// Mean response time at the lower rate, microseconds.
    pub(crate) quick_us: f64,
    /// Description of the delayed answers in words.
    pub(crate) text: String,
}

/// Reason why a cause other than a rate limit of the server may explain the delayed answers.
pub(crate) enum NoLimit {
    /// Cause of the delay that the counters show, in words.
    Seen(String),
    /// Data that would be needed to exclude another cause.
    Missing(&'static str),
}

impl<'a> Delayed<'a> {
    /// Returns the signs of delayed answers. Returns `None` if the run shows no delayed answers.
    pub(crate) fn of(facts: &Facts<'a>) -> Option<Self> {
        let (one, most) = fills_alone(facts)?;
        let r1_us = r1_us(one)?;
        // If another load has a clearly higher rate of good answers than `most`, the server does not limit the rate to
        // `most`.
        if facts.search.iter().any(|t| good(t) >= ASKED_FOR_MORE * most) {
            return None;
        }
        let below = |t: &&&Trial| t.rates.offered_rate <= KEEPS_UP * most && t.latency_us.count > 0;
        let quick = facts.search.iter().filter(below).find(|t| longest_us(t) * HELD_BACK < r1_us)?;
        // If response times consist mostly of CPU time, the response times follow the machine's speed. The machine's
        // speed differs between windows, so a faster answer in another window shows no rate limit.
        if works(one).is_some_and(|cpus| cpus >= HALF_BUSY) {
            return None;
        }
        let text = format!(
            "a client without pauses waits {} for each answer; at an offered {} an answer takes {}",
            duration(r1_us),
            rate(quick.rates.offered_rate),
            duration(quick.latency_us.mean)
        );
        Some(Self { one, most, r1_us, quick_us: quick.latency_us.mean, text })
    }

    /// Returns the reason for delayed answers if it is not a rate limit of the server. Such a reason is a CPU quota, or
    /// packets that wait on the network path.
    pub(crate) fn no_limit(&self) -> Option<NoLimit> {
        let quota = sides_of(self.one).iter().filter_map(throttled).find(|held| held.share >= THROTTLED);
        let other = quota.map(|held| held.evidence.text);
        let other = other.or_else(|| link_queue::on_the_way(self.one).map(|queue| queue.text));
        if let Some(other) = other {
            return Some(NoLimit::Seen(format!("{}, but {other}", self.text)));
        }
        link_queue::is_hidden(self.one)
            .then_some(NoLimit::Missing("round trips while the CPUs of both hosts have room"))
    }
}

/// Returns the signs of answers that the server may delay on purpose. A server that delays answers may leave the next
/// request unread (a Kafka quota, a traffic shaper, a paused connection), as a single worker does. If the server delays
/// answers, the response time with one client is longer than the service time. Returns `None` if something else
/// explains the long response time: a full upstream, a full pipe, or a place in the server where sampled threads wait.
pub(crate) fn delayed_answers<'a>(facts: &Facts<'a>) -> Option<Delayed<'a>> {
    let explained = waits::queue_inside(&facts.waits).is_some() || facts.full_pipe.is_some();
    if explained || upstreams::full(facts).is_some() {
        return None;
    }
    Delayed::of(facts).filter(|delayed| delayed.no_limit().is_none())
}

/// Returns the trial with one client and the highest rate of the sweep, if one client alone nearly reaches this rate.
/// Returns `None` if no load shows a limit.
pub(crate) fn fills_alone<'a>(facts: &Facts<'a>) -> Option<(&'a Trial, f64)> {
    let (one, most) = (facts.unloaded.filter(|one| clients(one) <= 1.0)?, facts.x_max()?);
    (facts.limited() && good(one) >= ALONE_REACHES * most).then_some((one, most))
}

/// Returns the number of CPUs that the server's threads needed: per second of the trial, the time for which they ran or
/// waited for a CPU.
pub(crate) fn works(trial: &Trial) -> Option<f64> {
    let workers = server_of(trial)?.workers();
    (!workers.is_empty()).then(|| workers.iter().map(Task::wants).sum())
}

/// Returns the upper end of the confidence interval of a trial's mean response time, microseconds. Assumes that
/// response times have an exponential distribution.
fn longest_us(trial: &Trial) -> f64 {
    trial.latency_us.mean * (1.0 + TREND_SURE / (trial.latency_us.count as f64).sqrt())
}
