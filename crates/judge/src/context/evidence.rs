//! Lines of evidence. A line is a sentence with the counter that it comes from, the instance that was read, and a
//! limit, if any.

use run::{Evidence, FigureUnit};

use crate::context::view::{Task, View};
use crate::number::{cpus, figure, percent, positive, ratio};
use crate::thresholds::{MOST, QUOTA_USED};

/// Makes a line of evidence.
pub(crate) fn line(view: &View<'_>, counter: &str, instance: &str, text: String) -> Evidence {
    Evidence { text, counter: counter.into(), place: view.place(instance), ..Evidence::default() }
}

/// Makes a line of evidence about the share of the server's CPUs that the server used. Returns `None` if the server's
/// share is unknown.
pub(crate) fn cpu_share_line(view: &View<'_>) -> Option<Evidence> {
    let used = view.cpu_share()?;
    let text = format!("the server used {} of its CPU", percent(used));
    Some(measured(view, ("process.cpu", ""), (used, FigureUnit::Plain), None, text))
}

/// Makes a line of evidence with a value, its unit and its limit.
pub(crate) fn measured(
    view: &View<'_>,
    (counter, instance): (&str, &str),
    (value, unit): (f64, FigureUnit),
    limit: Option<f64>,
    text: String,
) -> Evidence {
    let value = Some(value).filter(|v| v.is_finite());
    let limit = limit.filter(|v| v.is_finite());
    Evidence { value, unit, limit, ..line(view, counter, instance, text) }
}

/// Makes a line about the CPU use of a thread.
pub(crate) fn thread_line(view: &View<'_>, task: &Task) -> Evidence {
    let waited =
        task.wait.filter(|w| *w >= 0.01).map_or(String::new(), |w| format!(" and waited {} for a CPU", percent(w)));
    measured(
        view,
        (task.counter, &task.name),
        (task.busy, FigureUnit::Cpus),
        Some(1.0),
        format!("{} ran {} of the time{waited}", task.name, percent(task.busy)),
    )
}

/// Throttling of a side's control group by its CPU quota.
pub(crate) struct Throttled {
    /// Share of the quota's periods in which the quota ran out, 0 to 1.
    pub(crate) share: f64,
    pub(crate) evidence: Evidence,
}

/// Returns the throttling of a side. Returns `None` if the counters of throttling are unknown.
pub(crate) fn throttled(view: &View<'_>) -> Option<Throttled> {
    let periods = view.value("cgroup.cpu_periods").and_then(positive)?;
    let held = view.value("cgroup.cpu_throttled_periods")?;
    let share = (held / periods).clamp(0.0, 1.0);
    let quota = view.value("cgroup.cpu_quota").map_or(String::new(), |q| format!(" of {}", cpus(q)));
    let text = format!("the CPU quota{quota} ran out in {} of {} periods", figure(held), figure(periods));
    let evidence = measured(view, ("cgroup.cpu_throttled_periods", ""), (held, FigureUnit::Plain), Some(periods), text);
    Some(Throttled { share, evidence })
}

/// Returns true if `used` CPUs are most of a quota of `quota` CPUs. Also returns true if the CPU use or the quota is
/// unknown.
pub(crate) fn is_quota_used(used: Option<f64>, quota: Option<f64>) -> bool {
    used.zip(quota).and_then(|(used, quota)| ratio(used, quota)).is_none_or(|share| share >= QUOTA_USED)
}

/// Returns a sentence if other programs in the control group of `who` use up the group's CPU quota.
pub(crate) fn quota_of_others(view: &View<'_>, who: &str) -> Option<String> {
    let (own, group) = (view.cpu_used()?, view.share_of_time("cgroup.cpu_time")?);
    ratio(own, group).filter(|share| *share < MOST).map(|share| {
        format!(
            "the {who} used {} of the CPU time of its control group: other programs use up the quota",
            percent(share)
        )
    })
}
