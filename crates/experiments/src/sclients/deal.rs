//! Divides a load among client hosts.

use run::{Intensity, LoadPlan};

/// Divides a load among hosts as evenly as possible. If the load is too small for all hosts, the result for some hosts
/// is `None`.
pub(super) fn deal(plan: &LoadPlan, hosts: u32) -> Vec<Option<LoadPlan>> {
    let one = |at: u32| {
        let dealt = plan.share(at, hosts);
        let units = match dealt.intensity {
            Intensity::Open { .. } => u32::MAX,
            _ => dealt.intensity.units(),
        };
        let (threads, seed) = (plan.threads.min(units), plan.seed + u64::from(at));
        (units > 0).then_some(LoadPlan { threads, seed, ..dealt })
    };
    (0..hosts).map(one).collect()
}

#[cfg(test)]
mod tests {
    use run::ThinkTime;

    use super::*;

    #[test]
    fn a_load_is_divided_completely() {
        for total in [1, 3, 4, 7, 1040] {
            let think = ThinkTime::default();
            let intensity = Intensity::SClients { descriptors: total, connect_timeout_ms: 500.0, think, pace: None };
            let dealt = deal(&LoadPlan { intensity, threads: 3, ..LoadPlan::default() }, 4);
            let sum: u32 = dealt
                .iter()
                .flatten()
                .map(|p| match p.intensity {
                    Intensity::SClients { descriptors, .. } => descriptors,
                    _ => 0,
                })
                .sum();
            assert_eq!(sum, total);
            assert_eq!(dealt.iter().flatten().count() as u32, total.min(4));
        }
    }
}
