//! The busiest CPUs of a load, and the programs that use them.

use crate::Facts;
use crate::context::cpu_users::CpuUsers;
use crate::context::single::sides_of;
use crate::context::view::View;
use crate::generator::client_limit_threads;
use crate::in_flight::chain::Chain;
use crate::number::{cpus, figure, percent, ratio};

/// CPUs with the highest utilization: CPUs of a host, CPUs that the server may use, or CPUs of the generator's threads.
pub(super) struct BusiestCpus {
    /// Utilization, 0 to 1.
    pub(super) share: f64,
    /// Programs that use the CPUs, in words. `None` if the counters do not show the programs.
    users: Option<String>,
}

impl BusiestCpus {
    /// Finds the busiest CPUs in the decisive trial (which represents the run). Returns `None` if the use of no CPU was
    /// read.
    pub(super) fn of(facts: &Facts<'_>) -> Option<Self> {
        let sides = facts.decisive.map(sides_of).unwrap_or_default();
        let hosts = sides.iter().filter_map(|view| {
            let host = view.host()?;
            Some(Self { share: ratio(host.busy, host.online)?, users: of_machine(facts, view, &sides) })
        });
        let server = facts.server();
        let of_server = server.as_ref().and_then(own);
        let around_server = server.as_ref().and_then(|view| around(facts, view, &sides));
        let generator = client_limit_threads(facts).map(|share| Self { share, users: Some("the generator".into()) });
        let all = hosts.chain(of_server).chain(around_server).chain(generator);
        let most = all.reduce(|a, b| if b.share > a.share { b } else { a })?;
        Some(Self { share: most.share.min(1.0), ..most })
    }

    /// Describes the utilization, and the programs that use the CPUs.
    pub(super) fn words(&self) -> String {
        let users = self.users.as_ref().map_or(String::new(), |users| format!(" ({users})"));
        format!("the busiest measured CPUs were {} busy{users}", percent(self.share))
    }
}

/// Returns the use of the server's CPUs by the server alone.
fn own(view: &View<'_>) -> Option<BusiestCpus> {
    let (used, allowed) = (view.cpu_used()?, view.cpu_allowed()?);
    let users = format!("server {} of {}", figure(used), cpus(allowed));
    Some(BusiestCpus { share: ratio(used, allowed)?, users: Some(users) })
}

/// Returns the use of the server's CPUs by all programs.
fn around(facts: &Facts<'_>, view: &View<'_>, sides: &[View<'_>]) -> Option<BusiestCpus> {
    let online = view.online();
    let is_part = view.mask().zip(online).is_some_and(|(mask, online)| f64::from(mask.count_ones()) < online);
    let of_part = || Chain::of(view).map(|chain| format!("{} of {}", chain.text(), cpus(chain.cpus)));
    let users = if is_part { of_part() } else { of_machine(facts, view, sides) };
    Some(BusiestCpus { share: view.processors_busy()?, users })
}

/// Describes the programs that use the CPUs of a machine.
fn of_machine(facts: &Facts<'_>, view: &View<'_>, sides: &[View<'_>]) -> Option<String> {
    CpuUsers::of(facts, view, sides)?.text()
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Makes a run of a single load whose server and generator share four full CPUs. The server uses 1.1 of them, the
    /// generator 0.4, and soft interrupts 0.2.
    fn full() -> PlantedRun {
        let both = [Who::Client, Who::Server];
        let planted = PlantedRun::new(200.0, 1e9).steps(&[2]).rates(&[]).shared();
        let planted = planted
            .per_s(Who::Server, "process.cpu", "srv:100", |_| 1.1e6)
            .per_s(Who::Client, "process.cpu", "loadline:50", |_| 0.4e6)
            .change(|trial, _| trial.kind = run::TrialKind::Fixed)
            .plan(|plan| plan.command = "load".into());
        both.into_iter().fold(planted, |planted, who| {
            planted
                .per_s(who, "cpu.user", "total", |_| 3.8e6)
                .per_s(who, "cpu.system", "total", |_| 0.0)
                .per_s(who, "cpu.softirq", "total", |_| 0.2e6)
                .per_s(who, "cpu.idle", "total", |_| 0.0)
        })
    }

    /// An earlier version of loadline only said that the CPUs were busy, not that other programs used most of them.
    #[test]
    fn full_cpus_name_the_programs_that_use_them() {
        let seen = full().verdict().sentence;
        let users = "100 % busy (other programs 2.30, server 1.10, generator 0.400, soft interrupts 0.200 of 4 CPUs)";
        assert!(seen.starts_with("the busiest measured CPUs were") && seen.contains(users), "{seen}");
        let unseen = full().no_server().verdict().sentence;
        let users = "(server and other programs 3.40, generator 0.400, soft interrupts 0.200 of 4 CPUs)";
        assert!(unseen.contains(users), "{unseen}");
    }

    #[test]
    fn idle_cpus_have_no_users() {
        let idle = [Who::Client, Who::Server].into_iter().fold(full(), |planted, who| {
            let process = if who == Who::Server { "srv:100" } else { "loadline:50" };
            planted
                .per_s(who, "process.cpu", process, |_| 100.0)
                .per_s(who, "cpu.user", "total", |_| 200.0)
                .per_s(who, "cpu.softirq", "total", |_| 0.0)
                .per_s(who, "cpu.idle", "total", |_| 4e6)
        });
        let verdict = idle.verdict();
        let all = format!("{} {:?}", verdict.sentence, verdict.evidence);
        assert!(all.contains("CPUs were") && !all.contains("( of"), "{all}");
    }

    #[test]
    fn unknown_programs_are_not_named() {
        let seen = full().none(Who::Server, "process.cpu").verdict();
        let all = format!("{} {:?}", seen.sentence, seen.evidence);
        assert!(all.contains("busy") && !all.contains("other programs 2"), "{all}");
    }
}
