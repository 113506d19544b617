//! Made-up trials of an experiment: throughput in time slots and in turns, with and without a lever. A lever is a
//! temporary change by an experiment that slows a resource. In slots, the lever is switched within one trial, at the
//! start of each slot (a fraction of a second). In turns, trials with and without the lever alternate.

use run::{CPU_COUNT_LEVER, LeverSlots, ProofTrial, SwitchTrial};

/// Number of time slots in each made-up experiment.
pub(super) const SLOTS: usize = 160;
/// Share of its resource that each lever takes, 0 to 1.
pub(super) const DOSE: f64 = 0.25;

/// Makes a trial with two levers: one on the resource `first`, and one on the generator's CPU. `own` and `client` are
/// the elasticities for both resources: the relative change of throughput per relative change of speed.
pub(crate) fn slots(first: &str, own: f64, client: f64) -> ProofTrial {
    let mut random = fastrand::Rng::with_seed(3);
    let mut on = || (0..SLOTS).map(|_| random.bool()).collect::<Vec<bool>>();
    let (a, b) = (on(), on());
    let speed = |on: &[bool]| on.iter().map(|on| if *on { 1.0 - DOSE } else { 1.0 }).collect::<Vec<f64>>();
    let (sa, sb) = (speed(&a), speed(&b));
    let rate = |(t, (a, b)): (usize, (&f64, &f64))| 1000.0 * a.powf(own) * b.powf(client) * noise(t);
    let completed_rate = sa.iter().zip(&sb).enumerate().map(rate).collect();
    let levers = vec![lever(first, a, sa), lever("client-cpu", b, sb)];
    ProofTrial { completed_rate, levers, slot_s: 0.02, ..ProofTrial::default() }
}

fn lever(name: &str, on: Vec<bool>, speed: Vec<f64>) -> LeverSlots {
    LeverSlots { lever: name.into(), host: "h".into(), on, speed, ordered: Some(DOSE), ..LeverSlots::default() }
}

fn noise(slot: usize) -> f64 {
    1.0 + 0.02 * ((slot * 7919 % 13) as f64 / 13.0 - 0.5)
}

/// Makes a trial with three levers: on the resource `first`, on the generator's CPU, and on the server's CPU. `own` and
/// `server` are the elasticities of throughput for the first resource and for the server's CPU.
pub(crate) fn slots_beside(first: &str, own: f64, server: f64) -> ProofTrial {
    let mut trial = slots(first, own, 0.0);
    let mut random = fastrand::Rng::with_seed(5);
    let on: Vec<bool> = (0..SLOTS).map(|_| random.bool()).collect();
    let speed: Vec<f64> = on.iter().map(|on| if *on { 1.0 - DOSE } else { 1.0 }).collect();
    trial.completed_rate.iter_mut().zip(&speed).for_each(|(rate, speed)| *rate *= speed.powf(server));
    trial.levers.push(lever("server-cpu", on, speed));
    trial
}

/// Changes a lever so that it has hardly any effect. The threads to be slowed ran or waited for a CPU for the share
/// `wanted` of the time. The CPU thief (a busy loop) took the share `taken` of the CPU. The measured relative speed of
/// the threads stays 1, so the thief did not slow them.
pub(super) fn hardly_wanted(trial: &mut ProofTrial, lever: usize, wanted: f64, taken: f64) {
    let lever = &mut trial.levers[lever];
    lever.speed.iter_mut().for_each(|speed| *speed = 1.0);
    (lever.wanted, lever.taken) = (Some(wanted), Some(taken));
}

/// Makes a trial with one lever, which takes the share `taken` of the server's CPUs away. `ratio` is throughput in the
/// time slots with the lever on, divided by throughput in the other slots.
pub(crate) fn count(taken: f64, ratio: f64) -> ProofTrial {
    let mut trial = slots(CPU_COUNT_LEVER, 0.0, 0.0);
    trial.levers.truncate(1);
    let on = trial.levers[0].on.clone();
    for t in (0..SLOTS).filter(|t| on[*t]) {
        (trial.levers[0].speed[t], trial.completed_rate[t]) = (1.0 - taken, trial.completed_rate[t] * ratio);
    }
    trial.levers[0].ordered = Some(taken);
    trial
}

/// Makes turns with and without a lever that doubles a resource (such as the load). `ratio` is throughput with the
/// lever divided by throughput without the lever.
pub(crate) fn turns(lever: &str, ratio: f64) -> SwitchTrial {
    let off = vec![100.0, 103.0, 98.0, 101.0, 99.0];
    let on = off.iter().zip([1.01, 0.99, 1.0, 0.98, 1.02]).map(|(off, noise)| off * ratio * noise).collect();
    SwitchTrial { lever: lever.into(), dose: -1.0, off, on, ..SwitchTrial::default() }
}
