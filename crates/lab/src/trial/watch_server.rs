//! `loadline watch`: one load test without a generator, for the counters of a server under external load.

use std::path::Path;

use run::{Address, Plan, Run, TrialKind};

use crate::observe::hosts::Hosts;
use crate::observe::{Observation, ObservedServer};
use crate::{Lab, LabError, Point, Watch};

/// Observes the server on its host: the process named in the plan, or the process that listens at an address. The
/// observation ends after the plan's duration, when the user stops it, or when the server ends.
pub fn watch_server(
    plan: Plan,
    listener: Option<Address>,
    out: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Run, LabError> {
    let mut lab = Lab::begin(plan, out, watch)?;
    let hosts = Hosts::connect(&lab.run.plan.hosts, lab.program())?;
    let observation = match there(&mut lab, &hosts, listener.clone())? {
        Some(observation) => observation,
        None => Observation::of_server_alone(here(&mut lab, listener)?).with_waits(&lab.run.plan.observe),
    };
    let observation = observation.with_databases(&lab.databases);
    lab.note("loadline only watches: requests, response times and errors are unknown");
    let point = Point { label: "external load".into(), kind: TrialKind::Watched, ..Point::default() };
    let trial = lab.observe_only(&observation, &point);
    lab.keep(trial)?;
    lab.finish()
}

/// Returns observers for a server on another host if the plan names such a host, and `None` otherwise.
fn there(lab: &mut Lab<'_>, hosts: &Hosts, listener: Option<Address>) -> Result<Option<Observation>, LabError> {
    let pid = lab.run.plan.target.server_pid;
    let Some(observer) = hosts.observe_server(lab.program(), pid, listener, &lab.run.plan.observe)? else {
        return Ok(None);
    };
    if let Some(why) = &observer.found().missing {
        return Err(LabError::set_up(format!("watching a server on {}", observer.host()), why));
    }
    lab.host(observer.found().host.clone());
    let watched = ObservedServer::remote(&observer);
    Ok(Some(Observation::of_server_alone(watched).with_hosts(Vec::new(), Some(observer))))
}

/// Returns the server whose processes are observed on this machine.
fn here(lab: &mut Lab<'_>, listener: Option<Address>) -> Result<ObservedServer, LabError> {
    let fail = |why: String| LabError::set_up("watching a server", why);
    let found = match (lab.run.plan.target.server_pid, listener) {
        (Some(pid), listener) => probe::named_server(pid, listener),
        (None, Some(at)) => probe::find_server(at),
        (None, None) => return Err(fail("name the server: --server-pid PID or --port PORT".into())),
    };
    let found = ObservedServer::local(found.map_err(|e| fail(e.to_string()))?);
    lab.host(probe::host_info("localhost", "server"));
    Ok(found)
}
