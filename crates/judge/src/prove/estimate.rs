//! Elasticities from slots in which levers were on and off: the relative change of throughput per relative change of a resource's speed.
//!
//! Two regressions use the slots of one trial, both on whether each lever was on: one of the logarithm of the throughput, one of the
//! logarithm of each resource's measured speed. The first divided by the second is the elasticity. The levers are instruments for the
//! speeds, so errors in single readings average out; a regression on the readings themselves would be biased towards zero. The same
//! equations separate a lever that also slows another resource, since both are on one CPU.
//!
//! Queues carry over: work that a slot left waiting is served in the next. A column for each lever's last slot accounts for that.

use run::{ElasticityBasis, Estimate, LeverSlots, ProofTrial};

use super::against::Against;
use crate::thresholds::{ALIKE, CURVATURE, DOSE_GIVEN, UNWANTED};
use stats::fit::robust::{Robust, inverse, product, times};

/// Slots that are needed for each lever, and for the level.
const SLOTS_OF_A_LEVER: usize = 8;
/// Least change of a resource's speed by a lever, in logarithms, that shows anything.
const LEAST_DOSE: f64 = 0.02;
/// Half of a 95 % interval in standard deviations, with the hundred or more slots of a trial (Student).
const Z95: f64 = 1.98;

/// Share of each CPU that a thief takes, in runs that do not record the order.
const DEFAULT_ORDER: f64 = 0.25;

/// Results of a trial's slots, one entry per lever in the trial's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates {
    /// Elasticities.
    pub elasticities: Vec<Estimate>,
    /// Origin of each elasticity.
    pub bases: Vec<ElasticityBasis>,
    /// 1 less the sum of the elasticities.
    pub remainder: Estimate,
    /// Measured dose of each lever on its own resource, 0 to 1.
    pub doses: Vec<f64>,
    /// Throughput with each lever on over throughput with it off, whatever the others did.
    pub ratios: Vec<Estimate>,
}

/// Way in which the elasticity of one resource is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// From the change of throughput.
    Regression,
    /// Between 0 and this share of the time, in which the resource was wanted.
    AtMost(f64),
    /// Only together with another lever, which slows the same resources: both have at most the sum. The first of them is regressed.
    Joint { first: usize },
    /// Not at all: the lever took much less than ordered.
    Open,
}

/// Estimates elasticities from the slots of a trial. The error says what is missing.
///
/// An elasticity is at most the utilization, and equals it with one client and no queue. A resource that its victim hardly wanted, or that a
/// thief took without slowing anybody, therefore needs no dose to divide by: its elasticity lies between 0 and the wanted share. This bound
/// also holds wherever it says more than the regression. A lever that took much less than ordered shows nothing, and neither does its bound:
/// what kept the thief from the CPU keeps the victim from wanting it.
pub fn estimate(trial: &ProofTrial) -> Result<Estimates, String> {
    let seen = Seen::of(trial)?;
    let mut known: Vec<Known> = trial.levers.iter().zip(seen.own_doses()).map(|(l, dose)| known(l, dose)).collect();
    seen.join(&mut known);
    loop {
        let found = seen.combine(&known)?;
        let says_more =
            |j: usize, bound: f64| known[j] == Known::Regression && found.elasticities[j].half() > bound / 2.0;
        let bound = |(j, lever): (usize, &LeverSlots)| Some((j, lever.wanted?));
        let Some((j, wanted)) = trial.levers.iter().enumerate().filter_map(bound).find(|(j, w)| says_more(*j, *w))
        else {
            return Ok(found);
        };
        known[j] = Known::AtMost(wanted);
    }
}

/// Returns the way in which a lever's elasticity is known, by the dose that its victim felt.
fn known(lever: &LeverSlots, felt: f64) -> Known {
    let is_felt = felt >= 1.0 - (-LEAST_DOSE).exp();
    let bound = wanted(lever).filter(|wanted| *wanted <= UNWANTED || !is_felt);
    match bound {
        _ if !is_given(lever, felt) => Known::Open,
        Some(wanted) => Known::AtMost(wanted),
        None if is_felt => Known::Regression,
        None => Known::Open,
    }
}

/// Returns whether a lever took a good part of what it was told to take.
fn is_given(lever: &LeverSlots, felt: f64) -> bool {
    let ordered = lever.ordered.or(lever.taken.map(|_| DEFAULT_ORDER)).unwrap_or(0.0);
    lever.taken.unwrap_or(felt) >= DOSE_GIVEN * ordered
}

/// Returns the greatest share of the time in which a lever's resource was wanted, where known: as its users say, or else what a thief left.
fn wanted(lever: &LeverSlots) -> Option<f64> {
    lever.wanted.or(lever.taken.map(|taken| (1.0 - taken).max(0.0)))
}

/// Returns the logarithms of the throughput.
pub(super) fn throughput(trial: &ProofTrial, slots: &[usize]) -> Vec<f64> {
    slots.iter().map(|t| trial.completed_rate[*t].ln()).collect()
}

/// Returns the logarithms of the speeds of each lever's resource.
fn speeds(levers: &[LeverSlots], slots: &[usize]) -> Vec<Vec<f64>> {
    levers.iter().map(|l| slots.iter().map(|t| l.speed[*t].max(1e-3).ln()).collect()).collect()
}

/// Slots of a trial as logarithms, and the effects of the levers on them.
struct Seen<'a> {
    levers: &'a [LeverSlots],
    y: Vec<f64>,
    speeds: Vec<Vec<f64>>,
    against: Against,
    moved: Robust,
    /// Change of the logarithm of resource k's speed by lever j.
    doses: Vec<Vec<f64>>,
}

impl<'a> Seen<'a> {
    fn of(trial: &'a ProofTrial) -> Result<Self, String> {
        let (slots, levers) = (usable(trial)?, &trial.levers);
        let (y, speeds) = (throughput(trial, &slots), speeds(levers, &slots));
        let against = Against::best(levers, &slots, &y)?;
        let (moved, doses) = (against.fit(&y)?, doses(&speeds, &against)?);
        Ok(Self { levers, y, speeds, against, moved, doses })
    }

    /// Returns the dose of each lever that its own victim felt.
    fn own_doses(&self) -> impl Iterator<Item = f64> {
        self.doses.iter().enumerate().map(|(j, row)| 1.0 - row[j].exp())
    }

    /// Joins levers that each slow the other's resource nearly as much as their own: client and server on the same CPUs. The equations of
    /// such a pair are nearly the same, so they tell only the sum.
    fn join(&self, known: &mut [Known]) {
        let felt = |lever: usize, resource: usize| self.doses[lever][resource] / self.doses[resource][resource];
        for first in 0..known.len() {
            for second in first + 1..known.len() {
                let both = [first, second].iter().all(|at| known[*at] == Known::Regression);
                if both && felt(first, second).min(felt(second, first)) > ALIKE {
                    known[second] = Known::Joint { first };
                }
            }
        }
    }

    /// Estimates levers by regression where that is asked, and gives the others their bounds. The effect of a bounded lever stays in the
    /// equations: its thief may be on the CPU of another lever's victim.
    fn combine(&self, known: &[Known]) -> Result<Estimates, String> {
        let used: Vec<usize> = (0..known.len()).filter(|j| known[*j] == Known::Regression).collect();
        let none = Estimates { remainder: Estimate::around(1.0, 0.0), ..Estimates::default() };
        let rest = if used.is_empty() { none } else { self.regress(&used)? };
        let mut whole = Estimates { remainder: rest.remainder, ..Estimates::default() };
        let is_joint = |at: usize| known.iter().any(|known| matches!(known, Known::Joint { first } if *first == at));
        let mut regressed = used.iter().copied().zip(rest.elasticities);
        let sums: Vec<(usize, Estimate)> = regressed.clone().collect();
        let sum_of =
            |at: usize| sums.iter().find(|(lever, _)| *lever == at).map_or(1.0, |(_, e)| e.high.clamp(0.0, 1.0));
        for ((j, known), felt) in known.iter().enumerate().zip(self.own_doses()) {
            let (elasticity, basis, dose) = match known {
                Known::Regression => {
                    let Some((at, elasticity)) = regressed.next() else { continue };
                    match is_joint(at) {
                        true => (up_to(sum_of(at)), ElasticityBasis::Joint, felt),
                        false => (elasticity, ElasticityBasis::Measured, felt),
                    }
                }
                Known::Joint { first } => (up_to(sum_of(*first)), ElasticityBasis::Joint, felt),
                Known::AtMost(wanted) => {
                    (up_to(*wanted), ElasticityBasis::Wanted, self.levers[j].taken.unwrap_or(felt))
                }
                Known::Open => (up_to(1.0), ElasticityBasis::Open, self.levers[j].taken.unwrap_or(felt)),
            };
            // The remainder is already without the sum of a pair.
            if matches!(basis, ElasticityBasis::Wanted | ElasticityBasis::Open) {
                whole.remainder.value -= elasticity.value;
                whole.remainder.low -= elasticity.high;
            }
            whole.elasticities.push(elasticity);
            whole.bases.push(basis);
            whole.doses.push(dose.max(0.0));
            whole.ratios.push(ratio(&self.moved, j));
        }
        Ok(whole)
    }

    /// Estimates the levers that have an effect by regression.
    fn regress(&self, used: &[usize]) -> Result<Estimates, String> {
        let doses: Vec<Vec<f64>> = used.iter().map(|j| used.iter().map(|k| self.doses[*j][*k]).collect()).collect();
        let speeds: Vec<Vec<f64>> = used.iter().map(|j| self.speeds[*j].clone()).collect();
        let by_dose =
            inverse(doses.clone()).ok_or("two levers slow the same resource, so their effects cannot be separated")?;
        let moved: Vec<f64> = used.iter().map(|j| self.moved.coefficients[*j]).collect();
        let elasticities = times(&by_dose, &moved);
        let covariance = self.spread(&speeds, &elasticities, &by_dose, used)?;
        let bend = Nonlinearity::of(&elasticities, &doses);
        let straight: Vec<f64> = elasticities.iter().zip(&bend.by).map(|(e, by)| e - by).collect();
        let sum: f64 = straight.iter().sum();
        let (all, summed) = (covariance.iter().flatten().sum::<f64>(), bend.by.iter().sum());
        let of = |(k, e): (usize, &f64)| around(*e, bend.variance(covariance[k][k], *e, bend.by[k]));
        Ok(Estimates {
            remainder: around(1.0 - sum, bend.variance(all, sum, summed)),
            elasticities: straight.iter().enumerate().map(of).collect(),
            ..Estimates::default()
        })
    }

    /// Returns the covariance of the elasticities from the residuals and the doses.
    fn spread(
        &self,
        speeds: &[Vec<f64>],
        elasticities: &[f64],
        by_dose: &[Vec<f64>],
        used: &[usize],
    ) -> Result<Vec<Vec<f64>>, String> {
        let explained = |t: usize| elasticities.iter().zip(speeds).map(|(e, s)| e * s[t]).sum::<f64>();
        let left: Vec<f64> = self.y.iter().enumerate().map(|(t, y)| y - explained(t)).collect();
        let covariance = self.against.fit(&left)?.covariance;
        let pulled: Vec<Vec<f64>> = used.iter().map(|j| used.iter().map(|k| covariance[*j][*k]).collect()).collect();
        let n = used.len();
        let turned: Vec<Vec<f64>> = (0..n).map(|j| by_dose.iter().map(|row| row[j]).collect()).collect();
        Ok(product(&product(by_dose, &pulled), &turned))
    }
}

/// Returns the number of slots that an estimate of this many levers needs.
pub fn fewest_slots(levers: usize) -> usize {
    // The first one has no slot before it.
    SLOTS_OF_A_LEVER * (levers + 1) + 1
}

/// Returns the slots after the first that completed something; the first one has no slot before it.
pub(super) fn usable(trial: &ProofTrial) -> Result<Vec<usize>, String> {
    let n = trial.completed_rate.len();
    if trial.levers.is_empty() {
        return Err("no lever was used".into());
    }
    if trial.levers.iter().any(|l| l.on.len() != n || l.speed.len() != n) {
        return Err("the slots of the levers and of the load do not match".into());
    }
    let completed = |t: &usize| trial.completed_rate[*t].is_finite() && trial.completed_rate[*t] > 0.0;
    let read = |t: &usize| trial.levers.iter().all(|l| l.speed[*t].is_finite());
    let slots: Vec<usize> = (1..n).filter(|t| completed(t) && read(t)).collect();
    let needed = fewest_slots(trial.levers.len());
    match slots.len() + 1 >= needed {
        true => Ok(slots),
        false => Err(format!("only {} of {n} slots are usable, {needed} are needed", slots.len() + 1)),
    }
}

/// Returns `doses[j][k]`, the change of the logarithm of resource k's speed by lever j.
fn doses(speeds: &[Vec<f64>], against: &Against) -> Result<Vec<Vec<f64>>, String> {
    let of: Vec<Robust> = speeds.iter().map(|speed| against.fit(speed)).collect::<Result<_, _>>()?;
    Ok((0..speeds.len()).map(|j| of.iter().map(|fit| fit.coefficients[j]).collect()).collect())
}

/// Says that a lever took next to nothing.
pub(super) fn too_little(lever: &LeverSlots, dose: f64) -> String {
    format!("the lever {} took only {:.1} % of its resource, too little to show an effect", lever.lever, dose * 100.0)
}

/// Effect of the size of the doses on elasticities: a slowed resource becomes more of a bottleneck than the others.
struct Nonlinearity {
    /// Factor of each elasticity under the mean of all doses, over that without doses.
    by: Vec<f64>,
    /// Factor of the errors after the correction, at least 1.
    stretch: f64,
    /// The largest dose, as a logarithm.
    dose: f64,
}

impl Nonlinearity {
    /// Computes the correction. In speeds that combine with a constant elasticity of substitution ([`CURVATURE`] 1 is exactly one client) a
    /// resource's share grows with its slowdown relative to the mean of the shares.
    ///
    /// A resource that is short with all levers off has no dose: a thread that waits for others of its process may have half a CPU even then.
    fn of(elasticities: &[f64], doses: &[Vec<f64>]) -> Self {
        // Levers are on half of the time.
        let slowed: Vec<f64> =
            (0..elasticities.len()).map(|k| -doses.iter().map(|of| of[k]).sum::<f64>() / 2.0).collect();
        let shares: Vec<f64> = elasticities.iter().map(|e| e.clamp(0.0, 1.0)).collect();
        let sum: f64 = shares.iter().sum();
        let mean = shares.iter().zip(&slowed).map(|(e, s)| e * s).sum::<f64>() / sum.max(1.0);
        let most = slowed.iter().copied().fold(0.0, f64::max);
        Self {
            by: shares.iter().zip(&slowed).map(|(e, s)| CURVATURE * e * (s - mean)).collect(),
            stretch: 1.0 + CURVATURE * most * (2.0 * sum - 1.0).clamp(0.0, 1.0),
            dose: 2.0 * most,
        }
    }

    /// Returns the variance of an elasticity with the uncertainty of the correction: half or one and a half of it is as likely. Effects of the
    /// square of the dose are not corrected at all.
    fn variance(&self, measured: f64, elasticity: f64, by: f64) -> f64 {
        let e = elasticity.clamp(0.0, 1.0);
        let open = (by / 2.0).powi(2) / 3.0 + (2.4 * e * (1.0 - e) * self.dose.powi(2)).powi(2);
        measured * self.stretch.powi(2) + open
    }
}

fn up_to(most: f64) -> Estimate {
    Estimate::around(most / 2.0, most / 2.0)
}

fn around(value: f64, variance: f64) -> Estimate {
    Estimate::around(value, Z95 * variance.max(0.0).sqrt())
}

fn ratio(moved: &Robust, lever: usize) -> Estimate {
    let (log, half) = (moved.coefficients[lever], Z95 * moved.covariance[lever][lever].max(0.0).sqrt());
    Estimate { value: log.exp(), low: (log - half).exp(), high: (log + half).exp() }
}

#[cfg(test)]
mod tests;
