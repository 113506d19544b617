//! Figures of the response time, and the number of requests that an estimate of a figure needs.

use run::{ProofMetric, SlotHist};

use super::blocks::Block;

/// Minimum number of requests that took longer than the percentile, in all time slots of a lever together.
const BEYOND: f64 = 20.0;

/// Returns the minimum number of requests per lever, summed over all time slots in which this lever is on.
pub fn fewest_requests(of: ProofMetric) -> f64 {
    BEYOND / beyond(of)
}

/// Returns the share of requests that are slower than the percentile `of`, 0 to 1. Treats the mean like the median.
fn beyond(of: ProofMetric) -> f64 {
    match of {
        ProofMetric::P99 => 0.01,
        ProofMetric::P999 => 0.001,
        ProofMetric::P50 | ProofMetric::Mean | ProofMetric::Throughput => 0.5,
    }
}

/// Returns a figure of the response time (a percentile or the mean), microseconds.
pub fn response_us(of: ProofMetric, times: &SlotHist) -> Option<f64> {
    match of {
        ProofMetric::Mean | ProofMetric::Throughput => times.mean_us(),
        ProofMetric::P50 | ProofMetric::P99 | ProofMetric::P999 => times.quantile_us(1.0 - beyond(of)),
    }
}

/// Checks that the time slots of each lever, and the slots with all levers off, have enough requests for the
/// percentile.
pub(super) fn enough(blocks: &[&Block], of: ProofMetric) -> Result<(), String> {
    let cells = blocks.first().map_or(0, |block| block.times.len());
    let held = |cell: usize| blocks.iter().flat_map(|block| &block.times[cell]).sum::<u64>();
    let fewest = (0..cells).map(held).min().unwrap_or(0);
    match fewest as f64 >= fewest_requests(of) {
        true => Ok(()),
        false => Err(format!(
            "a lever's slots have only {}, too few for {}: {:.0} are needed",
            crate::number::counted(fewest as f64, "request"),
            of.name(),
            fewest_requests(of)
        )),
    }
}
