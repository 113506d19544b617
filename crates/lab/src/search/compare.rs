//! Comparison of two live servers, which are loaded in turns.

use run::{Plan, Run, WindowOrder};

use crate::search::live_target::LiveTarget;
use crate::search::turns::take_turns;
use crate::{Lab, LabError, Nobody, TargetSetup, Watch};

/// Result of two servers that were loaded in turns.
pub struct InTurns {
    /// Run of each server; the windows are its trials.
    pub runs: [Run; 2],
    /// Order of the turns.
    pub turns: WindowOrder,
    /// Sentences about what weakens the comparison.
    pub notes: Vec<String>,
    /// True if the user ended the comparison.
    pub interrupted: bool,
}

/// Loads both plans' targets in turns within a budget of seconds. The order follows the first plan's seed.
pub fn in_turns(plans: [Plan; 2], budget_s: f64, watch: &dyn Watch) -> Result<InTurns, LabError> {
    let [a, b] = plans;
    let (mut watch_a, mut watch_b) = (Nobody, Nobody);
    let [mut a, mut b] = [prepare(a, &mut watch_a)?, prepare(b, &mut watch_b)?];
    let first_s = [&a, &b].map(|side| side.target_setup.first_s);
    let taken = take_turns([&mut a, &mut b], first_s, budget_s, &|| watch.stop())?;
    let runs =
        [a.lab.finish()?, b.lab.finish()?].map(|run| Run { interrupted: run.interrupted || watch.stop(), ..run });
    Ok(InTurns { runs, turns: taken.order, notes: taken.notes, interrupted: watch.stop() })
}

fn prepare(plan: Plan, watch: &mut Nobody) -> Result<LiveTarget<'_>, LabError> {
    let mut lab = Lab::begin(plan, None, watch)?;
    let target_setup = TargetSetup::prepare(&mut lab)?;
    Ok(LiveTarget { lab, target_setup, began_s: 0.0, proof_s: 0.0, no_proof: None })
}
