//! Reference servers that a run starts itself.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use run::{AgentSpec, ServePlan};

use crate::agents::AgentGroup;
use crate::{Host, LabError};

/// Maximum time to wait until a server listens.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts `loadline agent` as a server on a host. Returns the agent group of the server, the address at which the
/// server listens, and notes for the user.
pub fn start_server(
    host: &dyn Host,
    program: &Path,
    plan: ServePlan,
) -> Result<(AgentGroup, SocketAddr, Vec<String>), LabError> {
    let (group, addrs, notes) = start_servers(host, program, &plan, 1)?;
    let addr = addrs.first().copied().ok_or_else(says_no_address)?;
    Ok((group, addr, notes))
}

/// Starts several server processes, each with its own address. Returns the agents, their addresses in the order of the
/// agents, and notes for the user.
pub fn start_servers(
    host: &dyn Host,
    program: &Path,
    plan: &ServePlan,
    processes: usize,
) -> Result<(AgentGroup, Vec<SocketAddr>, Vec<String>), LabError> {
    let mut group = AgentGroup::default();
    for _ in 0..processes {
        let spec = AgentSpec::Serve { plan: plan.clone(), far: host.is_remote() };
        group.start(host, program, "server", &spec)?;
    }
    let ready = group.await_ready(LISTEN_TIMEOUT)?;
    let addrs: Option<Vec<SocketAddr>> = ready.iter().map(|one| one.listening).collect();
    let notes = ready.into_iter().flat_map(|one| one.notes).collect();
    Ok((group, addrs.ok_or_else(says_no_address)?, notes))
}

fn says_no_address() -> LabError {
    LabError::Agent { name: "server".into(), why: "it did not report its address".into() }
}
