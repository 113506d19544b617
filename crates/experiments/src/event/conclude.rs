//! Fitted curves, checks and conclusions of `lab event-api`. Curves, checks and conclusions are computed only from the
//! run's trials.

use run::Relation::{AtLeast, AtMost};
use run::{Check, Run, Trial, ValueName};

use super::values::{
    ARRIVALS, BACKEND, BARE, BARE_ADD_US, BARE_DELETE_US, DECLARE_US, FULL, MEDIAN_US, RETURNED, REVOKE_US, SATURATED,
    SMALL_DECLARE_US, SMALL_FILE, SMALL_REVOKE_US, TRIMMED_US, WHOLE_US,
};
use crate::values::PROCESSES;

/// Backends on which the cost of a call must not grow with the number of cold (idle) connections.
const FLAT: [&str; 2] = ["epoll", "uring"];
/// Variants of io_uring, as (name, description of the check at delivery, limit). The limit is the maximum cost of an
/// event, divided by epoll's cost; `None` for no check.
const RINGS: [(&str, &str, Option<f64>); 3] = [
    ("uring", "told what has been read, so it looks again only at the rest", Some(0.75)),
    ("uring untold", "looks again at every event", None),
    ("uring unchecked", "never looks again", None),
];
/// Backends on which the cost of a call must grow with the number of cold (idle) connections.
const STEEP: [&str; 2] = ["poll", "select"];

pub(super) fn conclude(run: &mut Run) {
    FLAT.iter().for_each(|name| line_of_a_call(run, name));
    FLAT.iter().for_each(|name| slope(run, name, true));
    slope_in_words(run, "uring unchecked");
    STEEP.iter().for_each(|name| slope(run, name, false));
    FLAT.iter().for_each(|name| across(run, name));
    share(run);
    full_array(run);
    hot_rate(run);
    declaring(run);
}

fn points(run: &Run, of: impl Fn(&Trial) -> Option<(f64, f64)>) -> Vec<(f64, f64)> {
    run.trials.iter().filter_map(of).collect()
}

/// Returns the median of the result `of` over the trials that `own` selects.
fn middle(run: &Run, own: impl Fn(&Trial) -> bool, of: ValueName<f64>) -> Option<f64> {
    judge::median(run.trials.iter().filter(|t| own(t)).filter_map(|t| t.results.get(of)).collect())
}

/// Returns true if a trial used the backend named `backend`.
fn on(trial: &Trial, backend: &str) -> bool {
    trial.key.get(BACKEND).as_deref() == Some(backend)
}

/// Returns the number of cold (idle) connections of a trial in the sweep with one process; `None` for other trials.
fn cold(trial: &Trial) -> Option<f64> {
    trial.key.cold.filter(|_| trial.key.get(PROCESSES).is_none()).map(f64::from)
}

/// Fits the line "cost of a call = a + b × number of returned events" to the saturated trials with the most clients.
/// Checks that the fitted line agrees well with the measured costs.
fn line_of_a_call(run: &mut Run, name: &str) {
    let own = |t: &&Trial| on(t, name) && t.results.get(SATURATED) == Some(true);
    let Some(most) = run.trials.iter().filter(own).filter_map(|t| t.key.clients).max() else { return };
    let found = points(run, |t| {
        let fits = own(&t) && t.key.clients == Some(most);
        // The fit uses medians, because network interrupts on the proxy's CPU make some calls much longer.
        fits.then_some((t.results.get(RETURNED)?, t.results.get(MEDIAN_US)?))
    });
    let Some(fit) = judge::fit::line_fit(&found, "events", "call_us") else { return };
    let text = format!("{name}: R2 of the line of a call's cost against the events returned, {most} clients");
    run.findings.checks.push(Check::new(text, fit.r2, AtLeast, 0.95));
    run.findings.fits.insert(format!("{name}, a call against events"), fit);
}

/// Fits a line to the cost of a call by the number of cold connections, and adds a sentence about the growth of the
/// cost. Checks that the cost of a call does not grow if `flat` is true, and that the cost grows if `flat` is false.
fn slope(run: &mut Run, name: &str, flat: bool) {
    let Some((growth, base, most)) = growth(run, name) else { return };
    let fit = run.findings.fits.get(&fit_name(name));
    let holds_zero = fit.and_then(|f| f.intervals.get("slope")).is_some_and(|i| i.low <= 0.0 && i.high >= 0.0);
    let what = format!("{name}: growth of a call from 0 to {most} cold connections");
    run.findings.checks.push(if flat {
        let text = format!("{what} (0 when the 95 % interval of the slope holds zero)");
        Check::new(text, if holds_zero { 0.0 } else { growth.abs() }, AtMost, 0.02)
    } else {
        Check::new(what, growth, AtLeast, 0.5)
    });
    tell_growth(run, name, (growth, base, most));
}

/// Adds a sentence about the growth of a call's cost, without a check. The function is for a backend that does not
/// check events at delivery. The calls of such a backend are so cheap that cache misses dominate the growth of their
/// cost.
fn slope_in_words(run: &mut Run, name: &str) {
    if let Some(found) = growth(run, name) {
        tell_growth(run, name, found);
    }
}

fn tell_growth(run: &mut Run, name: &str, (growth, base, most): (f64, f64, f64)) {
    let with = base * (1.0 + growth);
    let change =
        if growth > 1.0 { format!("{:.0} times as much", with / base) } else { format!("{:+.1} %", 100.0 * growth) };
    run.findings.conclusions.push(format!(
        "{name}: a call of 10 events costs {base:.2} µs without cold connections and, by the fitted line, {with:.2} µs with \
         {most} ({change})."
    ));
}

fn fit_name(name: &str) -> String {
    format!("{name}, a call against cold connections")
}

/// Fits a line to the cost of a call by number of cold connections. Returns the growth over the whole range as a share
/// of the base cost, the base cost itself, and the largest number of connections. The base cost is the measured cost
/// with the fewest cold connections.
fn growth(run: &mut Run, name: &str) -> Option<(f64, f64, f64)> {
    let found = points(run, |t| on(t, name).then_some((cold(t)?, t.results.get(TRIMMED_US)?)));
    let fit = judge::fit::line_fit(&found, "cold", "call_us")?;
    let most = found.iter().map(|p| p.0).fold(0.0, f64::max);
    let least = found.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    // The intercept of the fitted line can be far from the measured values. The base cost is therefore the cost
    // measured with the fewest cold connections.
    let base = middle(run, |t| on(t, name) && cold(t) == Some(least), TRIMMED_US)?.max(1e-9);
    let growth = fit.coefficients.get("slope")? * (most - least) / base;
    run.findings.fits.insert(fit_name(name), fit);
    Some((growth, base, most))
}

/// Adds a sentence that compares calls with and without cold connections, in the trials with many processes.
fn across(run: &mut Run, name: &str) {
    let own = |t: &Trial, with: bool| {
        on(t, name) && t.key.get(PROCESSES).is_some() && t.key.cold.is_some_and(|cold| (cold > 0) == with)
    };
    let of = |with: bool| middle(run, |t| own(t, with), MEDIAN_US);
    let (Some(without), Some(with)) = (of(false), of(true)) else { return };
    if without <= 0.0 || with <= 0.0 {
        return;
    }
    let key = run.trials.iter().find(|t| own(t, true)).map(|t| (t.key.cold, t.key.get(PROCESSES)));
    let Some((Some(cold), Some(processes))) = key else { return };
    run.findings.conclusions.push(format!(
        "{name}: with {cold} cold connections in {processes} proxies a call of 10 events costs {with:.2} µs at the \
         median, without them {without:.2} µs: {:+.1} %.",
        100.0 * (with / without.max(1e-9) - 1.0)
    ));
}

/// Checks how much more a call of the library costs than the plain system call.
fn share(run: &mut Run) {
    let cost = |bare: bool| middle(run, |t| t.key.get(BARE) == Some(bare), TRIMMED_US);
    let (Some(bare), Some(library)) = (cost(true), cost(false)) else { return };
    let name = "the library's own share of a call over bare epoll_pwait2 at array_max 10";
    run.findings.checks.push(Check::new(name, library / bare.max(1e-9) - 1.0, AtMost, 0.05));
}

/// Checks the cost of an event with io_uring against the cost with epoll, in trials whose calls return 64 events each.
fn full_array(run: &mut Run) {
    let cost = |name: &str, of: ValueName<f64>| middle(run, |t| on(t, name) && t.key.get(FULL).is_some(), of);
    let over = |name: &str, of: ValueName<f64>| Some(cost(name, of)? / cost("epoll", of)?.max(1e-9));
    let mut checks = Vec::new();
    let mut conclusions = Vec::new();
    for (name, looks, limit) in RINGS {
        let (Some(ratio), Some(whole)) = (over(name, TRIMMED_US), over(name, WHOLE_US)) else { continue };
        let text = format!("{name} ({looks}): cost of an event over epoll's at array_max 64");
        checks.extend(limit.map(|limit| Check::new(text, ratio, AtMost, limit)));
        conclusions.push(format!(
            "{name} ({looks}): {ratio:.2} of epoll's time in get_next_event at array_max 64, {whole:.2} of its time for \
             the whole event: arrival, call and reading."
        ));
    }
    if !conclusions.is_empty() {
        conclusions.push(
            "io_uring notes an arrival when the application returns from another system call, outside of get_next_event; \
             what epoll does inside its one call, looking at each socket again, io_uring needs a poll(2) for, unless it \
             knows that nobody can have read the data in between."
                .into(),
        );
    }
    run.findings.checks.extend(checks);
    run.findings.conclusions.extend(conclusions);
}

/// Compares the cost of calls whose events have different numbers of arrivals (pieces of data).
fn hot_rate(run: &mut Run) {
    let cost = |run: &Run, name: &str, arrivals: u32| {
        middle(run, |t| on(t, name) && t.key.get(ARRIVALS) == Some(arrivals), TRIMMED_US)
    };
    if let (Some(one), Some(eight)) = (cost(run, "epoll", 1), cost(run, "epoll", 8)) {
        let name = "epoll: a call with 8 arrivals behind each event over one with 1";
        run.findings.checks.push(Check::new(name, eight / one.max(1e-9), AtMost, 1.1));
    }
    if let (Some(one), Some(eight)) = (cost(run, "uring", 1), cost(run, "uring", 8)) {
        run.findings.conclusions.push(format!(
            "uring: a call of 10 events costs {one:.2} µs with one arrival behind each and {eight:.2} µs with eight: every \
             arrival leaves a completion, and coalescing them is the library's work ({:.0} ns an arrival).",
            (eight - one) * 1e3 / 70.0
        ));
    }
}

/// Checks that declaring interest takes at least as long as revoking it, as in figure 7 of the paper. Also adds a
/// sentence that compares the times of declaring and revoking with the times of plain epoll system calls.
fn declaring(run: &mut Run) {
    let cost = |of: ValueName<f64>| middle(run, |t| on(t, "epoll") && t.key.get(SMALL_FILE) == Some(true), of);
    if let (Some(declare), Some(revoke)) = (cost(SMALL_DECLARE_US), cost(SMALL_REVOKE_US)) {
        let name = "epoll: declaring over revoking, 32 S-Clients on a small file (the source: declaring is longer)";
        run.findings.checks.push(Check::new(name, declare / revoke.max(1e-9), AtLeast, 1.0));
    }
    let of = |of: ValueName<f64>| middle(run, |t| on(t, "epoll") && cold(t).is_some(), of);
    if let (Some(declare), Some(add), Some(revoke), Some(delete)) =
        (of(DECLARE_US), of(BARE_ADD_US), of(REVOKE_US), of(BARE_DELETE_US))
    {
        run.findings.conclusions.push(format!(
            "epoll: declaring costs {declare:.3} µs, of which the system call alone is {add:.3}; revoking {revoke:.3} µs, \
             the system call alone {delete:.3}."
        ));
    }
}
