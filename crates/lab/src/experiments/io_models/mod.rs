//! `lab io-models`: an echo server in every I/O model, under the three entries of the source's table.

mod conclude;
mod counts;
mod growth;
mod held;
mod looks;
mod servers;
mod stage;
mod text;
mod turns;
mod verdict;
mod words;

pub(super) use text::IO_MODELS;

use std::collections::BTreeMap;

use run::{Blocks, Intensity, LoadPlan, Protocol, ServePlan, ThinkTime, Trial, TrialKind};

use super::Parameters;
use crate::{Lab, LabError, Load, Places, Point};
use servers::Servers;
use stage::Stage;

/// Connections in a block after the twelfth, as multiples of the first ones: the source's last machine had blocks of 4,000.
const LATER_BLOCKS: u32 = 4;
const FIRST_BLOCKS: u32 = 12;
/// Conducts the experiment.
pub(super) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    text::NOTES.iter().for_each(|note| lab.note(*note));
    let stage = Stage::build(lab, parameters)?;
    let all: Vec<&str> = serve::MODELS.iter().map(|m| m.name).filter(|n| *n != "workers").collect();
    for model in parameters.texts("models", &all) {
        for entry in parameters.numbers("entries", &[1.0, 2.0, 3.0]) {
            if lab.stopped() {
                return Ok(());
            }
            let trial = one(lab, &stage, parameters, &model, entry as u32)?;
            lab.keep(trial)?;
        }
    }
    turns::play(lab, &stage, parameters)?;
    conclude::conclude(&mut lab.run, parameters);
    Ok(())
}

/// One entry of one model, from a server of its own. What cannot be conducted is a row with its reason.
fn one(lab: &mut Lab<'_>, stage: &Stage, parameters: &Parameters, model: &str, entry: u32) -> Result<Trial, LabError> {
    let places = Places::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[]);
    let plans = loads(parameters, entry, stage.clients(), &places.client);
    let attempted: u32 = plans.iter().map(connections).sum();
    let axes =
        BTreeMap::from([("entry".to_string(), f64::from(entry)), ("connections".to_string(), f64::from(attempted))]);
    let point = Point { label: model.into(), kind: TrialKind::Experiment, axes, within_us: None };
    match conduct(lab, stage, parameters, &point, &plans, &places) {
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
    stage: &Stage,
    parameters: &Parameters,
    point: &Point,
    plans: &[LoadPlan],
    places: &Places,
) -> Result<Trial, LabError> {
    let sizes: Vec<u32> = plans.iter().map(connections).collect();
    let layout = servers::layout(&sizes, parameters.count("processes", 0), sys::limits::descriptors().0);
    let plan = ServePlan { listen: stage.listen()?, ..server(parameters, &point.label, places) };
    let mut servers = Servers::start(lab, stage.server(), &plan, &layout)?;
    let scene = stage.scene(servers.pids(), servers.addr(0), places)?;
    let load = |(block, (plan, at)): (usize, (&LoadPlan, &usize))| -> Load<'_> {
        Load { host: stage.client(block), addr: servers.addr(*at), plan: plan.clone() }
    };
    let loads: Vec<Load<'_>> = plans.iter().zip(&layout.server_of).enumerate().map(load).collect();
    let before = growth::look(&servers.pids());
    let (outcome, held, counts) = servers.watch(|| lab.conduct(&scene, &loads, point));
    let mut trial = outcome?;
    trial.notes.extend(servers.notes());
    let ended = held.put(&mut trial);
    counts.put(&mut trial);
    growth::put(&mut trial, &before);
    if let Some(wire) = super::records::wire(&trial) {
        trial.axes.insert("wire_use".into(), wire.use_);
    }
    let verdict = verdict::verdict(&trial, plans, ended.as_ref());
    trial.notes.push(format!("{}{verdict}", verdict::NOTE));
    Ok(trial)
}

/// The server of a model, on a processor of its own; `model:option` turns that option on, `model+strategy` names a
/// strategy.
fn server(parameters: &Parameters, label: &str, places: &Places) -> ServePlan {
    let (label, strategy) = label.split_once('+').unwrap_or((label, ""));
    let (model, option) = label.split_once(':').unwrap_or((label, ""));
    let mut options =
        BTreeMap::from([("max_threads".to_string(), parameters.count("max_threads", 16_000).to_string())]);
    if !option.is_empty() {
        options.insert(option.into(), "1".into());
    }
    ServePlan {
        service: "echo".into(),
        model: model.into(),
        strategy: strategy.into(),
        backlog: parameters.count("backlog", 4096),
        cpus: places.server.clone(),
        options,
        ..ServePlan::default()
    }
}

/// The loads of an entry: one process a client host for the first, one a block for the others.
fn loads(parameters: &Parameters, entry: u32, clients: u32, cpus: &[u32]) -> Vec<LoadPlan> {
    let block = parameters.count("block", 1000).max(1);
    let rate = parameters.number("block_rate", 200_000.0);
    let (sizes, rate) = match entry {
        1 => (shares(parameters.count("first", 7000), clients), 0.0),
        2 => (split_blocks(parameters.count("second", 12_000), block), rate),
        _ => (split_blocks(parameters.count("third", 24_000), block), rate),
    };
    let compat = parameters.flag("compat", false);
    let blocks = |n: u32| Blocks {
        block: if entry == 1 { block } else { n },
        block_rate_bytes_per_s: rate,
        sends_per_connection: parameters.count("sends", 0),
        compat,
    };
    sizes.into_iter().map(|n| plan(parameters, n, blocks(n), cpus)).collect()
}

/// Connections of each client host.
fn shares(connections: u32, clients: u32) -> Vec<u32> {
    (0..clients).map(|i| connections / clients + u32::from(i < connections % clients)).collect()
}

fn split_blocks(mut connections: u32, block: u32) -> Vec<u32> {
    let mut blocks = Vec::new();
    while connections > 0 {
        let size = if blocks.len() < FIRST_BLOCKS as usize { block } else { block * LATER_BLOCKS };
        let n = size.min(connections);
        connections -= n;
        blocks.push(n);
    }
    blocks
}

fn plan(parameters: &Parameters, connections: u32, blocks: Blocks, cpus: &[u32]) -> LoadPlan {
    let message_bytes = u64::from(parameters.count("message_bytes", 4096));
    let think = ThinkTime::default();
    LoadPlan {
        protocol: Protocol::Echo { message_bytes },
        intensity: Intensity::Closed { connections, pipeline: parameters.count("posted", 1).max(1), think },
        duration_s: parameters.number("seconds", 4.0),
        warmup_s: parameters.number("warmup_s", 6.0) + blocks.connects_s(connections, message_bytes),
        blocks: Some(blocks),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_hosts_share_all_connections() {
        assert_eq!((shares(7000, 1), shares(7000, 3)), (vec![7000], vec![2334, 2333, 2333]));
    }

    #[test]
    fn blocks_are_the_source_s() {
        let sizes = |n| split_blocks(n, 1000);
        assert_eq!(sizes(12_000), vec![1000; 12]);
        assert_eq!(sizes(24_000)[12..], [4000, 4000, 4000]);
        assert_eq!(sizes(1500), [1000, 500]);
    }
}
