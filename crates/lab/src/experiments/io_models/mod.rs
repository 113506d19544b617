//! `lab io-models`: an echo server in every I/O model, under the three entries of the source's table.

mod conclude;
mod held;
mod text;

pub(super) use text::IO_MODELS;

use std::collections::BTreeMap;

use run::{Intensity, LoadPlan, Protocol, Run, ServePlan, ThinkTime, Trial, TrialKind};

use super::Parameters;
use crate::{Lab, LabError, Load, Local, Places, Point, Scene, Watched, start_server};
use held::Held;

/// Connections in a block after the twelfth, as multiples of the first ones: the source's last machine had blocks of 4,000.
const LATER_BLOCKS: u32 = 4;
const FIRST_BLOCKS: u32 = 12;

/// Conducts the experiment.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let all: Vec<&str> = serve::MODELS.iter().map(|m| m.name).filter(|n| *n != "workers").collect();
    for model in parameters.texts("models", &all) {
        for entry in parameters.numbers("entries", &[1.0, 2.0, 3.0]) {
            if lab.stopped() {
                return Ok(());
            }
            let trial = one(lab, parameters, &model, entry as u32)?;
            lab.keep(trial)?;
        }
    }
    conclude::conclude(&mut lab.run, parameters);
    Ok(())
}

/// One entry of one model, from a server of its own. What cannot be conducted is a row with its reason.
fn one(lab: &mut Lab<'_>, parameters: &Parameters, model: &str, entry: u32) -> Result<Trial, LabError> {
    let places = Places::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[]);
    let plans = loads(parameters, entry, &places.client);
    let attempted: u32 = plans.iter().map(connections).sum();
    let axes =
        BTreeMap::from([("entry".to_string(), f64::from(entry)), ("connections".to_string(), f64::from(attempted))]);
    let point = Point { label: model.into(), kind: TrialKind::Experiment, axes, within_us: None };
    match conduct(lab, parameters, &point, &plans, &places) {
        Ok(trial) => Ok(trial),
        Err(error) => Ok(Trial {
            label: point.label,
            kind: point.kind,
            axes: point.axes,
            notes: vec![format!("entry {entry} could not be conducted: {error}")],
            ..Trial::default()
        }),
    }
}

fn conduct(
    lab: &mut Lab<'_>,
    parameters: &Parameters,
    point: &Point,
    plans: &[LoadPlan],
    places: &Places,
) -> Result<Trial, LabError> {
    let host = Local::default();
    let server = server(parameters, &point.label, places);
    let (crew, addr, notes) = start_server(&host, lab.program(), server)?;
    let pid = crew.agents().first().map_or(0, crate::agent::Agent::pid);
    let watched = Watched {
        host: "localhost".into(),
        pids: vec![pid],
        netns_pid: None,
        listen: Some(addr),
        shared: places.shared(),
    };
    let scene = Scene::new(addr, Some(watched)).with_processors(&places.client, &places.server);
    let loads: Vec<Load<'_>> = plans.iter().map(|plan| Load { host: &host, addr, plan: plan.clone() }).collect();
    let held = Held::watch(pid, addr.port());
    let outcome = lab.conduct(&scene, &loads, point);
    let held = held.end();
    let mut trial = outcome?;
    trial.notes.extend(notes);
    held.put(&mut trial);
    let verdict = verdict(&trial);
    trial.notes.push(format!("what limited it: {verdict}"));
    Ok(trial)
}

/// The server of a model, on a processor of its own; `model:option` turns that option on.
fn server(parameters: &Parameters, label: &str, places: &Places) -> ServePlan {
    let (model, option) = label.split_once(':').unwrap_or((label, ""));
    let mut options =
        BTreeMap::from([("max_threads".to_string(), parameters.count("max_threads", 16_000).to_string())]);
    if !option.is_empty() {
        options.insert(option.into(), "1".into());
    }
    ServePlan {
        service: "echo".into(),
        model: model.into(),
        backlog: parameters.count("backlog", 4096),
        cpus: places.server.clone(),
        options,
        ..ServePlan::default()
    }
}

/// The loads of an entry: one process for the first, one a block for the others.
fn loads(parameters: &Parameters, entry: u32, cpus: &[u32]) -> Vec<LoadPlan> {
    let block = parameters.count("block", 1000).max(1);
    let rate = parameters.number("block_rate", 200_000.0);
    let bytes = parameters.count("message_bytes", 4096);
    let pause = |connections: u32| ThinkTime {
        mean_ms: if parameters.flag("compat", false) {
            compat_pause_ms(u64::from(connections), u64::from(bytes), rate as u64) as f64
        } else {
            1e3 * f64::from(connections) * f64::from(bytes) / rate.max(1.0)
        },
        // The source's client walks its connections one after another; at random times they are as evenly loaded, and
        // do not fall silent together after the first message.
        exponential: true,
    };
    let blocks = match entry {
        1 => vec![(parameters.count("first", 7000), ThinkTime::default())],
        2 => split_blocks(parameters.count("second", 12_000), block),
        _ => split_blocks(parameters.count("third", 24_000), block),
    };
    let with_pause = blocks.into_iter().map(|(n, _)| (n, if entry == 1 { ThinkTime::default() } else { pause(n) }));
    with_pause.map(|(n, think)| plan(parameters, n, think, cpus)).collect()
}

fn split_blocks(mut connections: u32, block: u32) -> Vec<(u32, ThinkTime)> {
    let mut blocks = Vec::new();
    while connections > 0 {
        let size = if blocks.len() < FIRST_BLOCKS as usize { block } else { block * LATER_BLOCKS };
        let n = size.min(connections);
        connections -= n;
        blocks.push((n, ThinkTime::default()));
    }
    blocks
}

/// The pause between two messages of a connection as the source's client computes it: in whole numbers, one pause of
/// `((connections x bytes / rate) x 1000) / connections` ms for each connection in turn, halved from 1 MB/s on.
fn compat_pause_ms(connections: u64, bytes: u64, rate: u64) -> u64 {
    if rate == 0 || connections == 0 {
        return 0;
    }
    let mut each = connections * bytes / rate * 1000 / connections;
    if rate >= 1_000_000 {
        each /= 2;
    }
    each * connections
}

fn plan(parameters: &Parameters, connections: u32, think: ThinkTime, cpus: &[u32]) -> LoadPlan {
    LoadPlan {
        protocol: Protocol::Echo { message_bytes: u64::from(parameters.count("message_bytes", 4096)) },
        intensity: Intensity::Closed { connections, pipeline: parameters.count("posted", 1).max(1), think },
        duration_s: parameters.number("seconds", 4.0),
        warmup_s: parameters.number("warmup_s", 6.0),
        drain_s: 0.3,
        timeout_s: 120.0,
        connect_timeout_s: 30.0,
        cpus: cpus.to_vec(),
        ..LoadPlan::default()
    }
}

fn connections(plan: &LoadPlan) -> u32 {
    match plan.intensity {
        Intensity::Closed { connections, .. } => connections,
        _ => 0,
    }
}

/// What judge says of this row alone.
fn verdict(trial: &Trial) -> String {
    let mut alone = Run { trials: vec![trial.clone()], ..Run::default() };
    judge::judge(&mut alone);
    let bottleneck = alone.findings.bottleneck;
    format!("{} ({})", bottleneck.id, bottleneck.sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_in_whole_numbers_is_the_source_s() {
        assert_eq!(compat_pause_ms(1000, 4096, 200_000), 20_000);
        assert_eq!(compat_pause_ms(4000, 4096, 200_000), 80_000);
        // Too few connections for a whole second: no limit at all.
        assert_eq!(compat_pause_ms(10, 4096, 200_000), 0);
    }

    #[test]
    fn blocks_are_the_source_s() {
        let sizes = |n| split_blocks(n, 1000).iter().map(|b| b.0).collect::<Vec<_>>();
        assert_eq!(sizes(12_000), [1000; 12]);
        assert_eq!(sizes(24_000)[12..], [4000, 4000, 4000]);
        assert_eq!(sizes(1500), [1000, 500]);
    }
}
