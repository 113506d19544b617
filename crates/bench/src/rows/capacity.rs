//! Repeatability of the command `find`, and precision of the experiment that checks the verdict of `find`. The server
//! is nginx with one pinned worker.

use anyhow::{Context, Result};

use super::found_capacity::FoundCapacity;
use super::generator::{json, wrk};
use super::shared::Shared;
use crate::compare::{Compared, alone, median};
use crate::programs;

/// Number of runs of `find` per round, so the benchmark's five rounds make ten runs.
const FINDS_PER_ROUND: usize = 2;

/// Results that two rows of the table share, because ten searches take minutes.
#[derive(Clone, Debug, Default)]
struct CapacityRuns {
    found: Vec<FoundCapacity>,
    /// Throughput of wrk after each `find`, requests per second.
    wrk: Vec<f64>,
}

impl CapacityRuns {
    fn capacities(&self) -> Vec<f64> {
        self.found.iter().map(|found| found.rate).collect()
    }
}

static CAPACITY_RUNS: Shared<CapacityRuns> = Shared::new();

/// Runs `find` and wrk alternately. Only the first call with a given number of rounds measures. Later calls return the
/// results of the first call.
fn found(rounds: usize) -> Result<CapacityRuns> {
    CAPACITY_RUNS.get_or_measure(rounds, || find(rounds))
}

fn find(rounds: usize) -> Result<CapacityRuns> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    let mut runs = CapacityRuns::default();
    for _ in 0..FINDS_PER_ROUND * rounds {
        let run = json(&["find", &url, "--json", "--budget"], "30s")?;
        runs.found.push(FoundCapacity::read(&run)?);
        runs.wrk.push(wrk(nginx.addr, "/file")?.rate);
    }
    Ok(runs)
}

/// Measures the coefficient of variation of the capacity, in percent. The row's note contains the coefficient of
/// variation of wrk's throughput, as a comparison.
pub(crate) fn variation(rounds: usize) -> Result<Compared> {
    let runs = found(rounds)?;
    let capacities = runs.capacities();
    let (count, middle) = (capacities.len(), median(&capacities));
    let note = format!("{count} finds, median {middle:.0}/s; wrk {:.1} %", scatter(&runs.wrk));
    Ok(Compared::single(scatter(&capacities), "%", note))
}

/// Measures the percentage of the runs whose capacity interval contains the median of all capacities.
pub(crate) fn covers(rounds: usize) -> Result<Compared> {
    let runs = found(rounds)?;
    let middle = median(&runs.capacities());
    let count = runs.found.iter().filter(|found| found.covers(middle)).count();
    let halves: Vec<f64> = runs.found.iter().filter_map(FoundCapacity::half_width).collect();
    let more = format!("; half of one {:.1} %", 100.0 * median(&halves) / middle);
    Ok(Compared::percentage(count, runs.found.len(), &more))
}

/// Runs `prove` with a budget of 12 s. Measures half the width of the 95 % interval of the largest elasticity (effect
/// of a resource's speed on throughput).
pub(crate) fn proof(rounds: usize) -> Result<Compared> {
    let nginx = programs::nginx()?;
    let url = format!("http://{}/file", nginx.addr);
    alone(rounds, "", || {
        let run = json(&["prove", &url, "--connections", "16", "--json", "--budget"], "12s")?;
        let all = run["findings"]["proof"]["elasticities"].as_array().context("the proof has no elasticities")?;
        let half =
            |e: &serde_json::Value| Some((e["value"].as_f64()?, (e["high"].as_f64()? - e["low"].as_f64()?) / 2.0));
        let main = all.iter().filter_map(half).max_by(|a, b| a.0.total_cmp(&b.0));
        Ok(main.context("no elasticity has an interval")?.1)
    })
}

/// Returns the coefficient of variation in percent.
fn scatter(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0);
    100.0 * variance.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficient_of_variation_is_relative_to_the_mean() {
        assert!((scatter(&[90.0, 100.0, 110.0]) - 10.0).abs() < 1e-9);
        assert_eq!(scatter(&[5.0]), 0.0);
    }
}
