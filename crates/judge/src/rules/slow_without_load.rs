//! Answers that are too slow under every load, also under the lightest one. Neither more nor less load would make such
//! slow answers faster.

use run::BreachKind;

use crate::Facts;
use crate::context::rare_slow::RareSlow;
use crate::context::single::clients;
use crate::estimate::objective::{breach, holds, words};
use crate::number::counted;

/// Describes the limit on a time that the lightest step of the sweep exceeded: `p99 was 501 ms, even with 1 client`.
/// If rare slow answers are as frequent under any load, describes these. Returns `None` if there are none, and the
/// lightest step exceeded no limit on a time, or any load met the objective.
pub(super) fn without_load(facts: &Facts<'_>) -> Option<String> {
    if let Some(slow) = &facts.rare_slow {
        return Some(slow.text());
    }
    let lightest = facts.unloaded?;
    let exceeded = breach(lightest, &facts.limits).filter(|exceeded| is_of_a_time(exceeded.kind))?;
    let has_held = facts.loaded().chain(facts.spoiled.iter().copied()).any(|trial| holds(trial, &facts.limits));
    (!has_held).then(|| format!("{}, even with {}", words(&exceeded), counted(clients(lightest), "client")))
}

/// Returns advice for a run in which answers are too slow under every load. Returns `None` if the objective allows the
/// slow answers.
pub(super) fn advice(facts: &Facts<'_>) -> Option<String> {
    let is_allowed = |slow: &RareSlow| !facts.loaded().any(|trial| slow.explains(trial, &facts.limits));
    if facts.rare_slow.as_ref().is_some_and(is_allowed) {
        return None;
    }
    let slow = without_load(facts)?;
    Some(format!(
        "Read the server's log, or trace requests with --traceparent: they are slow without load ({slow}), and neither more \
         nor less load will make them faster."
    ))
}

fn is_of_a_time(kind: BreachKind) -> bool {
    use BreachKind::{Behind, Errors, NoEvents, NothingCompleted, Unanswered};
    !matches!(kind, NothingCompleted | NoEvents | Errors | Behind | Unanswered)
}

#[cfg(test)]
mod tests {
    use run::{Bottleneck, Trial, TrialKind};

    use crate::planted::{PlantedRun, Point};

    /// Makes a run in which 2 % of the answers take 500 ms. The answers are slow only in loads for which `is_slow`
    /// returns true. The objective allows a p99 of 100 ms.
    fn verdict(is_slow: fn(&Trial) -> bool) -> Bottleneck {
        let change = move |t: &mut Trial, _: &Point| {
            (t.latency_us.p50, t.latency_us.p99) = (1000.0, if is_slow(t) { 500_000.0 } else { 50_000.0 });
        };
        let planned = |plan: &mut run::Plan| plan.objective.p99_us = Some(100_000.0);
        PlantedRun::new(6000.0, 30_000.0).rates(&[0.3, 0.5]).change(change).plan(planned).verdict()
    }

    /// An earlier version of loadline said that the objective fails even at the lowest rate, and advised to send more
    /// load.
    #[test]
    fn answers_that_are_slow_without_load_need_no_further_load() {
        let slow = verdict(|_| true);
        assert_eq!(slow.id, "not-saturated", "{slow:#?}");
        assert!(slow.sentence.contains("p99 was 500 ms, even with 1 client"), "{slow:#?}");
        assert!(slow.advice.len() == 1 && slow.advice[0].contains("slow without load"), "{slow:#?}");
        let fast = verdict(|_| false);
        assert!(fast.id == "not-saturated" && !fast.sentence.contains("even with"), "{fast:#?}");
        assert!(fast.advice[0].starts_with("Send more load"), "{fast:#?}");
        let sometimes = verdict(|t| t.kind == TrialKind::Sweep);
        assert!(!sometimes.sentence.contains("even with"), "an open loop met the objective: {sometimes:#?}");
    }
}
