//! Targets of levers: CPUs and processes of client, server, and the server's upstream services. A lever is a temporary
//! change that an experiment makes, such as slowing a CPU.

use crate::levers::{LeverTargets, in_flight};
use crate::{Lab, TargetSetup};

/// Returns the levers' targets in the current run.
pub(super) fn lever_targets(lab: &Lab<'_>, setup: &TargetSetup) -> LeverTargets {
    let server_pids = setup.observation.server().map(|s| s.pids.clone()).unwrap_or_default();
    let behind_pids = if server_pids.is_empty() { Vec::new() } else { behind(lab) };
    let cpus_of = |pids: &[u32]| match setup.observation.remote_server() {
        None => probe::cpus_of(std::path::Path::new("/"), pids),
        // The lever's agent finds the CPUs itself, so this function needs only the number of these CPUs.
        Some(observer) => observer.found().cpus.clone(),
    };
    LeverTargets {
        client_cpus: client_cpus(setup),
        // When the load starts, the IDs of the generator's processes replace the ID of this process.
        client_pids: vec![std::process::id()],
        behind_cpus: cpus_of(&behind_pids),
        behind_pids,
        server_cpus: cpus_of(&server_pids),
        server_pids,
        in_flight: in_flight(&lab.run),
        addr: setup.addr.inet(),
        dir: lab.run.plan.search.prove_dir.clone(),
        full_disk: lab.run.plan.search.prove_dir.as_ref().and_then(|_| judge::prove::full_disk(&lab.run)),
        request_way: judge::prove::request_way(&lab.run),
        share: 0.0,
        at_rate: false,
        descriptors: sys::limits::descriptors().0,
        response_s: 0.0,
        keeper: setup.observation.testbed().map(|testbed| testbed.socket().to_path_buf()),
    }
}

/// Returns the CPUs of one generator. For generators on other hosts, only the length of the returned list is
/// meaningful. The length of the list is the number of CPUs per generator on the host with the fewest CPUs per
/// generator.
fn client_cpus(setup: &TargetSetup) -> Vec<u32> {
    if !setup.load.cpus.is_empty() {
        return setup.load.cpus.clone();
    }
    let agents_of =
        |name: &str| setup.host().members().iter().find(|(host, _)| host.name() == name).map_or(1, |(_, n)| *n);
    let each = setup.observation.remote_clients().map(|host| host.processors() / agents_of(host.host()).max(1));
    match each.min() {
        Some(fewest) => (0..fewest.max(1)).collect(),
        None => sys::limits::allowed_cpus().unwrap_or_default(),
    }
}

/// Returns the processes of the server's upstream services.
fn behind(lab: &Lab<'_>) -> Vec<u32> {
    let waits_for = lab.run.findings.bottleneck.waits_for.iter();
    waits_for.flat_map(|w| w.pids.iter().copied()).collect()
}
