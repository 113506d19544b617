//! Short words for a history: labels of runs, times, counts and sizes of changes.

use run::{FigureUnit, HistoryChange};

use run::number::significant;

/// Maximum length of a label in the title, in the table of changes and in a chart, characters.
const MAX_LABEL: usize = 24;
/// Lengths of two beginnings of a time such as `2026-11-22T03:09:53Z`, in characters: the date, and the date with hours
/// and minutes.
const TIME_LENGTHS: [usize; 2] = [10, 16];

pub(super) fn counted(count: usize, noun: &str) -> String {
    run::number::prose::counted(count as f64, noun)
}

/// Returns the label of the first run after a change, or the start time of this run if it has no label.
pub(super) fn place(change: &HistoryChange) -> String {
    if change.label.is_empty() { minute(&change.started) } else { shortened(&change.label) }
}

/// Returns a label with at most [`MAX_LABEL`] characters. Leaves out the middle, because labels often differ only at
/// their ends.
fn shortened(label: &str) -> String {
    let length = label.chars().count();
    if length <= MAX_LABEL {
        return label.into();
    }
    let end: String = label.chars().skip(length + 1 + MAX_LABEL / 2 - MAX_LABEL).collect();
    format!("{}…{end}", cut(label, MAX_LABEL / 2))
}

fn cut(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// Formats a change, or an end of its interval. A change of a share is in percentage points, and a change of any other
/// figure is in percent.
pub(super) fn size(change: &HistoryChange, value: f64) -> String {
    format!("{}{}", signed(value), if is_share(change) { " points" } else { " %" })
}

/// Formats a share as a percentage with its sign, but without the `%`.
pub(super) fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{}", significant(100.0 * share.abs()))
}

/// Returns true for a figure that is itself a share. For a figure that is a share, a change is the difference in
/// percentage points.
fn is_share(change: &HistoryChange) -> bool {
    change.unit == FigureUnit::Share
}

/// Returns the date of a time such as `2026-11-22T03:09:53Z`.
pub(super) fn date(time: &str) -> String {
    cut(time, TIME_LENGTHS[0])
}

/// Returns the date, the hour and the minute of a time such as `2026-11-22T03:09:53Z`.
pub(super) fn minute(time: &str) -> String {
    cut(time, TIME_LENGTHS[1]).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_stay_apart_and_show_that_they_are_cut() {
        let [a, b] = ["release-2026-11-29-candidate-01", "release-2026-11-29-candidate-02"].map(shortened);
        assert_eq!((a.as_str(), b.as_str()), ("release-2026…andidate-01", "release-2026…andidate-02"));
        assert_eq!(a.chars().count(), MAX_LABEL);
        assert_eq!(shortened("v1.2"), "v1.2");
    }
}
