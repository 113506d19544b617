//! Doubles the descriptor limit of the server's processes during an experiment. With a higher limit, a server without
//! free descriptors can accept more connections.

use run::{Intensity, LeverCheck, LeverPlan, LoadPlan, Prove};

use super::change::{Change, Resource};
use super::lever::{Lever, LeverHost, LeverTargets, Pull};
use super::undo::Undo;

pub(super) const ROW: Lever = Lever {
    id: "descriptors",
    help: "doubles the server's limit of file descriptors",
    tests: &["server-fds"],
    needs: Prove::Intrusive,
    always: false,
    slot_s: 0.0,
    planned: -1.0,
    rights: "a hard limit above the soft one, or CAP_SYS_RESOURCE",
    intrusion: "the server accepts connections beyond its own limit in half of the turns",
    dose: "1 minus the limit with the lever over the limit without it",
    undo: "each limit is saved first and restored; after a kill the next command restores it",
    place: LeverHost::Server,
    pull: Pull::TurnsWithChange { plan, check, load, prepare },
};

/// Factor by which the limits are raised.
const LIMIT_FACTOR: u64 = 2;
/// Maximum descriptor limit of a server process that an experiment doubles. An experiment has too few connections to
/// exhaust a higher limit.
const MAX_LIMIT: u64 = 2048;

fn plan(targets: &LeverTargets) -> Result<LeverPlan, String> {
    targets.on_server(ROW.id)
}

/// Returns the total descriptor limit of the server's processes after the doubling, and the resources that the
/// experiment locks.
fn check(plan: &LeverPlan) -> Result<LeverCheck, String> {
    let undo = prepare(plan)?;
    let limits: Option<Vec<(u64, u64)>> = plan.pids.iter().map(|pid| probe::descriptor_limits(*pid)).collect();
    let limits = limits.ok_or("the server's limit of file descriptors cannot be read, or there is none")?;
    let most = limits.iter().map(|(soft, _)| *soft).max().unwrap_or(0);
    if most > MAX_LIMIT {
        return Err(format!("the server may hold {most} file descriptors, more than an experiment has connections"));
    }
    let descriptors = limits.iter().map(|(soft, _)| soft.saturating_mul(LIMIT_FACTOR)).fold(0, u64::saturating_add);
    Ok(LeverCheck { descriptors, resources: undo.resources() })
}

/// Returns the load with as many connections as the raised limits allow, but not fewer than in `load`.
fn load(found: &LeverCheck, load: &LoadPlan) -> LoadPlan {
    let wanted = found.descriptors.min(LIMIT_FACTOR * MAX_LIMIT) as u32;
    let mut load = load.clone();
    if let Intensity::Closed { connections, .. } = &mut load.intensity {
        *connections = wanted.max(*connections);
    }
    load
}

fn prepare(plan: &LeverPlan) -> Result<Undo, String> {
    let change = |pid: &u32| {
        let started = probe::started_ticks(*pid)?;
        let before = probe::descriptor_limits(*pid)?;
        let soft = LIMIT_FACTOR.saturating_mul(before.0);
        Some(Change::Descriptors { pid: *pid, started, before, after: (soft, before.1.max(soft)) })
    };
    let pids: Vec<u32> = plan.pids.iter().copied().filter(|pid| probe::started_ticks(*pid).is_some()).collect();
    let resources: Vec<Resource> = pids.iter().copied().map(Resource::Descriptors).collect();
    Undo::prepare(resources, || Ok(pids.iter().filter_map(change).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_doubled_and_put_back() {
        let mut child = std::process::Command::new("sh").args(["-c", "ulimit -Sn 64; exec sleep 60"]).spawn().unwrap();
        let pid = child.id();
        let soft = move || probe::descriptor_limits(pid).map(|(soft, _)| soft);
        testkit::eventually(|| (soft() == Some(64)).then_some(()));
        let targets = LeverTargets { server_pids: vec![pid], ..LeverTargets::default() };
        let plan = plan(&targets).unwrap();
        let found = check(&plan).unwrap();
        assert_eq!(load(&found, &LoadPlan::default()).intensity.in_flight(), Some(128.0));
        let mut undo = prepare(&plan).unwrap();
        undo.switch(true).unwrap();
        assert_eq!(soft(), Some(128));
        drop(undo);
        assert_eq!(soft(), Some(64));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_server_that_is_not_known_is_left_alone() {
        assert!(plan(&LeverTargets::default()).unwrap_err().contains("unknown"));
    }
}
