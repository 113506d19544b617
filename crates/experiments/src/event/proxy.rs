//! `lab proxy`: measures the proxy of the paper by Banga, Mogul and Druschel on each backend of the event API, with
//! more and more cold (idle) connections.

use std::net::SocketAddr;

use run::Relation::{AtLeast, AtMost};
use run::{Check, ColdPlan, Intensity, Key, LoadPlan, Run, ServePlan, ThinkTime, Trial, TrialKind};

use super::stand::{on, places};
use super::values::BACKEND;
use crate::Parameters;
use crate::experiment::AROUND_TRIAL_S;
use lab::{CpuSplit, Lab, LabError, Load, Local, Observation, ObservedServer, Point, start_server, target};

/// Returns the planned time of the experiment, seconds.
pub(super) fn planned_s(parameters: &Parameters) -> f64 {
    let cold = levels(parameters);
    let opening_s = cold.last().map_or(0.0, |most| f64::from(*most) / parameters.number("pace", 5000.0));
    let trial_s = parameters.number("seconds", 2.0) + parameters.number("warmup_s", 0.5) + AROUND_TRIAL_S;
    backends(parameters).len() as f64 * (opening_s + cold.len() as f64 * trial_s)
}

/// Returns the numbers of cold connections, ascending.
fn levels(parameters: &Parameters) -> Vec<u32> {
    let mut levels: Vec<u32> = parameters.numbers("cold", &[0.0, 1000.0]).iter().map(|c| *c as u32).collect();
    levels.sort_unstable();
    levels
}

fn backends(parameters: &Parameters) -> Vec<String> {
    parameters.texts("backends", &["epoll", "uring", "poll", "select"])
}

/// Runs the experiment `lab proxy`.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let places = places();
    if places.shared() {
        lab.note("there is one CPU for all: the proxy shares it with its clients and its upstream");
    }
    let upstream = ServePlan {
        model: serve::default_model().into(),
        body_bytes: u64::from(parameters.count("body_bytes", 1024)),
        cpus: places.client.clone(),
        ..ServePlan::default()
    };
    let (_behind, to, _) = start_server(&Local::default(), lab.program(), upstream)?;
    let levels = levels(parameters);
    for name in backends(parameters) {
        backend(lab, parameters, (&places, to), &name, &levels)?;
        if lab.stopped() {
            break;
        }
    }
    conclude(&mut lab.run);
    Ok(())
}

/// Measures a proxy on one backend, with each number of cold connections in `levels`.
fn backend(
    lab: &mut Lab<'_>,
    parameters: &Parameters,
    (places, to): (&CpuSplit, SocketAddr),
    name: &str,
    levels: &[u32],
) -> Result<(), LabError> {
    let mut plan = ServePlan { service: "proxy".into(), cpus: places.server.clone(), ..ServePlan::default() };
    plan.options.insert("upstream".into(), to.to_string());
    plan.options.insert("events".into(), name.into());
    let (group, addr, _) = match start_server(&Local::default(), lab.program(), plan) {
        Ok(started) => started,
        Err(why) => {
            lab.note(format!("{name} is left out: {why}"));
            return Ok(());
        }
    };
    let watched = ObservedServer::started("localhost", &group, None, addr, places);
    let observation = lab.observation(addr, Some(watched));
    let connections = parameters.count("connections", 32).max(1);
    let load = LoadPlan {
        protocol: target::resolve(&format!("http://{addr}/"), &lab.run.plan.load.protocol)?.protocol,
        intensity: Intensity::Closed { connections, pipeline: 1, think: ThinkTime::default() },
        duration_s: parameters.number("seconds", 2.0),
        warmup_s: parameters.number("warmup_s", 0.5),
        cpus: places.client.clone(),
        ..LoadPlan::default()
    };
    sweep(lab, &observation, name, &load, levels, parameters.number("pace", 5000.0))
}

/// Measures the proxy with each number of cold connections in `levels`, in this order. Before each trial, only the
/// missing cold connections are opened, and all stay open until the last trial ends.
fn sweep(
    lab: &mut Lab<'_>,
    observation: &Observation,
    name: &str,
    load: &LoadPlan,
    levels: &[u32],
    pace: f64,
) -> Result<(), LabError> {
    let server = observation.server().and_then(|s| s.listen.clone());
    let Some(addr) = server else { return Ok(()) };
    let (mut agents, mut have) = (Vec::new(), 0);
    let mut trials: Vec<Trial> = Vec::new();
    for &level in levels {
        if lab.stopped() {
            break;
        }
        if level > have {
            let plan =
                ColdPlan { connections: level - have, rate: pace, cpus: load.cpus.clone(), ..ColdPlan::default() };
            agents.push(lab.open_cold(&plan, &addr)?);
            have = level;
        }
        let key = Key { cold: Some(level), line: Some(name.into()), ..on(name) };
        let label = format!("{name}, {level} cold");
        let point = Point { label, kind: TrialKind::Experiment, key, within_us: None };
        let loads = [Load { host: &Local::default(), addr: addr.clone(), plan: load.clone() }];
        trials.push(lab.conduct(observation, &loads, &point)?);
    }
    let mut held = run::ColdPart::default();
    agents.into_iter().for_each(|cold| held.merge(&cold.close()));
    for mut trial in trials {
        if held.held < u64::from(have) || held.lost > 0 {
            trial.notes.push(format!("of {have} cold connections {} were up and {} were lost", held.held, held.lost));
        }
        lab.keep(trial)?;
    }
    Ok(())
}

fn conclude(run: &mut Run) {
    let mut conclusions = Vec::new();
    for name in ["epoll", "uring", "poll", "select"] {
        let own = run.trials.iter().filter(|t| t.key.get(BACKEND).as_deref() == Some(name));
        let points: Vec<(f64, f64)> =
            own.map(|t| (f64::from(t.key.cold.unwrap_or(0)), t.rates.completed_rate)).collect();
        let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
        if first.1 <= 0.0 || last.0 <= first.0 {
            continue;
        }
        let kept = last.1 / first.1;
        let text = format!("{name}: rate with {} cold connections over none", last.0);
        let flat = name == "epoll" || name == "uring";
        let (relation, limit) = if flat { (AtLeast, 0.9) } else { (AtMost, 0.7) };
        run.findings.checks.push(Check::new(text, kept, relation, limit));
        conclusions.push(format!(
            "{name}: {:.0} requests/s without cold connections, {:.0} with {}.",
            first.1, last.1, last.0
        ));
        if let Some(fit) = judge::fit::line_fit(&points, "cold", "completed_rate") {
            run.findings.fits.insert(format!("{name}, completed rate against cold connections"), fit);
        }
    }
    run.findings.conclusions.extend(conclusions);
}
