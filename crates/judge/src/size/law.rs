//! Fit of the Universal Scalability Law to the capacities of a server with different amounts of one resource.

use run::{Fit, SizeSetting, SizeStep};

use crate::estimate::fit::usl_fit;
use crate::number::counted;

/// Minimum number of known capacities for a fit: one more than the law has coefficients.
const FEWEST_CAPACITIES: usize = 4;

/// Amounts of a setting's resources: CPU quota, CPUs, workers and replicas.
type Amounts = [Option<f64>; 4];

fn amounts(setting: &SizeSetting) -> Amounts {
    [setting.quota, setting.cpus.map(f64::from), setting.workers.map(f64::from), setting.replicas.map(f64::from)]
}

/// Fits the Universal Scalability Law to the capacities of the settings. Leaves out capacities that are only lower
/// bounds. The size of a setting is its amount of the resource, divided by the smallest amount. The error message gives
/// the reason if no resource or several resources differ between the settings, or if the fit fails.
pub(super) fn usl(steps: &[SizeStep]) -> Result<Fit, String> {
    let fail = |why: &str| Err(format!("no Universal Scalability Law: {why}"));
    let all: Vec<Amounts> = steps.iter().map(|step| amounts(&step.setting)).collect();
    let differs = |resource: &usize| all.iter().any(|of| of[*resource] != all[0][*resource]);
    let different: Vec<usize> = (0..4).filter(differs).collect();
    let resource = match different.as_slice() {
        [one] => *one,
        [] => return fail("it needs at least four settings of one resource"),
        _ => return fail("more than one resource differs between the settings"),
    };
    let Some(least) = all.iter().filter_map(|of| of[resource]).reduce(f64::min) else {
        return fail("the amounts of the resource are unknown");
    };
    let point = |(of, step): (&Amounts, &SizeStep)| Some((of[resource]? / least, step.capacity?.rate));
    let measured = all.iter().zip(steps).filter(|(_, step)| !step.at_least);
    let points: Vec<(f64, f64)> = measured.filter_map(point).collect();
    if points.len() < FEWEST_CAPACITIES {
        let bounds = steps.iter().filter(|step| step.capacity.is_some() && step.at_least).count();
        let also = if bounds > 0 { format!(" and {}", counted(bounds as f64, "lower bound")) } else { String::new() };
        let known = points.len();
        return fail(&format!("the fit needs {FEWEST_CAPACITIES} known capacities, and has {known}{also}"));
    }
    usl_fit(&points, "times the smallest setting").map_or_else(|| fail("the capacities do not follow this law"), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::ArenaCapacity;

    fn step(setting: SizeSetting, rate: f64) -> SizeStep {
        let capacity = Some(ArenaCapacity { rate, low: rate, high: rate });
        SizeStep { setting, capacity, ..SizeStep::default() }
    }

    #[test]
    fn one_resource_that_differs_has_a_law() {
        let quota = |quota: f64| SizeSetting { quota: Some(quota), ..SizeSetting::default() };
        let steps: Vec<SizeStep> =
            [0.25, 0.5, 1.0, 2.0].map(|q| step(quota(q), run::usl_rate([500.0, 0.05, 0.0], q / 0.25))).into();
        let law = usl(&steps).unwrap();
        assert!((law.coefficients["sigma"] - 0.05).abs() < 0.01 && law.points == 4, "{law:?}");
        let mut bounded = steps.clone();
        bounded[3].at_least = true;
        let why = "no Universal Scalability Law: the fit needs 4 known capacities, and has 3";
        assert_eq!(usl(&bounded).unwrap_err(), format!("{why} and 1 lower bound"));
        assert_eq!(usl(&steps[..3]).unwrap_err(), why);
        bounded[2].at_least = true;
        bounded[1].at_least = true;
        let one = usl(&bounded).unwrap_err();
        assert!(one.ends_with("known capacities, and has 1 and 3 lower bounds"), "{one}");
        let mut two = steps.clone();
        two[1].setting.workers = Some(2);
        assert!(usl(&two).unwrap_err().contains("more than one resource differs"));
        assert!(usl(&steps[..1]).is_err() && usl(&[]).is_err());
    }
}
