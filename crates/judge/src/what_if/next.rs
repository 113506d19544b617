//! The next bottleneck of a server, from the queueing network that `what-if` changes.

use run::NextBottleneck;

use super::model::{Model, Part};
use super::pooled::{highest, loaded, resource_of, today};
use crate::Facts;
use crate::number::{duration, percent, positive, rate};
use crate::thresholds::HALF_USED;

/// Returns the resource that will be full next if the bottleneck `id` is removed.
///
/// Gives no rate for a resource that is less than half used. On a lightly used resource, wake-ups make up much of a
/// request's cost, and a request needs fewer wake-ups under a higher load.
pub(crate) fn next(facts: &Facts<'_>, id: &str) -> Option<NextBottleneck> {
    let full = resource_of(facts, id);
    let model = today(facts, facts.decisive?, full, &loaded(facts, full))?;
    let other = |part: &Part| ![id, full].contains(&part.id) && !same_resource(full, part.id);
    let mut parts: Vec<Part> = model.resources().into_iter().filter(other).collect();
    parts.sort_by(|a, b| a.limit().total_cmp(&b.limit()));
    let first = parts.into_iter().find(|part| positive(part.limit()).is_some())?;
    let used = highest(facts) / first.limit();
    let known = !is_lightly_used(facts, &first);
    let each = duration(first.work_s * 1e6);
    let why = match known {
        true => format!("{} would be full next: {each} per request", first.device),
        false => format!(
            "{} would be full next, at {} or more: {} in use, and requests cost more under a light load ({each})",
            first.device,
            rate(first.limit()),
            percent(used)
        ),
    };
    Some(NextBottleneck { id: first.id.into(), rate: Some(first.limit()).filter(|_| known), why })
}

/// Returns true if the run used less than half of a resource. The limit that a run gives for a lightly used resource is
/// only a lower bound.
pub(super) fn is_lightly_used(facts: &Facts<'_>, part: &Part) -> bool {
    highest(facts) / part.limit() < HALF_USED
}

/// Returns true if `other` is the present bottleneck's resource under another name.
fn same_resource(id: &str, other: &str) -> bool {
    matches!((id, other), ("server-cpu", "server-single-thread") | ("server-cpu-quota", "server-cpu"))
}

/// Returns the assumption that each limit is a lower bound. Returns `None` if the run used at least half of some
/// resource.
pub(super) fn light(facts: &Facts<'_>, now: &Model) -> Option<String> {
    let most = highest(facts);
    let used = now.resources().iter().map(|part| most / part.limit()).fold(0.0, f64::max);
    (used < HALF_USED).then(|| {
        format!(
            "each limit is a lower bound: no resource was used by more than {}, and requests cost more under a light load",
            percent(used)
        )
    })
}
