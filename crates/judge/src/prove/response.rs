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

use run::{ElasticityBasis, Estimate, LeverSlots, ProofMetric, ProofTrial, SlotHist};
use stats::bootstrap::{resample, small_sample_factor};
use stats::fieller::Quotient;

use super::Estimates;
use super::estimate::too_little;
use crate::thresholds::{BUSIEST, SKEWED};
use stats::Sample;
use stats::student::t95;

/// ID of the lever that raises the offered rate by a factor. The estimate counts 1 divided by this factor as the speed
/// that the lever causes.
pub const RATE: &str = "rate";
/// Number of time slots in each block in which all levers are off. Each block also has one time slot for each lever, in
/// which only this lever is on.
const FREE: usize = 2;
/// Minimum number of blocks for an estimate of the scatter between blocks.
const FEWEST_BLOCKS: usize = 8;
/// Minimum number of requests that took longer than the percentile, in all time slots of a lever together.
const BEYOND: f64 = 20.0;
/// Number of draws of the bootstrap. Each draw consists of randomly chosen blocks of time slots.
const DRAWS: usize = 200;
/// Part of a share's standard deviation that a longer measurement does not reduce, because doses vary a little.
const LEFT_OPEN: f64 = 0.01;
/// Minimum dose of a lever (share of its resource that it takes) for an estimate, 0 to 1.
const LEAST_DOSE: f64 = 0.01;

/// Returns the number of time slots in a block. Each lever is on in one time slot, and in `FREE` slots all levers are
/// off.
pub fn block(levers: usize) -> usize {
    levers + FREE
}

/// Returns the minimum number of time slots of an experiment with `levers` levers.
pub fn fewest_slots_at_a_rate(levers: usize) -> usize {
    FEWEST_BLOCKS * block(levers)
}

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

/// Histograms of the response times (`times`) and speeds in one block of time slots: first with all levers off, then
/// with each lever on.
struct Block {
    times: Vec<Vec<u64>>,
    /// For each lever, the speed of its resource with all levers off, and with this lever on.
    speeds: Vec<(f64, f64)>,
}

/// Effects of the levers on the response time in some blocks of time slots.
struct PredictedResponse {
    /// Response time with each lever on, divided by the response time with all levers off. The lever that raises the
    /// offered rate is included.
    ratios: Vec<f64>,
    doses: Vec<f64>,
    /// Relative growth of the response time that each lever causes. All values are converted to one common dose: the
    /// dose of the lever that raises the offered rate. The list does not contain the lever that raises the offered
    /// rate.
    adds: Vec<f64>,
    /// Relative growth of the response time if all resources are slowed by the dose of the lever that raises the
    /// offered rate.
    whole: f64,
}

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

/// Groups the time slots of a trial into blocks, and leaves out incomplete blocks. Returns an error if too few complete
/// blocks remain for an estimate.
fn blocks(trial: &ProofTrial) -> Result<Vec<Block>, String> {
    let (levers, n) = (&trial.levers, trial.slot_times.len());
    if levers.iter().any(|l| l.on.len() != n || l.speed.len() != n) {
        return Err("the slots of the levers and of the load do not match".into());
    }
    let used = trial.slot_times.iter().flat_map(|times| times.counts().map(|(bucket, _)| usize::from(bucket)));
    let span = used.max().map_or(0, |last| last + 1);
    let slots: Vec<usize> = (0..n).collect();
    let blocks: Vec<Block> =
        slots.chunks(block(levers.len())).filter_map(|slots| one_block(trial, slots, span)).collect();
    match blocks.len() {
        0..FEWEST_BLOCKS => {
            Err(format!("only {} blocks of slots are usable, {FEWEST_BLOCKS} are needed", blocks.len()))
        }
        _ => Ok(blocks),
    }
}

/// Returns the block that `slots` form. A block must contain a time slot with all levers off, and for each lever a slot
/// with only this lever on. Returns `None` if the time slot with all levers off, or the slot of any lever, is missing.
fn one_block(trial: &ProofTrial, slots: &[usize], span: usize) -> Option<Block> {
    let levers = &trial.levers;
    let cell = |t: usize| {
        let on: Vec<usize> = (0..levers.len()).filter(|j| levers[*j].on[t]).collect();
        match on[..] {
            [] => Some(0),
            [j] => Some(j + 1),
            _ => None,
        }
    };
    let of = |wanted: usize| slots.iter().copied().filter(move |t| cell(*t) == Some(wanted));
    let times = (0..=levers.len()).map(|wanted| together(of(wanted).map(|t| &trial.slot_times[t]), span));
    let speed = |(j, lever): (usize, &LeverSlots)| {
        let mean = |slots: Vec<usize>| {
            let read: Vec<f64> = slots.iter().map(|t| lever.speed[*t]).filter(|speed| speed.is_finite()).collect();
            (!read.is_empty()).then(|| stats::average(&read))
        };
        Some((mean(of(0).collect())?, mean(of(j + 1).collect())?))
    };
    Some(Block {
        times: times.collect::<Option<_>>()?,
        speeds: levers.iter().enumerate().map(speed).collect::<Option<_>>()?,
    })
}

/// Returns the sum of the histograms of several time slots. Returns `None` if there is no time slot.
fn together<'a>(slots: impl Iterator<Item = &'a SlotHist>, span: usize) -> Option<Vec<u64>> {
    let mut sum = vec![0; span];
    let mut any = false;
    for times in slots {
        any = true;
        times.counts().for_each(|(bucket, n)| sum[usize::from(bucket)] += n);
    }
    any.then_some(sum)
}

/// Checks that the time slots of each lever, and the slots with all levers off, have enough requests for the
/// percentile.
fn enough(blocks: &[&Block], of: ProofMetric) -> Result<(), String> {
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

fn block_response(blocks: &[&Block], of: ProofMetric, rate_at: usize) -> Option<PredictedResponse> {
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
