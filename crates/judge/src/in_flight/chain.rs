//! Total CPU use of all programs that work on a request on one machine: the server, its upstreams and the generator.
//! The programs that serve a request may together use all CPUs, although each program alone leaves CPUs idle.

use std::collections::BTreeMap;

use crate::context::single::sides_of;
use crate::context::view::{Task, View, busy, program};
use crate::number::figure;
use crate::thresholds::{FULL, HALF_BUSY, WORKS};

/// CPU use of one program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    /// Name of the program; `generator` for loadline's own processes.
    pub(crate) name: String,
    /// CPU time per second, in CPUs.
    pub(crate) cpus: f64,
}

/// CPU use of all programs that share CPUs with a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain {
    /// Programs with their CPU use. The program with the largest use comes first. Programs that loadline does not
    /// observe share one entry.
    pub(crate) parts: Vec<Part>,
    /// Number of CPUs that the server, its upstreams and the generator share.
    pub(crate) cpus: f64,
    /// Busy time of the shared CPUs per second, in CPUs. The busy time includes the time that unknown programs used.
    pub(crate) busy: f64,
}

/// Name under which the CPU use of the generator is listed.
const GENERATOR: &str = "generator";
/// Name under which the CPU use of all programs that loadline does not observe is listed.
const OTHERS: &str = "other programs";

impl Chain {
    /// Adds up the CPU use of all programs on the machine of `side`.
    pub(crate) fn of(side: &View<'_>) -> Option<Self> {
        let mut own: Vec<(String, Task)> = Vec::new();
        for view in
            sides_of(side.trial).iter().filter(|v| std::ptr::eq(v.side, side.side) || v.side.same_cpus(side.side))
        {
            let name = |task: &Task| match view.role {
                "client" => GENERATOR.to_string(),
                _ => program(&task.name).to_string(),
            };
            let tasks = view.processes().into_iter().chain(view.upstream_processes());
            own.extend(tasks.map(|task| (name(&task), task)));
        }
        let set = connected(&side.processes(), own.iter().map(|(_, task)| task));
        own.retain(|(_, task)| set.is_none_or(|set| task.mask.is_none_or(|mask| mask & set != 0)));
        let online = side.online();
        let in_set = set.map(|set| f64::from(set.count_ones()));
        let cpus = in_set.into_iter().chain(online).reduce(f64::min)?;
        let busy = side.busy_share_of(set.unwrap_or(0))? * cpus;
        Some(Self { parts: parts(own, busy), cpus, busy })
    }

    /// Returns the busy share of the CPUs, 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        self.busy / self.cpus
    }

    /// Returns the CPU use of the generator, in CPUs.
    pub(crate) fn generator(&self) -> f64 {
        self.sum(|part| part.name == GENERATOR)
    }

    /// Returns the CPU use of the server and its upstreams together, in CPUs.
    pub(crate) fn serving(&self) -> f64 {
        self.sum(|part| part.name != GENERATOR && part.name != OTHERS)
    }

    /// Returns the program of the server or of its upstreams that uses the most CPU time. Returns `None` if the server
    /// and its upstreams use no CPU time.
    pub(crate) fn largest_serving(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.name != GENERATOR && part.name != OTHERS && part.cpus > 0.0)
    }

    fn sum(&self, of: impl Fn(&Part) -> bool) -> f64 {
        self.parts.iter().filter(|part| of(part)).map(|part| part.cpus).sum()
    }

    /// Returns true if the CPUs are full, and the generator, the server and its upstreams together use at least half of
    /// these CPUs.
    pub(crate) fn is_full(&self) -> bool {
        let known = self.generator() + self.serving();
        self.share() >= FULL && known >= HALF_BUSY * self.cpus
    }

    /// Returns the CPU use of the program called `name`, in CPUs.
    #[cfg(test)]
    fn part(&self, name: &str) -> f64 {
        self.sum(|part| part.name == name)
    }

    /// Lists the programs that use much CPU time, with the CPUs that each uses:
    /// `caddy 1.28, generator 0.350, nginx 0.310`.
    pub(crate) fn text(&self) -> String {
        let seen = self.parts.iter().filter(|p| p.cpus >= WORKS * self.cpus / 10.0);
        seen.map(|p| format!("{} {}", p.name, figure(p.cpus))).collect::<Vec<_>>().join(", ")
    }
}

/// Returns a bit mask of the CPUs that the busy processes of `side` may use. If a busy process in `all` may use a CPU
/// of the mask, all CPUs of this process are added to the mask. Returns `None` if the CPUs of a busy process are
/// unknown.
fn connected<'a>(side: &[Task], all: impl Iterator<Item = &'a Task>) -> Option<u64> {
    let masks = |tasks: &[Task]| tasks.iter().map(|task| task.mask).collect::<Option<Vec<u64>>>();
    let mut set = masks(&busy(side))?.into_iter().fold(0, |a, b| a | b);
    let mut rest = masks(&all.filter(|task| task.busy >= WORKS).cloned().collect::<Vec<_>>())?;
    while let Some(at) = rest.iter().position(|mask| mask & set != 0) {
        set |= rest.swap_remove(at);
    }
    (set != 0).then_some(set)
}

/// Adds up the CPU use of processes with equal names. Appends the rest of the busy time as "other programs".
fn parts(own: Vec<(String, Task)>, busy: f64) -> Vec<Part> {
    let mut by_name: BTreeMap<String, f64> = BTreeMap::new();
    own.into_iter().for_each(|(name, task)| *by_name.entry(name).or_default() += task.busy);
    let mut parts: Vec<Part> = by_name.into_iter().map(|(name, cpus)| Part { name, cpus }).collect();
    let rest = busy - parts.iter().map(|p| p.cpus).sum::<f64>();
    parts.push(Part { name: OTHERS.into(), cpus: rest.max(0.0) });
    parts.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::single::server_of;
    use crate::planted::{PlantedRun, Who};
    use run::{Run, Upstream};

    /// Makes a run of a proxy, its upstream and the generator on one machine with two CPUs, of which `idle` CPUs are
    /// idle.
    fn on_one_machine(idle: f64, masks: [f64; 3]) -> Run {
        let mut planted = PlantedRun::new(1000.0, 4000.0)
            .steps(&[64])
            .rates(&[])
            .shared()
            .per_s(Who::Client, "process.cpu", "loadline:50", |_| 0.35e6)
            .level(Who::Client, "process.cpu_mask", "loadline:50", masks[0])
            .per_s(Who::Server, "process.cpu", "srv:100", |_| 1.28e6)
            .level(Who::Server, "process.cpu_mask", "srv:100", masks[1])
            .per_s(Who::Server, "process.cpu", "nginx:812", |_| 0.2e6)
            .per_s(Who::Server, "process.cpu", "nginx:813", |_| 0.11e6)
            .level(Who::Server, "process.cpu_mask", "nginx:812", masks[2])
            .level(Who::Server, "process.cpu_mask", "nginx:813", masks[2])
            .change(|t, _| {
                let processes = vec!["nginx:812".to_string(), "nginx:813".into()];
                let behind = Upstream { address: "127.0.0.1:81".into(), depth: 1, processes, ..Upstream::default() };
                t.server.iter_mut().for_each(|side| side.behind = vec![behind.clone()]);
            });
        for who in [Who::Client, Who::Server] {
            planted = planted.level(who, "cpu.online", "", 2.0);
            for (instance, of) in [("0", 0.5), ("1", 0.5), ("total", 1.0)] {
                planted = planted.per_s(who, "cpu.idle", instance, move |_| of * idle * 1e6);
            }
        }
        let mut run = planted.run();
        crate::judge(&mut run);
        run
    }

    fn chain(run: &Run) -> Chain {
        let view = server_of(&run.trials[0]).unwrap();
        Chain::of(&view).unwrap()
    }

    #[test]
    fn processors_that_are_full_only_in_sum_show_their_parts_by_size() {
        let full = chain(&on_one_machine(0.06, [3.0; 3]));
        assert!((full.share() - 0.97).abs() < 1e-6 && full.cpus == 2.0 && full.is_full(), "{full:?}");
        assert_eq!(full.text(), "srv 1.28, generator 0.350, nginx 0.310");
        let beside = chain(&on_one_machine(0.0, [3.0; 3]));
        assert!((beside.part("other programs") - 0.06).abs() < 1e-6, "{beside:?}");
    }

    /// In this test, the generator runs on a separate CPU and takes no time from the server's CPU.
    #[test]
    fn programs_on_other_processors_are_no_part() {
        let apart = chain(&on_one_machine(0.4, [2.0, 1.0, 1.0]));
        assert_eq!((apart.cpus, apart.part("generator")), (1.0, 0.0), "{apart:?}");
        assert!(!apart.is_full());
        assert!((apart.share() - 0.8).abs() < 1e-6, "{apart:?}");
    }
}
