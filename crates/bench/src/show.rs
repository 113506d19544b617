//! Prints the results of the benchmark.

use std::time::Duration;

use comfy_table::{ContentArrangement, Table};

use crate::stored::{RowResult, StoredRow};

/// Prints the result of a row immediately after its measurement.
pub(crate) fn line(row: &StoredRow) {
    let figure = row.figures.as_ref().map_or(row.note.clone(), |figures| format!("{:.3}", figures.ratio));
    eprintln!("  {} {figure} ({}, {:.0} s)", row.id, row.result.words(), row.took_s);
}

/// Formats the table of all rows.
pub(crate) fn table(rows: &[StoredRow]) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["row", "ours", "peer", "unit", "ratio", "spread", "goal", "aim", "result", "note"]);
    for row in rows {
        table.add_row(cells(row));
    }
    table.to_string()
}

fn cells(row: &StoredRow) -> Vec<String> {
    let figures = row.figures.as_ref().map_or([const { String::new() }; 5], |f| {
        let peer = f.peer.map_or(String::new(), figure);
        [figure(f.ours), peer, f.unit.clone(), figure(f.ratio), format!("{} to {}", figure(f.low), figure(f.high))]
    });
    let goals = [row.goal.clone(), row.aim.clone().unwrap_or_default(), row.result.words().into(), row.note.clone()];
    [vec![row.id.clone()], figures.into(), goals.into()].concat()
}

/// Formats a figure with three significant digits, or with all digits before the decimal point if these are more. A
/// value from 0.9 to 1 gets four digits, because a goal can be 0.999.
pub(crate) fn figure(value: f64) -> String {
    let digits = if (0.9..1.0).contains(&value) { 4 } else { 3 };
    let digits_before_point = value.abs().max(1e-9).log10().floor() as i32 + 1;
    let decimals = (digits - digits_before_point).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Formats a duration in seconds below two minutes, and in minutes from two minutes on.
pub(crate) fn duration(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..120 => format!("{s} s"),
        s => format!("{:.0} min", s as f64 / 60.0),
    }
}

impl RowResult {
    /// Returns the text of the result for a table.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::AimReached => "aim reached",
            Self::Reached => "reached",
            Self::Missed => "MISSED",
            Self::Skipped => "SKIP",
            Self::Failed => "not measured",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let shown = [0.0, 0.012_34, 0.5, 0.998_7, 1.002_3, 12.345, 99_876.0].map(figure);
        assert_eq!(shown, ["0", "0.0123", "0.5", "0.9987", "1", "12.3", "99876"]);
        assert_eq!([30, 119, 1140].map(|s| duration(Duration::from_secs(s))), ["30 s", "119 s", "19 min"]);
    }
}
