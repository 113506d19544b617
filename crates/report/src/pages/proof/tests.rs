//! Tests that the table of an experiment's effects and its chart show one dose: the measured one.

use super::*;

/// Returns an experiment on the server's CPU. A quarter of the CPU was planned to be taken away. While the lever is
/// off, the server runs at a speed of 0.9, and while it is on, at `on`.
fn experiment(on: f64, dose: f64, basis: ElasticityBasis) -> Proof {
    let effect = |dose: f64, ratio: f64| Effect {
        lever: "server-cpu".into(),
        dose,
        ratio,
        low: ratio,
        high: ratio,
        ..Effect::default()
    };
    let states = [false, true, false, true];
    let lever = LeverSlots {
        lever: "server-cpu".into(),
        on: states.into(),
        speed: states.map(|is_on| if is_on { on } else { 0.9 }).into(),
        ..LeverSlots::default()
    };
    let trial = ProofTrial {
        completed_rate: states.map(|is_on| if is_on { 80.0 } else { 100.0 }).into(),
        levers: vec![lever],
        ..ProofTrial::default()
    };
    let estimate = Estimate { value: 1.0, low: 0.9, high: 1.1 };
    Proof {
        prediction: Some(effect(0.25, 0.75)),
        measured: Some(effect(dose, 0.8)),
        elasticities: vec![Elasticity { lever: "server-cpu".into(), estimate, basis, ..Elasticity::default() }],
        trials: vec![trial],
        ..Proof::default()
    }
}

/// Returns the doses of the chart's points with the lever off and on.
fn drawn(proof: &Proof) -> [f64; 2] {
    let Some(Block::Plot(plot)) = dose_response(proof, &proof.trials[0]) else { panic!("no chart") };
    [plot.series[0].points[0].0, plot.series[0].points[1].0]
}

/// Returns the names of the table's rows with their doses and ratios.
fn rows(proof: &Proof) -> Vec<[String; 3]> {
    let Some(Block::Table(table)) = effects(proof) else { panic!("no table") };
    table.rows.iter().map(|row| [0, 2, 3].map(|at| row[at].text.clone())).collect()
}

#[test]
fn chart_and_table_show_the_measured_dose() {
    let felt = experiment(0.72, 0.2, ElasticityBasis::Measured);
    let [off, on] = drawn(&felt);
    assert!(off.abs() < 1e-9 && (on - 0.2).abs() < 1e-9, "{off} and {on}");
    let cells = |name: &str| [name.to_string(), quantity(0.2, Unit::Share), number(0.8)];
    assert_eq!(rows(&felt), [cells("predicted"), cells("measured")]);
}

/// If a server hardly needs its CPU, a lever that takes a part of the CPU does not slow the server.
#[test]
fn the_dose_of_a_lever_that_nobody_felt_is_the_one_that_it_took() {
    assert_eq!(drawn(&experiment(0.89, 0.24, ElasticityBasis::Wanted)), [0.0, 0.24]);
}

#[test]
fn a_prediction_of_response_times_keeps_its_planned_dose_and_says_so() {
    let mut proof = experiment(0.72, 0.2, ElasticityBasis::Measured);
    proof.of = run::ProofMetric::P99;
    let planned = ["predicted for the planned share".to_string(), quantity(0.25, Unit::Share), number(0.75)];
    assert_eq!(rows(&proof)[0], planned);
}
