//! Comparison of two live servers, which are loaded in turns.

use run::{Plan, Run, WindowOrder};

use crate::search::live_target::LiveTarget;
use crate::search::turns::{TurnsPlan, take_turns};
use crate::{Lab, LabError, Nobody, TargetSetup, Watch};

/// Result of two servers that were loaded in turns.
pub struct InTurns {
    /// Run of each server; the windows are its trials.
    pub runs: [Run; 2],
    /// Order of the turns.
    pub turns: WindowOrder,
    /// Sentences about what weakens the comparison.
    pub notes: Vec<String>,
    /// Shares of the planned windows at all looks at their result.
    pub looks: Vec<f64>,
    /// Time after which the result was known, if there is one, seconds.
    pub ended_after_s: f64,
    /// True if the user ended the comparison.
    pub interrupted: bool,
}

/// Settings of a comparison in turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InTurnsPlan {
    /// Time for everything, seconds.
    pub budget_s: f64,
    /// Smallest relative change that counts.
    pub threshold: f64,
    /// True to use the whole budget, also if the windows decide earlier.
    pub whole_budget: bool,
}

/// Loads both plans' targets in turns. The order follows the first plan's seed.
pub fn in_turns(plans: [Plan; 2], settings: InTurnsPlan, watch: &dyn Watch) -> Result<InTurns, LabError> {
    let [a, b] = plans;
    let (mut watch_a, mut watch_b) = (Nobody, Nobody);
    let [mut a, mut b] = [prepare(a, &mut watch_a)?, prepare(b, &mut watch_b)?];
    let InTurnsPlan { budget_s, threshold, whole_budget } = settings;
    let first_s = [&a, &b].map(|side| side.target_setup.first_s);
    let plan = TurnsPlan { first_s, budget_s, threshold, whole_budget };
    let taken = take_turns([&mut a, &mut b], &plan, &|| watch.stop())?;
    let runs =
        [a.lab.finish()?, b.lab.finish()?].map(|run| Run { interrupted: run.interrupted || watch.stop(), ..run });
    Ok(InTurns {
        runs,
        turns: taken.order,
        notes: taken.notes,
        looks: taken.looks,
        ended_after_s: taken.ended_after_s,
        interrupted: watch.stop(),
    })
}

fn prepare(plan: Plan, watch: &mut Nobody) -> Result<LiveTarget<'_>, LabError> {
    let mut lab = Lab::begin(plan, None, watch)?;
    let target_setup = TargetSetup::prepare(&mut lab)?;
    Ok(LiveTarget { lab, target_setup, began_s: 0.0, proof_s: 0.0, no_proof: None })
}
