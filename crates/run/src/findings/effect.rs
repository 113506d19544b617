//! A lever and its effect on the measured quantity.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// A lever and its effect on the measured quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Effect {
    /// ID of the lever, a row of `LEVERS`.
    pub lever: String,
    /// Share of the resource that the lever removes, 0 to 1; below 0 if the lever adds some.
    #[serde(with = "Figure")]
    pub dose: f64,
    /// Value with the lever on, divided by the value with the lever off. `Proof::of` names the measured quantity, by
    /// default throughput.
    #[serde(with = "Figure")]
    pub ratio: f64,
    /// Lower end of the 95 % interval of `ratio`.
    #[serde(with = "Figure")]
    pub low: f64,
    /// Upper end of the 95 % interval of `ratio`.
    #[serde(with = "Figure")]
    pub high: f64,
    /// Time at which this entry was written, RFC 3339.
    pub at: String,
}

impl Effect {
    /// Returns this predicted effect for another dose, such as the dose that was measured. A lever rarely takes exactly
    /// the share that was planned when the prediction was recorded. The predicted change is proportional to the dose.
    #[must_use]
    pub fn at_dose(&self, dose: f64) -> Self {
        let by = Some(dose / self.dose).filter(|by| by.is_finite()).unwrap_or(1.0);
        let [ratio, low, high] = [self.ratio, self.low, self.high].map(|ratio| (1.0 - by * (1.0 - ratio)).max(0.0));
        Self { dose, ratio, low, high, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_for_another_dose_is_in_proportion() {
        let planned = Effect { dose: 0.25, ratio: 0.75, low: 0.75, high: 0.75, ..Effect::default() };
        let at = |dose: f64| planned.at_dose(dose);
        assert!((at(0.2).ratio - 0.8).abs() < 1e-12 && at(0.2).dose == 0.2, "{:?}", at(0.2));
        assert_eq!((at(9.0).ratio, Effect { ratio: 1.0, ..planned.clone() }.at_dose(0.2).ratio), (0.0, 1.0));
        assert_eq!(Effect { dose: 0.0, ..planned.clone() }.at_dose(0.2).ratio, 0.75, "no dose was planned");
    }
}
