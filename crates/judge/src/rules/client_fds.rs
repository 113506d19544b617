//! Rule for a generator that has no file descriptors left. The generator counts each connect that failed with EMFILE or
//! ENFILE.

use run::ErrorKind;

use super::rule::{PLAIN, Rule, Tier, Verdict};
use super::signs::{failed, failed_locally};
use crate::Facts;

pub(super) const RULE: Rule = Rule {
    id: "client-fds",
    needs: &["errors"],
    tier: Tier::Broken,
    is_counted: |_| true,
    signals: |facts| failed(facts, ErrorKind::ClientFds, "connects that failed for lack of a file descriptor"),
    judge,
    advice: &[
        "Raise the generator's limit of file descriptors: `ulimit -n`, or LimitNOFILE= of its systemd unit.",
        "Spread the connections over more processes: raise --threads.",
    ],
    explain: "The generator counts every connect that failed because its process (EMFILE) or host (ENFILE) had no file \
              descriptor left. These connects never left the machine, so they say nothing about the server. One \
              failed connect is enough for this verdict, because the load was then not the planned one. If throughput \
              stopped growing in the sweep, connects that failed only at offered rates above the server's highest rate do \
              not count.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    failed_locally(facts, ErrorKind::ClientFds, "process.fds", "file descriptor", "process.fd_limit")
}

#[cfg(test)]
mod tests {
    use run::ErrorKind;

    use crate::planted::{PlantedRun, Point, Who};

    /// Makes a run of a server whose four CPUs are full at 20,000/s. At an offered rate above `from`, one of the
    /// generator's connects fails with EMFILE, and answers take seconds.
    fn lacks_one_above(from: f64) -> PlantedRun {
        let lacks = move |t: &mut run::Trial, p: &Point| {
            if t.kind == run::TrialKind::Search && p.offered > from {
                t.tally.errors.0.insert(ErrorKind::ClientFds, 1);
                t.latency_us.p50 = 9e6;
            }
        };
        let cpus = |planted: PlantedRun, thread: u32| {
            planted.per_s(Who::Server, "thread.cpu", &format!("srv:100/{thread}"), |p| p.x * 49.5)
        };
        let planted = PlantedRun::new(500.0, 20_000.0)
            .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 198.0)
            .per_s(Who::Server, "cpu.idle", "total", |p| 4e6 - p.x * 199.0)
            .per_s(Who::Server, "cpu.user", "total", |p| p.x * 190.0);
        (101..105).fold(planted, cpus).change(lacks)
    }

    /// Connects that fail for lack of descriptors occur with any server whose CPUs are full. An open loop above the
    /// server's capacity opens ever more connections, until the generator has no descriptor left. If an overload used
    /// up all descriptors, an earlier version of loadline named the generator as the bottleneck, with a confidence of
    /// 95 %.
    #[test]
    fn connects_that_fail_only_in_the_overload_do_not_hide_a_full_server() {
        let b = lacks_one_above(20_000.0).verdict();
        assert!(b.id == "server-cpu" && b.confidence >= 0.9, "{b:#?}");
        let why = b.ruled_out.iter().find(|out| out.id == "client-fds").map(|out| out.why.as_str());
        assert!(why.is_some_and(|why| why.contains("only at an offered 23,000/s")), "{b:#?}");
        assert_eq!(lacks_one_above(17_000.0).verdict().id, "client-fds", "a rate that the server completes");
        let only_open = lacks_one_above(20_000.0).steps(&[1, 2, 4]).verdict();
        assert_eq!(only_open.id, "client-fds", "the sweep alone shows no plateau: {only_open:#?}");
    }

    /// The last steps of the sweep had fewer connections than clients, so throughput seemed to have stopped growing.
    #[test]
    fn a_sweep_that_ran_out_of_descriptors_shows_no_plateau() {
        let mut run = PlantedRun::new(1000.0, 1e9).rates(&[]).run();
        let at = run.trials.len() - 2;
        let rate = run.trials[at - 1].rates.completed_rate;
        for trial in &mut run.trials[at..] {
            trial.rates.completed_rate = rate;
            trial.tally.errors.0.insert(ErrorKind::ClientFds, 50);
        }
        crate::judge(&mut run);
        assert_eq!(run.findings.bottleneck.id, "client-fds", "{:#?}", run.findings.bottleneck);
    }

    /// A trial that has no descriptor even for its first connect completes nothing. The sweep leaves out a trial that
    /// completes nothing, but this rule counts its failed connects.
    #[test]
    fn a_trial_that_got_no_descriptor_at_all_counts() {
        let mut run = PlantedRun::new(1000.0, 1e9).rates(&[]).run();
        let last = run.trials.last_mut().unwrap();
        last.rates.completed_rate = 0.0;
        last.measured.tally.completed = 0;
        last.tally.errors.0.insert(ErrorKind::ClientFds, 50);
        crate::judge(&mut run);
        assert_eq!(run.findings.bottleneck.id, "client-fds", "{:#?}", run.findings.bottleneck);
    }
}
