//! One load over several agents: when descriptors or threads are more than one process should hold.

use run::{Intensity, LoadPlan};

/// Descriptors that an agent needs besides its connections.
const SPARE: u64 = 64;
/// Most threads in one agent: beyond this the shards of one process meet in the kernel's descriptor table.
const MOST_THREADS: u32 = 16;

/// Splits a plan so that no agent needs more than `descriptors` (the limit of one process) or too many threads. Every
/// share has its own seed, so that no two agents draw the same arrivals.
pub(crate) fn split(plan: &LoadPlan, descriptors: u64) -> Vec<LoadPlan> {
    let each = descriptors.saturating_sub(SPARE).max(1);
    let by_descriptors = u64::from(held(&plan.intensity)).div_ceil(each);
    let by_threads = u64::from(plan.threads.div_ceil(MOST_THREADS));
    let most = u64::from(whole(&plan.intensity)).max(1);
    let agents = by_descriptors.max(by_threads).clamp(1, most).min(1024) as u32;
    (0..agents).map(|i| share_of(plan, i, agents)).collect()
}

/// How a load was spread over processes, if it was: `500 descriptors over 5 processes: 5 x 100`.
pub(crate) fn told(parts: &[LoadPlan], descriptors: u64) -> Option<String> {
    let each: Vec<u32> = parts.iter().map(|p| whole(&p.intensity)).collect();
    let kind = match &parts.first().filter(|_| parts.len() > 1)?.intensity {
        Intensity::SClients { .. } => "S-Client descriptors",
        Intensity::Closed { .. } => "connections",
        Intensity::Open { .. } => return None,
    };
    let mut sizes: Vec<(u32, u32)> = Vec::new();
    for n in &each {
        match sizes.iter_mut().find(|(size, _)| size == n) {
            Some((_, times)) => *times += 1,
            None => sizes.push((*n, 1)),
        }
    }
    let sizes: Vec<String> = sizes.iter().map(|(size, times)| format!("{times} x {size}")).collect();
    Some(format!(
        "{} {kind} are spread over {} processes, {}: each may hold {descriptors} descriptors",
        each.iter().map(|n| u64::from(*n)).sum::<u64>(),
        parts.len(),
        sizes.join(" and ")
    ))
}

/// Descriptors that the plan may hold at once.
fn held(intensity: &Intensity) -> u32 {
    match intensity {
        Intensity::Closed { connections, .. } => *connections,
        // A pool grows only when it must, so its largest size alone is no reason for a second process.
        Intensity::Open { .. } => 1,
        // Established connections leave the D slots and are held besides them: few, since a server past its capacity
        // accepts little, and what finds no room is counted.
        Intensity::SClients { descriptors, .. } => descriptors.saturating_add(descriptors / 8),
    }
}

/// Things that cannot be split further.
fn whole(intensity: &Intensity) -> u32 {
    match intensity {
        Intensity::Closed { connections, .. } => *connections,
        Intensity::Open { .. } => u32::MAX,
        Intensity::SClients { descriptors, .. } => *descriptors,
    }
}

fn share_of(plan: &LoadPlan, i: u32, agents: u32) -> LoadPlan {
    let part = |n: u32| n / agents + u32::from(i < n % agents);
    let mut share = plan.clone();
    share.threads = part(plan.threads).max(1);
    share.phase = plan.phase_of(i, agents);
    share.seed = plan.seed.wrapping_add(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    match &mut share.intensity {
        Intensity::Closed { connections, .. } => {
            *connections = part(*connections);
            share.threads = share.threads.min(*connections).max(1);
        }
        Intensity::Open { rate, max_connections, .. } => {
            *rate /= f64::from(agents);
            *max_connections = part(*max_connections).max(1);
        }
        Intensity::SClients { descriptors, pace, .. } => {
            *descriptors = part(*descriptors);
            pace.iter_mut().for_each(|pace| pace.rate /= f64::from(agents));
            share.threads = share.threads.min(*descriptors).max(1);
        }
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Arrival, ThinkTime};

    fn closed(connections: u32, threads: u32) -> LoadPlan {
        let intensity = Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() };
        LoadPlan { intensity, threads, ..LoadPlan::default() }
    }

    fn connections(plans: &[LoadPlan]) -> Vec<u32> {
        plans.iter().map(|p| held(&p.intensity)).collect()
    }

    #[test]
    fn a_small_load_stays_whole() {
        assert_eq!(split(&closed(64, 2), 20_000), vec![closed(64, 2)]);
    }

    #[test]
    fn nothing_is_lost_in_a_split() {
        let parts = split(&closed(50_001, 1), 20_000);
        assert_eq!(connections(&parts), [16_667, 16_667, 16_667]);
        assert!(parts[0].seed != parts[1].seed);
        assert_eq!(connections(&split(&closed(100, 40), 20_000)).iter().sum::<u32>(), 100);
    }

    #[test]
    fn never_more_threads_or_agents_than_connections() {
        let parts = split(&closed(2, 64), 20_000);
        assert!(parts.iter().all(|p| p.threads == 1) && connections(&parts) == [1, 1], "{parts:?}");
    }

    #[test]
    fn a_rate_is_shared() {
        let intensity = Intensity::Open { rate: 900.0, arrival: Arrival::Poisson, max_connections: 10 };
        let plan = LoadPlan { intensity, threads: 48, ..LoadPlan::default() };
        let rates: Vec<f64> = split(&plan, 1024)
            .iter()
            .map(|p| if let Intensity::Open { rate, .. } = p.intensity { rate } else { 0.0 })
            .collect();
        assert_eq!(rates, [300.0; 3]);
    }

    #[test]
    fn shares_are_offset_against_each_other_evenly() {
        let intensity = Intensity::Open { rate: 900.0, arrival: Arrival::Constant, max_connections: 10 };
        let plan = LoadPlan { intensity, threads: 48, phase: 0.5, ..LoadPlan::default() };
        let phases: Vec<f64> = split(&plan, 1024).iter().map(|p| p.phase).collect();
        assert_eq!(phases, [0.5 / 3.0, 1.5 / 3.0, 2.5 / 3.0]);
    }

    #[test]
    fn the_split_is_told_with_its_sizes() {
        let intensity = Intensity::SClients {
            descriptors: 501,
            connect_timeout_ms: 100.0,
            think: ThinkTime::default(),
            pace: None,
        };
        let parts = split(&LoadPlan { intensity, ..LoadPlan::default() }, 200);
        let text = told(&parts, 200).unwrap_or_default();
        assert!(
            text.starts_with("501 S-Client descriptors are spread over 5 processes, 1 x 101 and 4 x 100"),
            "{text}"
        );
        assert_eq!(told(&split(&closed(10, 1), 200), 200), None);
    }

    #[test]
    fn sixteen_thousand_descriptors_fit_into_one_process_of_twenty_thousand() {
        let (think, pace) = (ThinkTime::default(), None);
        let intensity = Intensity::SClients { descriptors: 16_000, connect_timeout_ms: 500.0, think, pace };
        assert_eq!(split(&LoadPlan { intensity, ..LoadPlan::default() }, 20_000).len(), 1);
    }
}
