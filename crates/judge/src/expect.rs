//! Whether a run is what its user expects: each expectation with its figure and interval.

use run::{Expectation, Expected, Findings, Run, Trial};

use crate::number::{duration, finite, percent, rate};
use crate::single::{failed_share, good};

/// What came of every expectation of the plan: of the trial at the capacity where there is a search, else of the decisive one.
pub(crate) fn expected(run: &Run, findings: &Findings) -> Vec<Expected> {
    let at = findings.picks.at_capacity.or(findings.picks.decisive).or(findings.picks.shown);
    let trial = at.and_then(|at| run.trials.get(at));
    run.plan.expect.iter().map(|e| one(e, trial, findings)).collect()
}

fn one(expectation: &Expectation, trial: Option<&Trial>, findings: &Findings) -> Expected {
    let figure = expectation.figure.as_str();
    let (value, interval) = match figure {
        "capacity" => {
            let found = findings.capacity.as_ref().filter(|c| c.held);
            (found.map(|c| c.rate), found.and_then(|c| c.low.zip(c.high)))
        }
        "rate" => (trial.map(good), None),
        "errors" => (trial.and_then(failed_share), None),
        _ => trial.map_or((None, None), |t| time(t, figure)),
    };
    let value = value.and_then(finite);
    let met = value.is_some_and(|v| if expectation.at_least { v >= expectation.limit } else { v <= expectation.limit });
    let words = |v: f64| match figure {
        "capacity" | "rate" => rate(v),
        "errors" => percent(v),
        _ => duration(v),
    };
    let between = interval.map_or_else(String::new, |(l, h)| format!(" (95 % interval {} to {})", words(l), words(h)));
    let found = value.map_or_else(|| "it was not measured".into(), |v| format!("it was {}{between}", words(v)));
    Expected {
        text: expectation.text.clone(),
        value,
        low: interval.map(|i| i.0),
        high: interval.map(|i| i.1),
        met,
        found,
    }
}

/// A figure of the response time, microseconds, with the interval that the order of so many values gives a percentile.
fn time(trial: &Trial, figure: &str) -> (Option<f64>, Option<(f64, f64)>) {
    let seen = &trial.latency_us;
    if seen.count == 0 {
        return (None, None);
    }
    let (value, share) = match figure {
        "p50" => (seen.p50, 0.5),
        "p99" => (seen.p99, 0.99),
        "p99.9" => (seen.p99_9, 0.999),
        _ => return (Some(seen.mean), None),
    };
    let half = 1.96 * (share * (1.0 - share) / seen.count as f64).sqrt();
    let hist = trial.histograms.get("response").filter(|h| !h.is_empty());
    (Some(value), hist.map(|h| (h.quantile_us(share - half), h.quantile_us((share + half).min(1.0)))))
}

#[cfg(test)]
mod tests {
    use run::{Expectation, Failure};

    #[test]
    fn what_is_not_met_is_named_with_its_figure_and_fails_the_run() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).run();
        let expect = |text: &str| Expectation::parse(text, |_, v| v.parse().map_err(|_| String::new())).unwrap();
        run.plan.expect = vec![expect("capacity>=100"), expect("p99<1e9")];
        crate::judge(&mut run);
        assert!(run.findings.expected.iter().all(|e| e.met), "{:?}", run.findings.expected);
        assert_eq!(run.findings.failure, None);
        run.plan.expect.push(expect("rate>1e9"));
        crate::judge(&mut run);
        let last = run.findings.expected.last().unwrap();
        assert!(!last.met && last.found.contains("/s"), "{last:?}");
        assert_eq!(run.findings.failure, Some(Failure::Expectation));
    }
}
