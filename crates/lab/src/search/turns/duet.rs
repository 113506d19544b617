//! Duet: both servers run at the same time on separate CPUs, and swap these CPUs after each measurement. A disturbance
//! of the machine affects both servers at the same time. A disturbance of both servers cancels out in their difference
//! (L. Bulej and others, *Duet Benchmarking: Improving Measurement Accuracy in the Cloud*, ICPE 2020).
//!
//! Even on separate CPUs, the servers share the machine's memory, its largest cache, and its power budget. A server
//! that uses much of the memory, the cache or the power slows the other server. Swapping the CPUs removes differences
//! between the two sets of CPUs, but not the effect of shared resources.

use std::collections::BTreeMap;

use crate::levers::{Change, Resource, Undo, threads_below};

/// CPUs of both servers and of their generators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuetCpus {
    /// The two sets of CPUs that the servers swap after each measurement.
    pub servers: [Vec<u32>; 2],
    /// CPUs of the generator for each server.
    pub generators: [Vec<u32>; 2],
}

impl DuetCpus {
    /// Divides the cores of this machine into four equal parts, for two servers and two generators. Keeps hyperthreads
    /// of one core together, because they slow each other. The error says what the machine lacks.
    pub fn of(allowed: &[u32], core_of: impl Fn(u32) -> u32) -> Result<Self, String> {
        let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        allowed.iter().for_each(|cpu| cores.entry(core_of(*cpu)).or_default().push(*cpu));
        let cores: Vec<Vec<u32>> = cores.into_values().collect();
        let each = cores.len() / 4;
        if each == 0 {
            return Err(format!("both servers and both generators need a core each, and there are {}", cores.len()));
        }
        // The generators get the first CPUs, because the kernel prefers the first CPUs for interrupts.
        let part = |at: usize| cores[cores.len() - (at + 1) * each..cores.len() - at * each].concat();
        Ok(Self { servers: [part(0), part(1)], generators: [part(2), part(3)] })
    }

    /// Gives each server one CPU, even if generators or hyperthreads share this CPU. The servers can still swap their
    /// CPUs, but the shared CPUs affect the results.
    pub fn crowded(allowed: &[u32]) -> Result<Self, String> {
        match allowed {
            [.., a, b] => Ok(Self { servers: [vec![*b], vec![*a]], generators: [allowed.to_vec(), allowed.to_vec()] }),
            _ => Err("both servers need a CPU each, and there is one".into()),
        }
    }
}

/// Moves both servers to their CPUs for a measurement, and moves them back afterwards.
pub trait Placement {
    /// Moves the first server to the first set of CPUs and the second server to the second set; the reverse if
    /// `swapped` is true.
    fn place(&mut self, swapped: bool) -> Result<(), String>;

    /// Lets both servers use all CPUs that they could use before [`Placement::place`].
    fn restore(&mut self);
}

/// Processes of both servers on this machine. A record on disk contains the CPUs that these processes could use before
/// the comparison. If this command is killed, the next loadline command uses the record to move the processes back.
pub(crate) struct LivePlacement {
    /// Listening processes of each server. The descendants of the listening processes are moved, too.
    pids: [Vec<u32>; 2],
    sets: [Vec<u32>; 2],
    moved: Option<Undo>,
}

impl LivePlacement {
    /// Checks that the processes of both servers can be moved to other CPUs. The error gives the reason why a server
    /// cannot be moved.
    pub(crate) fn new(pids: [Vec<u32>; 2], sets: [Vec<u32>; 2]) -> Result<Self, String> {
        if pids.iter().any(Vec::is_empty) || pids[0].iter().any(|pid| pids[1].contains(pid)) {
            return Err("both addresses belong to one server, or a server's processes are not visible".into());
        }
        for pid in pids.iter().flatten() {
            not_pinned(*pid, &sets.concat())?;
        }
        Ok(Self { pids, sets, moved: None })
    }

    fn changes(&self, swapped: bool) -> Result<Vec<Change>, String> {
        let of = |(side, pids): (usize, &Vec<u32>)| {
            let cpus = &self.sets[side ^ usize::from(swapped)];
            pids.iter().map(|pid| Change::cpus(*pid, cpus)).collect::<Vec<_>>()
        };
        self.pids.iter().enumerate().flat_map(of).collect()
    }
}

impl Placement for LivePlacement {
    fn place(&mut self, swapped: bool) -> Result<(), String> {
        self.restore();
        let resources = self.pids.iter().flatten().map(|pid| Resource::Cpus(*pid));
        let mut moved = Undo::prepare(resources, || self.changes(swapped))?;
        moved.switch(true)?;
        self.moved = Some(moved);
        Ok(())
    }

    fn restore(&mut self) {
        drop(self.moved.take());
    }
}

/// Fails if a thread of a server may not use all of the `needed` CPUs, or may use other CPUs than the server's first
/// thread. A thread with different CPUs was pinned on purpose, so moving this thread would distort the comparison.
fn not_pinned(pid: u32, needed: &[u32]) -> Result<(), String> {
    let masks: Vec<Vec<u32>> =
        threads_below(pid).into_iter().filter_map(|tid| sys::limits::cpus_of_thread(tid).ok()).collect();
    let first = masks.first().ok_or_else(|| format!("the process {pid} has ended"))?;
    match masks.iter().all(|mask| mask == first) && needed.iter().all(|cpu| first.contains(cpu)) {
        true => Ok(()),
        false => Err(format!("process {pid} has CPUs of its own choice")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::eventually;

    #[test]
    fn servers_and_generators_get_equal_parts_of_whole_cores() {
        let alone = |cpu: u32| cpu;
        let duet = DuetCpus::of(&[0, 1, 2, 3], alone).unwrap();
        assert_eq!((duet.servers, duet.generators), ([vec![3], vec![2]], [vec![1], vec![0]]));
        let nine: Vec<u32> = (0..9).collect();
        let duet = DuetCpus::of(&nine, alone).unwrap();
        assert_eq!((duet.servers, duet.generators), ([vec![7, 8], vec![5, 6]], [vec![3, 4], vec![1, 2]]));
        // CPUs 0 and 4 are one core, CPUs 1 and 5 are the next core, and so on.
        let threads: Vec<u32> = (0..8).collect();
        let duet = DuetCpus::of(&threads, |cpu| cpu % 4).unwrap();
        assert_eq!((duet.servers, duet.generators), ([vec![3, 7], vec![2, 6]], [vec![1, 5], vec![0, 4]]));
        let why = DuetCpus::of(&threads, |cpu| cpu % 2).unwrap_err();
        assert!(why.contains("there are 2"), "{why}");
        assert_eq!(DuetCpus::crowded(&[0, 1]).unwrap().servers, [vec![1], vec![0]]);
        assert!(DuetCpus::crowded(&[0]).is_err() && DuetCpus::of(&[], alone).is_err());
    }

    /// A shell with a sleeping child process. The shell and its child process end when this value is dropped.
    struct Server(std::process::Child);

    impl Server {
        fn start() -> Self {
            let mut command = std::process::Command::new("sh");
            let server = Self(command.args(["-c", "sleep 60 & wait"]).spawn().unwrap());
            eventually(|| (server.processes().len() == 2).then_some(()));
            server
        }

        fn processes(&self) -> Vec<u32> {
            probe::with_descendants(self.0.id())
        }

        fn cpus(&self) -> Vec<Vec<u32>> {
            self.processes().into_iter().map(|pid| sys::limits::cpus_of_thread(pid).unwrap()).collect()
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            for pid in self.processes().into_iter().skip(1) {
                testkit::signal(pid, "KILL");
            }
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn servers_swap_their_cpus_and_get_back_what_they_had() {
        let allowed = sys::limits::allowed_cpus().unwrap();
        let Ok(DuetCpus { servers: sets, .. }) = DuetCpus::crowded(&allowed) else { return };
        let (a, b) = (Server::start(), Server::start());
        let mut placement = LivePlacement::new([&a, &b].map(|server| vec![server.0.id()]), sets.clone()).unwrap();
        for swapped in [false, true, false] {
            placement.place(swapped).unwrap();
            let [first, second] = if swapped { [&sets[1], &sets[0]] } else { [&sets[0], &sets[1]] };
            assert!(a.cpus().iter().all(|cpus| cpus == first) && b.cpus().iter().all(|cpus| cpus == second));
        }
        placement.restore();
        for server in [&a, &b] {
            assert!(server.cpus().iter().all(|cpus| *cpus == allowed), "{:?}", server.cpus());
        }
        placement.place(true).unwrap();
        drop(placement);
        assert!(a.cpus().iter().all(|cpus| *cpus == allowed), "dropping moves back");
    }

    #[test]
    fn a_server_with_cpus_of_its_own_is_not_moved() {
        let allowed = sys::limits::allowed_cpus().unwrap();
        let Ok(DuetCpus { servers: sets, .. }) = DuetCpus::crowded(&allowed) else { return };
        let (a, b) = (Server::start(), Server::start());
        let pids = || [&a, &b].map(|server| vec![server.0.id()]);
        sys::limits::confine_thread(b.0.id(), &sets[0]).unwrap();
        let why = LivePlacement::new(pids(), sets.clone()).err().unwrap();
        assert!(why.contains("of its own choice"), "{why}");
        let same = [vec![a.0.id()], vec![a.0.id()]];
        assert!(LivePlacement::new(same, sets).err().unwrap().contains("one server"));
    }
}
