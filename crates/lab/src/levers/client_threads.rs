//! Gives the generator more threads during an experiment, if it has CPUs for them.

use run::{Intensity, LoadPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, LoadPair, Pull};

pub(super) const ROW: Lever = Lever {
    id: "client-threads",
    help: "gives the generator up to twice as many threads, at most one per CPU",
    tests: &["client-cpu"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: -1.0,
    rights: "none",
    intrusion: "none at the server",
    dose: "threads with the lever over threads without it",
    undo: "the threads end with their load",
    place: LeverHost::Load,
    pull: Pull::Turns(load_pair),
};

fn load_pair(targets: &LeverTargets, load: &LoadPlan) -> Result<LoadPair, String> {
    let connections = match load.intensity {
        Intensity::Closed { connections, .. } => connections,
        _ => u32::MAX,
    };
    let room = u32::try_from(targets.client_cpus.len()).unwrap_or(u32::MAX).min(connections);
    let threads = (2 * load.threads.max(1)).min(room);
    if threads <= load.threads {
        let (n, cpus) = (load.threads, targets.client_cpus.len());
        return Err(format!("the generator already has {n} of the {cpus} threads that its CPUs and connections allow"));
    }
    let dose = 1.0 - f64::from(threads) / f64::from(load.threads.max(1));
    Ok(LoadPair { off: load.clone(), on: LoadPlan { threads, ..load.clone() }, dose, change: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_added_while_there_are_cpus_for_them() {
        let intensity = Intensity::Closed { connections: 8, pipeline: 1, think: run::ThinkTime::default() };
        let load = LoadPlan { threads: 1, intensity, ..LoadPlan::default() };
        let targets = |cpus: u32| LeverTargets { client_cpus: (0..cpus).collect(), ..LeverTargets::default() };
        let two = load_pair(&targets(4), &load).unwrap();
        assert_eq!((two.off.threads, two.on.threads, two.dose), (1, 2, -1.0));
        assert!(load_pair(&targets(1), &load).unwrap_err().contains("1 of the 1 threads"));
    }
}
