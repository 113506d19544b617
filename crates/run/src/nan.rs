//! JSON has no word for "not a number": such a figure is written as `null`. These readers take it back as what it was,
//! so that a run with an undefined figure still loads, and the figure never turns into 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// A figure; `null` is not a number.
pub(crate) fn number<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::NAN))
}

/// Figures in a row.
pub(crate) fn list<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<f64>, D::Error> {
    Ok(Vec::<Option<f64>>::deserialize(d)?.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
}

/// Figures by name.
pub(crate) fn map<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let read = BTreeMap::<String, Option<f64>>::deserialize(d)?;
    Ok(read.into_iter().map(|(name, v)| (name, v.unwrap_or(f64::NAN))).collect())
}

#[cfg(test)]
mod tests {
    use crate::{Check, Fit, Recording, Run, Trial};

    #[test]
    fn a_run_with_undefined_figures_loads_and_none_turns_into_zero() {
        let mut trial = Trial::default();
        trial.rates.completed_rate = f64::NAN;
        trial.latency_us.p99 = f64::INFINITY;
        trial.axes.insert("x".into(), f64::NAN);
        trial.client.recording = Recording { t_s: vec![0.0, f64::NAN], ..Recording::default() };
        let mut run = Run { elapsed_s: f64::NAN, trials: vec![trial], ..Run::default() };
        run.findings.checks.push(Check { value: f64::NAN, limit: 2.0, ..Check::default() });
        run.findings.fits.insert("usl".into(), Fit { coefficients: [("k".into(), f64::NAN)].into(), ..Fit::default() });
        let text = serde_json::to_string(&run).unwrap();
        let back: Run = serde_json::from_str(&text).unwrap();
        assert!(back.elapsed_s.is_nan() && back.trials[0].rates.completed_rate.is_nan());
        assert!(back.trials[0].latency_us.p99.is_nan() && back.trials[0].axes["x"].is_nan());
        assert!(back.trials[0].client.recording.t_s[1].is_nan());
        assert!(back.findings.checks[0].value.is_nan() && back.findings.fits["usl"].coefficients["k"].is_nan());
        assert_eq!(back.findings.checks[0].limit, 2.0);
    }
}
