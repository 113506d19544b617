//! Full upstreams: which ones requests of the load wait for, and which one limits the server. Replicas are upstreams
//! that run one program, are full for the same reason, and are at the same distance from the server. Replicas serve the
//! same requests, so they count as one upstream.

use run::{Upstream, UpstreamLoad, WaitsFor};

use crate::context::view::program;
use crate::number::ratio;
use crate::signals::shared;
use crate::thresholds::{NEARLY_FULL, QUEUE_SHARE};

/// Load of an upstream, and the signs that the upstream limits the server.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) load: UpstreamLoad,
    /// Probability that the upstream service is at the limit that `load` names; 0 if `load` names no limit.
    pub(super) chance: f64,
    /// True if requests were seen to wait in front of the upstream.
    pub(super) has_queue: bool,
    /// Mean number of connections to the upstream; absent if unknown.
    pub(super) connections: Option<f64>,
    /// Mean number of connections on which a reply is awaited; absent if unknown.
    pub(super) awaited: Option<f64>,
}

/// One full upstream, or several full replicas.
#[derive(Clone, Debug, PartialEq)]
struct FullUpstream {
    /// Positions of the replicas in the list of the server's upstreams.
    replicas: Vec<usize>,
    /// Probability that all replicas are at the limit that their loads name.
    chance: f64,
    /// True if requests were seen to wait in front of a replica.
    has_queue: bool,
}

/// All full upstreams that requests of the load wait for. The upstream that probably limits the server comes first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FullUpstreams(Vec<FullUpstream>);

impl FullUpstreams {
    /// Groups the full upstreams into replicas, and puts the likely limit first. If an upstream only passes requests
    /// on, requests that wait for the limit also wait for this upstream. A queue in front of an upstream shows the
    /// limit itself, so upstreams with a queue come before upstreams without a queue. If both of two upstreams have a
    /// queue, or neither has one, the fuller upstream comes first, because the largest demand limits the rate. Of
    /// equally full upstreams, the nearest one comes first.
    pub(super) fn of(judged: &[Judged]) -> Self {
        let is_first = |at: &usize| judged[*at].load.limit.is_some() && replicas(judged, *at).first() == Some(at);
        let group = |at: usize| {
            let replicas = replicas(judged, at);
            let chance = replicas.iter().map(|at| judged[*at].chance).fold(1.0, f64::min);
            FullUpstream { chance, has_queue: replicas.iter().any(|at| judged[*at].has_queue), replicas }
        };
        let mut all: Vec<FullUpstream> = (0..judged.len()).filter(is_first).map(group).collect();
        all.sort_by(|a, b| b.has_queue.cmp(&a.has_queue).then(b.chance.total_cmp(&a.chance)));
        Self(all)
    }

    /// Returns the probability that the first upstream is the limit. The probability is shared with the other full
    /// upstreams. If the first upstream has a queue, an upstream without a queue gets a share only if it is more
    /// probably full.
    pub(super) fn chance(&self) -> Option<f64> {
        let first = self.0.first()?;
        Some(shared(first.chance, self.rivals().map(|rival| rival.chance)))
    }

    /// Returns the positions of the first upstream and its replicas in the list of the server's upstreams.
    pub(super) fn first(&self) -> impl Iterator<Item = usize> {
        self.0.first().into_iter().flat_map(|full| full.replicas.iter().copied())
    }

    /// Returns the position of an upstream that may be the limit instead of the first one, if any.
    pub(super) fn rival(&self) -> Option<usize> {
        self.rivals().next()?.replicas.first().copied()
    }

    fn rivals(&self) -> impl Iterator<Item = &FullUpstream> {
        let (first, others) = self.0.split_first().unzip();
        let is_rival = move |other: &&FullUpstream| {
            first.is_some_and(|first| other.has_queue >= first.has_queue || other.chance > first.chance)
        };
        others.unwrap_or_default().iter().filter(is_rival)
    }

    /// Removes the upstream `refuted`, with its replicas. `loads` is the list of the server's upstreams.
    pub(super) fn remove(&mut self, loads: &[UpstreamLoad], refuted: &WaitsFor) {
        let is_refuted = |at: &usize| loads.get(*at).is_some_and(|load| is_named(refuted, &load.behind));
        self.0.retain(|full| !full.replicas.iter().any(is_refuted));
    }
}

/// Returns true if `waits_for` names this upstream, or one of its replicas.
pub(crate) fn is_named(waits_for: &WaitsFor, upstream: &Upstream) -> bool {
    waits_for.address == upstream.address || upstream.pids.iter().any(|pid| waits_for.pids.contains(pid))
}

/// Returns the positions of all replicas of the upstream at the position `at`, including `at`.
fn replicas(judged: &[Judged], at: usize) -> Vec<usize> {
    let own = &judged[at].load;
    let is_replica = |other: &UpstreamLoad| {
        let name = |load: &UpstreamLoad| load.behind.processes.first().map(|process| program(process).to_string());
        other.limit == own.limit && other.behind.depth == own.behind.depth && name(other) == name(own)
    };
    (0..judged.len()).filter(|other| is_replica(&judged[*other].load)).collect()
}

/// Removes the limit of each upstream for which only few requests of the load wait. Clients other than the load may
/// have filled such an upstream. The requests that wait for any replica of an upstream are added up. `in_flight` is the
/// number of requests in flight, and `is_flat` is true if throughput stopped growing.
pub(super) fn keep_awaited(judged: &mut [Judged], in_flight: f64, is_flat: bool) {
    let is_kept = |at: usize| {
        let of = |positions: &[usize]| is_awaited(judged, positions, in_flight, is_flat);
        of(&[at]) != Some(false) || of(&replicas(judged, at)) == Some(true)
    };
    let kept: Vec<bool> = (0..judged.len()).map(is_kept).collect();
    for (one, _) in judged.iter_mut().zip(kept).filter(|(_, is_kept)| !is_kept) {
        (one.load.limit, one.chance) = (None, 0.0);
    }
}

/// Returns true if most requests of the load wait for replies of the upstreams at the `positions`. At a plateau, nearly
/// all connections to the upstreams must wait for replies, since the connections may be fewer than the clients. Returns
/// `None` if the number of awaited replies is unknown.
fn is_awaited(judged: &[Judged], positions: &[usize], in_flight: f64, is_flat: bool) -> Option<bool> {
    let of = |figure: fn(&Judged) -> Option<f64>| positions.iter().map(move |at| figure(&judged[*at]));
    let waiting = of(|one| one.awaited).flatten().reduce(|a, b| a + b)?;
    let connections: Option<f64> = of(|one| one.connections).sum();
    let of_all = ratio(waiting, in_flight).is_some_and(|share| share >= QUEUE_SHARE);
    let of_connections = connections.is_some_and(|all| waiting > 0.0 && waiting >= NEARLY_FULL * all);
    Some(of_all || is_flat && of_connections)
}
