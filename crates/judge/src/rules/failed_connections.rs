//! Failed connects and broken connections while throughput no longer grew. Clients without a connection add nothing to
//! the load, so a verdict about workers gives the number of these clients.

use crate::Facts;
use crate::context::single::{broken, clients};
use crate::context::sweep::Plateau;
use crate::number::{counted, figure, ratio};
use crate::thresholds::CONNECTS_DROPPED;

/// Returns the end of a sentence with the number of failed connects and broken connections at the plateau. Returns
/// `None` if hardly any connection failed at the plateau.
pub(super) fn words(facts: &Facts<'_>) -> Option<String> {
    let Plateau::Flat { from, .. } = facts.plateau else { return None };
    let on_plateau = facts.sweep.iter().copied().filter(|trial| clients(trial) >= from);
    let worst = on_plateau.max_by_key(|trial| trial.tally.errors.connects().saturating_add(broken(trial)))?;
    let tally = &worst.tally;
    let connects = share_words(tally.errors.connects(), tally.attempted, "connect", "failed");
    let broken = share_words(broken(worst), tally.connected, "connection", "ended before an answer was complete");
    let all: Vec<String> = [connects, broken].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("; with {}, {}", counted(clients(worst), "client"), all.join(" and ")))
}

/// Returns words such as `40 of 168 connects failed`. Returns `None` if the share is small.
fn share_words(failed: u64, all: u64, noun: &str, what: &str) -> Option<String> {
    let share = ratio(failed as f64, all as f64)?;
    let all = counted(all as f64, noun);
    (share >= CONNECTS_DROPPED).then(|| format!("{} of {all} {what}", figure(failed as f64)))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::ErrorKind;

    /// Four workers answer 200 requests per second. With many clients, `failed` connects time out, and the server
    /// resets `reset` connections.
    fn verdict(failed: u64, reset: u64) -> run::Bottleneck {
        let fails = move |t: &mut run::Trial, p: &crate::planted::Point| {
            if t.kind == run::TrialKind::Sweep && p.n > 64.0 {
                t.tally.attempted = 128 + failed;
                let errors = [(ErrorKind::ConnectTimeout, failed), (ErrorKind::Reset, reset)];
                t.tally.errors.0.extend(errors.into_iter().filter(|(_, n)| *n > 0));
            }
        };
        PlantedRun::new(20_000.0, 200.0)
            .rates(&[])
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .change(fails)
            .verdict()
    }

    /// An earlier version of loadline named the number of workers as the limit, and did not mention the failed
    /// connects.
    #[test]
    fn failed_connections_at_the_plateau_are_in_the_sentence() {
        let (none, some, both) = (verdict(0, 0), verdict(40, 0), verdict(40, 13));
        for found in [&none, &some, &both] {
            assert_eq!(found.id, "server-concurrency", "{found:#?}");
            assert!(found.sentence.contains("about 4 requests at a time"), "{found:#?}");
        }
        assert!(!none.sentence.contains("connect"), "{none:#?}");
        assert!(some.sentence.ends_with("; with 128 clients, 40 of 168 connects failed"), "{some:#?}");
        let broken = "40 of 168 connects failed and 13 of 128 connections ended before an answer was complete";
        assert!(both.sentence.ends_with(broken), "{both:#?}");
        assert!(!verdict(1, 1).sentence.contains("connect"), "single failures are accidents");
    }
}
