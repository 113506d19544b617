//! Repeated short trials that alternate between the completion port (model `uring`) and the models with the lowest cost
//! per message. Trials that are minutes apart cannot be compared, because the machine's speed may change by more than
//! the models' costs differ.

use std::collections::BTreeMap;

use run::{Run, Trial};

use super::contender::Contender;
use super::entry::one;
use super::rows::{PORT, SIX, cost, row};
use super::stage::Stage;
use super::values::CPU_US_IN_TURNS;
use crate::Parameters;
use crate::values::{ENTRY, MODEL};
use lab::{Lab, LabError};

/// Number of further I/O models that are compared with the completion port.
const OTHERS: usize = 2;

/// Returns the maximum number of alternating trials.
pub(super) fn trials(parameters: &Parameters) -> u32 {
    parameters.count("turns", 3).saturating_mul(1 + OTHERS as u32)
}

/// Returns the parameters of the alternating trials, which are half as long as the other trials.
pub(super) fn short(parameters: &Parameters) -> Parameters {
    let half = |name, default| parameters.number(name, default) / 2.0;
    parameters.with("seconds", half("seconds", 4.0)).with("warmup_s", half("warmup_s", 6.0))
}

/// Runs the alternating trials of entry 1. Stores each model's median cost in the model's earlier trial.
pub(super) fn play(lab: &mut Lab<'_>, stage: &Stage, parameters: &Parameters) -> Result<(), LabError> {
    let models = models(&lab.run.trials.iter().collect::<Vec<_>>());
    let short = short(parameters);
    let mut costs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..parameters.count("turns", 3) {
        for model in &models {
            if lab.stopped() {
                return Ok(());
            }
            let mut turn = Run { trials: vec![one(lab, stage, &short, &Contender::read(model), 1)?], ..Run::default() };
            judge::judge(&mut turn);
            costs.entry(model).or_default().extend(turn.trials.first().and_then(cost));
        }
    }
    for trial in lab.run.trials.iter_mut().filter(|t| t.key.get(ENTRY) == Some(1)) {
        let costs = trial.key.get(MODEL).as_deref().and_then(|model| costs.remove(model));
        trial.results.put(CPU_US_IN_TURNS, costs.and_then(judge::median));
    }
    Ok(())
}

/// Returns the completion port, and the models with the lowest cost among the paper's other models. Returns an empty
/// list if the cost of the completion port, or of every other model, is unknown.
fn models(rows: &[&Trial]) -> Vec<&'static str> {
    let known = |model: &&'static str| Some((*model, cost(row(rows, model, 1)?)?));
    let mut others: Vec<(&str, f64)> = SIX.iter().filter(|m| **m != PORT).filter_map(known).collect();
    others.sort_by(|a, b| a.1.total_cmp(&b.1));
    let others = others.into_iter().take(OTHERS).map(|(model, _)| model);
    let models: Vec<&str> = known(&PORT).map(|(model, _)| model).into_iter().chain(others).collect();
    if models.first() == Some(&PORT) && models.len() > 1 { models } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Cost, Key, Reading, Side};

    fn trial(model: &str, us: f64) -> Trial {
        let cost = Cost { per_request: Reading::Value(us), unit: run::FigureUnit::Micros };
        let server = Side { costs: [("process_cpu_us".to_string(), cost)].into(), ..Side::default() };
        let key = Key::default().with(MODEL, model.to_string()).with(ENTRY, 1);
        Trial { key, server: Some(server), ..Trial::default() }
    }

    #[test]
    fn the_cheapest_of_the_six_take_turns_with_the_completion_port() {
        let rows = [trial("sigio", 9.0), trial("uring", 8.0), trial("blocking", 30.0), trial("epoll", 1.0)];
        let mut rows: Vec<&Trial> = rows.iter().collect();
        assert_eq!(models(&rows), ["uring", "sigio", "blocking"]);
        rows.remove(1);
        assert!(models(&rows).is_empty(), "the claim is about the completion port");
        assert!(models(&[&trial("uring", 8.0)]).is_empty());
    }

    #[test]
    fn one_disturbed_trial_of_three_does_not_count() {
        assert_eq!((judge::median(vec![6.1, 19.0, 6.0]), judge::median(vec![])), (Some(6.1), None));
    }
}
