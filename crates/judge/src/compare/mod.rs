//! Old runs against new ones: a ratio with an interval and a word for each figure.
//!
//! Only windows that were measured under the same condition are held against each other: steps of a sweep at the same number of
//! clients, trials of the same load, windows of two servers in turns. Of each condition the logarithms of a figure are taken
//! about the condition's mean, so that all conditions speak of one ratio. The interval is that of a bootstrap over the windows
//! of each condition (Efron 1979), of percentiles over merged histograms (`percentiles`), widened by Student's t for how few they are. A word needs both: an interval without 1, and a
//! rank test that is sure after as many figures as were looked at (Holm 1979).

mod curves;
mod figures;
mod percentiles;
mod ranks;
mod resample;
mod tls;

use std::collections::BTreeMap;

use run::{Compared, ComparedWord, Comparison, Interval, Protocol, RequestSet, Run, Trial, TrialKind};

use crate::fit::student_t95;
use figures::{FIGURES, FigureSpec, by_condition, decides};
use percentiles::{Pair, Sides};
use ranks::{mann_whitney, tail};
use resample::{Logs, RESAMPLES, Random, SideOf, average};

/// A word needs a chance below this that it is none, over all figures: below the 5 % of the intervals, which it has to agree with.
const SURE: f64 = 0.03;
/// Fewest windows of each side that an interval is made of.
const FEWEST: usize = 3;
/// Requests of a set that are named.
const SHOWN: usize = 20;

/// Compares; the error is a sentence that says why these runs cannot be.
pub fn compare(old: (&str, &[Run]), new: (&str, &[Run]), threshold: f64) -> Result<Comparison, String> {
    comparable(old)?;
    comparable(new)?;
    let protocols = [old.1, new.1].map(|runs| runs[0].plan.load.protocol.name());
    if protocols[0] != protocols[1] {
        return Err(format!(
            "{} speaks {} and {} speaks {}: figures of different protocols do not compare",
            old.0, protocols[0], new.0, protocols[1]
        ));
    }
    let (a, b) = (by_condition(old.1), by_condition(new.1));
    let pairs: Vec<Pair<'_>> =
        a.into_iter().filter_map(|(condition, a)| Some((a, b.get(&condition)?.clone()))).collect();
    let sides = Sides::of(&pairs);
    let of = |figure| of_figure(figure, &pairs, &sides);
    let mut comparisons: Vec<Compared> = FIGURES.iter().filter_map(of).collect();
    comparisons.extend(capacity(old.1, new.1));
    if comparisons.is_empty() {
        return Err(format!(
            "{} and {} have no load in common: compare runs of one command with the same flags",
            old.0, new.0
        ));
    }
    words(&mut comparisons, threshold);
    let (verdict, decided_by) = verdict(&comparisons);
    let worse = |c: &&Compared| c.word == ComparedWord::Slower && (c.ratio - 1.0).abs() >= threshold;
    Ok(Comparison {
        old: old.0.into(),
        new: new.0.into(),
        differences: differences(old.1, new.1),
        tls: tls::share(old, new, &comparisons),
        regression: comparisons.iter().any(|c| worse(&c)),
        curves: curves::curves(&pairs, &sides),
        comparisons,
        threshold,
        verdict,
        decided_by,
    })
}

fn comparable((name, runs): (&str, &[Run])) -> Result<(), String> {
    if runs.is_empty() || runs.iter().all(|r| r.trials.is_empty()) {
        return Err(format!("{name} has no trial: nothing was measured, so nothing can be compared"));
    }
    if runs.iter().all(|r| r.trials.iter().all(|t| t.measured.tally.completed == 0)) {
        return Err(format!("{name} completed no request: there is nothing to compare"));
    }
    Ok(())
}

/// One figure over all conditions that both were measured under.
fn of_figure(figure: &FigureSpec, pairs: &[Pair<'_>], sides: &Sides) -> Option<Compared> {
    let values = |trials: &[&Trial]| trials.iter().filter_map(|t| (figure.of)(t)).map(f64::ln).collect::<Vec<f64>>();
    let known: Vec<Logs> =
        pairs.iter().map(|(a, b)| (values(a), values(b))).filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect();
    if known.is_empty() {
        return None;
    }
    let (n, m) = known.iter().fold((0, 0), |(n, m), (a, b)| (n + a.len(), m + b.len()));
    let about: Vec<Logs> = known.iter().map(|(a, b)| centred(a, b)).collect();
    let mean = |side: SideOf| (known.iter().map(|p| middle(side(p))).sum::<f64>() / known.len() as f64).exp();
    let enough = n >= FEWEST && m >= FEWEST && !figure.level;
    let (old, new, ln_ratio, error) = match figure.quantile.and_then(|quantile| sides.merged(quantile)) {
        Some(of) => (of.old_us, of.new_us, (of.new_us / of.old_us).ln(), of.error),
        None => {
            let error = if enough { standard_error(&about) } else { f64::NAN };
            (mean(|p| &p.0), mean(|p| &p.1), ratio_ln(&about), error)
        }
    };
    let half = enough.then(|| error * student_t95(n + m - 2));
    let flat = |side: SideOf| about.iter().flat_map(side).copied().collect::<Vec<f64>>();
    Some(Compared {
        figure: figure.name.into(),
        unit: figure.unit.into(),
        more_is_better: figure.more_is_better,
        old,
        new,
        ratio: ln_ratio.exp(),
        low: half.map(|h| (ln_ratio - h).exp()),
        high: half.map(|h| (ln_ratio + h).exp()),
        p: mann_whitney(&flat(|p| &p.0), &flat(|p| &p.1)).filter(|_| enough),
        windows: (n, m),
        ..Compared::default()
    })
}

/// The mean of the middle three fifths: a window that the machine disturbed is outvoted, and next to nothing is lost where none
/// was (Tukey 1960).
fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = values.len() / 5;
    average(&sorted[cut..values.len() - cut])
}

/// Both sides of one condition about its mean, each side counting alike.
fn centred(a: &[f64], b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mean = f64::midpoint(middle(a), middle(b));
    let off = |v: &[f64]| v.iter().map(|x| x - mean).collect();
    (off(a), off(b))
}

fn ratio_ln(pairs: &[Logs]) -> f64 {
    let all = |side: SideOf| middle(&pairs.iter().flat_map(side).copied().collect::<Vec<_>>());
    all(|p| &p.1) - all(|p| &p.0)
}

/// Standard error of the ratio's logarithm. Windows are drawn again within their condition; where conditions have one window a
/// side, whole conditions are.
fn standard_error(pairs: &[Logs]) -> f64 {
    let mut random = Random(fastrand::Rng::with_seed(1));
    let alone = pairs.iter().all(|(a, b)| a.len() == 1 && b.len() == 1);
    let draws: Vec<f64> = (0..RESAMPLES).map(|_| ratio_ln(&random.again(pairs, alone))).collect();
    let mean = average(&draws);
    let n: usize = if alone { pairs.len() } else { pairs.iter().map(|(a, b)| a.len().min(b.len())).sum() };
    // A bootstrap of n draws has n - 1 in the place of n.
    let few = n as f64 / (n as f64 - 1.0).max(1.0);
    (few * draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (draws.len() - 1) as f64).sqrt()
}

/// The capacities of a run: one for each repeat, with the interval of its own windows.
fn capacities(run: &Run) -> Vec<(f64, Option<Interval>)> {
    let interval = |low: Option<f64>, high: Option<f64>| low.zip(high).map(|(low, high)| Interval { low, high });
    let repeats = &run.findings.repeats;
    if repeats.is_empty() {
        let held = run.findings.capacity.iter().filter(|c| c.held);
        return held.map(|c| (c.rate, interval(c.low, c.high))).collect();
    }
    repeats.iter().filter_map(|r| Some((r.capacity?, interval(r.low, r.high)))).collect()
}

/// The capacities of both with their own intervals.
fn capacity(old: &[Run], new: &[Run]) -> Option<Compared> {
    let of = |runs: &[Run]| -> Option<(f64, Option<f64>, usize)> {
        // Where nothing was searched, the capacity is only what was tried.
        let searched = runs.iter().filter(|r| r.trials.iter().any(|t| t.kind == TrialKind::Search));
        let held: Vec<(f64, Option<Interval>)> = searched.flat_map(capacities).filter(|(c, _)| *c > 0.0).collect();
        let logs: Vec<f64> = held.iter().map(|(rate, _)| rate.ln()).collect();
        let mean = (!logs.is_empty()).then(|| average(&logs))?;
        let known: Option<Vec<f64>> = held.iter().map(|(_, i)| i.map(|i| (i.high / i.low).ln() / 3.92)).collect();
        let own = known.map(|sds| (sds.iter().map(|s| s * s).sum::<f64>()).sqrt() / sds.len() as f64);
        let scatter = (logs.len() > 2).then(|| {
            let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (logs.len() - 1) as f64;
            (variance / logs.len() as f64).sqrt()
        });
        Some((mean, own.into_iter().chain(scatter).reduce(f64::max), logs.len()))
    };
    let (a, b) = (of(old)?, of(new)?);
    let ln_ratio = b.0 - a.0;
    let sd = a.1.zip(b.1).map(|(x, y)| x.hypot(y)).filter(|sd| *sd > 0.0);
    Some(Compared {
        figure: "capacity".into(),
        unit: "/s".into(),
        more_is_better: true,
        old: a.0.exp(),
        new: b.0.exp(),
        ratio: ln_ratio.exp(),
        low: sd.map(|sd| (ln_ratio - 1.96 * sd).exp()),
        high: sd.map(|sd| (ln_ratio + 1.96 * sd).exp()),
        p: sd.map(|sd| (2.0 * tail(ln_ratio.abs() / sd)).min(1.0)),
        windows: (a.2, b.2),
        ..Compared::default()
    })
}

/// Gives each figure its word: the surest first, each with what is left of the doubt (Holm).
fn words(all: &mut [Compared], threshold: f64) {
    let mut order: Vec<usize> = (0..all.len()).filter(|i| all[*i].p.is_some()).collect();
    order.sort_by(|a, b| all[*a].p.unwrap_or(1.0).total_cmp(&all[*b].p.unwrap_or(1.0)));
    let sure =
        order.iter().enumerate().take_while(|(at, i)| all[**i].p.unwrap_or(1.0) * (order.len() - at) as f64 <= SURE);
    let sure: Vec<usize> = sure.map(|(_, i)| *i).collect();
    for (i, c) in all.iter_mut().enumerate() {
        let Some((low, high)) = c.low.zip(c.high) else {
            let alike = (c.ratio - 1.0).abs() <= threshold && !decides(&c.figure);
            c.word = if alike { ComparedWord::Same } else { ComparedWord::NotEnough };
            continue;
        };
        let apart = low > 1.0 || high < 1.0;
        let within = low >= 1.0 / (1.0 + threshold) && high <= 1.0 + threshold;
        c.word = match (apart && sure.contains(&i), within) {
            (true, _) if (c.ratio > 1.0) == c.more_is_better => ComparedWord::Faster,
            (true, _) => ComparedWord::Slower,
            (false, true) => ComparedWord::Same,
            (false, false) => ComparedWord::NotEnough,
        };
        if c.word == ComparedWord::NotEnough {
            let half = (high / low).ln() / 2.0;
            c.more = Some((half / (1.0 + threshold).ln()).powi(2).max(1.0)).filter(|m| m.is_finite());
        }
    }
}

/// The word of all: what became worse counts before what became better; the surest of them decided.
fn verdict(all: &[Compared]) -> (ComparedWord, Option<String>) {
    let surest = |word: ComparedWord| {
        let of = all.iter().filter(|c| c.word == word && decides(&c.figure));
        of.min_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0))).map(|c| c.figure.clone())
    };
    for word in [ComparedWord::Slower, ComparedWord::Faster] {
        if let Some(figure) = surest(word) {
            return (word, Some(figure));
        }
    }
    // Of equal servers the steadiest figures say so, which come first; a p99.9 never does.
    let same = all.iter().find(|c| c.word == ComparedWord::Same && decides(&c.figure));
    same.map_or((ComparedWord::NotEnough, None), |c| (ComparedWord::Same, Some(c.figure.clone())))
}

/// What is asked for, whichever server is asked.
fn request(protocol: &Protocol) -> String {
    match protocol {
        Protocol::Http1(request) => format!("{} {}", request.method, request.path),
        Protocol::Http2(request) => format!("{} {} by HTTP/2", request.method, request.path),
        other => format!("{other:?}"),
    }
}

/// A set of requests, whatever file it is from.
fn set(set: &RequestSet) -> String {
    let each = |r: &run::RequestPlan| format!("{} × {} {}", r.weight, r.method, r.path);
    let first: Vec<String> = set.requests.iter().take(SHOWN).map(each).collect();
    let more = set.count().saturating_sub(first.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

/// What else differs between the runs, in sentences.
fn differences(old: &[Run], new: &[Run]) -> Vec<String> {
    let facts = |runs: &[Run]| {
        let run = &runs[0];
        let host = run.hosts.first().cloned().unwrap_or_default();
        let plan = &run.plan;
        BTreeMap::from([
            ("version of loadline", run.version.clone()),
            ("command", plan.command.clone()),
            ("kernel", host.kernel),
            ("CPU", host.cpu_model),
            ("number of CPUs", host.cpus.to_string()),
            ("memory", host.memory_bytes.to_string()),
            ("request", plan.load.requests.as_ref().map_or_else(|| request(&plan.load.protocol), set)),
            ("TLS", plan.load.tls.as_ref().map_or("none", |_| "yes").to_owned()),
            ("new connections", plan.load.new_connections.to_string()),
            ("generator threads", plan.load.threads.to_string()),
            ("generator CPUs", format!("{:?}", plan.load.cpus)),
            ("budget", format!("{} s", plan.search.budget_s)),
        ])
    };
    let (a, b) = (facts(old), facts(new));
    let differ = a.iter().filter(|(name, value)| b.get(*name) != Some(value));
    let mut all: Vec<String> =
        differ.map(|(name, value)| format!("{name}: {value} in the old, {} in the new", b[name])).collect();
    for (word, runs) in [("old", old), ("new", new)] {
        if runs.iter().any(|r| r.interrupted) {
            all.push(format!("a run of the {word} was ended early: only what was measured before is compared"));
        }
    }
    all
}

#[cfg(test)]
mod tests;
