//! `loadline watch`: the counters of a server that somebody else loads. One trial without a generator's side.

use std::path::Path;

use run::{Address, Plan, Run, TrialKind};

use crate::observation::{Observation, Watched};
use crate::{Lab, LabError, Point, Watch};

/// Watches the server with the plan's process, or the one that listens at an address, for the plan's duration, or until the
/// user stops it or it ends.
pub fn watch_server(
    plan: Plan,
    listener: Option<Address>,
    out: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Run, LabError> {
    let watched = server(plan.target.server_pid, listener)?;
    let mut lab = Lab::begin(plan, out, watch)?;
    lab.host(probe::host_info("localhost", "server"));
    lab.note("somebody else loads the server: its requests, their response times and errors are not known here");
    let observation = Observation::of_server_alone(watched);
    let point = Point { label: "somebody's load".into(), kind: TrialKind::Watched, ..Point::default() };
    let trial = lab.look(&observation, &point);
    lab.keep(trial)?;
    lab.finish()
}

/// Which processes to look at.
fn server(pid: Option<u32>, listener: Option<Address>) -> Result<Watched, LabError> {
    let fail = |why: String| LabError::set_up("watching a server", why);
    let watched = |pids| Watched { host: "localhost".into(), pids, ..Watched::default() };
    if let Some(pid) = pid {
        if probe::parent_of(pid).is_none() {
            return Err(fail(format!(
                "there is no process {pid}; see `ss -ltnp` for who listens where, or give --port"
            )));
        }
        return Ok(Watched { listen: listener, netns_pid: other_network(pid), ..watched(vec![pid]) });
    }
    let at = listener.ok_or_else(|| fail("name it: --server-pid PID or --port PORT".into()))?;
    let found = probe::find_server(at).map_err(|e| fail(e.to_string()))?;
    Ok(Watched { netns_pid: found.netns_pid, listen: Some(found.listen), ..watched(found.pids) })
}

/// A process as the way into its network namespace, where that is not ours.
fn other_network(pid: u32) -> Option<u32> {
    sys::netns::elsewhere(pid)?.then_some(pid)
}
