//! Whether the answer of `find` repeats, and how sharp its proof is: against nginx with one pinned worker.

use anyhow::{Context, Result};

use super::generator::{json, wrk};
use crate::compare::{Compared, median};
use crate::programs;

/// Finds for each round, so that five rounds make ten.
const FINDS_A_ROUND: usize = 2;

/// Coefficient of variation of the capacity, percent; wrk's own rate in the same turns beside it.
pub(crate) fn variation(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    let (mut capacities, mut covered, mut rates) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..FINDS_A_ROUND * rounds {
        let run = json(&["find", &url, "--json", "--budget"], "30s")?;
        let capacity = &run["findings"]["capacity"];
        capacities.push(capacity["rate"].as_f64().context("the run has no capacity")?);
        covered.push((capacity["low"].as_f64(), capacity["high"].as_f64()));
        rates.push(wrk(nginx.addr, "/file")?.rate);
    }
    let middle = median(&capacities);
    let covers =
        covered.iter().filter(|(low, high)| low.is_some_and(|l| l <= middle) && high.is_some_and(|h| h >= middle));
    let note = format!("{} of {} intervals hold the median {middle:.0}/s", covers.count(), covered.len());
    Ok(Compared {
        ours: vec![scatter(&capacities)],
        peer: Vec::new(),
        unit: "%",
        note: format!("{note}; wrk {:.1} %", scatter(&rates)),
    })
}

/// Half of the 95 % interval of the main elasticity in an experiment of 8 s.
pub(crate) fn proof(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    let mut compared = Compared { unit: "", ..Compared::default() };
    for _ in 0..rounds {
        let run = json(&["prove", &url, "--connections", "16", "--json", "--budget"], "12s")?;
        let all = run["findings"]["proof"]["elasticities"].as_array().context("the proof has no elasticities")?;
        let half =
            |e: &serde_json::Value| Some((e["value"].as_f64()?, (e["high"].as_f64()? - e["low"].as_f64()?) / 2.0));
        let main = all.iter().filter_map(half).max_by(|a, b| a.0.total_cmp(&b.0));
        compared.ours.push(main.context("no elasticity has an interval")?.1);
    }
    Ok(compared)
}

/// Coefficient of variation, percent.
fn scatter(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0);
    100.0 * variance.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_is_a_share_of_the_mean() {
        assert!((scatter(&[90.0, 100.0, 110.0]) - 10.0).abs() < 1e-9);
        assert_eq!(scatter(&[5.0]), 0.0);
    }
}
