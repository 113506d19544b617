//! Finds the processes of the server on this host, and keeps the generator off their CPUs.

use std::path::Path;

use probe::Found;
use run::{Address, LoadPlan};

use crate::hosts::cpu_split::CpuSplit;
use crate::observe::ObservedServer;
use crate::{Lab, LabError};

/// Finds the server's processes. If the processes cannot be seen, the run gets a warning and continues.
pub(super) fn find_server(
    lab: &mut Lab<'_>,
    addr: &Address,
    load: &mut LoadPlan,
) -> Result<Option<ObservedServer>, LabError> {
    let server = match lab.run.plan.target.server_pid {
        Some(pid) => {
            let found = named(pid, addr)
                .map_err(|why| LabError::set_up(format!("watching process {pid} (--server-pid)"), why))?;
            note_other_owner(lab, (pid, &found.pids), addr);
            found
        }
        None => match probe::find_server(addr.clone()) {
            Ok(found) => found,
            Err(why) => {
                lab.warn(format!("no counters of the server: {why}"));
                return Ok(None);
            }
        },
    };
    let shared = keep_off(lab, load, &probe::cpus_of(Path::new("/"), &server.pids));
    Ok(Some(ObservedServer { shared, ..ObservedServer::local(server) }))
}

/// Returns the facts about the server whose process the user named. The error says why this process is not a server.
fn named(pid: u32, addr: &Address) -> Result<Found, String> {
    let found = probe::named_server(pid, Some(addr.clone())).map_err(|e| e.to_string())?;
    if probe::holds_sockets(&found.pids) == Some(false) {
        return Err("neither it nor a process below it holds a socket, so it is not a server; `ss -Hltnp` shows who \
                    listens, and without the flag it is found"
            .into());
    }
    Ok(found)
}

/// Adds a warning if processes listen at the target, but none of them is the named process, an ancestor or a descendant
/// of it. `own` contains the named process and its descendants.
fn note_other_owner(lab: &mut Lab<'_>, (pid, own): (u32, &[u32]), addr: &Address) {
    let Ok(owners) = probe::find_server(addr.clone()) else { return };
    let related = owners.pids.iter().any(|owner| own.contains(owner) || probe::with_descendants(*owner).contains(&pid));
    if let Some(owner) = owners.pids.first().filter(|_| !related) {
        lab.warn(format!(
            "process {pid} (--server-pid) does not own the target's port: process {owner} does, so the counters of {pid} may \
             not be those of the server that answers"
        ));
    }
}

/// Restricts the generator to CPUs that the server does not use, if such CPUs exist and the user chose none. Returns
/// true if client and server still share a CPU.
pub(super) fn keep_off(lab: &mut Lab<'_>, load: &mut LoadPlan, server: &[u32]) -> bool {
    let cpus = CpuSplit::beside(&allowed(), &load.cpus, server);
    if load.cpus.is_empty() && cpus.client.len() < allowed().len() {
        lab.note(format!("generator on {}, server on {}", cpu_list(&cpus.client), cpu_list(server)));
        load.cpus.clone_from(&cpus.client);
    }
    cpus.shared()
}

/// Formats CPU numbers as `CPU 1`, or `CPUs 0, 2`.
fn cpu_list(cpus: &[u32]) -> String {
    let names: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    format!("{} {}", if cpus.len() == 1 { "CPU" } else { "CPUs" }, names.join(", "))
}

/// Returns the CPUs on which this process may run.
pub(super) fn allowed() -> Vec<u32> {
    sys::limits::allowed_cpus().unwrap_or_default()
}
