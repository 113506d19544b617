//! The full upstream that the server waits for, with all its replicas.

use run::{UpstreamLimit, UpstreamLoad, WaitsFor};

use crate::Facts;
use crate::context::evidence::is_quota_used;

/// Returns the upstream that the server waits for, if any: the full upstream that probably limits it. Of several
/// replicas, returns the first one.
pub(crate) fn full<'f>(facts: &'f Facts<'_>) -> Option<&'f UpstreamLoad> {
    replicas(facts).next()
}

/// Returns the upstream that the server waits for, with all its replicas.
pub(crate) fn replicas<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = &'f UpstreamLoad> {
    facts.full_upstreams.first().filter_map(|at| facts.upstreams.get(at))
}

/// Returns another full upstream that may limit the server instead of the upstream that [`full`] returns, if any.
pub(crate) fn rival<'f>(facts: &'f Facts<'_>) -> Option<&'f UpstreamLoad> {
    facts.upstreams.get(facts.full_upstreams.rival()?)
}

/// Returns the upstream that the server waits for, if this upstream fills the CPUs that it may use.
pub(crate) fn full_on_cpus<'f>(facts: &'f Facts<'_>) -> Option<&'f UpstreamLoad> {
    full(facts).filter(|load| load.limit == Some(UpstreamLimit::Cpu))
}

/// Returns true if the upstream that the server waits for fills the CPUs that it may use.
pub(crate) fn fills_cpus(facts: &Facts<'_>) -> bool {
    full_on_cpus(facts).is_some()
}

/// Returns true if the upstream that the server waits for is limited by a CPU quota that it mostly uses.
pub(crate) fn held(facts: &Facts<'_>) -> bool {
    full(facts)
        .is_some_and(|load| load.limit == Some(UpstreamLimit::Quota) && is_quota_used(load.cpu_used, load.cpu_quota))
}

/// Returns the upstream that the server waits for, if any, with the processes of all its replicas.
pub(crate) fn waits_for(facts: &Facts<'_>) -> Option<WaitsFor> {
    let first = full(facts)?;
    let mut found = WaitsFor { address: first.behind.address.clone(), limit: first.limit, ..WaitsFor::default() };
    for upstream in replicas(facts).map(|load| &load.behind) {
        add(&mut found.processes, &upstream.processes);
        add(&mut found.pids, &upstream.pids);
    }
    Some(found)
}

/// Appends the items that `all` does not contain yet. One process may listen at several addresses.
fn add<T: Clone + PartialEq>(all: &mut Vec<T>, items: &[T]) {
    for item in items {
        if !all.contains(item) {
            all.push(item.clone());
        }
    }
}

/// Returns the facts without the upstream that an experiment refuted as the limit. The next full upstream, if any,
/// takes the place of the refuted one.
pub(crate) fn without<'a>(facts: &Facts<'a>, refuted: &WaitsFor) -> Facts<'a> {
    let mut rest = facts.clone();
    rest.full_upstreams.remove(&facts.upstreams, refuted);
    rest
}
