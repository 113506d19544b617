//! A lever (temporary change that an experiment makes) that lowers the rate of the testbed's network between generator
//! and server.
//!
//! All links of the network become slower, in both directions. The measured elasticity is therefore that of the whole
//! network, whichever link is full.

use std::sync::mpsc::Receiver;

use run::{AgentCommand, LeverPart, LeverPlan, Prove};
use testbed::named::MediumSlowdown;

use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::slot_clock::SlotClock;

pub(super) const ROW: Lever = Lever {
    id: "link",
    help: "lowers the rate of a testbed's medium (`loadline testbed`) by a quarter in both directions",
    tests: &["network-medium"],
    // The testbed belongs to this user and exists for experiments, so the lever disturbs nobody else.
    needs: Prove::Default,
    always: false,
    // Time slots are long, because the queue of a slowed link empties only in the next time slot.
    slot_s: 0.15,
    planned: 1.0 - REMAINING_SHARE,
    rights: "client and server on two hosts of one testbed of this user, whose medium has a rate",
    intrusion: "everything on the testbed's medium is slower in half of the slots",
    dose: "the medium's new rate over its own",
    undo: "the testbed restores the rate when the agent's connection ends, also after a kill",
    place: LeverHost::Server,
    pull: Pull::Slots { plan, check: None, act },
};

/// Share of the network's rate that remains while the experiment lowers it.
const REMAINING_SHARE: f64 = 0.75;

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    let keeper = targets.keeper.clone();
    let keeper = keeper.ok_or(
        "client and server are not on two hosts of a testbed (`loadline testbed`), and loadline changes no other link",
    )?;
    MediumSlowdown::begin(&keeper).map_err(|e| e.to_string())?;
    Ok(LeverPlan { lever: ROW.id.into(), path: Some(keeper), ..LeverPlan::default() })
}

fn act(plan: &LeverPlan, commands: Receiver<AgentCommand>) -> Result<LeverPart, String> {
    let keeper = plan.path.as_ref().ok_or("no testbed was named")?;
    let mut slowing = MediumSlowdown::begin(keeper).map_err(|e| e.to_string())?;
    SlotClock::new(plan).switch(&commands, REMAINING_SHARE, |on| {
        slowing.set(if on { REMAINING_SHARE } else { 1.0 }).map_err(|e| e.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_lever_says_if_there_is_no_testbed() {
        let why = plan(&LeverTargets::default()).unwrap_err();
        assert!(why.contains("not on two hosts of a testbed"), "{why}");
        let gone = LeverTargets { keeper: Some("/nowhere/x.sock".into()), ..LeverTargets::default() };
        assert!(plan(&gone).unwrap_err().contains("cannot be reached"));
    }
}
