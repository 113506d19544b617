//! Fits as findings of a run. A fit has named coefficients, and a text about its quality.

use std::collections::BTreeMap;

use run::{Fit, Interval};
use stats::fit::{Line, Usl, usl};

pub use stats::fit::linear;

use crate::Facts;
use crate::context::single::{clients, good};
use crate::number::{figure, percent};

/// Minimum R² of a good fit. R² is the share of the variance that the fit explains.
const GOOD_R2: f64 = 0.98;
/// Minimum R² of a fair fit.
const FAIR_R2: f64 = 0.90;

fn interval(of: stats::Interval) -> Interval {
    Interval { low: of.low, high: of.high }
}

/// Fits a line to the results of an experiment. `x` and `y` are the names of the axes, with their units.
pub fn line_fit(points: &[(f64, f64)], x: &str, y: &str) -> Option<Fit> {
    let line = linear(points)?;
    let both = |a: f64, b: f64| BTreeMap::from([("intercept".to_string(), a), ("slope".to_string(), b)]);
    Some(Fit {
        formula: format!("{y} = intercept + slope * {x}"),
        coefficients: both(line.intercept, line.slope),
        intervals: BTreeMap::from([
            ("intercept".to_string(), interval(line.intercept_interval)),
            ("slope".to_string(), interval(line.slope_interval)),
        ]),
        r2: line.r2,
        points: line.points,
        quality: line_quality(&line),
    })
}

fn line_quality(line: &Line) -> String {
    let i = line.slope_interval;
    if i.low <= 0.0 && i.high >= 0.0 {
        return "the slope cannot be told from zero".into();
    }
    match line.r2 {
        r if r >= GOOD_R2 => "a straight line".into(),
        r if r >= FAIR_R2 => "nearly a straight line".into(),
        _ => "the slope has a sign, the points do not lie on a line".into(),
    }
}

/// Fits the Universal Scalability Law to the sweep of a run.
pub fn usl_of(facts: &Facts<'_>) -> Option<Fit> {
    let points: Vec<(f64, f64)> = facts.sweep.iter().map(|t| (clients(t), good(t))).collect();
    usl_fit(&points, "clients")
}

/// Fits the Universal Scalability Law to points (size, throughput). `of` names the unit of the sizes, such as
/// "clients".
pub(crate) fn usl_fit(points: &[(f64, f64)], of: &str) -> Option<Fit> {
    let law = usl(points)?;
    let names = Fit::usl_names();
    let values = [law.lambda, law.sigma, law.kappa];
    Some(Fit {
        formula: "X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))".into(),
        coefficients: BTreeMap::from_iter(names.clone().into_iter().zip(values)),
        intervals: law
            .intervals
            .map(|i| BTreeMap::from_iter(names.into_iter().zip(i.map(interval))))
            .unwrap_or_default(),
        r2: law.r2,
        points: law.points,
        quality: usl_quality(&law, of),
    })
}

fn usl_quality(law: &Usl, of: &str) -> String {
    let fit = match law.r2 {
        r if r >= GOOD_R2 => "good",
        r if r >= FAIR_R2 => "fair",
        _ => "poor: the coefficients mean nothing",
    };
    let cause = match (law.sigma, law.kappa) {
        (s, k) if k > 0.0 && law.peak().is_some_and(|n| n < 1e4) && k * 100.0 > s => "agreeing (kappa) costs most",
        (s, _) if s > 0.01 => "contention (sigma) costs most",
        _ => "it scales nearly linearly",
    };
    let peak = law.peak().map_or_else(|| "no peak".to_string(), |n| format!("peak near {} {of}", figure(n)));
    format!("{fit} (R2 {}); {cause}; {peak}", percent(law.r2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_describes_its_quality_in_words() {
        let flat = line_fit(&[(0.0, 1.0), (1.0, 2.0), (2.0, 1.0), (3.0, 2.0)], "clients", "us").unwrap();
        assert!(flat.quality.contains("zero"));
    }

    /// The crate `report` draws the fitted Universal Scalability Law with a formula of the crate `run`, because
    /// `report` does not depend on `stats`. The formulas of the scalability law in `run` and in `stats` must agree.
    #[test]
    fn the_drawn_law_is_the_fitted_one() {
        for n in [1.0, 7.0, 300.0] {
            assert_eq!(run::usl_rate([1000.0, 0.1, 0.002], n), stats::fit::usl_rate([1000.0, 0.1, 0.002], n));
        }
    }
}
