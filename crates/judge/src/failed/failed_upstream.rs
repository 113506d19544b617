//! Finds the cause of failures of a server with upstreams, such as a proxy that answers 502. The cause is one of four:
//!
//! - No local port is free for connects to the upstream.
//! - The upstream's accept queue overflows.
//! - All connections to the upstream are busy.
//! - The upstream refuses connects.

use run::{Evidence, FigureUnit, Trial, Upstream, WaitCause};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{failed_and_all, server_of};
use crate::context::view::View;
use crate::failed::failures::Failures;
use crate::failed::overflow::Overflow;
use crate::in_flight::upstreams::{named, names};
use crate::number::{counted, figure, positive, ratio};
use crate::rules::Verdict;
use crate::thresholds::{BUSY, FEW_DROPS, INDIRECT, MOST, NEARLY_FULL, ONE_SIGN, PLACES_APART};
use crate::waits::keeps_connections;

/// Cause of failed answers in an upstream of the server, or in the connections to the upstream.
#[derive(Debug)]
pub(crate) struct UpstreamFailure {
    /// ID of the bottleneck that the verdict names; `None` if no bottleneck has this cause.
    pub(crate) id: Option<&'static str>,
    confidence: f64,
    /// Description of the cause, which ends the verdict's sentence.
    text: String,
    evidence: Evidence,
    /// Advice on the next step.
    pub(crate) advice: String,
}

impl UpstreamFailure {
    /// Returns the cause of the failed answers of a run. Returns `None` if the server has no upstream, or if no counter
    /// shows a cause. Also returns `None` if most failures are not answers with status 500 to 599.
    pub(crate) fn of(facts: &Facts<'_>, failures: &Failures<'_>) -> Option<Self> {
        let view = server_of(failures.trial).filter(|_| fails_itself(failures.trial))?;
        let light = facts.unloaded.filter(|light| !std::ptr::eq(*light, failures.trial)).and_then(server_of);
        let upstreams = upstreams(facts, &view);
        if upstreams.is_empty() {
            return None;
        }
        no_port(&view, &upstreams)
            .or_else(|| full_queue(&view, light.as_ref(), &upstreams))
            .or_else(|| busy_connections(facts, &view, &upstreams))
            .or_else(|| refused(&view, light.as_ref(), &upstreams))
    }

    /// Returns the verdict that names the cause. The verdict's sentence first describes the failures, then the cause.
    pub(crate) fn verdict(&self, failures: &Failures<'_>) -> Verdict {
        let (sentence, evidence) = (format!("{}: {}", failures.sentence(), self.text), vec![self.evidence.clone()]);
        Verdict::Binds { confidence: self.confidence, sentence, evidence }
    }
}

/// Returns true if most failures of a trial are answers with status 500 to 599, which report a server error.
fn fails_itself(trial: &Trial) -> bool {
    let of_server = trial.measured.tally.refusals().filter(|(status, _)| status.starts_with('5'));
    let sum: f64 = of_server.map(|(_, n)| n as f64).sum();
    sum > 0.0 && sum >= MOST * failed_and_all(trial).0
}

/// Returns the direct upstreams that the server had under any of the loads. An upstream that ended may be missing under
/// the load that failed.
fn upstreams(facts: &Facts<'_>, view: &View<'_>) -> Vec<Upstream> {
    let sides = facts.loaded().chain(facts.unloaded).filter_map(server_of).map(|view| view.side);
    let mut found: Vec<Upstream> = Vec::new();
    for upstream in std::iter::once(view.side).chain(sides).flat_map(|side| &side.behind) {
        if upstream.depth <= 1 && found.iter().all(|known| known.address != upstream.address) {
            found.push(upstream.clone());
        }
    }
    found
}

/// Finds a lack of local ports: connections in TIME_WAIT occupy nearly all local ports. All local ports are available
/// for each upstream address. If the server has several upstream addresses, the count of the whole host does not show
/// which address lacks ports. If the generator runs on the server's host and opens a connection for each request, its
/// connections may occupy the ports.
fn no_port(view: &View<'_>, upstreams: &[Upstream]) -> Option<UpstreamFailure> {
    let addresses = upstreams.iter().filter(|upstream| !upstream.address.starts_with("unix:")).count();
    let range = positive(view.value("ports.range")?)? * addresses as f64;
    let waiting = view.whole_trial("socket.tcp_time_wait")?;
    let is_own = !view.trial.one_host() || keeps_connections(view.trial);
    let is_full = ratio(waiting, range).is_some_and(|share| share >= NEARLY_FULL);
    let text = format!("{} of {} local ports were in TIME_WAIT", figure(waiting), figure(range));
    let evidence =
        measured(view, ("socket.tcp_time_wait", ""), (waiting, FigureUnit::Plain), Some(range), text.clone());
    (is_own && is_full).then(|| UpstreamFailure {
        id: Some("server-concurrency"),
        confidence: if addresses == 1 { ONE_SIGN } else { INDIRECT },
        text: format!("the server has no local port left for connects to {} ({text})", names(upstreams)),
        evidence,
        advice: "Let the server keep its connections to the upstream open (in nginx: `keepalive` in the upstream block), or widen \
                 net.ipv4.ip_local_port_range."
            .into(),
    })
}

/// Finds an upstream whose accept queue overflows: connections wait in the queue, and connects were dropped, but not at
/// the server's own listener.
fn full_queue(view: &View<'_>, light: Option<&View<'_>>, upstreams: &[Upstream]) -> Option<UpstreamFailure> {
    let elsewhere = |view: &View<'_>| Overflow::of(view.trial).map(|overflow| overflow.elsewhere);
    let drops = elsewhere(view)? - light.and_then(elsewhere).unwrap_or(0.0);
    let queue = |upstream: &Upstream| {
        let queue = view.side.recording.max("behind.queue", &upstream.address, run::Window::ALL).value()?;
        (queue >= 1.0).then_some(queue)
    };
    let queues = upstreams.iter().filter_map(|upstream| Some((upstream, queue(upstream)?)));
    let (upstream, queue) = queues.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| drops >= FEW_DROPS)?;
    let text = format!(
        "listeners behind the server dropped {}, and up to {} waited to be accepted at {}",
        counted(drops, "connect"),
        counted(queue, "connection"),
        upstream.address
    );
    Some(UpstreamFailure {
        id: Some("accept-queue"),
        confidence: ONE_SIGN,
        text: format!("the accept queue of the upstream {} overflows", named(upstream)),
        evidence: measured(view, ("behind.queue", &upstream.address), (queue, FigureUnit::Plain), None, text),
        advice: format!(
            "Raise the listen backlog and the number of workers of {}, or keep connections to it open.",
            named(upstream)
        ),
    })
}

/// Finds an upstream to which all connections are busy. Under another load with at least twice or at most half as many
/// requests in flight, the number of connections is the same. A server whose connections to the upstream are all busy
/// has no free connection for further requests.
fn busy_connections(facts: &Facts<'_>, view: &View<'_>, upstreams: &[Upstream]) -> Option<UpstreamFailure> {
    let value = |view: &View<'_>, id, address: &str| view.side.recording.reading(id, address, view.window).value();
    let in_flight = view.trial.rates.concurrency;
    let differs = |other: &Trial| {
        let other = other.rates.concurrency;
        other.min(in_flight) <= MOST * other.max(in_flight)
    };
    let others: Vec<View<'_>> = facts.loaded().filter(|trial| differs(trial)).filter_map(server_of).collect();
    let pool = |upstream: &Upstream| {
        let address = &upstream.address;
        let open = positive(value(view, "behind.connections", address)?)?;
        let is_equal = |other: &View<'_>| {
            let before = value(other, "behind.connections", address);
            before.is_some_and(|before| (before - open).abs() <= PLACES_APART * open)
        };
        let is_busy = value(view, "behind.busy", address).is_some_and(|busy| busy >= BUSY * open);
        (is_busy && others.iter().any(is_equal)).then_some(open)
    };
    let (upstream, open) = upstreams.iter().find_map(|upstream| Some((upstream, pool(upstream)?)))?;
    let is_sampled =
        facts.waits.iter().any(|wait| wait.cause == WaitCause::ConnectionPool && wait.peer == upstream.address);
    let text =
        format!("all {} to {} await a reply, under any load", counted(open.round(), "connection"), named(upstream));
    Some(UpstreamFailure {
        id: Some("server-concurrency"),
        confidence: if is_sampled { ONE_SIGN } else { INDIRECT },
        text: text.clone(),
        evidence: measured(view, ("behind.connections", &upstream.address), (open, FigureUnit::Plain), None, text),
        advice: format!(
            "Raise the number of connections to {} (in nginx: `max_conns`), or let requests wait for one (a queue) instead of \
             failing.",
            named(upstream)
        ),
    })
}

/// Finds an upstream that refuses the server's connects. The upstream ended if its process was seen under another load,
/// but not under the load that failed.
fn refused(view: &View<'_>, light: Option<&View<'_>>, upstreams: &[Upstream]) -> Option<UpstreamFailure> {
    let fails = |view: &View<'_>| view.whole_trial("tcp.attempt_fails");
    let refused = fails(view)? - light.and_then(fails).unwrap_or(0.0);
    let processes = |upstream: &Upstream| {
        let now = view.side.behind.iter().find(|now| now.address == upstream.address);
        now.map_or(0, |now| now.processes.len())
    };
    let ended = upstreams.iter().find(|upstream| processes(upstream) < upstream.processes.len());
    let cause = match ended {
        Some(ended) => format!("the upstream {} ended", named(ended)),
        None => format!("an upstream ({}) refuses connects", names(upstreams)),
    };
    let text = format!("{} on the server's host failed", counted(refused, "connect"));
    (refused >= FEW_DROPS).then(|| UpstreamFailure {
        id: None,
        confidence: 0.0,
        text: cause,
        evidence: measured(view, ("tcp.attempt_fails", ""), (refused, FigureUnit::Plain), Some(0.0), text),
        advice: format!("Read the log of {}: it may have ended, or it may not listen.", names(upstreams)),
    })
}

#[cfg(test)]
mod tests;
