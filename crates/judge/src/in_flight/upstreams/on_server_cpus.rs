//! Processes of upstreams that work on the CPUs of the server.

use crate::context::view::{Task, View, busy};

/// Returns the working processes of all upstreams of the server on its machine that may run on a CPU of the server.
/// Includes processes whose CPUs are unknown. A process may serve several upstream addresses, but is returned once.
pub(crate) fn on_server_cpus(view: &View<'_>) -> Vec<Task> {
    let own = view.mask();
    let may_share = |task: &Task| own.zip(task.mask).is_none_or(|(own, theirs)| own & theirs != 0);
    let mut tasks = view.upstream_processes();
    tasks.retain(|task| task.busy > 0.0 && !view.side.processes.contains(&task.name) && may_share(task));
    tasks
}

/// Returns the number of CPUs that the server and its upstreams `behind` may use together.
pub(crate) fn cpus_with(view: &View<'_>, behind: &[Task]) -> Option<f64> {
    view.cpu_allowed_of(&[busy(&view.processes()), busy(behind)].concat())
}
