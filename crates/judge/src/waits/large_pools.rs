//! Pools of connections that have far more members than the server handles requests at a time. If a pool with far too
//! many members were the limit, the server would handle about one request per connection. Most requests on the pool's
//! connections therefore wait for one another at the other end, for example for a lock in a database.

use run::{CountedKind, Trial, WaitCause, WaitFinding};

use super::sentence::sentence;
use crate::context::single::{good, server_of};
use crate::number::ratio;
use crate::thresholds::MANY_PLACES;

/// Figures that determine which size a pool needs at the highest rate.
#[derive(Clone, Copy)]
pub(crate) struct PoolNeed<'a> {
    /// Trial with the lightest load.
    pub(crate) unloaded: Option<&'a Trial>,
    /// Trial that represents the highest rate.
    pub(crate) decisive: Option<&'a Trial>,
    /// Number of requests that the server handles at a time.
    pub(crate) at_a_time: Option<f64>,
}

impl PoolNeed<'_> {
    /// Returns the number of connections to `address` that the highest rate needs if a request uses them as long as
    /// under the lightest load. A request may use several connections at a time, so the number of requests handled at a
    /// time is only a lower bound. Returns `None` if the number of requests handled at a time is unknown.
    fn connections(&self, address: &str) -> Option<f64> {
        let several = || {
            let (light, view) = (self.unloaded?, server_of(self.unloaded?)?);
            let busy = view.side.recording.reading("behind.busy", address, view.window).value()?;
            Some(busy * ratio(good(self.decisive?), good(light))?)
        };
        self.at_a_time.map(|requests| several().map_or(requests, |several| several.max(requests)))
    }
}

/// Replaces a used-up pool of connections that is far larger than needed: the finding becomes a wait for replies of the
/// peer. With more connections, only more requests would wait at the peer.
pub(crate) fn without_large_pools(mut findings: Vec<WaitFinding>, need: PoolNeed<'_>) -> Vec<WaitFinding> {
    for finding in &mut findings {
        if is_large(finding, need) {
            (finding.cause, finding.queued) = (WaitCause::Peer, None);
            finding.name.clear();
            finding.sentence = sentence(finding);
        }
    }
    findings
}

/// Returns true for a pool of connections whose size is known and far larger than needed.
fn is_large(pool: &WaitFinding, need: PoolNeed<'_>) -> bool {
    let is_pool = pool.cause == WaitCause::ConnectionPool && pool.queued.is_some();
    is_pool && need.connections(&pool.peer).is_some_and(|needed| pool.of >= MANY_PLACES * needed)
}

/// Returns true for a wait for replies that replaced a pool of connections in [`without_large_pools`]. Other waits for
/// replies count threads, not connections.
pub(crate) fn is_of_large_pool(finding: &WaitFinding) -> bool {
    finding.cause == WaitCause::Peer && finding.counted == CountedKind::Connections
}

#[cfg(test)]
mod tests {
    use run::{Findings, ThreadState, WaitCause};

    use super::super::tests::{clients, peer, process};
    use super::super::waits;
    use crate::planted::{PlantedRun, Who};
    use crate::thresholds::TWO_SIGNS;

    /// Judges a run of a server whose nine connections to a database are all busy, while two further requests wait for
    /// one. At the highest rate, the server handles `at_a_time` requests at a time. With one client, the server awaits
    /// `alone` replies on average.
    fn judged(at_a_time: f64, alone: f64) -> Findings {
        let mut profile = process(14.0, &[(ThreadState::Futex, "", 5.3), (ThreadState::Peer, "10.0.0.2:5432", 8.7)]);
        profile.clients = Some(clients(11.3, 0.0));
        profile.peers = vec![peer("app:7", 9.0, 8.7)];
        assert_eq!(waits(&profile, &[])[0].cause, WaitCause::ConnectionPool);
        let mut run = PlantedRun::new(9000.0, at_a_time / 9e-3)
            .rates(&[])
            .per_s(Who::Server, "behind.busy", "10.0.0.2:5432", move |p| (alone * p.n).min(9.0))
            .change(move |trial, _| {
                trial.server.iter_mut().for_each(|side| side.waits = Some(Box::new(profile.clone())));
            })
            .run();
        crate::judge(&mut run);
        run.findings
    }

    /// In this observed case, requests use a pool of nine connections to PostgreSQL, and each request takes one
    /// advisory lock. An earlier version of loadline named the pool as the bottleneck, with a confidence of 90 %.
    #[test]
    fn a_pool_far_larger_than_the_requests_at_a_time_is_not_the_limit() {
        let found = judged(1.09, 0.9);
        let verdict = &found.bottleneck;
        let causes: Vec<WaitCause> = found.waits.iter().map(|wait| wait.cause).collect();
        assert_eq!((verdict.id.as_str(), causes), ("server-concurrency", vec![WaitCause::Peer]), "{verdict:#?}");
        let words = "8.7 of 9 connections of app:7 wait for replies of 10.0.0.2:5432";
        assert!(verdict.sentence.contains(words) && verdict.confidence < TWO_SIGNS, "{verdict:#?}");
        assert!(
            verdict.advice[0]
                .starts_with("Run `loadline waits` on the host of 10.0.0.2:5432. More connections of app:7 will"),
            "{verdict:#?}"
        );
        assert!(!verdict.advice.iter().any(|text| text.contains("Raise")), "{:?}", verdict.advice);
    }

    #[test]
    fn a_pool_of_about_the_requests_at_a_time_stays_the_limit() {
        let pool = |at_a_time, alone| judged(at_a_time, alone).waits[0].cause == WaitCause::ConnectionPool;
        assert!(pool(8.9, 0.9));
        assert!(pool(3.0, 2.8), "each request holds three connections");
    }
}
