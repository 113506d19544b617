//! Growth of the response time that each lever causes, compared with slowing all resources.

use run::{ProofMetric, SlotHist};

use super::blocks::Block;
use super::figure::response_us;
use crate::thresholds::BUSIEST;

/// Minimum dose of a lever (share of its resource that it takes) for an estimate, 0 to 1.
pub(super) const LEAST_DOSE: f64 = 0.01;

/// Effects of the levers on the response time in some blocks of time slots.
pub(super) struct PredictedResponse {
    /// Response time with each lever on, divided by the response time with all levers off. The lever that raises the
    /// offered rate is included.
    pub(super) ratios: Vec<f64>,
    pub(super) doses: Vec<f64>,
    /// Relative growth of the response time that each lever causes. All values are converted to one common dose: the
    /// dose of the lever that raises the offered rate. The list does not contain the lever that raises the offered
    /// rate.
    pub(super) adds: Vec<f64>,
    /// Relative growth of the response time if all resources are slowed by the dose of the lever that raises the
    /// offered rate.
    pub(super) whole: f64,
}

pub(super) fn block_response(blocks: &[&Block], of: ProofMetric, rate_at: usize) -> Option<PredictedResponse> {
    let cells = blocks.first()?.times.len();
    let mut figures = Vec::with_capacity(cells);
    for cell in 0..cells {
        let mut sum = vec![0u64; blocks.first()?.times[cell].len()];
        blocks.iter().for_each(|block| sum.iter_mut().zip(&block.times[cell]).for_each(|(a, b)| *a += b));
        figures.push(response_us(of, &SlotHist::of(sum)).filter(|us| *us > 0.0)?);
    }
    let ratios: Vec<f64> = figures[1..].iter().map(|us| us / figures[0]).collect();
    let speed = |j: usize, pick: fn(&(f64, f64)) -> f64| blocks.iter().map(|b| pick(&b.speeds[j])).sum::<f64>();
    let doses: Vec<f64> = (0..ratios.len()).map(|j| 1.0 - speed(j, |s| s.1) / speed(j, |s| s.0)).collect();
    let whole = Whole::of(ratios[rate_at], doses[rate_at]);
    let others = (0..ratios.len()).filter(|j| *j != rate_at);
    let adds = others.map(|j| whole.adds(ratios[j], doses[j])).collect();
    Some(PredictedResponse { adds, whole: whole.grows, ratios, doses })
}

/// Effect of slowing all resources by a dose (the share of speed that they lose).
struct Whole {
    /// Response time with all resources slowed, divided by the response time without levers, minus 1.
    grows: f64,
    dose: f64,
    /// Utilization of a single queue whose response time would grow by as much as `grows` for the dose.
    busy: f64,
}

impl Whole {
    /// Computes the effect of slowing everything from the effect of a higher offered rate.
    fn of(ratio: f64, dose: f64) -> Self {
        let slower = ratio / (1.0 - dose);
        // A higher rate never shortens response times, so a ratio below 1 is noise.
        let least = slower.max(1.0 / (1.0 - dose));
        let busy = 1.0 - dose * least / (least - 1.0);
        Self { grows: slower - 1.0, dose, busy: busy.clamp(0.0, BUSIEST) }
    }

    /// Returns the relative growth of the response time that a lever causes. Converts the growth of the response time
    /// from `dose` to `self.dose`, with the formula for the wait in a single queue.
    fn adds(&self, ratio: f64, dose: f64) -> f64 {
        let wait = |dose: f64| dose / (1.0 - dose - self.busy).max(0.02);
        (ratio - 1.0) * wait(self.dose) / wait(dose.max(LEAST_DOSE))
    }
}
