//! Division of one load among agents, if the load runs on several hosts, or needs more descriptors or threads than one
//! process should have.

use run::{Intensity, LoadPlan, even_share};
use sys::exhausted::ROOMY_DESCRIPTORS;

use crate::LabError;

/// Number of descriptors that an agent needs in addition to its connections.
const SPARE_DESCRIPTORS: u64 = 64;
/// Maximum number of threads in one agent. More threads would compete for the lock of the process's descriptor table.
const MAX_THREADS: u32 = 16;

/// Number of descriptors that the conductor needs per agent: one for each of its three pipes.
const PIPES_PER_AGENT: u64 = 3;
/// Minimum number of descriptors that the conductor needs in addition to the agents' pipes.
const MIN_DESCRIPTORS: u64 = 24;
/// Number of descriptors that the conductor needs, in addition to the agents' pipes, if its observers read all
/// counters. The descriptors were counted in a run whose server had one process.
const OBSERVER_DESCRIPTORS: u64 = 80;

/// Checks that the conductor's descriptor limit allows `agents` agents. Returns a note if the descriptor limit is too
/// low for reading all counters.
pub(crate) fn check_descriptors(agents: usize, descriptors: u64) -> Result<Option<String>, LabError> {
    let pipes = PIPES_PER_AGENT * agents as u64;
    if MIN_DESCRIPTORS + pipes > descriptors {
        let needed = MIN_DESCRIPTORS + pipes;
        let why = format!(
            "this program may hold {descriptors} descriptors and needs {needed} for their pipes and its own files; raise the \
             limit with `ulimit -Hn {}` as root (fewer processes are needed then, too), or ask for fewer connections",
            needed.max(ROOMY_DESCRIPTORS)
        );
        return Err(LabError::set_up(
            format!("starting {agents} generator process{}", if agents == 1 { "" } else { "es" }),
            why,
        ));
    }
    let short = OBSERVER_DESCRIPTORS + pipes > descriptors;
    Ok(short.then(|| {
        let needed = OBSERVER_DESCRIPTORS + pipes;
        format!(
            "this program may hold {descriptors} descriptors and would need {needed} to read all counters: those that are \
             missing are missing because of that; raise the limit with `ulimit -Hn {needed}` as root"
        )
    }))
}

/// Splits a plan so that no agent exceeds its descriptor limit or [`MAX_THREADS`]. There are at most 1,024 agents, and
/// at most one per connection or S-Client descriptor. If a load needs more agents than allowed, each agent exceeds its
/// descriptor limit or [`MAX_THREADS`]. Each share has its own random seed, so that no two agents have the same arrival
/// times.
pub(crate) fn split(plan: &LoadPlan, descriptors: u64) -> Vec<LoadPlan> {
    let each = descriptors.saturating_sub(SPARE_DESCRIPTORS).max(1);
    let by_descriptors = u64::from(peak_descriptors(&plan.intensity)).div_ceil(each);
    let by_threads = u64::from(plan.threads.div_ceil(MAX_THREADS));
    let most = u64::from(plan.intensity.units()).max(1);
    let agents = by_descriptors.max(by_threads).clamp(1, most).min(1024) as u32;
    (0..agents).map(|i| share(plan, i, agents)).collect()
}

/// Splits a plan over agents on other hosts. If there are more agents than connections, each connection goes to its own
/// agent, and the remaining agents get no share. Each agent gets the plan's full number of threads, but no more threads
/// than connections.
pub(crate) fn split_over_hosts(plan: &LoadPlan, agents: usize) -> Vec<LoadPlan> {
    let agents = u32::try_from(agents).unwrap_or(u32::MAX).clamp(1, plan.intensity.units().max(1));
    let share = |i| {
        let share = share(plan, i, agents);
        LoadPlan { threads: plan.threads.min(share.intensity.units()).max(1), ..share }
    };
    (0..agents).map(share).collect()
}

/// Returns the size of a share of a load: its number of connections or descriptors, or its requests per second.
pub(crate) fn weight(plan: &LoadPlan) -> f64 {
    match &plan.intensity {
        Intensity::Open { rate, .. } => *rate,
        other => f64::from(other.units()),
    }
}

/// Describes how a load was spread over several processes, such as `500 connections are spread over 5 processes, 5 x
/// 100`. Returns `None` for a single process and for an open loop.
pub(crate) fn describe(parts: &[&LoadPlan], descriptors: u64) -> Option<String> {
    let each: Vec<u32> = parts.iter().map(|p| p.intensity.units()).collect();
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

/// Returns the maximum number of descriptors that a load of this intensity has open at the same time.
fn peak_descriptors(intensity: &Intensity) -> u32 {
    match intensity {
        Intensity::Closed { connections, .. } => *connections,
        // The connection pool of an open loop grows only when needed, so a large maximum is no reason for a second
        // process.
        Intensity::Open { .. } => 1,
        // Established connections are held in addition to the `descriptors` connecting sockets. For the established
        // connections, an eighth of `descriptors` is added, because an overloaded server accepts few. An agent that
        // runs out of descriptors counts the failed attempts as errors.
        Intensity::SClients { descriptors, .. } => descriptors.saturating_add(descriptors / 8),
    }
}

fn share(plan: &LoadPlan, i: u32, agents: u32) -> LoadPlan {
    let mut share = plan.share(i, agents);
    // A thread without a connection cannot send requests, and more connections would exceed the plan's maximum. The
    // agent therefore gets fewer threads.
    share.threads = even_share(plan.threads, i, agents).min(share.intensity.units()).max(1);
    share.seed = plan.seed.wrapping_add(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // The test request before the load used row 0 of the data, so the agents begin with row 1.
    let data = share.requests.iter_mut().filter_map(|set| set.data.as_mut()).filter(|data| data.step == 0);
    data.for_each(|data| (data.first, data.step) = (1 + u64::from(i), u64::from(agents)));
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
        plans.iter().map(|p| peak_descriptors(&p.intensity)).collect()
    }

    #[test]
    fn a_conductor_checks_its_descriptors_before_it_starts() {
        assert_eq!(check_descriptors(1, 1024).unwrap(), None);
        assert!(check_descriptors(4, 90).unwrap().is_some_and(|note| note.contains("would need 92")));
        let error = check_descriptors(50, 70).unwrap_err().to_string();
        assert!(error.contains("50 generator processes") && error.contains("needs 174"), "{error}");
    }

    #[test]
    fn a_small_load_stays_whole() {
        assert_eq!(split(&closed(64, 2), 20_000), vec![closed(64, 2)]);
    }

    #[test]
    fn nothing_is_lost_in_a_split() {
        let parts = split(&LoadPlan { connect_rate: 3000.0, ..closed(50_001, 1) }, 20_000);
        assert_eq!(parts.iter().map(|p| p.connect_rate).sum::<f64>(), 3000.0);
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
    fn other_hosts_get_equal_shares_with_all_threads_and_none_gets_nothing() {
        let parts = split_over_hosts(&closed(10, 3), 4);
        assert_eq!(connections(&parts), [3, 3, 2, 2]);
        assert_eq!(parts.iter().map(|p| p.threads).collect::<Vec<_>>(), [3, 3, 2, 2]);
        assert_eq!(split_over_hosts(&closed(2, 1), 4).len(), 2);
        assert_eq!(weight(&parts[0]), 3.0);
    }

    #[test]
    fn a_rate_is_shared() {
        let intensity = Intensity::Open { rate: 900.0, arrival: Arrival::Poisson, max_connections: 10, pipeline: 1 };
        let plan = LoadPlan { intensity, threads: 48, ..LoadPlan::default() };
        let rates: Vec<f64> = split(&plan, 1024)
            .iter()
            .map(|p| if let Intensity::Open { rate, .. } = p.intensity { rate } else { 0.0 })
            .collect();
        assert_eq!(rates, [300.0; 3]);
    }

    #[test]
    fn an_open_loop_opens_no_more_connections_than_it_may() {
        for (most, threads) in [(1, 4), (1, 48), (2, 3), (5, 4), (17, 48), (100, 48)] {
            let intensity =
                Intensity::Open { rate: 900.0, arrival: Arrival::Poisson, max_connections: most, pipeline: 1 };
            let plan = LoadPlan { intensity, threads, ..LoadPlan::default() };
            for parts in [split(&plan, 1024), split_over_hosts(&plan, 3)] {
                let max_connections = |p: &LoadPlan| match p.intensity {
                    Intensity::Open { max_connections, .. } => max_connections,
                    _ => 0,
                };
                assert_eq!(parts.iter().map(max_connections).sum::<u32>(), most, "{most} over {threads} threads");
                assert!(
                    parts.iter().all(|p| (1..=max_connections(p)).contains(&p.threads)),
                    "each thread of a process has one of them"
                );
            }
        }
    }

    #[test]
    fn shares_are_offset_against_each_other_evenly() {
        let intensity = Intensity::Open { rate: 900.0, arrival: Arrival::Constant, max_connections: 10, pipeline: 1 };
        let plan = LoadPlan { intensity, threads: 48, phase: 0.5, ..LoadPlan::default() };
        let phases: Vec<f64> = split(&plan, 1024).iter().map(|p| p.phase).collect();
        assert_eq!(phases, [0.5 / 3.0, 1.5 / 3.0, 2.5 / 3.0]);
    }

    #[test]
    fn a_note_names_the_sizes_of_the_split() {
        let intensity = Intensity::SClients {
            descriptors: 501,
            connect_timeout_ms: 100.0,
            think: ThinkTime::default(),
            pace: None,
        };
        let parts = split(&LoadPlan { intensity, ..LoadPlan::default() }, 200);
        let text = describe(&parts.iter().collect::<Vec<_>>(), 200).unwrap_or_default();
        assert!(
            text.starts_with("501 S-Client descriptors are spread over 5 processes, 1 x 101 and 4 x 100"),
            "{text}"
        );
        assert_eq!(describe(&split(&closed(10, 1), 200).iter().collect::<Vec<_>>(), 200), None);
    }

    #[test]
    fn sixteen_thousand_descriptors_fit_into_one_process_of_twenty_thousand() {
        let (think, pace) = (ThinkTime::default(), None);
        let intensity = Intensity::SClients { descriptors: 16_000, connect_timeout_ms: 500.0, think, pace };
        assert_eq!(split(&LoadPlan { intensity, ..LoadPlan::default() }, 20_000).len(), 1);
    }
}
