//! Runs an entry (load) on the hosts of the plan: the server on one host, and the blocks of connections on the others.
//! If all hosts are on this machine, some values of the trial come from local files. If the hosts are other machines,
//! the server's own counts and its host's recording provide these values.

use lab::{CpuSplit, HostsSetup, Lab, LabError, Load, Point};
use run::{LoadPlan, Trial};

use super::contender::Contender;
use super::held;
use super::loads::{offered_bytes_per_s, put_bytes};
use super::servers::{self, COUNTED};
use crate::Parameters;

/// Note about values that cannot be measured on other hosts.
const MISSING: &str = "kernel memory, the threads that a model's rule asks for and the use of the wire are missing: they are \
                       read where server and clients are on this machine";

/// Runs one trial with a new server.
pub(super) fn conduct(
    lab: &mut Lab<'_>,
    parameters: &Parameters,
    point: &Point,
    contender: &Contender,
    plans: &[LoadPlan],
) -> Result<Trial, LabError> {
    let plan = contender.server(parameters, &CpuSplit::default());
    let hosts = HostsSetup::start(lab, &parameters.text("listen", ""), &plan)?.with_counters(COUNTED);
    lab.run.plan.target.url = format!("tcp://{}/", hosts.addr);
    lab.note(MISSING);
    let places = hosts.places();
    let load = |(block, plan): (usize, &LoadPlan)| -> Load<'_> {
        Load { host: places[block % places.len()], addr: hosts.addr.into(), plan: plan.clone() }
    };
    let loads: Vec<Load<'_>> = plans.iter().enumerate().map(load).collect();
    let mut trial = lab.conduct(&hosts.observation, &loads, point)?;
    put_bytes(&mut trial);
    let ended = held::put_counted(&mut trial);
    servers::put_own_view(&mut trial, &hosts.server());
    held::put_limited(&mut trial, offered_bytes_per_s(plans), ended.as_ref());
    Ok(trial)
}
