//! Compared figures: their names and results, and the measurement that an undecided figure needs.

use run::number::{number, significant};
use run::{ComparedFigure, Comparison, ComparisonResult, FigureRole, NeededData};

use crate::Tone;

/// Returns true if a figure takes part in the decision about the result of the comparison.
pub(super) fn decides(figure: &ComparedFigure) -> bool {
    figure.role != FigureRole::Listed
}

/// Returns the compared figures that the report shows: first the figures that decide, and then the others. A secondary
/// figure (`beside`, such as a cost) is shown only if it changed.
pub(super) fn shown(comparison: &Comparison) -> impl Iterator<Item = &ComparedFigure> {
    let differs = |c: &ComparedFigure| matches!(c.word, ComparisonResult::Faster | ComparisonResult::Slower);
    let mut figures: Vec<_> = comparison.comparisons.iter().filter(|c| !c.beside || differs(c)).collect();
    figures.sort_by_key(|c| !decides(c));
    figures.into_iter()
}

/// Returns the name of a figure: its title, or its ID for a figure without a title. Only costs of the server have
/// titles.
pub(super) fn name_of(c: &ComparedFigure) -> &str {
    if c.title.is_empty() { &c.figure } else { &c.title }
}

/// Returns the word that the screen shows for a result. In files, an undecided result has the ID `not-enough`.
pub(super) fn word(word: ComparisonResult) -> &'static str {
    if word == ComparisonResult::NotEnough { "undecided" } else { word.name() }
}

/// Returns the tone in which a result is shown.
pub(super) fn tone(word: ComparisonResult) -> Tone {
    match word {
        ComparisonResult::Faster | ComparisonResult::Same => Tone::Good,
        ComparisonResult::Slower => Tone::Bad,
        ComparisonResult::NotEnough => Tone::Warn,
    }
}

/// Returns the smallest change of a figure that an hour of measurement would detect, with the figure's name. Returns
/// `None` if an hour suffices to decide the figure, or if the change is unknown.
fn untold(c: &ComparedFigure) -> Option<String> {
    let least = c.resolution?;
    let name = if least >= 1.0 {
        format!("a factor of {}", significant(1.0 + least))
    } else {
        format!("{} %", significant(100.0 * least))
    };
    Some(format!("{name} ({})", name_of(c)))
}

/// Returns the sentence about the figures that even an hour of measurement would not decide. Returns `None` if there
/// are no such figures.
pub(super) fn untold_of<'a>(all: impl Iterator<Item = &'a ComparedFigure>) -> Option<String> {
    let untold: Vec<String> = all.filter_map(untold).collect();
    let untold = Some(untold.join(", ")).filter(|untold| !untold.is_empty())?;
    Some(format!("even an hour of measuring on this machine would not show a difference below {untold}"))
}

/// Returns the length of a measurement that would decide a figure, seconds. Returns `None` if the needed length of the
/// measurement is unknown, or if a longer measurement would not help.
pub(super) fn needed_s(c: &ComparedFigure, comparison: &Comparison) -> Option<f64> {
    let by_time = c.resolution.is_none() && c.more_of != Some(NeededData::Runs) && comparison.measured_s > 0.0;
    c.more.filter(|_| by_time).map(|more| more * comparison.measured_s)
}

/// Minimum length of a measurement that is written in hours instead of minutes, seconds.
const HOURS_S: f64 = 2.0 * 3600.0;

/// Formats the length of a measurement in seconds, minutes or hours, rounded up to a whole number.
pub(super) fn length(seconds: f64) -> String {
    if seconds < 100.0 {
        format!("{} s", number(seconds.ceil()))
    } else if seconds >= HOURS_S {
        format!("{} h", number((seconds / 3600.0).ceil()))
    } else {
        format!("{} min", number((seconds / 60.0).ceil()))
    }
}
