//! Regressions of throughput and of the resources' speeds on the states of the levers, and the resulting elasticities.

use run::{ElasticityBasis, Estimate, LeverSlots, ProofTrial};

use super::slots::{speeds, throughput, usable};
use crate::prove::against::Against;
use crate::prove::nonlinearity::Nonlinearity;
use crate::thresholds::ALIKE;
use stats::fit::robust::{Robust, inverse, product, times};

/// Half-width of a 95 % interval in standard errors (Student's t for the hundred or more time slots of a trial).
const Z95: f64 = 1.98;

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
pub(super) enum Known {
    /// The elasticity comes from the change of throughput.
    Regression,
    /// The elasticity lies between 0 and this upper bound. The second value names the method by which the upper bound
    /// was computed.
    AtMost(f64, ElasticityBasis),
}

/// Elasticities of some levers, remainder (the part of throughput that no lever explains), and inverse of the matrix of
/// doses.
type Regressed = (Vec<Estimate>, Estimate, Vec<Vec<f64>>);

/// Logarithms of throughput (`y`) and of the speeds of the resources, in each usable time slot of a trial. Also
/// contains the effects of the levers on throughput and on these speeds.
pub(super) struct Seen<'a> {
    levers: &'a [LeverSlots],
    y: Vec<f64>,
    speeds: Vec<Vec<f64>>,
    against: Against,
    moved: Robust,
    /// `doses[j][k]` is the change of the logarithm of resource k's speed when lever j is on.
    doses: Vec<Vec<f64>>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(trial: &'a ProofTrial) -> Result<Self, String> {
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
    pub(super) fn join(&self, known: &mut [Known]) {
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
    pub(super) fn drop_contradicted(&self, known: &mut [Known]) -> Result<(), String> {
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
    pub(super) fn contradicts(&self, j: usize, bound: f64, found: &Estimates) -> bool {
        let taken = self.levers[j].taken.unwrap_or(0.0).min(1.0 - f64::EPSILON);
        let allowed = bound * self.doses[j][j].min((1.0 - taken).ln());
        let others = (0..self.levers.len()).filter(|k| *k != j);
        let of_other = |k: usize| found.elasticities[k].high.max(0.0) * self.dose_on(j, k).min(0.0);
        let highest = self.moved.coefficients[j] + Z95 * self.moved.covariance[j][j].max(0.0).sqrt();
        highest < allowed + others.map(of_other).sum::<f64>()
    }

    /// Returns the dose of each lever on its own resource: the relative loss of the resource's speed.
    pub(super) fn own_doses(&self) -> impl Iterator<Item = f64> {
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
    pub(super) fn combine(&self, known: &[Known]) -> Result<Estimates, String> {
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

/// Returns `doses[j][k]`: the change of the logarithm of resource k's speed when lever j is on.
fn doses(speeds: &[Vec<f64>], against: &Against) -> Result<Vec<Vec<f64>>, String> {
    let of: Vec<Robust> = speeds.iter().map(|speed| against.fit(speed)).collect::<Result<_, _>>()?;
    Ok((0..speeds.len()).map(|j| of.iter().map(|fit| fit.coefficients[j]).collect()).collect())
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
