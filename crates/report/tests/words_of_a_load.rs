//! Tests of the words in reports of `loadline load`. One load, or a ramp, shows no capacity, and it has an objective
//! only if the user gave one. In these tests, the user gave no objective, so no form of the report may use the words
//! `capacity` and `objective`.

#![allow(clippy::unwrap_used)]

use judge::planted::PLANTED;
use loadline_report::{FORMS, ReportError, Style, brief, render};
use run::{Objective, Run, Stage, TrialKind};
use serde_json::Value;

/// Makes the report of a user's load from a run with a planted cause. The load is the trial of the sweep with this
/// index, counted from the end. Without a sweep, the load is the last trial.
fn load(mut run: Run, from_end: usize) -> Run {
    let sweep: Vec<usize> = (0..run.trials.len()).filter(|i| run.trials[*i].kind == TrialKind::Sweep).collect();
    let at = sweep.get(sweep.len().saturating_sub(1 + from_end)).copied().unwrap_or(run.trials.len() - 1);
    run.trials = vec![run.trials.swap_remove(at)];
    run.trials[0].kind = TrialKind::Fixed;
    (run.command, run.plan.command) = ("loadline load http://10.0.0.2/".into(), "load".into());
    run.plan.objective = Objective::default();
    run
}

/// Lets a share of the answers have the status 503.
fn refuse(run: &mut Run, share: f64) {
    for tally in run.trials.iter_mut().flat_map(|trial| [&mut trial.measured.tally, &mut trial.tally]) {
        tally.unexpected_status = (share * tally.completed as f64) as u64;
        tally.unexpected_statuses = [("503".into(), tally.unexpected_status)].into();
        tally.status = [("5xx".into(), tally.unexpected_status)].into();
    }
}

/// Makes the load a ramp.
fn ramp(run: &mut Run) {
    let trial = &mut run.trials[0];
    let rate = trial.rates.completed_rate;
    let arrival = run::Arrival::Poisson;
    trial.intensity = run::Intensity::Open { rate, arrival, max_connections: 100, pipeline: 1 };
    trial.rates.offered_rate = rate;
    trial.measured.series_completed = vec![rate; (10.0 * trial.measured.length_s) as usize];
    run.plan.load.stages = vec![Stage { seconds: trial.measured.length_s, from: 0.5 * rate, to: 1.5 * rate }];
}

/// Changes the run to one with three repeats of the load.
fn repeat(run: &mut Run) {
    let trial = run.trials[0].clone();
    run.trials = (0..3).map(|repeat| run::Trial { repeat, ..trial.clone() }).collect();
}

/// Returns the sentences of a run's findings in JSON. Names of fields and of values, which are single words, are the
/// same for all commands.
fn texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(' ') => texts.push(text.clone()),
        Value::Array(all) => all.iter().for_each(|value| self::texts(value, texts)),
        Value::Object(all) => all.values().for_each(|value| self::texts(value, texts)),
        _ => {}
    }
}

fn forms(run: &Run) -> Vec<(&'static str, String)> {
    let style = Style { width: 120, color: false, ascii: false };
    let made = FORMS.iter().filter_map(|form| {
        let text = match render(form.name, run, &style) {
            Err(ReportError::NoStacks) => return None,
            made => made.unwrap(),
        };
        if form.name != "json" {
            return Some((form.name, text));
        }
        let findings = serde_json::from_str::<Value>(&text).unwrap()["findings"].take();
        let mut all = Vec::new();
        texts(&findings, &mut all);
        Some((form.name, all.join("\n")))
    });
    made.chain([("brief", brief(run, &style, 60))]).collect()
}

/// Returns the part of a text around a word, without regard to case.
fn around(text: &str, word: &str) -> Option<String> {
    let at = text.to_lowercase().find(word)?;
    let near: Vec<char> = text.chars().collect();
    Some(near[at.saturating_sub(200).min(near.len())..(at + 100).min(near.len())].iter().collect())
}

#[test]
fn a_load_has_no_capacity_and_no_objective_that_nobody_gave() {
    type Change = (&'static str, fn(&mut Run));
    let changes: [Change; 6] = [
        ("as it is", |_| {}),
        ("with a few refusals", |run| refuse(run, 0.03)),
        ("with refusals only", |run| refuse(run, 1.0)),
        ("as a ramp", ramp),
        ("as a ramp with refusals", |run| {
            ramp(run);
            refuse(run, 0.03);
        }),
        ("with repeats", repeat),
    ];
    for (planted, from_end) in PLANTED.iter().flat_map(|planted| [(planted, 0), (planted, 4)]) {
        for (name, change) in &changes {
            let mut run = load(planted.run(), from_end);
            change(&mut run);
            judge::judge(&mut run);
            for (form, text) in forms(&run) {
                for word in ["capacity", "objective"] {
                    let found = around(&text, word);
                    assert_eq!(found, None, "{word:?} in {form} of {} {name}", planted.id);
                }
            }
        }
    }
}

#[test]
fn a_load_names_the_objective_that_the_user_gave() {
    let mut run = load(PLANTED[0].run(), 0);
    run.plan.objective.p99_us = Some(20_000.0);
    judge::judge(&mut run);
    for (form, text) in forms(&run) {
        assert_eq!(around(&text, "capacity"), None, "{form}");
        let told = text.to_lowercase().contains("objective");
        assert!(told || !matches!(form, "text" | "html" | "markdown" | "brief"), "{form}: {text}");
    }
}

/// The token of this load expired during the warm-up, so all answers of the measured window have the status 503.
#[test]
fn good_answers_before_the_measured_window_are_told_in_the_headline() {
    let mut run = load(PLANTED[0].run(), 0);
    let good = run.trials[0].tally.good();
    refuse(&mut run, 1.0);
    run.trials[0].tally.completed += good;
    judge::judge(&mut run);
    let text = brief(&run, &Style { width: 2000, color: false, ascii: false }, 60);
    assert!(text.starts_with("No answer in the measured window was good: 503"), "{text}");
    assert!(text.contains("good answers outside of the window"), "{text}");
    refuse(&mut run, 1.0);
    judge::judge(&mut run);
    let text = brief(&run, &Style { width: 2000, color: false, ascii: false }, 60);
    assert!(text.starts_with("No answer was good: 503"), "{text}");
}
