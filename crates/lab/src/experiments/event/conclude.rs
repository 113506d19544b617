//! The fits and checks of `lab event-api`: pure functions of its trials.

use run::{Run, Trial};

use super::{axis, check};

/// Back ends whose calls must not grow with cold connections.
const FLAT: [&str; 2] = ["epoll", "uring"];
/// Forms of io_uring, what they do at delivery, and what an event may cost over epoll's.
const RINGS: [(&str, &str, Option<f64>); 3] = [
    ("uring", "told what has been read, so it looks again only at the rest", Some(0.75)),
    ("uring untold", "looks again at every event", None),
    ("uring unchecked", "never looks again", None),
];
/// Back ends whose calls must.
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

/// The middle value of an axis over the trials whose label begins so.
fn middle(run: &Run, label: &str, name: &str) -> Option<f64> {
    let mut list: Vec<f64> =
        run.trials.iter().filter(|t| t.label.starts_with(label)).filter_map(|t| axis(t, name)).collect();
    list.sort_by(f64::total_cmp);
    list.get(list.len() / 2).copied()
}

/// Cost of a call = a + b * events returned, with the largest number of clients.
fn line_of_a_call(run: &mut Run, name: &str) {
    let own = |t: &&Trial| t.label.starts_with(&format!("{name} ")) && axis(t, "saturated") == Some(1.0);
    let most = run.trials.iter().filter(own).filter_map(|t| axis(t, "clients")).fold(0.0, f64::max);
    let found = points(run, |t| {
        let fits = own(&t) && axis(t, "clients") == Some(most);
        // The median: network interrupts on the proxy's processor fall into a part of the calls.
        fits.then_some((axis(t, "returned")?, axis(t, "median_us")?))
    });
    let Some(fit) = judge::fit::line_fit(&found, "events", "call_us") else { return };
    let text = format!("{name}: R2 of the line of a call's cost against the events returned, {most} clients");
    run.findings.checks.push(check(text, fit.r2, "at least", 0.95));
    run.findings.fits.insert(format!("{name}, a call against events"), fit);
}

/// Growth of a call with cold connections.
fn slope(run: &mut Run, name: &str, flat: bool) {
    let Some((growth, base, most)) = growth(run, name) else { return };
    let fit = run.findings.fits.get(&fit_name(name));
    let holds_zero = fit.and_then(|f| f.intervals.get("slope")).is_some_and(|i| i.low <= 0.0 && i.high >= 0.0);
    let what = format!("{name}: growth of a call from 0 to {most} cold connections");
    run.findings.checks.push(if flat {
        let text = format!("{what} (0 when the 95 % interval of the slope holds zero)");
        check(text, if holds_zero { 0.0 } else { growth.abs() }, "at most", 0.02)
    } else {
        check(what, growth, "at least", 0.5)
    });
    tell_growth(run, name, (growth, base, most));
}

/// The same without a check: unchecked hints cost so little that the growth is one of the caches.
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
        "{name}: a call of 10 events costs {base:.2} us without cold connections and, by the fitted line, {with:.2} us with \
         {most} ({change})."
    ));
}

fn fit_name(name: &str) -> String {
    format!("{name}, a call against cold connections")
}

/// Fits the line; growth over the whole range relative to the cost without cold connections, that cost, the range.
fn growth(run: &mut Run, name: &str) -> Option<(f64, f64, f64)> {
    let prefix = format!("{name}, ");
    let found = points(run, |t| {
        let own = t.label.starts_with(&prefix) && axis(t, "processes").is_none();
        own.then_some((axis(t, "cold")?, axis(t, "trimmed_us")?))
    });
    let fit = judge::fit::line_fit(&found, "cold", "call_us")?;
    let most = found.iter().map(|p| p.0).fold(0.0, f64::max);
    let least = found.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    // What is measured without cold connections; the line's own start can be far off when the curve bends.
    let base = middle(run, &format!("{name}, {least} cold"), "trimmed_us")?.max(1e-9);
    let growth = fit.coefficients.get("slope")? * (most - least) / base;
    run.findings.fits.insert(fit_name(name), fit);
    Some((growth, base, most))
}

/// Many processes, each with its own cold connections.
fn across(run: &mut Run, name: &str) {
    let of = |cold: bool, value: &str| {
        let own = |t: &&Trial| {
            t.label.starts_with(&format!("{name} processes"))
                && axis(t, "processes").is_some()
                && axis(t, "cold").is_some_and(|c| (c > 0.0) == cold)
        };
        let mut list: Vec<f64> = run.trials.iter().filter(own).filter_map(|t| axis(t, value)).collect();
        list.sort_by(f64::total_cmp);
        list.get(list.len() / 2).copied()
    };
    let (Some(without), Some(with)) = (of(false, "median_us"), of(true, "median_us")) else { return };
    if without <= 0.0 || with <= 0.0 {
        return;
    }
    let (cold, processes) = (of(true, "cold").unwrap_or(0.0), of(true, "processes").unwrap_or(0.0));
    run.findings.conclusions.push(format!(
        "{name}: with {cold} cold connections in {processes} proxies a call of 10 events costs {with:.2} us at the \
         median, without them {without:.2} us: {:+.1} %.",
        100.0 * (with / without.max(1e-9) - 1.0)
    ));
}

/// The library beside the bare call.
fn share(run: &mut Run) {
    let cost = |name: &str| middle(run, &format!("share, {name}"), "trimmed_us");
    let (Some(bare), Some(library)) = (cost("bare"), cost("library")) else { return };
    let name = "the library's own share of a call over bare epoll_pwait2 at array_max 10";
    run.findings.checks.push(check(name, library / bare.max(1e-9) - 1.0, "at most", 0.05));
}

/// io_uring beside epoll with an array of 64.
fn full_array(run: &mut Run) {
    let cost = |name: &str, value: &str| middle(run, &format!("full array, {name}, "), value);
    let over = |name: &str, value: &str| Some(cost(name, value)? / cost("epoll", value)?.max(1e-9));
    let mut checks = Vec::new();
    let mut conclusions = Vec::new();
    for (name, looks, limit) in RINGS {
        let (Some(ratio), Some(whole)) = (over(name, "trimmed_us"), over(name, "whole_us")) else { continue };
        let text = format!("{name} ({looks}): cost of an event over epoll's at array_max 64");
        checks.extend(limit.map(|limit| check(text, ratio, "at most", limit)));
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

/// More arrivals behind an event.
fn hot_rate(run: &mut Run) {
    let cost = |run: &Run, name: &str, arrivals: u32| {
        middle(run, &format!("{name} hot rate, {arrivals} arrivals"), "trimmed_us")
    };
    if let (Some(one), Some(eight)) = (cost(run, "epoll", 1), cost(run, "epoll", 8)) {
        let name = "epoll: a call with 8 arrivals behind each event over one with 1";
        run.findings.checks.push(check(name, eight / one.max(1e-9), "at most", 1.1));
    }
    if let (Some(one), Some(eight)) = (cost(run, "uring", 1), cost(run, "uring", 8)) {
        run.findings.conclusions.push(format!(
            "uring: a call of 10 events costs {one:.2} us with one arrival behind each and {eight:.2} us with eight: every \
             arrival leaves a completion, and coalescing them is the library's work ({:.0} ns an arrival).",
            (eight - one) * 1e3 / 70.0
        ));
    }
}

/// Figure 7.
fn declaring(run: &mut Run) {
    let cost = |value: &str| middle(run, "epoll small file", value);
    if let (Some(declare), Some(revoke)) = (cost("small_declare_us"), cost("small_revoke_us")) {
        let name = "epoll: declaring over revoking, 32 S-Clients on a small file (the source: declaring is longer)";
        run.findings.checks.push(check(name, declare / revoke.max(1e-9), "at least", 1.0));
    }
    let of = |value: &str| middle(run, "epoll, ", value);
    if let (Some(declare), Some(add), Some(revoke), Some(delete)) =
        (of("declare_us"), of("bare_add_us"), of("revoke_us"), of("bare_delete_us"))
    {
        run.findings.conclusions.push(format!(
            "epoll: declaring costs {declare:.3} us, of which the system call alone is {add:.3}; revoking {revoke:.3} us, \
             the system call alone {delete:.3}."
        ));
    }
}
