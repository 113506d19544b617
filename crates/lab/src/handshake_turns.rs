//! What a TLS handshake costs: short loads with a connection for each request, in turns with kept connections.

use run::{Intensity, LoadPlan, ThinkTime, TrialKind};

use crate::search::Conductor;
use crate::{LabError, Point};

/// Share of a budget that the turns take.
const SHARE: f64 = 0.08;
/// A budget below this, in seconds, has no time for them.
const SHORTEST_S: f64 = 8.0;
/// Connections: enough to keep a server busy, and few enough that no queue of theirs is what is measured.
const CONNECTIONS: u32 = 4;
/// Whether each window has new connections: both kinds are early and late alike.
const TURNS: [bool; 6] = [true, false, false, true, true, false];

/// Seconds that the turns take of a budget; 0 where there is none for them, or nothing to learn.
pub(crate) fn seconds(load: &LoadPlan, budget_s: f64) -> f64 {
    let to_learn = load.tls.is_some() && !load.new_connections && load.blocks.is_none();
    if to_learn && budget_s >= SHORTEST_S { budget_s * SHARE } else { 0.0 }
}

/// Makes the windows, within about so many seconds.
pub(crate) fn turns(conductor: &mut dyn Conductor, seconds: f64) -> Result<(), LabError> {
    let each_s = seconds / TURNS.len() as f64;
    for anew in TURNS {
        if seconds <= 0.0 || conductor.stopped() {
            return Ok(());
        }
        let load = conductor.load().clone();
        let connections = CONNECTIONS.min(conductor.run().plan.search.max_connections.max(1));
        let plan = LoadPlan {
            new_connections: anew,
            threads: load.threads.min(connections),
            intensity: Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() },
            warmup_s: 0.2 * each_s,
            duration_s: 0.6 * each_s,
            ..load
        };
        let label = if anew { "a connection for each request" } else { "kept connections" };
        let point = Point { label: label.into(), kind: TrialKind::Handshakes, ..Point::default() };
        match conductor.trial(plan, &point) {
            Ok(_) => {}
            // What the search found stands without them.
            Err(LabError::Lost { why, .. }) => {
                conductor.note(format!("what a handshake costs is not known, since generators were lost: {why}"));
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_of_tls_alone_and_take_little() {
        let tls = LoadPlan { tls: Some(run::TlsPlan::default()), ..LoadPlan::default() };
        assert!((seconds(&tls, 30.0) - 2.4).abs() < 1e-9);
        assert_eq!(seconds(&tls, 3.0), 0.0);
        assert_eq!(seconds(&LoadPlan { new_connections: true, ..tls }, 30.0), 0.0);
        assert_eq!(seconds(&LoadPlan::default(), 30.0), 0.0);
        assert_eq!(TURNS.iter().filter(|anew| **anew).count(), TURNS.len() / 2);
    }
}
