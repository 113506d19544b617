//! Rule for a generator without file descriptors left. The generator counts each connect that failed with EMFILE or
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
              descriptor left. These connects never left the machine, so they say nothing about the server. One is \
              enough: the load was not the planned one.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    failed_locally(facts, ErrorKind::ClientFds, "process.fds", "file descriptor", "process.fd_limit")
}

#[cfg(test)]
mod tests {
    use run::ErrorKind;

    use crate::planted::PlantedRun;

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
    /// completes nothing, but this rule uses the trial's failed connects.
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
