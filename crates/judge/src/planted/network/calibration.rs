//! Verdicts on simulated queueing networks, compared with the true limits of these networks.

use std::ops::Range;

use run::ProofOutcome;

use super::draw::draw;
use super::experiment::prove;
use super::trials::record;
use super::truth::Truth;

/// Confidence from which on a verdict counts as sure.
pub(super) const SURE: f64 = 0.9;

/// One simulated network, with its true limit and its verdicts.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) story: String,
    pub(super) truth: Truth,
    /// Verdict from the counters alone.
    pub(super) counters: Answer,
    /// Verdict after the experiment.
    pub(super) answer: Answer,
    pub(super) outcome: ProofOutcome,
    pub(super) why: String,
}

/// Verdict on one simulated network, compared with the truth.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) confidence: f64,
    pub(super) right: bool,
    pub(super) sentence: String,
}

impl Answer {
    pub(super) fn of(verdict: &run::Bottleneck, truth: &Truth) -> Self {
        let named = truth.ids.contains(&verdict.id.as_str());
        let backend = verdict.waits_for.is_none() || truth.backend;
        Self {
            id: verdict.id.clone(),
            confidence: verdict.confidence,
            right: named && backend,
            sentence: verdict.sentence.clone(),
        }
    }

    pub(super) fn unknown(&self) -> bool {
        self.id == "unknown"
    }

    pub(super) fn wrong(&self) -> bool {
        !self.unknown() && !self.right
    }

    pub(super) fn surely_wrong(&self) -> bool {
        self.wrong() && self.confidence >= SURE
    }
}

/// Simulates one network and judges its bottleneck twice: without and with an experiment. The function [`draw`]
/// explains the argument `disturbed`.
fn case(seed: u64, disturbed: Option<f64>) -> Case {
    let world = draw(seed, disturbed);
    let mut recorded = record(&world, seed);
    let truth = world.truth(recorded.reached);
    crate::judge_so_far(&mut recorded.run);
    let counters = Answer::of(&recorded.run.findings.bottleneck, &truth);
    recorded.run.findings.proof = Some(prove(&world, &recorded.run, seed));
    crate::judge_so_far(&mut recorded.run);
    let findings = &recorded.run.findings;
    let (outcome, why) = findings.proof.as_ref().map_or_else(Default::default, |p| (p.outcome, p.why.clone()));
    let answer = Answer::of(&findings.bottleneck, &truth);
    Case { seed, story: world.story, truth, counters, answer, outcome, why }
}

/// Judges the simulated networks of all seeds, on all CPUs of the machine. The function [`draw`] explains the argument
/// `disturbed`.
pub(super) fn cases(seeds: Range<u64>, disturbed: Option<f64>) -> Vec<Case> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    let each = |worker: u64| {
        (seeds.start + worker..seeds.end)
            .step_by(workers as usize)
            .map(|seed| case(seed, disturbed))
            .collect::<Vec<_>>()
    };
    let mut all: Vec<Case> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..workers).map(|worker| scope.spawn(move || each(worker))).collect();
        started.into_iter().flat_map(|one| one.join().expect("no world panics")).collect()
    });
    all.sort_by_key(|case| case.seed);
    all
}
