//! Short loads that take turns after a search, to measure the server's cost of handshakes or of request classes.

use run::{Intensity, LoadPlan, ThinkTime};

use crate::search::Conductor;
use crate::trial::turn_order::{ROUNDS, back_and_forth};
use crate::{LabError, Point};

/// Share of a budget for measuring one kind of cost: of handshakes, or of request classes.
pub(crate) const BUDGET_SHARE: f64 = 0.12;
/// Minimum budget of a run in which costs are measured, seconds.
const MIN_BUDGET_S: f64 = 8.0;
/// Share of the time of one turn (one load) for its warm-up.
const WARM_UP_SHARE: f64 = 0.2;
/// Share of a turn (one load) in which the load is measured. Starting and ending the load test takes the rest of the
/// turn.
const WINDOW_SHARE: f64 = 0.6;
/// Minimum length of a turn (one load), as a share of the planned length. The value of one half is an assumption, not a
/// measurement. In a turn shorter than half of the planned length, starting the agents would take most of the time.
const MIN_SHORTENED: f64 = 0.5;
/// Minimum number of rounds through all loads. With only one round, a slow phase of the machine would look like a cost.
const MIN_ROUNDS: usize = 2;
/// Number of connections: enough to keep a server busy, but so few that requests hardly wait in a queue.
const CONNECTIONS: u32 = 4;

/// Returns the part of a budget for measuring one kind of cost, seconds; 0 if the budget is too small, or if nothing
/// needs measuring.
pub(crate) fn seconds(to_learn: bool, budget_s: f64) -> f64 {
    if to_learn && budget_s >= MIN_BUDGET_S { budget_s * BUDGET_SHARE } else { 0.0 }
}

/// Returns the seconds to reserve for the turns of `kinds` kinds of load. The result is `seconds`, or more if starting
/// and ending a load test takes longer than a fifth of a turn.
pub(crate) fn reserved_s(seconds: f64, kinds: usize, overhead_s: f64) -> f64 {
    let turns = (ROUNDS * kinds) as f64;
    seconds.max((WARM_UP_SHARE + WINDOW_SHARE) * seconds + turns * overhead_s)
}

/// Returns the length of the turns that fits into the budget, as a share of the planned length. If starting and ending
/// a load test takes longer than a fifth of a turn, all turns become shorter by the same factor.
fn shortened(conductor: &dyn Conductor, each_s: f64, turns: usize) -> f64 {
    let room_s = conductor.left_s() / turns.max(1) as f64 - conductor.overhead_s();
    (room_s / ((WARM_UP_SHARE + WINDOW_SHARE) * each_s)).min(1.0)
}

/// Measures several kinds of load in turns, within about `seconds` seconds. `subject` names the measured cost in
/// messages. `window` returns the load of a given kind for a given turn.
pub(crate) fn conduct(
    conductor: &mut dyn Conductor,
    seconds: f64,
    subject: &str,
    kinds: usize,
    window: impl Fn(usize, usize) -> (LoadPlan, Point),
) -> Result<(), LabError> {
    if seconds <= 0.0 || conductor.stopped() {
        return Ok(());
    }
    let each_s = seconds / (ROUNDS * kinds).max(1) as f64;
    let fits = |rounds: &usize| shortened(conductor, each_s, rounds * kinds) >= MIN_SHORTENED;
    let Some(rounds) = (MIN_ROUNDS..=ROUNDS).rev().find(fits) else {
        conductor.note(format!("what {subject} is not known: the search left too little time for it (--budget)"));
        return Ok(());
    };
    let (turns, connections) = (rounds * kinds, CONNECTIONS.min(conductor.run().plan.search.max_connections.max(1)));
    for turn in 0..turns {
        let shortened = shortened(conductor, each_s, turns - turn);
        if conductor.stopped() || shortened < MIN_SHORTENED {
            return Ok(());
        }
        let (load, point) = window(back_and_forth(turn, kinds), turn);
        let plan = LoadPlan {
            threads: load.threads.min(connections),
            intensity: Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() },
            warmup_s: WARM_UP_SHARE * shortened * each_s,
            duration_s: WINDOW_SHARE * shortened * each_s,
            ..load
        };
        match conductor.trial(plan, &point) {
            Ok(_) => {}
            // Without the turns that measure costs, the result of the search is still valid.
            Err(error) if error.is_of_generators() => {
                conductor.note(format!(
                    "what {subject} is not known, since generators were lost or could not start: {error}"
                ));
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
