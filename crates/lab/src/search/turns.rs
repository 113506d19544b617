//! Short loads in turns after a search, which tell what something costs the server: of handshakes, of classes of requests.

use run::{Intensity, LoadPlan, ThinkTime};

use crate::search::Conductor;
use crate::{LabError, Point};

/// Share of a budget that the turns of a kind take.
pub(crate) const SHARE: f64 = 0.12;
/// A budget below this, in seconds, has no time for them.
const SHORTEST_S: f64 = 8.0;
/// Connections: enough to keep a server busy, and few enough that no queue of theirs is what is measured.
const CONNECTIONS: u32 = 4;

/// Seconds that turns take of a budget; 0 where there is none for them, or nothing to learn.
pub(crate) fn seconds(to_learn: bool, budget_s: f64) -> f64 {
    if to_learn && budget_s >= SHORTEST_S { budget_s * SHARE } else { 0.0 }
}

/// Makes these windows one after the other, within about so many seconds. `of` is what they tell the costs of.
pub(crate) fn turns(
    conductor: &mut dyn Conductor,
    seconds: f64,
    of: &str,
    windows: Vec<(LoadPlan, Point)>,
) -> Result<(), LabError> {
    let each_s = seconds / windows.len().max(1) as f64;
    let connections = CONNECTIONS.min(conductor.run().plan.search.max_connections.max(1));
    for (load, point) in windows {
        if seconds <= 0.0 || conductor.stopped() {
            return Ok(());
        }
        let plan = LoadPlan {
            threads: load.threads.min(connections),
            intensity: Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() },
            warmup_s: 0.2 * each_s,
            duration_s: 0.6 * each_s,
            ..load
        };
        match conductor.trial(plan, &point) {
            Ok(_) => {}
            // What the search found stands without them.
            Err(LabError::Lost { why, .. }) => {
                conductor.note(format!("what {of} is not known, since generators were lost: {why}"));
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
