//! Blocks of time slots: in each block, every lever is on in one slot, and all levers are off in some slots.

use run::{LeverSlots, ProofTrial, SlotHist};

/// Number of time slots in each block in which all levers are off. Each block also has one time slot for each lever, in
/// which only this lever is on.
const FREE: usize = 2;

/// Minimum number of blocks for an estimate of the scatter between blocks.
const FEWEST_BLOCKS: usize = 8;

/// Returns the number of time slots in a block. Each lever is on in one time slot, and in `FREE` slots all levers are
/// off.
pub fn block(levers: usize) -> usize {
    levers + FREE
}

/// Returns the minimum number of time slots of an experiment with `levers` levers.
pub fn fewest_slots_at_a_rate(levers: usize) -> usize {
    FEWEST_BLOCKS * block(levers)
}

/// Histograms of the response times (`times`) and speeds in one block of time slots: first with all levers off, then
/// with each lever on.
pub(super) struct Block {
    pub(super) times: Vec<Vec<u64>>,
    /// For each lever, the speed of its resource with all levers off, and with this lever on.
    pub(super) speeds: Vec<(f64, f64)>,
}

/// Groups the time slots of a trial into blocks, and leaves out incomplete blocks. Returns an error if too few complete
/// blocks remain for an estimate.
pub(super) fn blocks(trial: &ProofTrial) -> Result<Vec<Block>, String> {
    let (levers, n) = (&trial.levers, trial.slot_times.len());
    if levers.iter().any(|l| l.on.len() != n || l.speed.len() != n) {
        return Err("the slots of the levers and of the load do not match".into());
    }
    let used = trial.slot_times.iter().flat_map(|times| times.counts().map(|(bucket, _)| usize::from(bucket)));
    let span = used.max().map_or(0, |last| last + 1);
    let slots: Vec<usize> = (0..n).collect();
    let blocks: Vec<Block> =
        slots.chunks(block(levers.len())).filter_map(|slots| one_block(trial, slots, span)).collect();
    match blocks.len() {
        0..FEWEST_BLOCKS => {
            Err(format!("only {} blocks of slots are usable, {FEWEST_BLOCKS} are needed", blocks.len()))
        }
        _ => Ok(blocks),
    }
}

/// Returns the block that `slots` form. A block must contain a time slot with all levers off, and for each lever a slot
/// with only this lever on. Returns `None` if the time slot with all levers off, or the slot of any lever, is missing.
fn one_block(trial: &ProofTrial, slots: &[usize], span: usize) -> Option<Block> {
    let levers = &trial.levers;
    let cell = |t: usize| {
        let on: Vec<usize> = (0..levers.len()).filter(|j| levers[*j].on[t]).collect();
        match on[..] {
            [] => Some(0),
            [j] => Some(j + 1),
            _ => None,
        }
    };
    let of = |wanted: usize| slots.iter().copied().filter(move |t| cell(*t) == Some(wanted));
    let times = (0..=levers.len()).map(|wanted| together(of(wanted).map(|t| &trial.slot_times[t]), span));
    let speed = |(j, lever): (usize, &LeverSlots)| {
        let mean = |slots: Vec<usize>| {
            let read: Vec<f64> = slots.iter().map(|t| lever.speed[*t]).filter(|speed| speed.is_finite()).collect();
            (!read.is_empty()).then(|| stats::average(&read))
        };
        Some((mean(of(0).collect())?, mean(of(j + 1).collect())?))
    };
    Some(Block {
        times: times.collect::<Option<_>>()?,
        speeds: levers.iter().enumerate().map(speed).collect::<Option<_>>()?,
    })
}

/// Returns the sum of the histograms of several time slots. Returns `None` if there is no time slot.
fn together<'a>(slots: impl Iterator<Item = &'a SlotHist>, span: usize) -> Option<Vec<u64>> {
    let mut sum = vec![0; span];
    let mut any = false;
    for times in slots {
        any = true;
        times.counts().for_each(|(bucket, n)| sum[usize::from(bucket)] += n);
    }
    any.then_some(sum)
}
