//! What was predicted held against what came out, and what that does to the verdict.

use run::{Bottleneck, Effect, Elasticity, Estimate, Proof, ProofOf, ProofOutcome, Run, RunnerUp, Sureness};

use super::outcome::{
    CLOSE, SHOWN, close, dependent, doubted, has_own_lever, is_astray, lever_of, only_others, proven, refuted, suspect,
};
use super::steadiness::{doubt, steadiness};
use super::suspects::{SUSPECTS, suspect_of};
use super::turns::{Held, effect, held};
use super::words::{REMAINDER, effect_sentence, shares_sentence, with_lever};
use super::{Estimates, estimate};
use crate::number::figure;
use crate::single::good;

/// Verdicts that name nothing that could be predicted.
const NAMES_NOTHING: [&str; 2] = ["unknown", "not-saturated"];
/// A resource with less of the whole is not what stops the server, however sure that is.
pub(super) const MOST: f64 = 0.5;
/// By how much all parts may surely be more than 1 without a doubt of each. A little more is no wonder: what a server does in
/// each period of a quota, whatever its length, makes the rest of it dearer.
pub(super) const EXCESS: f64 = 0.25;
/// No verdict is surer than this when an experiment spoke against it and none for another.
const REFUTED: f64 = 0.3;

/// What the verdict says will happen when `lever` is pulled, before it is tried; no prediction where the verdict names nothing.
pub fn predicted(run: &Run, lever: &str, dose: f64) -> Proof {
    let id = run.findings.bottleneck.id.as_str();
    if NAMES_NOTHING.contains(&id) {
        return Proof::default();
    }
    let suspect = suspect_of(&run.findings.bottleneck, Some(lever)).filter(|suspect| suspect.lever == lever);
    let ratio = suspect.map_or(1.0, |suspect| (suspect.ratio)(run, dose));
    let lever = lever.to_string();
    let prediction = Effect { lever, dose, ratio, low: ratio, high: ratio, at: String::new() };
    Proof { prediction: Some(prediction), why: "the experiment was not made".into(), ..Proof::default() }
}

/// What the counters say that `lever` will do when it takes `dose` of what would stop the server next: nothing while the rest lets
/// through as much as was completed. Nothing is said where another lever tries that, or none.
pub fn runner_up(run: &Run, lever: &str, dose: f64) -> Option<RunnerUp> {
    let next = run.findings.bottleneck.next.as_ref()?;
    SUSPECTS.iter().find(|s| s.bottleneck == next.id && s.lever == lever && s.behind.is_none())?;
    let completed = run.picked(|picks| picks.decisive).map(good).filter(|rate| *rate > 0.0)?;
    let ratio = (next.rate? * (1.0 - dose) / completed).min(1.0);
    let prediction = Effect { lever: lever.into(), dose, ratio, low: ratio, high: ratio, at: String::new() };
    Some(RunnerUp { bottleneck: next.id.clone(), prediction, measured: None })
}

/// Concludes from the proof's trials and changes the argued verdict where they say so. Without a trial both stay.
pub(super) fn conclude(proof: &mut Proof, verdict: &mut Bottleneck) {
    proof.effects = proof.switched.iter().filter_map(|trial| effect(trial).ok()).collect();
    let said = in_turns(proof, verdict);
    if said != Some(Held::Yes) {
        in_slots(proof, verdict, said);
    }
    if !proof.trials.is_empty() || said.is_some() {
        verdict.sureness = Sureness::of(verdict.confidence);
    }
}

/// The verdict held against the turns with and without its own lever; nothing where there were none.
fn in_turns(proof: &mut Proof, verdict: &mut Bottleneck) -> Option<Held> {
    let suspect = suspect(proof, verdict)?;
    let measured = proof.effects.iter().rfind(|effect| effect.lever == suspect.lever)?.clone();
    let predicted = proof.prediction.as_ref().filter(|p| p.lever == suspect.lever)?.ratio;
    let said = held(&measured, predicted);
    let found = format!(
        "throughput is {} times that without it ({} to {}; predicted {})",
        figure(measured.ratio),
        figure(measured.low),
        figure(measured.high),
        figure(predicted)
    );
    proof.why = format!("{}, {found}", with_lever(suspect.lever));
    (proof.outcome, verdict.confidence) = match said {
        Held::Yes => (ProofOutcome::Proven, verdict.confidence.max(SHOWN)),
        Held::No if suspect.refutes => (ProofOutcome::Refuted, verdict.confidence.min(REFUTED)),
        Held::No | Held::Open => (ProofOutcome::NotTried, verdict.confidence.min(CLOSE)),
    };
    proof.measured = Some(measured);
    Some(said)
}

/// The shares of what slots tell. `turns` is what the verdict's own lever said before.
fn in_slots(proof: &mut Proof, verdict: &mut Bottleneck, turns: Option<Held>) {
    let Some(trial) = proof.trials.last() else { return };
    let found = match estimate(trial) {
        Ok(found) => found,
        Err(why) => {
            if turns.is_none() {
                (proof.outcome, proof.why) = (ProofOutcome::NotTried, why);
            }
            return;
        }
    };
    proof.elasticities = (trial.levers.iter().zip(&found.elasticities))
        .map(|(l, e)| Elasticity { lever: l.lever.clone(), host: l.host.clone(), estimate: *e })
        .collect();
    proof.remainder = Some(found.remainder);
    proof.steadiness = steadiness(trial);
    let of_turns = turns.is_some().then(|| proof.why.clone());
    if of_turns.is_none() {
        proof.measured = measured(proof, &found);
    }
    let second = second(proof, &found);
    proof.runner_up.iter_mut().for_each(|runner_up| runner_up.measured = second.clone());
    let shares = shares(proof);
    // What was refuted already stands for nothing; a lever that was not pulled belongs to what none touched.
    let refuted_before = turns == Some(Held::No) && suspect(proof, verdict).is_some_and(|suspect| suspect.refutes);
    let pulled = lever_of(proof, verdict).filter(|lever| shares.iter().any(|(pulled, _)| pulled == lever));
    let argued = if refuted_before { "" } else { pulled.unwrap_or(REMAINDER) };
    let predicts = proof.prediction.is_some();
    let doubt = proof.steadiness.as_ref().and_then(doubt);
    match weigh(&shares, argued, predicts) {
        _ if found.remainder.high < -EXCESS => dependent(proof, verdict, &shares),
        _ if doubt.is_some() => doubted(proof, verdict, &shares, doubt.unwrap_or_default()),
        Weighed::Proven if turns.is_none() && pulled.is_none() && has_own_lever(proof, verdict) => {
            only_others(proof, verdict, &shares);
        }
        Weighed::Proven if of_turns.is_none() && is_astray(proof) => {
            let doubt = format!("{}, which is no proof", effect_sentence(proof));
            doubted(proof, verdict, &shares, doubt);
        }
        Weighed::Proven => proven(proof, verdict, &shares),
        Weighed::Other(lever) => refuted(proof, verdict, &shares, &lever, predicts),
        Weighed::Close => close(proof, verdict, &shares),
    }
    if let Some(before) = of_turns.filter(|_| proof.measured.is_some()) {
        proof.why = format!("{before}; {}", shares_sentence(ProofOf::Throughput, &shares));
    }
}

/// The predicted lever's effect as it was measured; without a prediction that of the largest elasticity.
fn measured(proof: &Proof, found: &Estimates) -> Option<Effect> {
    let wanted = proof.prediction.as_ref().map(|p| p.lever.as_str());
    let by_size =
        || (0..found.ratios.len()).max_by(|a, b| found.elasticities[*a].value.total_cmp(&found.elasticities[*b].value));
    let at = proof.elasticities.iter().position(|e| Some(e.lever.as_str()) == wanted).or_else(by_size)?;
    Some(effect_at(found, at, proof.elasticities[at].lever.clone()))
}

/// What the lever of what comes second did.
fn second(proof: &Proof, found: &Estimates) -> Option<Effect> {
    let lever = &proof.runner_up.as_ref()?.prediction.lever;
    let at = proof.elasticities.iter().position(|e| e.lever == *lever)?;
    Some(effect_at(found, at, lever.clone()))
}

fn effect_at(found: &Estimates, at: usize, lever: String) -> Effect {
    let ratio = found.ratios[at];
    Effect { lever, dose: found.doses[at], ratio: ratio.value, low: ratio.low, high: ratio.high, at: String::new() }
}

/// Every resource and the remainder, the largest first.
pub(super) fn shares(proof: &Proof) -> Vec<(String, Estimate)> {
    let mut shares: Vec<(String, Estimate)> =
        proof.elasticities.iter().map(|e| (e.lever.clone(), e.estimate)).collect();
    shares.extend(proof.remainder.map(|r| (REMAINDER.into(), r)));
    shares.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    shares
}

pub(super) enum Weighed {
    Proven,
    /// Another resource, or the remainder.
    Other(String),
    Close,
}

/// One resource stands out when its interval lies above those of all others.
pub(super) fn weigh(shares: &[(String, Estimate)], argued: &str, predicts: bool) -> Weighed {
    let Some(((top, of_top), others)) = shares.split_first() else { return Weighed::Close };
    let stands_out = of_top.value >= MOST && others.iter().all(|(_, e)| of_top.low > e.high);
    match stands_out {
        false => Weighed::Close,
        true if predicts && top == argued => Weighed::Proven,
        true => Weighed::Other(top.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::suspects_of;
    use run::{LeverSlots, NextBottleneck, ProofTrial};

    /// Slots in which throughput follows the two speeds by these elasticities.
    fn slots(server: f64, client: f64) -> ProofTrial {
        let mut random = fastrand::Rng::with_seed(3);
        let mut on = || (0..160).map(|_| random.bool()).collect::<Vec<bool>>();
        let (a, b) = (on(), on());
        let speed = |on: &[bool]| on.iter().map(|on| if *on { 0.75 } else { 1.0 }).collect::<Vec<f64>>();
        let (sa, sb) = (speed(&a), speed(&b));
        let rate = |t: usize| {
            1000.0 * sa[t].powf(server) * sb[t].powf(client) * (1.0 + 0.02 * ((t * 7919 % 13) as f64 / 13.0 - 0.5))
        };
        let completed_rate = (0..160).map(rate).collect();
        let lever = |name: &str, on: Vec<bool>, speed| LeverSlots {
            lever: name.into(),
            host: "h".into(),
            on,
            speed,
            ..LeverSlots::default()
        };
        let levers = vec![lever("server-cpu", a, sa), lever("client-cpu", b, sb)];
        ProofTrial { completed_rate, levers, ..ProofTrial::default() }
    }

    fn tried(id: &str, server: f64, client: f64) -> (Proof, Bottleneck) {
        let mut verdict = Bottleneck { id: id.into(), confidence: 0.95, ..Bottleneck::default() };
        let mut run = Run::default();
        run.findings.bottleneck = verdict.clone();
        let mut proof = predicted(&run, lever_of(&Proof::default(), &verdict).unwrap_or("server-cpu"), 0.25);
        proof.trials.push(slots(server, client));
        conclude(&mut proof, &mut verdict);
        (proof, verdict)
    }

    #[test]
    fn what_was_predicted_is_proven() {
        let (proof, verdict) = tried("server-cpu", 0.95, 0.02);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-cpu"), "{}", proof.why);
        assert!(proof.why.contains("of the server's CPU taken away, throughput fell by"), "{}", proof.why);
        let (proof, verdict) = tried("server-concurrency", 0.0, 0.0);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-concurrency"), "{}", proof.why);
        assert!(proof.why.contains("throughput stayed") && proof.remainder.unwrap().low > 0.9, "{proof:?}");
    }

    #[test]
    fn what_the_server_waits_for_is_proven_by_its_own_lever() {
        let tried = |elasticity: f64, limit, lever: &str| {
            let waits_for = Some(run::WaitsFor { address: "127.0.0.1:8001".into(), limit, ..Default::default() });
            let id = "server-concurrency".to_string();
            let mut verdict = Bottleneck { id, confidence: 0.8, waits_for, ..Bottleneck::default() };
            let mut run = Run::default();
            run.findings.bottleneck = verdict.clone();
            let mut proof = predicted(&run, lever_of(&Proof::default(), &verdict).unwrap(), 0.25);
            let mut slots = slots(elasticity, 0.01);
            slots.levers[0].lever = lever.into();
            proof.trials.push(slots);
            conclude(&mut proof, &mut verdict);
            (proof, verdict)
        };
        let (proof, verdict) = tried(0.97, None, "behind-cpu");
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-concurrency"), "{}", proof.why);
        assert!(proof.why.contains("the CPU of what the server waits for taken away"), "{}", proof.why);
        let (proof, _) = tried(0.97, Some(run::BehindLimit::Quota), "behind-quota");
        assert_eq!(proof.outcome, ProofOutcome::Proven, "{}", proof.why);
        assert!(proof.why.contains("the CPU quota of what the server waits for taken away"), "{}", proof.why);
        let (proof, verdict) = tried(0.02, None, "behind-cpu");
        assert_eq!((proof.outcome, &verdict.waits_for), (ProofOutcome::Refuted, &None), "{}", proof.why);
    }

    /// The lever that was pulled is the one of which something was predicted: of two, not always the first.
    #[test]
    fn a_full_link_is_proven_by_whichever_of_its_levers_was_pulled() {
        let verdict = Bottleneck { id: "network-medium".into(), confidence: 0.8, ..Bottleneck::default() };
        let mut run = Run::default();
        run.findings.bottleneck = verdict.clone();
        for (lever, ratio, outcome) in
            [("request-bytes", 0.75, ProofOutcome::Proven), ("request-bytes", 1.0, ProofOutcome::Refuted)]
        {
            let (mut proof, mut verdict) = (predicted(&run, lever, 0.25), verdict.clone());
            proof.switched.push(turns(lever, ratio));
            conclude(&mut proof, &mut verdict);
            assert_eq!(proof.outcome, outcome, "{}", proof.why);
            assert!(proof.why.contains("a third more on the link"), "{}", proof.why);
        }
        let (mut proof, mut verdict) = (predicted(&run, "link", 0.25), verdict);
        let mut slots = slots(0.97, 0.01);
        slots.levers[0].lever = "link".into();
        proof.trials.push(slots);
        conclude(&mut proof, &mut verdict);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "network-medium"), "{}", proof.why);
        assert!(proof.why.contains("of the link taken away"), "{}", proof.why);
    }

    #[test]
    fn a_wrong_argument_is_refuted_and_both_are_told() {
        let (proof, verdict) = tried("client-cpu", 0.9, 0.05);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Refuted, "server-cpu"));
        assert!(
            proof.why.contains("client-cpu") && proof.why.contains("of a change of speed: the server's CPU"),
            "{}",
            proof.why
        );
        assert!(verdict.sentence.contains("the server's CPU"), "{}", verdict.sentence);
    }

    /// A generator that is full at 1.1 times the rate lets 0.825 of it through with three quarters of its CPU.
    #[test]
    fn what_the_runner_up_will_do_is_said_before_and_held_beside_what_it_did() {
        let next = |id: &str| Some(NextBottleneck { id: id.into(), rate: Some(1100.0), why: String::new() });
        let mut run = Run::default();
        run.trials.push(run::Trial::default());
        (run.trials[0].rates.completed_rate, run.findings.picks.decisive) = (1000.0, Some(0));
        run.findings.bottleneck =
            Bottleneck { id: "server-cpu".into(), next: next("client-cpu"), ..Bottleneck::default() };
        let second = runner_up(&run, "client-cpu", 0.25).unwrap();
        assert!((second.prediction.ratio - 0.825).abs() < 1e-9, "{second:?}");
        assert_eq!(runner_up(&run, "server-cpu", 0.25), None, "that is the verdict's own");
        let mut proof = predicted(&run, "server-cpu", 0.25);
        proof.runner_up = Some(second);
        proof.trials.push(slots(0.9, 0.05));
        conclude(&mut proof, &mut run.findings.bottleneck.clone());
        let measured = proof.runner_up.unwrap().measured.unwrap();
        assert!(measured.lever == "client-cpu" && measured.ratio > 0.95, "{measured:?}");
        run.findings.bottleneck.next = next("tcp-backlog");
        assert_eq!(runner_up(&run, "client-cpu", 0.25), None);
    }

    /// Throughput of a server that gave way under the levers and stays so.
    #[test]
    fn where_throughput_does_not_come_back_nothing_is_proven() {
        let mut verdict = Bottleneck { id: "server-cpu".into(), confidence: 0.95, ..Bottleneck::default() };
        let mut run = Run::default();
        run.findings.bottleneck = verdict.clone();
        let mut proof = predicted(&run, "server-cpu", 0.25);
        let mut trial = slots(0.95, 0.02);
        for t in 152..160 {
            trial.completed_rate[t] = 600.0;
            trial.levers.iter_mut().for_each(|l| (l.on[t], l.speed[t]) = (false, 1.0));
        }
        proof.trials.push(trial);
        conclude(&mut proof, &mut verdict);
        assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::NotTried, CLOSE), "{}", proof.why);
        assert!(proof.why.contains("not back within noise"), "{}", proof.why);
        assert_eq!(proof.steadiness.unwrap().is_back, Some(false));
    }

    fn turns(lever: &str, ratio: f64) -> run::SwitchTrial {
        let off = vec![100.0, 103.0, 98.0, 101.0, 99.0];
        let on = off.iter().zip([1.01, 0.99, 1.0, 0.98, 1.02]).map(|(off, noise)| off * ratio * noise).collect();
        run::SwitchTrial { lever: lever.into(), dose: -1.0, off, on, ..run::SwitchTrial::default() }
    }

    fn turned(id: &str, ratio: f64, slots_too: bool) -> (Proof, Bottleneck) {
        let mut verdict = Bottleneck { id: id.into(), confidence: 0.9, ..Bottleneck::default() };
        let mut run = Run::default();
        run.findings.bottleneck = verdict.clone();
        let lever = lever_of(&Proof::default(), &verdict).unwrap();
        let mut proof = predicted(&run, lever, -1.0);
        proof.switched.push(turns(lever, ratio));
        if slots_too {
            proof.trials.push(slots(0.0, 0.0));
        }
        conclude(&mut proof, &mut verdict);
        (proof, verdict)
    }

    #[test]
    fn a_limit_by_address_is_proven_by_a_second_address() {
        let (proof, verdict) = turned("server-rate-limit", 2.0, false);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-rate-limit"), "{}", proof.why);
        assert!(proof.why.contains("with twice the source addresses") && verdict.confidence >= SHOWN, "{}", proof.why);
    }

    #[test]
    fn a_limit_for_all_addresses_is_no_less_a_limit() {
        let (proof, verdict) = turned("server-rate-limit", 1.0, false);
        assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::NotTried, CLOSE), "{}", proof.why);
        let (proof, verdict) = turned("server-rate-limit", 1.0, true);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-rate-limit"), "{}", proof.why);
        assert!(proof.why.contains("source addresses") && proof.why.contains("no lever touched"), "{}", proof.why);
    }

    /// Half of the window was to be taken and could not be; a thief on a CPU was said to have been predicted to cost its dose.
    #[test]
    fn what_was_predicted_of_a_lever_that_was_not_pulled_is_not_said_of_another() {
        let (proof, verdict) = tried("tcp-window", 0.0, 0.0);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::NotTried, "tcp-window"), "{}", proof.why);
        assert!(proof.why.starts_with("what the verdict names could not be changed"), "{}", proof.why);
        assert!(proof.prediction.as_ref().is_some_and(|p| p.lever == "window" && p.ratio < 1.0), "{proof:?}");
        assert!(proof.why.ends_with("throughput stayed (predicted: no change)"), "{}", proof.why);
    }

    #[test]
    fn what_its_own_lever_refutes_is_not_the_verdict() {
        let (proof, verdict) = turned("client-ports", 1.0, false);
        assert!(proof.outcome == ProofOutcome::Refuted && verdict.confidence <= REFUTED, "{}", proof.why);
        let (proof, verdict) = turned("client-ports", 1.0, true);
        assert_eq!(
            (proof.outcome, verdict.id.as_str()),
            (ProofOutcome::Refuted, "server-concurrency"),
            "{}",
            proof.why
        );
    }

    #[test]
    fn a_near_tie_is_never_sure() {
        let (proof, verdict) = tried("server-cpu", 0.45, 0.42);
        assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::NotTried, CLOSE), "{}", proof.why);
        assert_eq!(verdict.next.unwrap().id, "client-cpu");
    }

    #[test]
    fn whatever_lever_comes_second_the_next_bottleneck_is_one() {
        let medium = Bottleneck { id: "network-medium".into(), confidence: 0.9, ..Bottleneck::default() };
        // What tries the verdict itself comes second to nothing.
        let own: Vec<&str> = suspects_of(&medium).map(|suspect| suspect.lever).collect();
        let all = SUSPECTS.iter().map(|suspect| suspect.lever).chain(["worker"]);
        for lever in all.filter(|lever| !own.contains(lever)) {
            let (mut trial, mut verdict) = (slots(0.45, 0.42), medium.clone());
            trial.levers[0].lever = lever.into();
            trial.levers[1].lever = lever.into();
            let mut proof = Proof { trials: vec![trial], ..Proof::default() };
            conclude(&mut proof, &mut verdict);
            let next = verdict.next.as_ref().map(|next| next.id.as_str());
            assert!(next.is_some_and(|id| run::bottleneck(id).is_some()), "{lever}: {next:?}, {}", proof.why);
        }
    }

    #[test]
    fn parts_of_more_than_one_are_no_proof() {
        let (proof, verdict) = tried("server-cpu", 1.2, 0.5);
        assert!(proof.outcome == ProofOutcome::NotTried && verdict.confidence <= CLOSE, "{}", proof.why);
        assert!(proof.why.contains("not independent"), "{}", proof.why);
    }

    /// A quota of a fifth of a CPU at 1.11 (1.01 to 1.21) was called no proof, since all parts made more than 1.
    #[test]
    fn one_part_of_a_little_more_than_one_is_a_proof() {
        let (proof, verdict) = tried("server-cpu", 1.1, 0.0);
        assert!(proof.remainder.unwrap().high < 0.0, "{proof:#?}");
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-cpu"), "{}", proof.why);
        let (proof, _) = tried("server-cpu", 1.5, 0.0);
        assert_eq!(proof.outcome, ProofOutcome::NotTried, "{}", proof.why);
    }

    #[test]
    fn unknown_says_what_an_experiment_that_could_not_tell_lacks() {
        let (proof, verdict) = tried("unknown", 0.45, 0.4);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::NotTried, "unknown"), "{}", proof.why);
        assert!(verdict.missing.iter().any(|m| m.contains("a surer experiment")), "{verdict:?}");
    }

    #[test]
    fn unknown_is_tried_before_it_is_said() {
        let (proof, verdict) = tried("unknown", 0.9, 0.03);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-cpu"));
    }

    /// Behind a proxy, beside other programs: 94.1 % of the server's CPU was taken, and throughput fell by 30.9 %.
    #[test]
    fn shares_do_not_prove_what_throughput_contradicts() {
        let tried = |dose: f64| {
            let mut verdict = Bottleneck { id: "server-concurrency".into(), confidence: 0.8, ..Bottleneck::default() };
            let mut run = Run::default();
            run.findings.bottleneck = verdict.clone();
            let mut proof = predicted(&run, "server-cpu", dose);
            let mut trial = slots(0.13, 0.0);
            let on = trial.levers[0].on.clone();
            for t in (0..on.len()).filter(|t| on[*t]) {
                trial.completed_rate[t] *= ((1.0 - dose) / 0.75_f64).powf(0.13);
                trial.levers[0].speed[t] = 1.0 - dose;
            }
            proof.trials.push(trial);
            conclude(&mut proof, &mut verdict);
            (proof, verdict)
        };
        let (proof, verdict) = tried(0.941);
        assert_eq!((proof.outcome, verdict.confidence), (ProofOutcome::NotTried, CLOSE), "{}", proof.why);
        assert!(proof.why.contains("no change), which is no proof"), "{}", proof.why);
        assert_eq!(tried(0.3).0.outcome, ProofOutcome::Proven);
    }

    #[test]
    fn without_an_experiment_the_verdict_stays() {
        let mut verdict = Bottleneck { id: "server-cpu".into(), confidence: 0.9, ..Bottleneck::default() };
        let before = verdict.clone();
        conclude(&mut Proof::default(), &mut verdict);
        assert_eq!(verdict, before);
    }
}
