//! Shares of the response time, from time slots of an open loop in which at most one lever is on.
//!
//! An open loop completes what it offers, so a lever (which slows a resource) changes only the response time. If all
//! speeds and arrivals were `k` times as fast, responses would be, too: `T(k rate, k speeds) = T / k`. Slowing all
//! resources by a share d (the dose) therefore acts like more arrivals: `T(rate, (1 - d) speeds) = T(rate / (1 - d),
//! speeds) / (1 - d)`. A lever that raises the offered rate therefore has the effect of slowing all resources,
//! including upstreams.
//!
//! The share of another lever is its effect, divided by the effect of slowing all resources. In an open queueing
//! network, all queues and delays have a share of the mean response time. The shares of all queues and delays add up to
//! exactly 1 for any dose (Jackson 1957).

pub(super) mod blocks;
pub(super) mod figure;
mod growth;

use run::{ElasticityBasis, Estimate, ProofMetric, ProofTrial};
use stats::bootstrap::{resample, small_sample_factor};
use stats::fieller::Quotient;

use self::blocks::{Block, blocks};
use self::figure::enough;
use self::growth::{LEAST_DOSE, PredictedResponse, block_response};
use super::Estimates;
use super::estimate::too_little;
use crate::thresholds::SKEWED;
use stats::Sample;
use stats::student::t95;

/// ID of the lever that raises the offered rate by a factor. The estimate counts 1 divided by this factor as the speed
/// that the lever causes.
pub const RATE: &str = "rate";
/// Number of draws of the bootstrap. Each draw consists of randomly chosen blocks of time slots.
const DRAWS: usize = 200;
/// Part of a share's standard deviation that a longer measurement does not reduce, because doses vary a little.
const LEFT_OPEN: f64 = 0.01;

/// Estimates the share of the response time that each lever's resource causes. The lever that raises the offered rate
/// gets a ratio but no share. If no estimate is possible, the error message gives the reason.
pub(super) fn estimate(trial: &ProofTrial, of: ProofMetric) -> Result<Estimates, String> {
    let rate_at = trial.levers.iter().position(|l| l.lever == RATE);
    let rate_at = rate_at.ok_or("the offered rate was not changed, so the sum of all parts is unknown")?;
    let blocks = blocks(trial)?;
    let all: Vec<&Block> = blocks.iter().collect();
    enough(&all, of)?;
    let found = block_response(&all, of, rate_at)
        .ok_or("too few requests in the slots of some lever were answered to know their response time")?;
    if let Some((lever, dose)) = trial.levers.iter().zip(&found.doses).find(|(_, dose)| **dose < LEAST_DOSE) {
        return Err(too_little(lever, *dose));
    }
    let drawn = drawn(&blocks, of, rate_at);
    let n = blocks.len() as f64;
    let wider = SKEWED * t95(n - 1.0) * small_sample_factor(n);
    let scattered = "the response time varies too much from slot to slot: give a longer --budget";
    let share = |adds: Figure<'_>| quotient(&found, &drawn, adds, wider).ok_or_else(|| scattered.to_string());
    let ratio = |j: usize| {
        let scatter =
            Sample::of(&drawn.iter().map(|response| response.ratios[j]).collect::<Vec<_>>()).map_or(f64::NAN, |s| s.sd);
        Estimate::around(found.ratios[j], wider * scatter)
    };
    Ok(Estimates {
        elasticities: (0..found.adds.len())
            .map(|j| share(&|response: &PredictedResponse| response.adds[j]))
            .collect::<Result<_, _>>()?,
        remainder: share(&|response: &PredictedResponse| response.whole - response.adds.iter().sum::<f64>())?,
        ratios: (0..found.ratios.len()).map(ratio).collect(),
        doses: found.doses.clone(),
        bases: vec![ElasticityBasis::Measured; found.adds.len()],
    })
}

/// Returns the effects of the levers in each draw of the bootstrap (randomly chosen blocks).
fn drawn(blocks: &[Block], of: ProofMetric, rate_at: usize) -> Vec<PredictedResponse> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut draw = |_| block_response(&resample(blocks, &mut random), of, rate_at);
    (0..DRAWS).filter_map(&mut draw).collect()
}

/// Function that selects one figure from the effects of the levers.
type Figure<'a> = &'a dyn Fn(&PredictedResponse) -> f64;

/// Returns the share of the response time that a part adds: the part's effect, divided by the effect of slowing
/// everything. Also returns the interval of the share. Returns `None` if the effect of slowing everything may be zero.
fn quotient(found: &PredictedResponse, drawn: &[PredictedResponse], part: Figure<'_>, wider: f64) -> Option<Estimate> {
    let whole: Figure<'_> = &|response: &PredictedResponse| response.whole;
    let (a, b, n) = (part(found), whole(found), drawn.len() as f64);
    let mean = |of: Figure<'_>| drawn.iter().map(of).sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(part), mean(whole));
    let together = |x: Figure<'_>, y: Figure<'_>| {
        drawn.iter().map(|response| x(response) * y(response)).sum::<f64>() / (n - 1.0) * wider.powi(2)
    };
    let (from_a, from_b) = (
        |response: &PredictedResponse| part(response) - mean_a,
        |response: &PredictedResponse| whole(response) - mean_b,
    );
    let quotient = Quotient {
        part: a,
        whole: b,
        part_variance: together(&from_a, &from_a) + (wider * LEFT_OPEN * b).powi(2),
        whole_variance: together(&from_b, &from_b),
        covariance: together(&from_a, &from_b),
    };
    quotient.interval().map(|interval| Estimate { value: a / b, low: interval.low, high: interval.high })
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::OpenNetwork;
    use run::{LeverSlots, SlotHist};

    use super::*;

    /// Returns one entry for the share of each resource, and a last entry for the remainder. An entry contains the
    /// number of seeds whose interval contains the true value, the mean error, and the mean half-width. A seed without
    /// an estimate counts as right, because only a few of a hundred seeds have no estimate.
    fn covered(network: &OpenNetwork, of: ProofMetric, seeds: u64) -> Vec<(u32, f64, f64)> {
        let exact = network.exact_shares(of);
        let truth: Vec<f64> = exact.iter().copied().chain([1.0 - exact.iter().sum::<f64>()]).collect();
        let (mut held, mut silent) = (vec![(0, 0.0, 0.0); truth.len()], 0);
        for seed in 0..seeds {
            let Ok(found) = estimate(&network.trial(seed), of) else {
                silent += 1;
                held.iter_mut().for_each(|held| held.0 += 1);
                continue;
            };
            let all = found.elasticities.iter().copied().chain([found.remainder]);
            for ((held, truth), e) in held.iter_mut().zip(&truth).zip(all) {
                held.0 += u32::from((e.low..=e.high).contains(truth));
                held.1 += (e.value - truth) / seeds as f64;
                held.2 += e.half() / seeds as f64;
            }
        }
        assert!(silent <= 5, "{network:?} {of:?}: nothing was told of {silent}");
        held
    }

    #[test]
    fn intervals_cover_the_exact_shares_of_open_networks() {
        let network = |demands: &[f64], delay_s| OpenNetwork { demands: demands.to_vec(), delay_s, dose: 0.1 };
        for (network, of) in [
            (network(&[0.6, 0.5], 0.0), ProofMetric::Mean),
            (network(&[0.7, 0.4, 0.2], 3.0), ProofMetric::Mean),
            // With a single queue, a constant delay merely shifts the percentiles, so the exact shares are known.
            (network(&[0.7], 3.0), ProofMetric::P50),
            (network(&[0.5], 3.0), ProofMetric::P99),
        ] {
            let held = covered(&network, of, 100);
            assert!(held.iter().all(|(n, ..)| *n >= 93), "{network:?} {of:?}: {held:?}");
            // The divisor (the effect of slowing everything) is noisy, too, which biases the quotient. The bias must be
            // small compared with the interval of the share.
            assert!(held.iter().all(|(_, bias, half)| bias.abs() < half / 3.0), "{network:?} {of:?}: {held:?}");
        }
    }

    #[test]
    fn trials_without_an_estimate_say_why() {
        let network = OpenNetwork { demands: vec![0.7], delay_s: 0.0, dose: 0.1 };
        let trial = network.trial(1);
        let refused = |trial: ProofTrial, of| estimate(&trial, of).unwrap_err();
        let cut = |levers: Vec<LeverSlots>| ProofTrial { levers, ..trial.clone() };
        assert!(refused(cut(trial.levers[..1].to_vec()), ProofMetric::P50).contains("offered rate was not changed"));
        let short = |l: &LeverSlots| LeverSlots { on: vec![true], ..l.clone() };
        assert!(refused(cut(trial.levers.iter().map(short).collect()), ProofMetric::P50).contains("do not match"));
        let idle = |l: &LeverSlots| LeverSlots { speed: vec![1.0; l.speed.len()], ..l.clone() };
        let slack = vec![idle(&trial.levers[0]), trial.levers[1].clone()];
        assert!(refused(cut(slack), ProofMetric::P50).contains("too little to show"));
        let few = ProofTrial {
            slot_times: trial.slot_times.iter().map(|_| SlotHist::from(vec![(100, 1)])).collect(),
            ..trial.clone()
        };
        assert!(refused(few, ProofMetric::P99).contains("too few for p99"));
    }
}
