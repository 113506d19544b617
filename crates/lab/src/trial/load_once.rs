//! `loadline load`: one load test at one fixed intensity.

use std::path::Path;

use run::number::{number, prose::whole_rate, span};
use run::{Arrival, IncidentKind, Intensity, LoadPlan, Note, Plan, Run, Stage, TrialKind};

use crate::trial::backlog::alive_timeout_s;
use crate::{Lab, LabError, Point, TargetSetup, Watch};

/// Loads the plan's target once for each repeat of the plan.
pub fn load(plan: Plan, out: Option<&Path>, watch: &mut dyn Watch) -> Result<Run, LabError> {
    let mut lab = Lab::begin(plan, out, watch)?;
    let text = part_of_period(&lab.run.plan.load);
    lab.run.notes.extend(text.map(|text| Note { text, is_warning: true }));
    let target_setup = TargetSetup::prepare(&mut lab)?;
    let rest_s = lab.run.plan.observe.at_rest_s;
    lab.rest(&target_setup.observation, rest_s);
    for repeat in 0..lab.run.plan.repeat_count() {
        if lab.stopped() {
            break;
        }
        lab.begin_repeat(repeat);
        once(&mut lab, &target_setup, repeat)?;
    }
    lab.finish()
}

/// Conducts the load of one repeat. Each repeat has different random arrivals.
fn once(lab: &mut Lab<'_>, target_setup: &TargetSetup, repeat: u32) -> Result<(), LabError> {
    let point = Point {
        label: label(&target_setup.load),
        kind: TrialKind::Fixed,
        within_us: lab.run.plan.objective.p99_us,
        ..Point::default()
    };
    let seed = target_setup.load.seed.wrapping_add(u64::from(repeat));
    let plan = LoadPlan { seed, ..target_setup.load.clone() };
    let loads = target_setup.single_load(plan);
    let cold = lab.run.plan.cold.clone();
    let held =
        (cold.connections > 0).then(|| lab.open_cold_on(target_setup.host(), &cold, &target_setup.addr)).transpose()?;
    let mut trial = lab.conduct(&target_setup.observation, &loads, &point)?;
    if let Some(held) = held {
        crate::trial::cold::record(&mut trial, cold.connections, &held.close());
    }
    lab.keep(trial)?;
    check_alive(lab, target_setup)
}

/// Returns a warning if bursty arrivals have a longer period than the measured window. The measured part of the period
/// may lie mostly within the burst, or mostly outside it. The rate of the measured part then differs from the planned
/// mean rate.
fn part_of_period(load: &LoadPlan) -> Option<String> {
    let Intensity::Open { arrival: Arrival::Bursty { period_s, .. }, rate, .. } = &load.intensity else { return None };
    (load.duration_s < *period_s).then(|| {
        format!(
            "only {} of the {} period of the bursty arrivals were measured, so the offered rate differs from the mean of {}: \
             give --duration {}s, or a shorter period",
            span(load.duration_s),
            span(*period_s),
            whole_rate(*rate),
            number(*period_s)
        )
    })
}

/// Minimum time between the end of a silence and the end of the measurement, seconds. If less time remains, the server
/// counts as still silent.
const MIN_ANSWERING_S: f64 = 0.25;

/// If the server was silent at the end of the load, checks whether it answers again. If not, the run's result is that
/// the server became unreachable.
fn check_alive(lab: &mut Lab<'_>, target_setup: &TargetSetup) -> Result<(), LabError> {
    let s_clients = matches!(target_setup.load.intensity, Intensity::SClients { .. });
    let Some(trial) = lab.run.trials.last().filter(|_| !s_clients) else { return Ok(()) };
    let to_the_end = |end_s: Option<f64>| end_s.is_none_or(|at| at > trial.measured.window.end_s - MIN_ANSWERING_S);
    let silent = trial.incidents.iter().any(|i| i.kind == IncidentKind::Silence && to_the_end(i.end_s));
    if lab.stopped() || !silent {
        return Ok(());
    }
    let wait_s = alive_timeout_s(&lab.run, target_setup.first_s);
    match target_setup.still_answers(lab, wait_s) {
        Ok(answered) => lab.count_afterwards(&answered),
        // If the user stops the run, the missing answer says nothing about the server.
        Err(_) if lab.stopped() => {}
        Err(why) => lab.gone(&why, wait_s)?,
    }
    Ok(())
}

fn label(load: &LoadPlan) -> String {
    // The mean of a changing rate would describe none of the offered rates.
    if let Some((least, most)) = Stage::range(&load.stages) {
        return format!("offered {} to {}", number(least), whole_rate(most));
    }
    match &load.intensity {
        Intensity::Closed { connections: 1, .. } => "1 connection".into(),
        Intensity::Closed { connections, .. } => format!("{connections} connections"),
        // The mean rate of recorded times has many digits, so it is rounded.
        Intensity::Open { rate, .. } if *rate >= 1.0 => format!("offered {}/s", (rate * 1000.0).round() / 1000.0),
        Intensity::Open { rate, .. } => format!("offered {rate}/s"),
        Intensity::SClients { descriptors, connect_timeout_ms, pace, .. } => {
            let pace = pace.as_ref().map_or(String::new(), |pace| format!(", {} connects/s", pace.rate));
            format!("{descriptors} S-Client descriptors, T = {connect_timeout_ms} ms{pace}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_period_of_bursty_arrivals_is_told() {
        let told = |duration_s| {
            let arrival = Arrival::Bursty { peak: 6.0, share: 0.05, period_s: 100.0 };
            let intensity = Intensity::Open { rate: 50.0, arrival, max_connections: 8, pipeline: 1 };
            part_of_period(&LoadPlan { intensity, duration_s, ..LoadPlan::default() })
        };
        assert!(told(2.0).is_some_and(|text| text.contains("only 2 s of the 100 s period")), "{:?}", told(2.0));
        assert_eq!(told(100.0), None);
        assert_eq!(part_of_period(&LoadPlan::default()), None);
    }
}
