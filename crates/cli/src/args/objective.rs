//! Flags of the objective: limits on response times and on errors.

use clap::Args;
use run::{EXPECTABLE_FIGURES, Expectation, ExpectedUnit, Objective, Plan, SummaryFigure};

use super::units;

/// Limits of the objective. A rate meets the objective only if it meets all limits.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ObjectiveArgs {
    /// Highest median response time allowed
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Objective")]
    p50: Option<f64>,
    /// Highest 99th percentile of the response time allowed
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Objective")]
    p99: Option<f64>,
    /// Highest 99.9th percentile of the response time allowed
    #[arg(long = "p99.9", value_name = "TIME", value_parser = units::seconds, help_heading = "Objective")]
    p99_9: Option<f64>,
    /// Highest mean response time allowed
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Objective")]
    mean: Option<f64>,
    /// Limit on the time to the first byte: 'p99<200ms' (p50, p99 or p99.9; may be repeated)
    #[arg(long, value_name = "FIGURE<TIME", value_parser = time_limit, help_heading = "Objective")]
    first_byte: Vec<(SummaryFigure, f64)>,
    /// Limit on the time to the first event of a stream (--stream): 'p99<500ms' (may be repeated)
    #[arg(long, value_name = "FIGURE<TIME", value_parser = time_limit, help_heading = "Objective")]
    first_event: Vec<(SummaryFigure, f64)>,
    /// Limit on the time between two events of a stream (--stream): 'p99<80ms' (may be repeated)
    #[arg(long, value_name = "FIGURE<TIME", value_parser = time_limit, help_heading = "Objective")]
    gap: Vec<(SummaryFigure, f64)>,
    /// Largest share of failed requests allowed
    #[arg(long, value_name = "SHARE", value_parser = units::share, help_heading = "Objective")]
    errors: Option<f64>,
    /// Exit with status 1 unless this holds: 'p99<20ms', 'capacity>=5000' (p50, p90, p95, p99, p99.9, mean, rate,
    /// capacity, errors)
    #[arg(long, value_name = "FIGURE<LIMIT", value_parser = expectation, help_heading = "Objective")]
    expect: Vec<Expectation>,
}

fn expectation(text: &str) -> Result<Expectation, String> {
    let one = Expectation::parse(text, |unit, limit| match unit {
        ExpectedUnit::Time => units::seconds(limit).map(|s| s * 1e6),
        ExpectedUnit::Rate => units::rate(limit),
        ExpectedUnit::Share => units::share(limit),
    });
    let several = text.matches(['<', '>']).count() > 1;
    one.and_then(not_slow)
        .map(with_percent)
        .map_err(|why| if several { format!("{text:?} holds several: give --expect once for each") } else { why })
}

/// Refuses an expectation that a fast server without errors would not meet, such as `p99>5ms`.
fn not_slow(one: Expectation) -> Result<Expectation, String> {
    let unit = EXPECTABLE_FIGURES.iter().find(|(figure, _)| *figure == one.figure).map(|(_, unit)| *unit);
    if !one.at_least || unit == Some(ExpectedUnit::Rate) {
        return Ok(one);
    }
    Err(format!("{:?} would fail a good server: write '{}'", one.text, one.text.replacen('>', "<", 1)))
}

/// Adds the limit in percent to the text of an expectation about a share: `errors<=0.1` becomes `errors<=10%`. The
/// report thus shows how loadline understood a limit without `%`.
fn with_percent(mut one: Expectation) -> Expectation {
    let is_share = EXPECTABLE_FIGURES.contains(&(one.figure.as_str(), ExpectedUnit::Share));
    if let Some(end) = one.text.rfind(['<', '>', '=']).filter(|_| is_share) {
        // Rounds, because the product of a share and 100 may end with digits such as 7.000000000000001.
        let percent = (one.limit * 1e11).round() / 1e9;
        one.text = format!("{}{percent}%", &one.text[..=end]);
    }
    one
}

/// Parses a limit on a time, such as `p99<200ms`. Returns the figure (such as p99) and the limit in microseconds.
fn time_limit(text: &str) -> Result<(SummaryFigure, f64), String> {
    let form = || "write it as 'p99<200ms' (p50 and p99.9 work, too)".to_owned();
    let (name, limit) = text.split_once('<').ok_or_else(form)?;
    let limit_us = units::seconds(limit.trim_start_matches('=').trim())? * 1e6;
    let figure = SummaryFigure::of_label(name.trim()).ok_or_else(form)?;
    if run::TimeLimits::default().set(figure, limit_us) { Ok((figure, limit_us)) } else { Err(form()) }
}

impl ObjectiveArgs {
    /// Applies the given limits to the plan.
    pub(crate) fn apply(&self, plan: &mut Plan) {
        let objective = &mut plan.objective;
        let limits = [
            (&mut objective.p50_us, self.p50),
            (&mut objective.p99_us, self.p99),
            (&mut objective.p99_9_us, self.p99_9),
            (&mut objective.mean_us, self.mean),
        ];
        for (limit, given) in limits {
            *limit = given.map(|s| s * 1e6).or(*limit);
        }
        let times = [
            (&mut objective.first_byte, &self.first_byte),
            (&mut objective.first_event, &self.first_event),
            (&mut objective.gap, &self.gap),
        ];
        for (limits, given) in times {
            for &(figure, limit_us) in given {
                limits.set(figure, limit_us);
            }
        }
        objective.errors = self.errors.unwrap_or(objective.errors);
        plan.expect.extend(self.expect.iter().cloned());
    }

    /// If an expectation allows more errors than the default limit, replaces the default limit, so that a load that
    /// meets all expectations does not fail. A limit that the user gave stays as it is.
    pub(crate) fn allow_expected_errors(&self, plan: &mut Plan) {
        let default = Objective::default().errors;
        let of_errors = plan.expect.iter().filter(|expected| expected.figure == "errors" && !expected.at_least);
        let strictest = of_errors.map(|expected| expected.limit).reduce(f64::min);
        let is_default = self.errors.is_none() && plan.objective.errors == default;
        if let Some(limit) = strictest.filter(|limit| is_default && *limit > default) {
            plan.objective.errors = limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version of loadline parsed all text after the first comparison sign as one time. If a user wrote
    /// several expectations in one flag, the error only said that this text is not a time.
    #[test]
    fn several_expectations_in_one_are_named() {
        for text in ["p99<20ms,rate>100", "p99<20ms && rate>100", "p50<1ms<2ms"] {
            assert!(expectation(text).unwrap_err().contains("give --expect once for each"), "{text}");
        }
        assert!(expectation("p99<x").unwrap_err().contains("is not a time"));
        assert!(expectation("p99<=20ms").is_ok());
    }

    #[test]
    fn a_limit_that_only_a_bad_server_meets_is_refused() {
        assert!(expectation("p99>5ms").unwrap_err().contains("write 'p99<5ms'"));
        assert!(expectation("errors>=1%").unwrap_err().contains("write 'errors<=1%'"));
        assert!(expectation("rate>=5k").is_ok() && expectation("capacity>100").is_ok());
    }

    #[test]
    fn a_share_is_shown_in_percent() {
        for (given, shown) in
            [("errors<=0.1", "errors<=10%"), ("errors<0.07", "errors<7%"), ("errors<=10%", "errors<=10%")]
        {
            assert_eq!(expectation(given).unwrap().text, shown);
        }
        assert_eq!(expectation("p99 < 20ms").unwrap().text, "p99 < 20ms");
    }
}
