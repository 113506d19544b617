//! Experiment at a fixed offered rate. Each lever slows a resource, so the response time grows. Each resource's share
//! of the growth of the response time is compared with a prediction.
//!
//! The server is not saturated, so the experiment does not test the server's limit. The experiment therefore does not
//! change the verdict from the counters.

use run::{
    Bottleneck, Effect, Elasticity, Estimate, Intensity, Objective, Proof, ProofMetric, ProofOutcome, ProofTrial, Run,
    Trial,
};

use super::parts::{REMAINDER, largest};
use super::response::{self, RATE};
use super::same_cpus::own_share;
use super::turns::effect as effect_of;
use super::words::{dependent_sentence, effect_sentence, evidence, shares_sentence, slows_upstream_sentence};
use crate::Facts;
use crate::number::ratio;
use crate::single::{closed, r1_us};
use crate::thresholds::{BUSIEST, EXCESS, MOST};
use crate::what_if::{Slowed, slowed};

/// Levers whose effect is predicted. Each lever comes with the IDs of the parts of the queueing network that the lever
/// slows.
const PREDICTED: &[(&str, &[&str])] = &[
    ("server-cpu", &["server-cpu", "server-single-thread"]),
    ("client-cpu", &["client-cpu"]),
    ("disk", &["server-disk"]),
];

/// Load of a server at a fixed rate, with all levers off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// Offered rate, requests per second.
    pub offered: f64,
    /// Completed rate, divided by offered rate.
    pub kept: f64,
    /// Utilization of the busiest resource, 0 to 1: the larger of an estimate from the counters and an estimate from
    /// the response time.
    pub busy: f64,
    /// Response time with a single client, seconds.
    pub alone_s: f64,
    /// Median response time at the trial's rate, seconds.
    pub response_s: f64,
}

/// Returns the figure of the response time that the objective limits. If the objective limits several figures, returns
/// the highest percentile. If the objective limits no figure of the response time, returns the median.
pub fn answer_of(objective: &Objective) -> ProofMetric {
    match () {
        () if objective.p99_9_us.is_some() => ProofMetric::P999,
        () if objective.p99_us.is_some() => ProofMetric::P99,
        () if objective.p50_us.is_none() && objective.mean_us.is_some() => ProofMetric::Mean,
        () => ProofMetric::P50,
    }
}

/// Returns the last open-loop trial that is not part of an experiment. The counters of this trial led to the run's
/// verdict.
fn argued(run: &Run) -> Option<&Trial> {
    run.trials.iter().rfind(|t| !t.kind.is_auxiliary() && matches!(t.intensity, Intensity::Open { .. }))
}

/// Returns the last trial with a single client.
fn alone(run: &Run) -> Option<&Trial> {
    run.trials.iter().rfind(|t| closed(t) && t.intensity.in_flight() == Some(1.0))
}

/// Describes the load of a server at a fixed rate. Returns `None` unless the run has both a trial with one client and a
/// trial at a rate.
pub fn at_rate(run: &Run) -> Option<AtRate> {
    let (trial, alone_us) = (argued(run)?, r1_us(alone(run)?)?);
    let network = network(run);
    let counted = network.as_ref().map_or(0.0, |network| network.busiest());
    let waits = ratio(alone_us, trial.latency_us.mean).map_or(0.0, |short| (1.0 - short).clamp(0.0, BUSIEST));
    Some(AtRate {
        offered: trial.rates.offered_rate,
        kept: ratio(trial.rates.completed_rate, trial.rates.offered_rate)?,
        busy: counted.max(waits),
        alone_s: alone_us / 1e6,
        response_s: trial.latency_us.p50 / 1e6,
    })
}

fn network(run: &Run) -> Option<Slowed> {
    let facts = Facts { unloaded: alone(run), ..Facts::of(run) };
    slowed(&facts, argued(run)?)
}

/// Predicts the lever with the largest effect at `dose` (the share of its resource that a lever takes), and the size of
/// this effect. The prediction uses a queueing network that is built from the counters. The queueing network predicts
/// the factor by which the mean grows, and assumes this factor for percentiles, too.
pub fn predicted_at_rate(run: &Run, of: ProofMetric, dose: f64) -> Proof {
    let why = "the experiment was not run".to_string();
    let proof = Proof { of, why, ..Proof::default() };
    let Some(network) = network(run) else { return proof };
    let whole = network.all(dose) - 1.0;
    let each = PREDICTED.iter().map(|(lever, parts)| (*lever, network.part(parts, dose)));
    let Some((lever, ratio)) = each.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| whole.is_finite() && whole > 0.0)
    else {
        return proof;
    };
    let prediction = Effect { lever: lever.into(), dose, ratio, low: ratio, high: ratio, at: String::new() };
    Proof { prediction: Some(prediction), predicted_share: Some((ratio - 1.0) / whole), ..proof }
}

/// Evaluates the time slots of an experiment at a fixed rate. A slot is a short time in which each lever is either on
/// or off.
pub(super) fn conclude(facts: &Facts<'_>, proof: &mut Proof, verdict: &mut Bottleneck) {
    proof.effects = proof.switched.iter().filter_map(|trial| effect_of(trial).ok()).collect();
    let Some(trial) = ProofTrial::of_speeds(&proof.trials) else { return };
    let found = match response::estimate(trial, proof.of) {
        Ok(found) => found,
        Err(why) => return (proof.outcome, proof.why) = (ProofOutcome::Inconclusive, why),
    };
    let own = || trial.levers.iter().filter(|l| l.lever != RATE);
    let effect = |j: usize| {
        let (lever, dose, e) = (trial.levers[j].lever.clone(), found.doses[j], found.ratios[j]);
        Effect { lever, dose, ratio: e.value, low: e.low, high: e.high, at: String::new() }
    };
    let effects: Vec<Effect> = (0..trial.levers.len()).map(effect).collect();
    proof.elasticities = own()
        .zip(&found.elasticities)
        .map(|(l, e)| Elasticity {
            lever: l.lever.clone(),
            host: l.host.clone(),
            estimate: *e,
            ..Elasticity::default()
        })
        .collect();
    proof.remainder = Some(found.remainder);
    let wanted = proof.prediction.as_ref().map(|p| p.lever.clone()).unwrap_or_default();
    let largest = || effects.iter().filter(|e| e.lever != RATE).max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    proof.measured = effects.iter().find(|e| e.lever == wanted).or_else(largest).cloned();
    proof.effects.extend(effects);
    weighed(facts, proof, verdict, &wanted);
}

/// Size of the measured effect of a lever, compared with its prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EffectSize {
    AsPredicted,
    /// The logarithm of the effect is surely more than 1.5 times the logarithm of the prediction.
    Larger,
    /// The logarithm of the effect is surely less than half of the logarithm of the prediction, or there may be no
    /// effect.
    Smaller,
}

impl EffectSize {
    /// Returns the end of the sentence about the effect.
    fn words(self) -> &'static str {
        match self {
            Self::AsPredicted => "",
            Self::Larger => ", more than predicted: fewer requests are handled in parallel than the model assumes",
            Self::Smaller => ", less than predicted",
        }
    }
}

/// Compares the size of the measured effect with the prediction, on a logarithmic scale.
fn size(proof: &Proof) -> EffectSize {
    let Some((measured, predicted)) = proof.measured.as_ref().zip(proof.prediction.as_ref()) else {
        return EffectSize::Smaller;
    };
    let halfway = predicted.ratio.max(1.0).sqrt();
    match () {
        () if measured.low > predicted.ratio * halfway => EffectSize::Larger,
        () if measured.high < halfway || measured.low <= 1.0 => EffectSize::Smaller,
        () => EffectSize::AsPredicted,
    }
}

/// Compares the measured shares with the prediction, and sets the outcome. The remainder is the share that no lever
/// explains. If only a small share was predicted for the lever, a large remainder (the share that no lever explains)
/// supports the verdict, but does not prove it.
fn weighed(facts: &Facts<'_>, proof: &mut Proof, verdict: &mut Bottleneck, lever: &str) {
    let carries = proof.predicted_share.is_some_and(|share| share >= MOST);
    let told = shares_sentence(proof);
    let found = largest(proof);
    let is_dependent = proof.remainder.is_some_and(|remainder| remainder.high < -EXCESS);
    let is_predicted = proof.prediction.is_some();
    (proof.outcome, proof.why) = match found.as_deref() {
        _ if is_dependent => (ProofOutcome::Inconclusive, format!("{}: {told}", dependent_sentence(proof))),
        None => (ProofOutcome::Inconclusive, format!("too close to tell: {told}")),
        Some(found) if slows_more(facts, proof, found) => {
            (ProofOutcome::Inconclusive, format!("{}: {told}", slows_upstream_sentence(found)))
        }
        Some(found) if carries && found == lever => match size(proof) {
            EffectSize::AsPredicted => (ProofOutcome::Proven, format!("{}; {told}", effect_sentence(proof))),
            other => (ProofOutcome::Supported, format!("{}{}; {told}", effect_sentence(proof), other.words())),
        },
        Some(REMAINDER) if is_predicted && !carries => {
            (ProofOutcome::Supported, format!("{}; {told}", effect_sentence(proof)))
        }
        Some(_) if is_predicted => {
            (ProofOutcome::Refuted, format!("{}, against the prediction: {told}", effect_sentence(proof)))
        }
        Some(_) => (ProofOutcome::Supported, told),
    };
    verdict.evidence.extend(evidence(proof));
}

/// Returns true if the lever also slows upstreams on the same CPUs, and the upstreams' part of the effect matters. The
/// check moves the upstreams' part of the lever's effect to the remainder. The upstreams' part matters if the lever's
/// own resource is not certainly the largest part after this move.
fn slows_more(facts: &Facts<'_>, proof: &Proof, lever: &str) -> bool {
    let own_share = own_share(facts, lever);
    let times = |e: Estimate, share: f64| Estimate { value: e.value * share, low: e.low * share, high: e.high * share };
    let (elasticities, remainder) = (proof.elasticities.clone(), proof.remainder);
    let mut rest = Proof { elasticities, remainder, ..Proof::default() };
    for part in rest.elasticities.iter_mut().filter(|part| part.lever == lever) {
        let upstreams = times(part.estimate, 1.0 - own_share);
        part.estimate = times(part.estimate, own_share);
        rest.remainder.iter_mut().for_each(|remainder| {
            remainder.value += upstreams.value;
            remainder.low += upstreams.low;
            remainder.high += upstreams.high;
        });
    }
    own_share < 1.0 && largest(&rest).as_deref() != Some(lever)
}

#[cfg(test)]
mod tests {
    use run::{Certainty, ProofTrial, Rates, Summary, TrialKind};

    use super::super::arrivals::OpenNetwork;
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// Simulates and evaluates an experiment on two queues and a delay. `predicted` is a lever, with its predicted
    /// share of the growth of the response time.
    fn tried(demands: [f64; 2], delay_s: f64, predicted: Option<(&str, f64)>) -> (Proof, Bottleneck) {
        tried_on(&Run::default(), demands, delay_s, predicted)
    }

    /// Evaluates an experiment like that of [`tried`], with the counters of `run`.
    fn tried_on(run: &Run, demands: [f64; 2], delay_s: f64, predicted: Option<(&str, f64)>) -> (Proof, Bottleneck) {
        let trial = OpenNetwork { demands: demands.to_vec(), delay_s, dose: 0.1 }.trial(1);
        let mut levers = trial.levers.clone();
        (levers[0].lever, levers[1].lever) = ("server-cpu".into(), "client-cpu".into());
        let effect = |lever: &str| Effect { lever: lever.into(), dose: 0.1, ratio: 1.4, ..Effect::default() };
        let mut proof = Proof {
            of: ProofMetric::Mean,
            prediction: predicted.map(|(lever, _)| effect(lever)),
            predicted_share: predicted.map(|(_, share)| share),
            trials: vec![ProofTrial { levers, ..trial }],
            ..Proof::default()
        };
        let mut verdict = Bottleneck { id: "not-saturated".into(), confidence: 0.9, ..Bottleneck::default() };
        conclude(&Facts::of(run), &mut proof, &mut verdict);
        (proof, verdict)
    }

    #[test]
    fn the_predicted_largest_part_of_the_response_time_is_proven() {
        let (proof, verdict) = tried([0.7, 0.1], 0.0, Some(("server-cpu", 0.9)));
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "not-saturated"), "{}", proof.why);
        assert!(proof.why.contains("of the server's CPU raised mean response time by"), "{}", proof.why);
        assert!(proof.why.contains("(predicted: 40.0 %)"), "{}", proof.why);
        assert_eq!((verdict.confidence, verdict.sureness), (0.9, Certainty::default()));
        assert!(proof.effects.iter().any(|e| e.lever == RATE && e.ratio > 1.0), "{proof:?}");
    }

    /// An earlier version of loadline called a growth by 86 % proven, although 15 % was predicted. The model assumed
    /// four parallel servers of one queue, but a lock let only one of them work at a time.
    #[test]
    fn an_effect_of_another_size_than_predicted_is_no_proof() {
        let of = |predicted: f64| {
            let (mut proof, mut verdict) = tried([0.7, 0.1], 0.0, Some(("server-cpu", 0.9)));
            proof.prediction.iter_mut().for_each(|p| p.ratio = predicted);
            weighed(&Facts::of(&Run::default()), &mut proof, &mut verdict, "server-cpu");
            (proof.outcome, proof.why)
        };
        for (predicted, said) in [(1.1, "more than predicted: fewer requests"), (3.0, "less than predicted")] {
            let (outcome, why) = of(predicted);
            assert!(outcome == ProofOutcome::Supported && why.contains(said), "{predicted}: {why}");
        }
        assert_eq!(of(1.45).0, ProofOutcome::Proven, "{}", of(1.45).1);
    }

    #[test]
    fn a_larger_part_than_the_predicted_one_refutes_and_shares_are_reported() {
        let (proof, _) = tried([0.7, 0.1], 0.0, Some(("client-cpu", 0.8)));
        assert_eq!(proof.outcome, ProofOutcome::Refuted, "{}", proof.why);
        assert!(
            proof.why.contains("against the prediction") && proof.why.contains("the server's CPU explains"),
            "{}",
            proof.why
        );
        let (proof, _) = tried([0.2, 0.1], 9.0, Some(("server-cpu", 0.2)));
        assert_eq!(proof.outcome, ProofOutcome::Supported, "a delay was predicted: {}", proof.why);
        let (proof, _) = tried([0.6, 0.6], 0.0, Some(("server-cpu", 0.5)));
        assert_eq!(proof.outcome, ProofOutcome::Inconclusive, "{}", proof.why);
    }

    /// Makes a run of an application that uses one CPU, in front of a database that uses `cpus` CPUs. `own` and `other`
    /// are the CPU masks of the application and of the database.
    fn before_a_database(cpus: f64, [own, other]: [f64; 2]) -> Run {
        let (app, database) = ("srv:100", "postgres:200");
        let mut run = PlantedRun::new(4000.0, 1000.0)
            .per_s(Who::Server, "process.cpu", app, |p| p.x * 1e3)
            .level(Who::Server, "process.cpu_mask", app, own)
            .per_s(Who::Server, "process.cpu", database, move |p| p.x * cpus * 1e3)
            .level(Who::Server, "process.cpu_mask", database, other)
            .change(move |trial, _| {
                let processes = vec![database.to_string()];
                let upstream = run::Upstream { depth: 1, processes, ..run::Upstream::default() };
                trial.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
            })
            .run();
        crate::judge(&mut run);
        run
    }

    /// The queueing network of the prediction does not include upstreams. An earlier version of loadline refuted its
    /// prediction, because the lever on the application's CPUs slowed the database.
    #[test]
    fn a_lever_that_also_slows_an_upstream_refutes_and_proves_nothing() {
        let outcome = |cpus, masks, predicted| {
            let (proof, _) = tried_on(&before_a_database(cpus, masks), [0.7, 0.1], 0.0, Some(predicted));
            (proof.outcome, proof.why)
        };
        let (other, own) = (("client-cpu", 0.8), ("server-cpu", 0.9));
        for predicted in [other, own] {
            let (found, why) = outcome(2.0, [3.0, 3.0], predicted);
            assert_eq!(found, ProofOutcome::Inconclusive, "{why}");
            assert!(why.contains("also slowed an upstream on the same CPUs"), "{why}");
        }
        assert_eq!(outcome(2.0, [3.0, 12.0], other).0, ProofOutcome::Refuted, "CPUs of its own");
        assert_eq!(outcome(2.0, [3.0, 12.0], own).0, ProofOutcome::Proven, "CPUs of its own");
    }

    #[test]
    fn an_upstream_that_hardly_works_leaves_the_largest_part_to_the_server() {
        let part =
            Elasticity { lever: "server-cpu".into(), estimate: Estimate::around(0.9, 0.15), ..Elasticity::default() };
        let remainder = Some(Estimate::around(0.1, 0.15));
        let proof = Proof { elasticities: vec![part], remainder, ..Proof::default() };
        let doubted = |cpus| {
            let run = before_a_database(cpus, [3.0, 3.0]);
            let facts = Facts::of(&run);
            (slows_more(&facts, &proof, "server-cpu"), own_share(&facts, "server-cpu"))
        };
        let ((is_little, share), (is_much, _)) = (doubted(0.1), doubted(2.0));
        assert!(!is_little && is_much && (share - 1.0 / 1.1).abs() < 1e-6, "{is_little} {is_much} {share}");
    }

    fn trial(intensity: Intensity, kind: TrialKind, mean: f64, completed: f64) -> Trial {
        let latency_us = Summary { count: 100, mean, p50: 0.7 * mean, ..Summary::default() };
        let rates = Rates { offered_rate: 100.0, completed_rate: completed, ..Rates::default() };
        Trial { intensity, kind, latency_us, rates, ..Trial::default() }
    }

    #[test]
    fn the_response_time_shows_the_utilization_at_a_rate() {
        let one = Intensity::default();
        let open = Intensity::Open { rate: 100.0, arrival: run::Arrival::default(), max_connections: 10, pipeline: 1 };
        let alone = trial(one, TrialKind::Proof, 1000.0, 900.0);
        let run = |completed| Run {
            trials: vec![alone.clone(), trial(open.clone(), TrialKind::Fixed, 4000.0, completed)],
            ..Run::default()
        };
        let at = at_rate(&run(99.0)).unwrap();
        assert!((at.busy - 0.75).abs() < 1e-9 && (at.kept - 0.99).abs() < 1e-9, "{at:?}");
        assert_eq!(at_rate(&Run::default()), None);
        assert_eq!(predicted_at_rate(&Run::default(), ProofMetric::P50, 0.1).prediction, None);
    }

    #[test]
    fn the_highest_percentile_that_is_named_answers() {
        let of = |p50_us, mean_us, p99_us| answer_of(&Objective { p50_us, mean_us, p99_us, ..Objective::default() });
        assert_eq!(of(None, None, None), ProofMetric::P50);
        assert_eq!((of(None, Some(1.0), None), of(Some(1.0), None, Some(2.0))), (ProofMetric::Mean, ProofMetric::P99));
    }
}
