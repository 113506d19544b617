//! Runs one entry (load) of the table of Jones and Deshpande (source 4) for one I/O model: starts the server, applies
//! the loads, and records the results.

use lab::{CpuSplit, Lab, LabError, Load, Point};
use run::{Key, LoadPlan, ServePlan, Trial, TrialKind};

use super::contender::Contender;
use super::held::{self, HeldResources};
use super::loads::{connections, loads, offered_bytes_per_s, put_bytes};
use super::servers::{self, Servers};
use super::stage::{Stage, ThisMachine};
use super::{growth, other_hosts, threads};
use crate::Parameters;
use crate::records;
use crate::values::{CONNECTIONS, ENTRY, MODEL, WIRE_USE};

/// Runs one entry for one I/O model, with a new server. If the trial fails, returns a trial that contains only the
/// reason.
pub(super) fn one(
    lab: &mut Lab<'_>,
    stage: &Stage,
    parameters: &Parameters,
    contender: &Contender,
    entry: u32,
) -> Result<Trial, LabError> {
    let places = match stage {
        Stage::ThisMachine(_) => CpuSplit::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[]),
        // If the plan names the hosts, client and server do not share CPUs, so CPUs need not be divided.
        Stage::OtherHosts(_) => CpuSplit::default(),
    };
    let plans = loads(parameters, entry, stage.clients(), &places.client);
    let attempted: u32 = plans.iter().map(connections).sum();
    let key = Key { line: Some(contender.name.clone()), ..Key::default() }
        .with(MODEL, contender.name.clone())
        .with(ENTRY, entry)
        .with(CONNECTIONS, attempted);
    let point = Point { label: contender.name.clone(), kind: TrialKind::Experiment, key, within_us: None };
    let played = match stage {
        Stage::ThisMachine(here) => conduct(lab, here, parameters, &point, contender, &plans, &places),
        Stage::OtherHosts(_) => other_hosts::conduct(lab, parameters, &point, contender, &plans),
    };
    match played {
        Ok(trial) => Ok(trial),
        Err(error) => Ok(Trial {
            label: point.label,
            kind: point.kind,
            key: point.key,
            notes: vec![format!("entry {entry} could not be conducted: {error}")],
            ..Trial::default()
        }),
    }
}

fn conduct(
    lab: &mut Lab<'_>,
    stage: &ThisMachine,
    parameters: &Parameters,
    point: &Point,
    contender: &Contender,
    plans: &[LoadPlan],
    places: &CpuSplit,
) -> Result<Trial, LabError> {
    let sizes: Vec<u32> = plans.iter().map(connections).collect();
    let layout = servers::layout(&sizes, parameters.count("processes", 0), sys::limits::descriptors().0);
    let plan = ServePlan { listen: stage.listen()?, ..contender.server(parameters, places) };
    let mut servers = Servers::start(lab, stage.server(), &plan, &layout)?;
    let observation = stage.observation(&servers, places)?;
    let load = |(block, (plan, at)): (usize, (&LoadPlan, &usize))| -> Load<'_> {
        Load { host: stage.client(block), addr: servers.addr(*at).into(), plan: plan.clone() }
    };
    let loads: Vec<Load<'_>> = plans.iter().zip(&layout.server_of).enumerate().map(load).collect();
    let before = growth::look(servers.pids());
    let mut trial = lab.conduct(&observation, &loads, point)?;
    trial.notes.extend(servers.notes());
    put_bytes(&mut trial);
    let held = trial
        .server
        .as_ref()
        .map(|server| HeldResources::of(&server.recording, &servers.listeners()))
        .unwrap_or_default();
    let ended = held.put(&mut trial);
    threads::put(&mut trial, &contender.model, held.still());
    servers::put_own_view(&mut trial, servers.group());
    growth::put(&mut trial, &before);
    trial.results.put(WIRE_USE, records::wire(&trial).map(|wire| wire.use_));
    held::put_limited(&mut trial, offered_bytes_per_s(plans), ended.as_ref());
    Ok(trial)
}
