//! Old runs against new ones: a ratio with an interval and a word for each figure.
//!
//! Only windows that were measured under the same condition are held against each other: steps of a sweep at the same number of
//! clients, trials of the same load, windows of two servers in turns. Of each condition the logarithms of a figure are taken
//! about the condition's mean, so that all conditions speak of one ratio. The interval is that of a bootstrap over the windows
//! of each condition (Efron 1979), of percentiles over merged histograms (`percentiles`), widened by Student's t for how few they are. A word needs both: an interval without 1, and a
//! rank test that is sure after as many figures as were looked at (Holm 1979).

mod capacities;
mod curves;
mod differences;
mod figures;
mod over;
mod percentiles;
mod ranks;
mod resample;
mod tls;
mod words;

use run::{Compared, ComparedWord, Comparison, Run};

use capacities::capacity;
use figures::{FIGURES, by_condition, costs, decides, server};
use over::{of_cost, of_figure};
use percentiles::{Pair, Sides};
use words::{verdict, words};

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
    let runs = [old.1, new.1];
    let mut comparisons: Vec<Compared> = FIGURES.iter().filter_map(|f| of_figure(f, runs, &pairs, &sides)).collect();
    comparisons.extend(capacity(old.1, new.1));
    if comparisons.is_empty() {
        return Err(format!(
            "{} and {} have no load in common: compare runs of one command with the same flags",
            old.0, new.0
        ));
    }
    let (costs, of_new) = (costs(old.1), costs(new.1));
    let both = costs.iter().filter(|(id, _)| of_new.contains_key(*id));
    comparisons.extend(both.filter_map(|(id, unit)| of_cost(id, *unit, &pairs, &|t| server(t, id))));
    words(&mut comparisons, threshold);
    let (verdict, decided_by) = verdict(&comparisons);
    let worse = |c: &&Compared| c.word == ComparedWord::Slower && (c.ratio - 1.0).abs() >= threshold;
    Ok(Comparison {
        old: old.0.into(),
        new: new.0.into(),
        differences: differences::differences(old.1, new.1),
        tls: tls::share(old, new, &comparisons),
        turns: None,
        regression: comparisons.iter().any(|c| decides(&c.figure) && worse(&c)),
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

#[cfg(test)]
mod tests;
