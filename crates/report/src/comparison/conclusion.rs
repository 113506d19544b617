//! Conclusion of a comparison in words, and advice if the comparison is undecided.

use run::number::{number, quantity, significant};
use run::{ComparedFigure, Comparison, ComparisonOutcome, ComparisonResult, SideDeath};

use super::change::{TIMES, change};
use super::figures::{decides, length, needed_s, untold_of};
use crate::Unit;

/// Sentence in place of the smallest change that a comparison would have detected, if this change is unknown.
const TOO_FEW: &str =
    "The smallest change that this comparison would show is not known: it has too few windows or runs.";

/// Returns the conclusion, with the figure that decided it. If no single figure decided, returns the longer [`title`].
pub(super) fn sentence(comparison: &Comparison) -> String {
    let decided = comparison.decided_by.as_ref().filter(|_| !comparison.deaths.iter().any(|death| death.new));
    let figure = decided.and_then(|name| comparison.comparisons.iter().find(|c| c.figure == *name));
    figure.map_or_else(|| title(comparison), |figure| format!("{}: {}", head(comparison), clause(figure)))
}

/// Returns the conclusion of the comparison, with all figures on which the conclusion is based. If the new server's
/// process ended early, returns a sentence about the early end instead of the conclusion.
fn title(comparison: &Comparison) -> String {
    if let Some(death) = comparison.deaths.iter().find(|death| death.new) {
        return format!("Regression: {}", describe(death));
    }
    let allowed = format!("{} %", significant(100.0 * comparison.threshold));
    let [worse, better, same] = [ComparisonResult::Slower, ComparisonResult::Faster, ComparisonResult::Same]
        .map(|word| deciding(comparison).filter(|c| c.word == word).map(clause).collect::<Vec<_>>());
    let undecided = comparison.outcome == ComparisonOutcome::Undecided;
    let open = (!comparison.open.is_empty()).then(|| comparison.open.join(", "));
    let (first, last) = if undecided { (open, None) } else { (None, open.map(|open| format!("undecided: {open}"))) };
    let same = (!same.is_empty()).then(|| format!("the same within {allowed}: {}", same.join(", ")));
    let head = head(comparison);
    let told = [worse, better].concat().into_iter().chain(same);
    let parts: Vec<String> = first.into_iter().chain(told).chain(last).collect();
    match (parts.is_empty(), comparison.no_common_load) {
        (false, _) => format!("{head}: {}", parts.join("; ")),
        (true, true) => format!("{head}: the two sides have no load in common"),
        (true, false) => format!("{head}: too little data"),
    }
}

/// Returns the conclusion of a comparison in a few words.
fn head(comparison: &Comparison) -> &'static str {
    match (comparison.outcome, comparison.verdict) {
        (ComparisonOutcome::Regressed, _) => "Regression",
        (ComparisonOutcome::Undecided, _) => "Undecided",
        (ComparisonOutcome::Passed, ComparisonResult::Slower) => "Worse, but within what is allowed",
        (ComparisonOutcome::Passed, ComparisonResult::Faster) => "Better",
        (ComparisonOutcome::Passed, ComparisonResult::Same) => "No difference",
        (ComparisonOutcome::Passed, ComparisonResult::NotEnough) => "Not worse",
    }
}

fn deciding(comparison: &Comparison) -> impl Iterator<Item = &ComparedFigure> {
    comparison.comparisons.iter().filter(|c| decides(c))
}

/// Returns a deciding figure with its change in words, such as `p50 12 % higher`. For an unchanged figure, returns only
/// its name.
fn clause(c: &ComparedFigure) -> String {
    if c.word == ComparisonResult::Same {
        return c.figure.clone();
    }
    if let Some(apart) = c.difference {
        let points = quantity(apart.value.abs(), Unit::Share).replace(" %", "");
        return format!("{} {points} points {}", c.figure, if apart.value > 0.0 { "higher" } else { "lower" });
    }
    match (c.ratio, &c.said) {
        (ratio, Some(said)) if !ratio.is_finite() => format!("{}: {said}", c.figure),
        (ratio, _) if ratio >= TIMES => format!("{} {} times as high", c.figure, significant(ratio)),
        (ratio, _) if ratio > 1.0 => format!("{} {} % higher", c.figure, significant(100.0 * (ratio - 1.0))),
        (ratio, _) => format!("{} {} % lower", c.figure, significant(100.0 * (1.0 - ratio))),
    }
}

/// Returns the figure that decided the comparison with its change, or advice.
pub(super) fn decided(comparison: &Comparison) -> String {
    let Some(figure) = &comparison.decided_by else {
        return if comparison.deaths.iter().any(|death| death.new) {
            "a server that dies under the load of the other one has regressed".into()
        } else {
            advice(comparison)
        };
    };
    let ratio = comparison.comparisons.iter().find(|c| c.figure == *figure).map(change).unwrap_or_default();
    format!("decided by {figure}: {ratio}")
}

/// Returns advice on measurements that would decide the undecided figures. If even an hour of measurement would leave a
/// figure undecided, the advice names the smallest change that an hour of measurement would detect.
pub(super) fn advice(comparison: &Comparison) -> String {
    let open: Vec<&ComparedFigure> =
        comparison.comparisons.iter().filter(|c| comparison.open.contains(&c.figure)).collect();
    let minutes = open.iter().filter_map(|c| needed_s(c, comparison)).reduce(f64::max);
    match (untold_of(open.iter().copied()), minutes) {
        (Some(untold), _) => untold,
        (None, Some(seconds)) => {
            let flag = if comparison.turns.is_some() { "--budget" } else { "--duration of each load" };
            format!("a measurement of about {} would decide ({flag})", length(seconds))
        }
        (None, None) if comparison.no_common_load && open.is_empty() => {
            "a longer measurement would not help: measure both sides with the same load (--rate, --connections)".into()
        }
        (None, None) => "measure longer, or repeat".into(),
    }
}

/// Returns a sentence with the smallest change that the comparison would have detected. The sentence also contains the
/// amount of data that would detect a change of 1 %, if this amount is known. Returns `None` if nothing was compared,
/// or if the new server died.
pub(super) fn smallest_change(comparison: &Comparison) -> Option<String> {
    let Some((change, figure)) = comparison.smallest_change.zip(comparison.smallest_change_of.as_ref()) else {
        let compared = !comparison.comparisons.is_empty() && !comparison.deaths.iter().any(|death| death.new);
        return compared.then(|| TOO_FEW.to_owned());
    };
    let change = if change >= 1.0 {
        format!("×{}", number(1.0 + change))
    } else {
        format!("{} %", significant(100.0 * change))
    };
    let needs = match (comparison.one_percent_s, comparison.one_percent_runs) {
        (Some(seconds), _) => format!("; 1 % needs about {}", length(seconds)),
        (None, Some(runs)) => format!("; 1 % needs about {} runs of each side", number(runs)),
        (None, None) => String::new(),
    };
    Some(format!("Smallest change that this comparison shows in 19 of 20 cases: {change} of {figure}{needs}."))
}

/// Describes the early end of a server.
pub(super) fn describe(death: &SideDeath) -> String {
    let rest = death.text.strip_prefix("the ").unwrap_or(&death.text);
    format!("the {} {rest}", if death.new { "new" } else { "old" })
}
