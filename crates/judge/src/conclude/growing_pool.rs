//! Pools of worker processes that still grew under the last load of a run, as in PHP-FPM with `pm = dynamic`. The
//! number of workers during the run is therefore not the limit of the pool.

use std::collections::BTreeSet;

use run::{Bottleneck, Capacity, Caveat, GrowingProcesses, Run, WaitFinding};

use super::processes::{Processes, processes};
use crate::conclude::confidence::limit;
use crate::context::view::program;
use crate::in_flight::places;
use crate::thresholds::UNDECIDED;
use crate::waits;

/// Pool of worker processes that still grew under the last load.
pub(crate) struct GrowingPool(GrowingProcesses);

impl GrowingPool {
    /// Returns the growing pool that a verdict names as the limit. The verdict names a pool if it counts the pool's
    /// children, or if `findings` (the causes for which requests wait) contain the pool. Returns `None` if the verdict
    /// names no pool of processes, or if the pool did not grow.
    pub(crate) fn of(run: &Run, verdict: &Bottleneck, findings: &[WaitFinding]) -> Option<Self> {
        let pools = findings.iter().filter(|finding| waits::is_pool_of_processes(finding));
        let counted = verdict.counted.iter().filter(|counted| places::is_children(counted));
        let named: Vec<&str> =
            pools.map(|pool| program(&pool.process)).chain(counted.map(|counted| counted.of.as_str())).collect();
        let is_named = |pool: &Self| verdict.id == "server-concurrency" && named.contains(&pool.0.program.as_str());
        growing(run).into_iter().find(is_named)
    }

    /// Lowers the confidence of a verdict, because the limit of the pool was not reached, and adds this reason to the
    /// verdict's sentence.
    pub(crate) fn weaken(&self, verdict: &mut Bottleneck) {
        limit(verdict, UNDECIDED);
        let growth = self.0.words();
        let words = format!("; {growth}, so its limit was not reached, and the rate is a lower bound");
        verdict.caveats.push(Caveat { most: UNDECIDED, words, always_told: true });
    }

    /// Turns a capacity into a lower bound. The loads at low rates had fewer processes than the loads at the end, so no
    /// interval contains the capacity of the whole pool.
    pub(crate) fn bound(&self, capacity: &mut Capacity) {
        if capacity.held {
            (capacity.at_least, capacity.low, capacity.high) = (true, None, None);
            capacity.growing = Some(self.0.clone());
        }
    }

    /// Returns the advice on a pool whose limit was not reached.
    pub(crate) fn advice(&self) -> String {
        let program = &self.0.program;
        format!(
            "Measure for longer (--budget) until {program} has all processes that it may have, or let it start more of them at \
             once (in PHP-FPM: pm.start_servers and pm.min_spare_servers)."
        )
    }
}

/// Returns the programs that had more processes under the last load than under the load before, and that grew by more
/// processes than ended between the loads. PHP-FPM ends idle processes between two loads while its pool grows. If
/// workers restart, as many processes end as start.
fn growing(run: &Run) -> Vec<GrowingPool> {
    let loads: Vec<Processes<'_>> = run.trials.iter().filter_map(processes).collect();
    let [first, .., before, last] = loads.as_slice() else { return Vec::new() };
    let grows = |program: &&str| {
        let of = |load: &Processes<'_>| load.get(program).cloned().unwrap_or_default();
        let ended: usize = loads.windows(2).map(|pair| of(&pair[0]).difference(&of(&pair[1])).count()).sum();
        of(last).len() > of(first).len() + ended && of(last).len() > of(before).len()
    };
    let pool = |program: &str| {
        let count = |load: &Processes<'_>| load.get(program).map_or(0, BTreeSet::len);
        GrowingPool(GrowingProcesses { program: program.into(), first: count(first), last: count(last) })
    };
    first.keys().copied().filter(grows).map(pool).collect()
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::{Findings, GrowingProcesses};

    /// Returns the findings on a server whose children all have a request and sleep. `counts` are its numbers of
    /// children under each load.
    fn with_children(steps: &[u32], rates: &[f64], counts: &[u32]) -> Findings {
        let mut run = PlantedRun::new(20_000.0, 150.0)
            .steps(steps)
            .rates(rates)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", 6.0)
            .run();
        for (trial, count) in run.trials.iter_mut().zip(counts) {
            let Some(side) = &mut trial.server else { continue };
            side.processes = std::iter::once(100).chain(201..201 + count).map(|id| format!("app:{id}")).collect();
            let children = f64::from(*count);
            side.waits = Some(Box::new(crate::waits::tests::sleeping_children(children, 16.0 - children)));
        }
        crate::judge(&mut run);
        run.findings
    }

    /// This test repeats a situation that was observed with PHP-FPM: the server had 2 children at first, 9 at the end,
    /// and may have 20. An earlier version of loadline was sure of a limit of 7 children.
    #[test]
    fn a_pool_that_still_grows_has_not_reached_its_limit() {
        let of = |counts: &[u32]| with_children(&[1, 2, 10, 16], &[], counts).bottleneck;
        let (grows, full) = (of(&[2, 3, 4, 9]), of(&[2, 4, 9, 9]));
        for found in [&grows, &full] {
            assert!(found.id == "server-concurrency" && found.sentence.contains("all 9 children"), "{found:#?}");
        }
        let said = "app still started processes under the last load (3 at first, 10 at the end)";
        assert!(grows.sentence.contains(said) && grows.confidence <= 0.75, "{grows:#?}");
        assert!(grows.advice[0].contains("Measure for longer"), "{:?}", grows.advice);
        assert!(!full.sentence.contains("still started") && full.confidence > 0.75, "{full:#?}");
    }

    /// This test repeats a situation that was observed with PHP-FPM, which ended 2 idle children while its pool grew from
    /// 3 to 19. An earlier version of loadline advised to let the children live for more requests.
    #[test]
    fn a_pool_grows_although_some_of_its_processes_end() {
        let grows = |of_load: [&[u32]; 3]| {
            let mut run = PlantedRun::new(20_000.0, 150.0).steps(&[1, 2, 4]).rates(&[]).run();
            for (trial, ids) in run.trials.iter_mut().zip(of_load) {
                let Some(side) = &mut trial.server else { continue };
                side.processes = ids.iter().map(|id| format!("app:{id}")).collect();
            }
            !super::growing(&run).is_empty()
        };
        assert!(grows([&[1, 2], &[1, 2, 3], &[1, 2, 3, 4]]), "no process ended");
        assert!(grows([&[1, 2, 3], &[1, 3, 4, 5], &[1, 4, 5, 6, 7, 8]]), "two processes ended");
        assert!(!grows([&[1, 2, 3, 4], &[1, 3, 4, 5, 6], &[1, 5, 6, 7, 8, 9]]), "workers restart");
        assert!(!grows([&[1, 2], &[1, 2, 3], &[1, 2, 3]]), "the pool stopped growing");
    }

    /// This test repeats a situation that was observed with PHP-FPM. Its sweep ended at 265/s with few children, and an
    /// earlier version of loadline reported this rate as the capacity. With all its children, it completed 950/s.
    #[test]
    fn the_capacity_of_a_pool_that_still_grows_is_a_lower_bound() {
        let (steps, rates) = ([1, 2, 4, 8, 16], [0.5, 0.8, 0.9, 1.15]);
        let of = |counts: &[u32]| with_children(&steps, &rates, counts).capacity.unwrap();
        let (grows, full) = (of(&[2, 3, 4, 5, 6, 7, 8, 8, 9]), of(&[2, 4, 9, 9, 9, 9, 9, 9, 9]));
        assert!(grows.held && grows.at_least && grows.low.or(grows.high).is_none(), "{grows:?}");
        let growth = GrowingProcesses { program: "app".into(), first: 3, last: 10 };
        assert_eq!(grows.growing, Some(growth));
        assert!(full.held && !full.at_least && full.growing.is_none(), "{full:?}");
    }
}
