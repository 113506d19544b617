//! Estimates of elasticities from slots (fractions of a second) in which each lever was on or off. A lever slows a
//! resource. An elasticity is the relative change of throughput, divided by the relative change of the resource's
//! speed.
//!
//! Two regressions use the time slots of one trial; the regressors of both are the states of the levers. The first
//! regression explains the logarithm of the throughput. The second regression explains the logarithm of each resource's
//! measured speed. An elasticity is the lever's coefficient for the throughput, divided by the lever's coefficient for
//! the speed. The levers are instrumental variables for the speeds, so errors of single readings average out. A
//! regression of throughput on the measured speeds would be biased towards zero. If a lever slows two resources on one
//! CPU, a system of equations separates the lever's effects on the two resources.
//!
//! Requests that wait at the end of a time slot are served in the next slot. The regression therefore has one more
//! variable for each lever: the change of the lever's state since the preceding time slot. The variable for the change
//! of the lever's state takes up the effect of the requests that are served late.

use run::{ElasticityBasis, Estimate, LeverSlots, ProofTrial};

use super::against::Against;
use super::nonlinearity::Nonlinearity;
use crate::thresholds::{ALIKE, DOSE_GIVEN, UNWANTED};
use stats::fit::robust::{Robust, inverse, product, times};

/// Minimum number of time slots per parameter: one for each lever, and one for the level of the throughput.
const SLOTS_OF_A_LEVER: usize = 8;
/// Minimum change of a resource's speed, as a logarithm, from which an elasticity can be estimated.
const LEAST_DOSE: f64 = 0.02;
/// Half-width of a 95 % interval in standard errors (Student's t for the hundred or more time slots of a trial).
const Z95: f64 = 1.98;

/// Assumed dose of a lever (the share of its resource that it takes) if the run records no planned dose.
pub(super) const DEFAULT_DOSE: f64 = 0.25;

/// Results from a trial's time slots. Each list has one entry per lever, in the order of the trial's levers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates {
    /// Elasticity of each lever's resource.
    pub elasticities: Vec<Estimate>,
    /// Basis of each elasticity: it was measured, or only bounded.
    pub bases: Vec<ElasticityBasis>,
    /// 1 minus the sum of the elasticities: the share of throughput that no lever explains.
    pub remainder: Estimate,
    /// Measured dose of each lever: the share that it took of its own resource, 0 to 1.
    pub doses: Vec<f64>,
    /// Throughput with each lever on, divided by throughput with this lever off. All other levers may be on or off.
    pub ratios: Vec<Estimate>,
}

/// Method that gives an elasticity.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    /// The elasticity comes from the change of throughput.
    Regression,
    /// The elasticity lies between 0 and this upper bound. The second value names the method by which the upper bound
    /// was computed.
    AtMost(f64, ElasticityBasis),
}

/// Estimates elasticities from the time slots of a trial. If no estimate is possible, the error message gives the
/// reason.
///
/// The elasticity of a resource is at most its utilization. With one client and no queue, elasticity and utilization
/// are equal. If threads need the resource for only a small share of the time, its elasticity lies between 0 and this
/// share. The elasticity of a resource that is hardly used therefore need not be measured. The interval from 0 to the
/// utilization replaces the result of the regression if it is narrower. If a lever took much less than planned, the
/// elasticity is unknown, even if threads hardly need the resource. Whatever kept the lever's CPU thief from the CPU
/// may also have kept the slowed threads from the CPU.
///
/// If throughput fell by more than a resource's utilization allows, the observed threads do not do all the work, so the
/// elasticity is unknown.
pub fn estimate(trial: &ProofTrial) -> Result<Estimates, String> {
    let seen = Seen::of(trial)?;
    let mut known: Vec<Known> = trial.levers.iter().zip(seen.own_doses()).map(|(l, dose)| known(l, dose)).collect();
    seen.join(&mut known);
    seen.drop_contradicted(&mut known)?;
    loop {
        let found = seen.combine(&known)?;
        let says_more = |j: usize, bound: f64| {
            let is_wider = known[j] == Known::Regression && found.elasticities[j].half() > bound / 2.0;
            is_wider && !seen.contradicts(j, bound, &found)
        };
        let bound = |(j, lever): (usize, &LeverSlots)| Some((j, lever.wanted?));
        let bounds = trial.levers.iter().enumerate().filter_map(bound).filter(|(j, wanted)| says_more(*j, *wanted));
        let Some((j, wanted)) = bounds.min_by(|a, b| a.1.total_cmp(&b.1)) else { return Ok(found) };
        known[j] = Known::AtMost(wanted, ElasticityBasis::Wanted);
    }
}

/// Chooses the method to find the elasticity of a lever's resource. `felt` is the measured dose: the relative loss of
/// speed of the lever's resource.
fn known(lever: &LeverSlots, felt: f64) -> Known {
    let is_felt = felt >= 1.0 - (-LEAST_DOSE).exp();
    let bound = wanted(lever).filter(|wanted| *wanted <= UNWANTED || !is_felt);
    match bound {
        _ if !is_given(lever, felt) => Known::AtMost(1.0, ElasticityBasis::Open),
        Some(wanted) => Known::AtMost(wanted, ElasticityBasis::Wanted),
        None if is_felt => Known::Regression,
        None => Known::AtMost(1.0, ElasticityBasis::Open),
    }
}

/// Returns true if a lever took a sufficient share of its planned dose.
pub(super) fn is_given(lever: &LeverSlots, felt: f64) -> bool {
    let ordered = lever.ordered.or(lever.taken.map(|_| DEFAULT_DOSE)).unwrap_or(0.0);
    lever.taken.unwrap_or(felt) >= DOSE_GIVEN * ordered
}

/// Returns an upper bound of the share of the time for which threads needed the resource that a lever slows, 0 to 1. If
/// this share of time was measured, returns the measured share. Without a measured share, returns the share of the CPU
/// that the CPU thief (a busy loop) did not get. Returns `None` if both shares are unknown.
fn wanted(lever: &LeverSlots) -> Option<f64> {
    lever.wanted.or(lever.taken.map(|taken| (1.0 - taken).max(0.0)))
}

/// Returns the logarithm of the throughput in each of `slots`.
pub(super) fn throughput(trial: &ProofTrial, slots: &[usize]) -> Vec<f64> {
    slots.iter().map(|t| trial.completed_rate[*t].ln()).collect()
}

/// Returns the logarithm of the speed of each lever's resource in each of `slots`.
fn speeds(levers: &[LeverSlots], slots: &[usize]) -> Vec<Vec<f64>> {
    levers.iter().map(|l| slots.iter().map(|t| l.speed[*t].max(1e-3).ln()).collect()).collect()
}

/// Elasticities of some levers, remainder (the part of throughput that no lever explains), and inverse of the matrix of
/// doses.
type Regressed = (Vec<Estimate>, Estimate, Vec<Vec<f64>>);

/// Logarithms of throughput (`y`) and of the speeds of the resources, in each usable time slot of a trial. Also
/// contains the effects of the levers on throughput and on these speeds.
struct Seen<'a> {
    levers: &'a [LeverSlots],
    y: Vec<f64>,
    speeds: Vec<Vec<f64>>,
    against: Against,
    moved: Robust,
    /// `doses[j][k]` is the change of the logarithm of resource k's speed when lever j is on.
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

    /// Handles two levers that slow each other's resource nearly as much as their own. The CPU levers of a client and
    /// of a server that use the same CPUs are an example. For two levers that slow each other's resource, the equations
    /// give only the sum of both elasticities. The elasticity of the less used resource is therefore bounded instead of
    /// estimated. The bound makes the elasticity of the more used resource more precise.
    fn join(&self, known: &mut [Known]) {
        let felt = |lever: usize, resource: usize| self.doses[lever][resource] / self.doses[resource][resource];
        let most = |at: usize| self.levers[at].wanted.unwrap_or(1.0).min(1.0);
        for first in 0..known.len() {
            for second in first + 1..known.len() {
                let both = [first, second].iter().all(|at| known[*at] == Known::Regression);
                if both && felt(first, second).min(felt(second, first)) > ALIKE {
                    let less = if most(first) < most(second) { first } else { second };
                    known[less] = Known::AtMost(most(less), ElasticityBasis::Joint);
                }
            }
        }
    }

    /// Replaces each bound that the measured throughput [contradicts](Self::contradicts): the elasticity is then
    /// unknown.
    fn drop_contradicted(&self, known: &mut [Known]) -> Result<(), String> {
        let found = self.combine(known)?;
        for (j, known) in known.iter_mut().enumerate() {
            if matches!(*known, Known::AtMost(bound, ElasticityBasis::Wanted) if self.contradicts(j, bound, &found)) {
                *known = Known::AtMost(1.0, ElasticityBasis::Open);
            }
        }
        Ok(())
    }

    /// Returns true if throughput certainly fell by more than `bound` allows while lever `j` was on. If a resource has
    /// an elasticity of at most b, and its speed falls to the share s, throughput falls at most to the share sᵇ. The
    /// largest possible effects of the lever on all other resources are subtracted first.
    fn contradicts(&self, j: usize, bound: f64, found: &Estimates) -> bool {
        let taken = self.levers[j].taken.unwrap_or(0.0).min(1.0 - f64::EPSILON);
        let allowed = bound * self.doses[j][j].min((1.0 - taken).ln());
        let others = (0..self.levers.len()).filter(|k| *k != j);
        let of_other = |k: usize| found.elasticities[k].high.max(0.0) * self.dose_on(j, k).min(0.0);
        let highest = self.moved.coefficients[j] + Z95 * self.moved.covariance[j][j].max(0.0).sqrt();
        highest < allowed + others.map(of_other).sum::<f64>()
    }

    /// Returns the dose of each lever on its own resource: the relative loss of the resource's speed.
    fn own_doses(&self) -> impl Iterator<Item = f64> {
        self.doses.iter().enumerate().map(|(j, row)| 1.0 - row[j].exp())
    }

    /// Returns the dose of lever j on resource k, as a logarithm. Returns 0 for a lever that is no CPU thief (such as a
    /// lever on a quota) and a resource that a CPU thief slows. A CPU's speed is the time for which threads ran,
    /// divided by the time for which they ran or waited. Threads that wait for their quota count as waiting, so a lever
    /// on a quota only seems to slow the CPU.
    fn dose_on(&self, j: usize, k: usize) -> f64 {
        let is_thief = |at: usize| self.levers[at].taken.is_some();
        if is_thief(k) && !is_thief(j) { 0.0 } else { self.doses[j][k] }
    }

    /// Estimates some elasticities by regression, and bounds the other elasticities. A lever in the regression may also
    /// slow a resource whose elasticity is only bounded. An unknown part of the effect of a lever that also slows a
    /// bounded resource belongs to this resource. The unknown part lies between 0 and the largest effect that the upper
    /// bound of the elasticity allows.
    fn combine(&self, known: &[Known]) -> Result<Estimates, String> {
        let used: Vec<usize> = (0..known.len()).filter(|j| known[*j] == Known::Regression).collect();
        let (mut of_used, mut remainder, by_dose) = self.regress(&used)?;
        let alone = of_used.clone();
        let mut elasticities = vec![Estimate::default(); known.len()];
        for (k, known) in known.iter().enumerate() {
            let Known::AtMost(most, _) = known else { continue };
            let felt: Vec<f64> = used.iter().map(|j| self.dose_on(*j, k)).collect();
            let shares = times(&by_dose, &felt);
            // No elasticity is below 0. The effect of a bounded resource is therefore at most the whole effect that the
            // regression found for a lever that also slows it.
            let of_alone = |(share, e): (&f64, &Estimate)| (*share > ALIKE).then(|| (e.high / share).max(0.0));
            let most = shares.iter().zip(&alone).filter_map(of_alone).fold(*most, f64::min);
            of_used.iter_mut().zip(&shares).for_each(|(e, share)| subtract(e, share * most));
            subtract(&mut remainder, (1.0 - shares.iter().sum::<f64>()) * most);
            elasticities[k] = up_to(most);
        }
        used.iter().zip(of_used).for_each(|(j, e)| elasticities[*j] = e);
        let basis = |known: &Known| match known {
            Known::Regression => ElasticityBasis::Measured,
            Known::AtMost(_, basis) => *basis,
        };
        let dose = |(j, felt): (usize, f64)| match known[j] {
            Known::Regression => felt,
            Known::AtMost(..) => self.levers[j].taken.unwrap_or(felt).max(0.0),
        };
        Ok(Estimates {
            elasticities,
            bases: known.iter().map(basis).collect(),
            remainder,
            doses: self.own_doses().enumerate().map(dose).collect(),
            ratios: (0..known.len()).map(|j| ratio(&self.moved, j)).collect(),
        })
    }

    /// Estimates the elasticities for the levers `used` by regression. Returns the elasticities, the remainder (the
    /// part that no lever explains), and the inverse of the matrix of doses.
    fn regress(&self, used: &[usize]) -> Result<Regressed, String> {
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
        let remainder = around(1.0 - sum, bend.variance(all, sum, summed));
        Ok((straight.iter().enumerate().map(of).collect(), remainder, by_dose))
    }

    /// Returns the covariance matrix of the elasticities. The covariance matrix follows from the residuals of the
    /// throughput and from the doses.
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

/// Returns the minimum number of time slots for an estimate with `levers` levers.
pub fn fewest_slots(levers: usize) -> usize {
    // The first time slot is not usable, because it has no preceding slot.
    SLOTS_OF_A_LEVER * (levers + 1) + 1
}

/// Returns the indexes of all time slots in which a request completed and all speeds are known. Leaves out the first
/// time slot, because it has no preceding slot. If too few time slots are usable, the error message says how many are
/// needed.
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

/// Returns `doses[j][k]`: the change of the logarithm of resource k's speed when lever j is on.
fn doses(speeds: &[Vec<f64>], against: &Against) -> Result<Vec<Vec<f64>>, String> {
    let of: Vec<Robust> = speeds.iter().map(|speed| against.fit(speed)).collect::<Result<_, _>>()?;
    Ok((0..speeds.len()).map(|j| of.iter().map(|fit| fit.coefficients[j]).collect()).collect())
}

/// Returns a sentence about a lever that took almost nothing of its resource.
pub(super) fn too_little(lever: &LeverSlots, dose: f64) -> String {
    format!("the lever {} took only {:.1} % of its resource, too little to show an effect", lever.lever, dose * 100.0)
}

/// Subtracts from an estimate an unknown part between 0 and `most`.
fn subtract(e: &mut Estimate, most: f64) {
    e.value -= most / 2.0;
    e.low -= most.max(0.0);
    e.high -= most.min(0.0);
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
