//! Processes of the server and of its upstreams in each load. If these processes change between loads, a pool grows, or
//! workers restart.

use std::collections::{BTreeMap, BTreeSet};

use run::{Instance, Side, Trial};

use crate::context::view::program;

/// IDs of processes, by program.
pub(super) type Processes<'a> = BTreeMap<&'a str, BTreeSet<u32>>;

/// Returns the IDs of the processes of the server and of its upstreams in one load, by program.
pub(super) fn processes(trial: &Trial) -> Option<Processes<'_>> {
    let side: &Side = trial.server.as_ref()?;
    let mut found = Processes::new();
    for name in side.processes.iter().chain(side.behind.iter().flat_map(|behind| &behind.processes)) {
        let id = Instance::read(name)?.pid;
        found.entry(program(name)).or_default().insert(id);
    }
    Some(found)
}
