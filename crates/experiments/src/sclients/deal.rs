//! How a load is dealt out to the client hosts.

use run::{Intensity, LoadPlan};

/// Deals a load out to hosts as evenly as whole numbers go; a host without a share gets none.
pub(super) fn deal(plan: &LoadPlan, hosts: u32) -> Vec<Option<LoadPlan>> {
    let share = |total: u32, at: u32| total / hosts + u32::from(at < total % hosts);
    let one = |at: u32| {
        let mut dealt = plan.clone();
        let units = match &mut dealt.intensity {
            Intensity::Closed { connections, .. } => {
                *connections = share(*connections, at);
                *connections
            }
            Intensity::SClients { descriptors, pace, .. } => {
                *descriptors = share(*descriptors, at);
                pace.iter_mut().for_each(|pace| pace.rate /= f64::from(hosts));
                *descriptors
            }
            Intensity::Open { rate, max_connections, .. } => {
                *rate /= f64::from(hosts);
                *max_connections = (*max_connections / hosts).max(1);
                u32::MAX
            }
        };
        dealt.threads = plan.threads.min(units);
        dealt.seed = plan.seed + u64::from(at);
        dealt.phase = plan.share_phase(at, hosts);
        (units > 0).then_some(dealt)
    };
    (0..hosts).map(one).collect()
}

#[cfg(test)]
mod tests {
    use run::ThinkTime;

    use super::*;

    #[test]
    fn a_load_is_dealt_out_whole() {
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
