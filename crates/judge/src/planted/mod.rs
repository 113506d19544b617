//! Runs with a planted bottleneck: invented counters show a bottleneck that is known, so the right verdict is known,
//! too. Every rule must win in its own run, and must not win in the runs of other rules. Without the counters that it
//! needs, a rule must not name its bottleneck. Tests of other crates use the runs as sample data (feature `planted`).

#[cfg(test)]
mod beside;
mod cases;
#[cfg(test)]
mod contradictions;
#[cfg(test)]
mod fullness;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod matrix_page;
#[cfg(test)]
mod network;
#[cfg(test)]
mod no_limit;
#[cfg(test)]
mod others;
#[cfg(test)]
mod outgrown;
mod planted_run;
pub(crate) mod proofs;
mod sentence;
#[cfg(test)]
pub(crate) mod servers;
#[cfg(test)]
mod shared_signs;
mod waits;
mod warned;
mod words;
#[cfg(test)]
mod written_back;

pub use cases::PLANTED;
#[cfg(test)]
pub(crate) use cases::{held_by_a_window, windows_up_to};
#[cfg(test)]
pub(crate) use cases::{refuses_beyond_500, refuses_beyond_500_after};
pub use planted_run::{PlantedRun, Point, Who};
pub use sentence::Sentence;
pub use words::sentences;

use run::Run;

/// A run whose bottleneck is known.
pub struct Planted {
    /// ID that the verdict must name.
    pub id: &'static str,
    /// Description of the planted bottleneck.
    pub story: &'static str,
    /// Makes the builder of the run, to which other causes can be added.
    pub plant: fn() -> PlantedRun,
}

impl Planted {
    /// Returns the made-up run, for which no verdict exists yet.
    pub fn run(&self) -> Run {
        (self.plant)().run()
    }
}

/// Returns the made-up run of a bottleneck; `None` for an unknown ID.
pub fn planted(id: &str) -> Option<Run> {
    PLANTED.iter().find(|p| p.id == id).map(|p| p.run())
}

/// Removes inputs of a rule from a run: counters by ID from both sides, and figures by name from the trials.
pub fn without(mut run: Run, needs: &[&str]) -> Run {
    if needs.contains(&"sweep") {
        let last = run.trials.len().min(1);
        run.trials.drain(last..);
    }
    for trial in &mut run.trials {
        if needs.contains(&"errors") {
            trial.tally.errors.0.clear();
        }
        if needs.contains(&"connects_past_need") {
            trial.tally.connects_past_need = 0;
        }
        if needs.contains(&"status") {
            trial.measured.tally.unexpected_status = 0;
        }
        if needs.contains(&"latency_us") {
            trial.latency_us = run::Summary::default();
        }
        for side in std::iter::once(&mut trial.client).chain(&mut trial.server) {
            side.recording.columns.retain(|c| !needs.contains(&c.counter.as_str()));
        }
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Facts, RULES, Verdict, judge};

    fn judged(mut run: Run) -> Run {
        judge(&mut run);
        run
    }

    #[test]
    fn every_rule_wins_its_own_run() {
        for p in PLANTED {
            let run = judged(p.run());
            let b = &run.findings.bottleneck;
            assert_eq!(b.id, p.id, "{}: {b:#?}", p.story);
        }
    }

    #[test]
    fn every_id_that_a_verdict_names_is_in_the_table() {
        for p in PLANTED {
            let b = judged(p.run()).findings.bottleneck;
            let others = b.ruled_out.iter().map(|r| &r.id).chain(b.next.as_ref().map(|next| &next.id));
            for id in others.chain([&b.id]) {
                assert!(run::bottleneck(id).is_some(), "{}: {id}", p.story);
            }
        }
    }

    #[test]
    fn every_bottleneck_is_planted() {
        for rule in RULES {
            assert!(planted(rule.id).is_some(), "{}", rule.id);
        }
    }

    /// Pairs of IDs: the planted bottleneck of a run, and another rule that also finds its signs in this run. The test
    /// below fails if a second rule finds its signs in a made-up run and the pair is not in this list. The test also
    /// fails if a listed pair no longer occurs. In each pair, the planted cause explains the second rule's signs, or
    /// the cause's rule has a higher tier. For example, an idle server whose rate stays flat also looks like a server
    /// with a fixed number of workers.
    const SYMPTOMS: &[(&str, &str)] = &[
        ("client-fds", "not-saturated"),
        ("client-ports", "not-saturated"),
        ("server-cpu-quota", "server-concurrency"),
        ("server-memory", "server-concurrency"),
        ("server-fds", "server-concurrency"),
        ("tcp-delayed-ack", "not-saturated"),
        ("server-interrupts", "server-concurrency"),
        ("server-disk", "server-concurrency"),
        ("network-medium", "server-concurrency"),
        ("network-loss", "server-concurrency"),
        ("tcp-window", "not-saturated"),
        ("accept-queue", "server-concurrency"),
    ];

    #[test]
    fn every_rule_is_silent_on_the_others_runs() {
        let mut symptoms = Vec::new();
        for p in PLANTED {
            let run = judged(p.run());
            let facts = Facts::of(&run);
            for rule in RULES.iter().filter(|r| r.id != p.id && r.id != "unknown") {
                if let Verdict::Binds { .. } = (rule.judge)(&facts) {
                    symptoms.push((p.id, rule.id));
                }
            }
        }
        assert_eq!(symptoms, SYMPTOMS);
    }

    #[test]
    fn without_its_counters_no_rule_guesses() {
        for p in PLANTED.iter().filter(|p| p.id != "unknown") {
            let Some(rule) = RULES.iter().find(|r| r.id == p.id) else { panic!("{} has no rule", p.id) };
            let run = judged(without(p.run(), rule.needs));
            let b = &run.findings.bottleneck;
            assert_ne!(b.id, p.id, "{}: {b:#?}", p.story);
            let honest = ["unknown", "not-saturated", "server-concurrency"].contains(&b.id.as_str());
            assert!(honest, "{} without its counters became {}: {b:#?}", p.id, b.id);
        }
    }

    #[test]
    fn a_busy_machine_is_the_first_warning() {
        let run = PlantedRun::new(500.0, 20_000.0).per_s(Who::Server, "cpu.user", "total", |_| 2e6);
        let warnings = judged(run.run()).findings.trust.warnings;
        assert!(warnings[0].starts_with("other programs used"), "{warnings:?}");
    }

    /// Makes a run of a single-threaded server that is pinned to one CPU, while other programs fill all CPUs. Each
    /// argument describes one side by two numbers of CPUs: the CPU use that the side gets, and the CPU use for which it
    /// waits.
    fn disturbed(server: (f64, f64), client: (f64, f64)) -> run::Bottleneck {
        judged(disturbed_run(server, client).run()).findings.bottleneck
    }

    fn disturbed_run(server: (f64, f64), client: (f64, f64)) -> PlantedRun {
        let x = 20_000.0;
        let mut planted_run = PlantedRun::new(500.0, x)
            .none(Who::Server, "thread.cpu")
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x / x * server.0 * 1e6)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| p.x / x * server.0 * 1e6)
            .per_s(Who::Server, "thread.run_delay", "srv:100/101", move |p| p.x / x * server.1 * 1e6)
            .level(Who::Server, "process.cpus_allowed", "srv:100", 1.0)
            .level(Who::Server, "process.cpu_mask", "srv:100", 2.0)
            .per_s(Who::Client, "process.cpu", "loadline:50", move |p| p.x / x * client.0 * 1e6)
            .per_s(Who::Client, "thread.cpu", "shard0:50/51", move |p| p.x / x * client.0 * 1e6)
            .per_s(Who::Client, "thread.run_delay", "shard0:50/51", move |p| p.x / x * client.1 * 1e6);
        for (instance, share) in [("0", 1.0), ("1", 1.0), ("total", 4.0)] {
            planted_run = planted_run.per_s(Who::Server, "cpu.idle", instance, |_| 0.0).per_s(
                Who::Server,
                "cpu.user",
                instance,
                move |_| share * 1e6,
            );
        }
        planted_run
    }

    #[test]
    fn other_programs_on_its_processor_are_no_limit_of_the_servers_workers() {
        let b = disturbed((0.44, 0.55), (0.3, 0.05));
        assert_eq!(b.id, "server-cpu", "{b:#?}");
        assert!(b.confidence <= 0.5 && b.sentence.contains("other programs"), "{b:#?}");
        let b = disturbed((0.44, 0.3), (0.3, 0.05));
        assert_eq!(b.id, "unknown", "{b:#?}");
    }

    /// The server is pinned to one of four CPUs, and this CPU is 94 % busy. The server cannot use the idle time of the
    /// other three CPUs.
    #[test]
    fn a_nearly_full_processor_of_a_pinned_server_is_no_room() {
        let mut planted_run = PlantedRun::new(500.0, 20_000.0)
            .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x / 20_000.0 * 0.84e6)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x / 20_000.0 * 0.84e6)
            .level(Who::Server, "process.cpus_allowed", "srv:100", 1.0)
            .level(Who::Server, "process.cpu_mask", "srv:100", 2.0);
        for (instance, idle) in [("0", 0.6), ("1", 0.06), ("2", 0.9), ("3", 0.9), ("total", 2.46)] {
            planted_run = planted_run.per_s(Who::Server, "cpu.idle", instance, move |_| idle * 1e6);
        }
        let b = judged(planted_run.run()).findings.bottleneck;
        assert!(b.id == "server-cpu" && b.confidence < 0.9 && b.sentence.contains("srv 0.840"), "{b:#?}");
    }

    #[test]
    fn a_generator_that_waits_longer_than_it_runs_is_starved() {
        let b = disturbed((0.09, 0.5), (0.04, 0.95));
        assert_eq!(b.id, "client-cpu", "{b:#?}");
        assert!(b.confidence <= 0.5, "{b:#?}");
        // Sixteen requests are in flight, and each takes 800 µs. The generator waits 28 µs per request, which is less
        // than a tenth of a request's 800 µs.
        let short = disturbed_run((0.09, 0.5), (0.1, 0.55));
        let b = judged(short.run()).findings.bottleneck;
        assert_ne!(b.id, "client-cpu", "{b:#?}");
        // In this run, the generator's total wait for a CPU is as long, but consists of 20 waits of 27 ms per second.
        // All answers that arrive during such a wait are read late.
        let long = short.per_s(Who::Client, "process.voluntary_switches", "loadline:50", |_| 5.0).per_s(
            Who::Client,
            "process.involuntary_switches",
            "loadline:50",
            |_| 15.0,
        );
        let b = judged(long.run()).findings.bottleneck;
        assert_eq!(b.id, "client-cpu", "{b:#?}");
    }

    #[test]
    fn on_full_shared_processors_the_larger_demand_is_named_with_care() {
        let x = 70_000.0;
        let planted_run = |server: f64, client: f64| {
            PlantedRun::new(18.0, x)
                .shared()
                .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x / x * server * 1e6)
                .per_s(Who::Client, "process.cpu", "loadline:50", move |p| p.x / x * client * 1e6)
                .per_s(Who::Client, "thread.cpu", "shard0:50/51", move |p| p.x / x * client * 1e6)
                .per_s(Who::Client, "thread.run_delay", "shard0:50/51", move |p| p.x / x * 2e5)
                .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| p.x / x * server * 2.5e5)
                .per_s(Who::Server, "thread.run_delay", "srv:100/101", |_| 4.5e5)
                .per_s(Who::Server, "cpu.user", "total", |_| 3.3e6)
                .per_s(Who::Server, "cpu.idle", "total", |_| 0.0)
        };
        let b = judged(planted_run(1.9, 0.6).run()).findings.bottleneck;
        assert!(b.id == "server-cpu" && b.confidence < 0.6 && b.sentence.contains("generator 0.600"), "{b:#?}");
        let b = judged(planted_run(0.5, 0.6).run()).findings.bottleneck;
        assert_eq!(b.id, "unknown", "{b:#?}");
    }

    #[test]
    fn workers_that_sleep_are_seen_beside_other_programs() {
        let b = disturbed((0.02, 0.02), (0.02, 0.01));
        assert_eq!(b.id, "server-concurrency", "{b:#?}");
    }
}
