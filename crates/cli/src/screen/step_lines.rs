//! Lines about the steps of a run.

use report::{Unit, quantity};
use run::{SummaryFigure, Trial};

use crate::progress_lines::time;

/// Returns the heading of the lines about steps.
pub(super) fn head() -> String {
    row("step", ["completed", "p50", "p99", "errors"], "busiest")
}

fn row(label: &str, figures: [&str; 4], busiest: &str) -> String {
    let [rate, p50, p99, errors] = figures;
    // The line has at most 80 characters with a label of up to 25 characters and a device such as `server thread 99.9
    // %`.
    let line = format!("{label:<25} {rate:>9} {p50:>7} {p99:>7} {errors:>6}  {busiest}");
    line.trim_end().to_string()
}

/// Formats the line of a trial with load.
pub(super) fn loaded(trial: &Trial) -> String {
    let figures = [
        quantity(trial.rates.completed_rate, Unit::PerSecond),
        time(trial, SummaryFigure::P50),
        time(trial, SummaryFigure::P99),
        judge::failed_share(trial).map_or_else(|| "n/a".into(), |share| quantity(share, Unit::Share)),
    ];
    let busiest = report::busiest_device(&judge::devices(trial)).unwrap_or_default();
    row(&trial.label, figures.each_ref().map(String::as_str), &busiest)
}

/// Formats the line of a trial without load, such as timed calls. Unlike the line of a load, this line is not divided
/// into columns.
pub(super) fn unloaded(trial: &Trial) -> String {
    let summary = trial.results.summary.as_ref();
    summary.map_or_else(|| trial.label.clone(), |summary| format!("{}: {summary}", trial.label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hung_server_has_no_response_times_and_only_failed_requests() {
        let mut trial = Trial { label: "8 connections".into(), ..Trial::default() };
        (trial.tally.attempted, trial.tally.connected, trial.tally.sent) = (8, 8, 8);
        (trial.tally.unanswered, trial.measured.tally.unanswered) = (8, 8);
        (trial.measured.tally.sent, trial.measured.tally.attempted) = (8, 8);
        assert_eq!(
            loaded(&trial).split_whitespace().collect::<Vec<_>>(),
            ["8", "connections", "0/s", "n/a", "n/a", "100", "%"]
        );
        trial.measured.tally = run::Tally::default();
        trial.tally.unanswered = 0;
        assert_eq!(
            loaded(&trial).split_whitespace().collect::<Vec<_>>(),
            ["8", "connections", "0/s", "n/a", "n/a", "n/a"]
        );
    }

    #[test]
    fn a_step_without_load_names_the_timed_calls_and_has_no_columns() {
        let mut trial = Trial { label: "epoll, 750 cold".into(), ..Trial::default() };
        assert_eq!(unloaded(&trial), "epoll, 750 cold");
        trial.results.summary = Some("1.79 µs a call, 10000 calls".into());
        assert_eq!(unloaded(&trial), "epoll, 750 cold: 1.79 µs a call, 10000 calls");
    }
}
