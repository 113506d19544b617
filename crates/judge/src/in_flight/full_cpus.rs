//! Full CPUs of the server's machine, and the program that uses the most of their CPU time: the server or an upstream.
//! While the CPUs are full, more workers or connections do not help.

use crate::Facts;
use crate::context::view::program;
use crate::in_flight::chain::Chain;
use crate::in_flight::upstreams;
use crate::number::{cpus, figure, percent};

/// Full CPUs, and the program that uses the most of their CPU time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FullCpus {
    /// Name of the program.
    program: String,
    /// CPU time of the program per second, in CPUs.
    used: f64,
    /// Number of the full CPUs.
    cpus: f64,
    /// True if the program is an upstream of the server.
    is_upstream: bool,
}

impl FullCpus {
    /// Returns the full CPUs in the trial that shows which CPU is full ([`Facts::full`]). Returns `None` if the CPUs
    /// have idle time, or if other programs use most of their time.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        Self::of_all_programs(facts).or_else(|| Self::of_upstream(facts))
    }

    /// Returns the full CPUs that the server, its upstreams and the generator share.
    fn of_all_programs(facts: &Facts<'_>) -> Option<Self> {
        let view = facts.full_server()?;
        let chain = Chain::of(&view).filter(Chain::is_full)?;
        let most = chain.largest_serving()?;
        let is_own = view.side.processes.iter().any(|name| program(name) == most.name);
        Some(Self { program: most.name.clone(), used: most.cpus, cpus: chain.cpus, is_upstream: !is_own })
    }

    /// Returns the CPUs of the upstream that the server waits for, if the upstream fills these CPUs. The server itself
    /// may run on other CPUs than its upstream.
    fn of_upstream(facts: &Facts<'_>) -> Option<Self> {
        let load = upstreams::full_on_cpus(facts)?;
        let program = program(load.behind.processes.first()?).to_string();
        Some(Self { program, used: load.cpu_used?, cpus: load.cpu_allowed?, is_upstream: true })
    }

    /// Returns the advice: an action that reduces the CPU time, and the program that uses the most of it, with its
    /// share.
    pub(crate) fn advice(&self) -> String {
        let who = if self.is_upstream { "the upstream" } else { "the server" };
        format!(
            "Make the work of {who} {} for each request cheaper (profile it at this load), or give the machine more CPUs: it \
             uses {} of the {} that are full ({}). More workers or connections will not help.",
            self.program,
            figure(self.used),
            cpus(self.cpus),
            percent(self.used / self.cpus)
        )
    }
}

#[cfg(test)]
mod tests {
    use run::{Bottleneck, Run, Upstream};

    use crate::planted::{PlantedRun, Point, Who};

    const ADDRESS: &str = "127.0.0.1:5432";

    /// Makes a run of a server with eight connections to a database, on one machine with the generator. At the highest
    /// rate, the server, the database and the generator use `used` of the machine's four CPUs. The database has eight
    /// processes, one for each connection.
    fn on_one_machine(used: [f64; 3]) -> Run {
        let share = |of: f64| move |p: &Point| p.x / p.capacity * of * 1e6;
        let all: f64 = used.iter().sum();
        let names: Vec<String> = (200..208).map(|pid| format!("postgres:{pid}")).collect();
        let mut planted = PlantedRun::new(4000.0, 2000.0)
            .shared()
            .level(Who::Server, "behind.connections", ADDRESS, 8.0)
            .per_s(Who::Server, "behind.busy", ADDRESS, |p| p.n.min(8.0))
            .per_s(Who::Client, "process.cpu", "loadline:50", share(used[2]))
            .per_s(Who::Server, "process.cpu", "srv:100", share(used[0]));
        for name in &names {
            let thread = format!("{name}/{}", &name[9..]);
            planted = planted
                .per_s(Who::Server, "process.cpu", name, share(used[1] / 8.0))
                .per_s(Who::Server, "thread.cpu", &thread, share(used[1] / 8.0))
                .level(Who::Server, "process.parent", name, 199.0);
        }
        for who in [Who::Client, Who::Server] {
            planted = planted
                .per_s(who, "cpu.user", "total", share(all))
                .per_s(who, "cpu.system", "total", |_| 0.0)
                .per_s(who, "cpu.softirq", "total", |_| 0.0)
                .per_s(who, "cpu.idle", "total", move |p| 4e6 - share(all)(p));
        }
        let mut run = planted
            .change(move |trial, _| {
                let processes = [vec!["postgres:199".to_string()], names.clone()].concat();
                let behind = Upstream { address: ADDRESS.into(), depth: 1, processes, ..Upstream::default() };
                trial.server.iter_mut().for_each(|side| side.behind = vec![behind.clone()]);
            })
            .run();
        crate::judge(&mut run);
        run
    }

    fn asks_for_workers(verdict: &Bottleneck) -> bool {
        verdict.advice.iter().any(|text| text.contains("Raise the number") || text.contains("more workers"))
    }

    /// PostgreSQL, its application and the generator run on one machine, whose CPUs PostgreSQL mostly fills. An earlier
    /// version of loadline advised more workers or more connections, although the CPUs were full.
    #[test]
    fn full_cpus_name_the_program_that_uses_them_and_no_workers() {
        for (used, who, share) in
            [([0.7, 2.6, 0.6], "upstream postgres", "65 %"), ([2.6, 0.7, 0.6], "server srv", "65 %")]
        {
            let verdict = on_one_machine(used).findings.bottleneck;
            assert!(!asks_for_workers(&verdict), "{verdict:#?}");
            let named = verdict.advice.iter().any(|text| text.contains(who) && text.contains(share));
            assert!(named, "{who}: {verdict:#?}");
        }
    }

    /// CPUs that the server shares with its upstream and that limit it now are not the next limit. If half of the
    /// shared CPUs is idle, these CPUs are the next limit, and are full at twice the rate.
    #[test]
    fn an_upstream_s_cpu_time_counts_for_the_next_limit() {
        let next = |used: [f64; 3]| on_one_machine(used).findings.bottleneck.next;
        let full = next([0.3, 3.0, 0.6]);
        assert!(full.as_ref().is_none_or(|next| next.id != "server-cpu"), "{full:#?}");
        let half = next([0.3, 1.6, 0.3]).expect("the CPUs are the next limit");
        assert!(half.id == "server-cpu" && half.why.contains("upstreams"), "{half:#?}");
        let limit = half.rate.expect("more than half of the CPUs are in use");
        assert!((limit / (2000.0 * 4.0 / 2.2) - 1.0).abs() < 0.05, "{limit}");
    }

    #[test]
    fn an_upstream_s_cpu_time_is_a_demand_of_a_request() {
        let run = on_one_machine([0.3, 1.6, 0.3]);
        let demands = crate::demands(&crate::Facts::of(&run));
        let most = demands.iter().filter(|demand| demand.id == "server-cpu").map(|demand| demand.utilisation);
        let most = most.fold(0.0, f64::max);
        assert!((most - 2.2 / 4.0).abs() < 0.02, "{demands:#?}");
    }
}
