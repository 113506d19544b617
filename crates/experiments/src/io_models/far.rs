//! An entry on the hosts of the plan: its server on one, its blocks of connections dealt out to the others. What is looked at
//! in this machine's own files elsewhere is here what the server counts itself and the observer on its host recorded.

use lab::{Lab, LabError, Load, OnHosts, Places, Point};
use run::{LoadPlan, Trial};

use super::contender::Contender;
use super::counts::{self, Counts};
use super::held::Ended;
use super::loads::connections;
use super::verdict;
use crate::Parameters;

/// Said once.
const MISSING: &str = "kernel memory, the threads that a model's rule asks for and the use of the wire are missing: they are \
                       read where server and clients are on this machine";

/// One trial, from a server of its own.
pub(super) fn conduct(
    lab: &mut Lab<'_>,
    parameters: &Parameters,
    point: &Point,
    contender: &Contender,
    plans: &[LoadPlan],
) -> Result<Trial, LabError> {
    let plan = contender.server(parameters, &Places::default());
    let hosts = OnHosts::start(lab, &parameters.text("listen", ""), &plan)?;
    lab.run.plan.target.url = format!("tcp://{}/", hosts.addr);
    lab.note(MISSING);
    let places = hosts.places();
    let load = |(block, plan): (usize, &LoadPlan)| -> Load<'_> {
        Load { host: places[block % places.len()], addr: hosts.addr.into(), plan: plan.clone() }
    };
    let loads: Vec<Load<'_>> = plans.iter().enumerate().map(load).collect();
    let asked = hosts.server();
    let ask = || asked.lock().map(|mut group| counts::ask(std::slice::from_mut(&mut *group))).unwrap_or_default();
    let (outcome, counts) = Counts::during(ask, || lab.conduct(&hosts.observation, &loads, point));
    let mut trial = outcome?;
    counts.put(&mut trial);
    let ended = put_held(&mut trial, &counts, plans.iter().map(connections).sum());
    verdict::put(&mut trial, plans, ended.as_ref());
    Ok(trial)
}

/// What the server held by its own counts, and what that took; what ended it where not everything was held.
fn put_held(trial: &mut Trial, counts: &Counts, attempted: u32) -> Option<Ended> {
    let length_s = trial.measured.length_s.max(1e-9);
    let (threads, held) = (counts.levels("threads"), counts.levels("connections").map(|(_, most)| most));
    let grown = memory_grown(trial);
    trial.key.processes = Some(1);
    let results = &mut trial.results;
    results.held = held;
    (results.threads_at_rest, results.threads) = threads.unzip();
    results.memory_per_connection_bytes = held.filter(|n| *n > 0.0).and_then(|n| Some(grown? / n));
    results.bytes_per_s = Some(trial.measured.tally.bytes_received as f64 / length_s);
    let held = held.filter(|held| *held < f64::from(attempted))?;
    let ended = Ended::by_errors(trial, threads.map_or(f64::NAN, |(_, most)| most));
    trial.notes.push(format!("held {held} of {attempted} connections; ended by {}", ended.words));
    Some(ended)
}

/// Resident memory of the server's processes at its most, beyond what it was at first, bytes.
fn memory_grown(trial: &Trial) -> Option<f64> {
    let columns: Vec<_> = trial.server.as_ref()?.recording.columns_of("process.rss").collect();
    let one = |values: &Vec<Option<f64>>| {
        let known = values.iter().copied().flatten();
        Some((known.clone().next()?, known.reduce(f64::max)?))
    };
    let grown: Vec<f64> = columns.iter().filter_map(|c| one(&c.values)).map(|(first, most)| most - first).collect();
    (!grown.is_empty()).then(|| grown.iter().sum())
}
