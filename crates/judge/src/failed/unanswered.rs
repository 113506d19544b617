//! Corrects runs that older versions of loadline recorded. In runs of older versions, the percentiles leave out
//! requests that were never answered.

use run::{LowerBounds, Run, Summary, SummaryFigure, Trial, response_summary};

/// Recomputes the response times of runs of older versions, with the requests that were never answered.
pub(crate) fn derive(run: &mut Run) {
    run.trials.iter_mut().for_each(derive_trial);
}

fn derive_trial(trial: &mut Trial) {
    let seen = &trial.latency_us;
    if seen.unanswered > 0 || !seen.at_least.is_empty() || trial.histograms.contains_key("carried_in") {
        return;
    }
    let failed = trial.measured.tally.errors.requests();
    let kept = trial.histograms.get("response").is_some_and(|hist| !hist.is_empty());
    let stalled = trial.histograms.contains_key("under_way");
    match kept {
        _ if failed == 0 && !(stalled && kept) => {}
        true => {
            let found = response_summary(&trial.histograms, failed);
            if !found.at_least.is_empty() {
                trial.latency_us = found;
            }
        }
        false => trial.latency_us = without_histogram(*seen, failed),
    }
}

/// Marks the percentiles of a summary that are only lower bounds, because too many requests got no answer.
fn without_histogram(seen: Summary, failed: u64) -> Summary {
    let seen = Summary { unanswered: failed, ..seen };
    let lost = seen.unanswered_share();
    let is_open = |figure: &SummaryFigure| lost > figure.share_above().unwrap_or(0.0);
    let at_least: LowerBounds = SummaryFigure::ALL.into_iter().filter(is_open).collect();
    Summary { at_least, ..seen }
}

#[cfg(test)]
mod tests {
    use run::{ErrorKind, Hist, TimeFigure};

    use super::*;

    /// Makes a trial of an older version of loadline: 100 answers of 2 ms, and `resets` connections that were reset. If
    /// `kept` is true, the trial also contains the histogram of the response times.
    fn old(resets: u64, kept: bool) -> Trial {
        let mut hist = Hist::new();
        hist.record_many_ns(2_000_000, 100);
        let mut trial = Trial { latency_us: Summary::of(&hist), ..Trial::default() };
        trial.measured.tally.completed = 100;
        trial.measured.tally.errors.0.insert(ErrorKind::Reset, resets);
        if kept {
            trial.histograms.insert("response".into(), hist);
        }
        derive_trial(&mut trial);
        trial
    }

    #[test]
    fn failures_of_an_older_run_leave_its_percentiles_open() {
        for kept in [true, false] {
            let seen = old(25, kept).latency_us;
            assert!(matches!(seen.figure(SummaryFigure::P50), TimeFigure::Exact(us) if us > 1990.0), "{seen:?}");
            assert!(matches!(seen.figure(SummaryFigure::P99), TimeFigure::AtLeast(us) if us > 1990.0), "{seen:?}");
            assert_eq!(seen.unanswered, 25);
            assert!(old(0, kept).latency_us.at_least.is_empty());
        }
    }
}
