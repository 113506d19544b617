//! IDs and instance names of the processes of one side (server or load generator), and of its upstreams' processes. The
//! sources of a probe share one set of processes.

use run::Upstream;

/// A followed process of an upstream.
#[derive(Debug)]
struct UpstreamProcess {
    pid: u32,
    instance: String,
    /// Start time in ticks since boot. A later process with the same ID has another start time.
    started_ticks: Option<u64>,
}

/// The followed processes of one side, and those of its upstreams.
#[derive(Debug, Default)]
pub struct ProcessSet {
    wanted: Vec<u32>,
    members: Vec<(u32, String)>,
    wanted_behind: Vec<u32>,
    members_behind: Vec<UpstreamProcess>,
    met: Vec<(Upstream, Vec<u32>)>,
    /// Instances with the CPU time of unseen children (children that ended before a sample could find them). Each
    /// instance comes with the ID of the parent.
    ended_children: Vec<(u32, String)>,
    /// Number that increases when the processes to follow are replaced.
    edition: u64,
}

impl ProcessSet {
    /// Creates a set of processes to follow, with their children.
    pub fn new(wanted: Vec<u32>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Creates a set that replaces the followed processes of `before` by `wanted`. Upstreams of `before` stay known,
    /// and their processes must be followed from now on, too. Leaves out upstream processes that have ended.
    /// `started_ticks` returns the start time of a process (ticks since boot), or `None` if there is no such process.
    pub fn after(before: &Self, wanted: Vec<u32>, started_ticks: impl Fn(u32) -> Option<u64>) -> Self {
        let still_runs = |process: &&UpstreamProcess| {
            process.started_ticks.is_some() && process.started_ticks == started_ticks(process.pid)
        };
        let running: Vec<u32> = before.members_behind.iter().filter(still_runs).map(|process| process.pid).collect();
        let with_running = |(behind, pids): &(Upstream, Vec<u32>)| {
            (behind.clone(), pids.iter().copied().filter(|pid| running.contains(pid)).collect())
        };
        let met = before.met.iter().map(with_running).collect();
        Self { wanted, wanted_behind: running, met, edition: before.edition + 1, ..Self::default() }
    }

    /// Returns a number that changes when the followed processes are replaced. When the number changes, sources must
    /// discard their data about the earlier processes.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Returns the IDs of the processes that must be followed from now on. Later calls do not return these processes
    /// again.
    pub fn take_wanted(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.wanted)
    }

    /// Adds a new process.
    pub fn add(&mut self, pid: u32, instance: &str) {
        self.members.push((pid, instance.to_owned()));
    }

    /// Removes an ended process whose counters were added to the sums over ended processes.
    pub fn forget(&mut self, pid: u32) {
        self.members.retain(|(member, _)| *member != pid);
    }

    /// Returns true if a process is already followed.
    pub fn holds(&self, pid: u32) -> bool {
        self.all_pids().any(|followed| followed == pid)
    }

    /// Returns the IDs of the followed processes, without those of upstreams.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|(pid, _)| *pid)
    }

    /// Returns the IDs of the followed processes, including those of upstreams.
    pub(crate) fn all_pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.pids().chain(self.members_behind.iter().map(|process| process.pid))
    }

    /// Adds the instance with the CPU time of the unseen children of `parent`.
    pub fn add_ended_children(&mut self, parent: u32, instance: &str) {
        self.ended_children.push((parent, instance.to_owned()));
    }

    /// Returns the instances `name:pid` of the followed processes, without those of upstreams.
    pub fn instances(&self) -> impl Iterator<Item = &str> {
        let is_own = |parent: &u32| self.members.iter().any(|(pid, _)| pid == parent);
        let ended = self.ended_children.iter().filter(move |(parent, _)| is_own(parent));
        self.members.iter().chain(ended).map(|(_, instance)| instance.as_str())
    }

    /// Adds an upstream service of the server, or processes to a known one. The processes `pids`, which listen at the
    /// upstream's address, will be followed, too.
    pub fn met(&mut self, behind: Upstream, pids: Vec<u32>) {
        self.wanted_behind.extend(&pids);
        match self.met.iter_mut().find(|(known, _)| known.address == behind.address) {
            Some((_, known)) => known.extend(pids),
            None => self.met.push((behind, pids)),
        }
    }

    /// Adds the process `child`, which the upstream process `parent` started, to each upstream to which `parent`
    /// belongs.
    pub fn add_child_behind(&mut self, parent: u32, child: u32) {
        let of_parent = self.met.iter_mut().filter(|(_, pids)| pids.contains(&parent) && !pids.contains(&child));
        of_parent.for_each(|(_, pids)| pids.push(child));
    }

    /// Returns the IDs of the processes of the upstream at an address.
    pub fn pids_behind(&self, address: &str) -> Vec<u32> {
        self.met.iter().filter(|(behind, _)| behind.address == address).flat_map(|(_, pids)| pids.clone()).collect()
    }

    /// Returns the number of upstream processes.
    pub fn count_behind(&self) -> usize {
        self.members_behind.len()
    }

    /// Returns the IDs of the upstream processes that must be followed from now on. Later calls do not return these
    /// processes again.
    pub fn take_wanted_behind(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.wanted_behind)
    }

    /// Adds a new upstream process.
    pub fn add_behind(&mut self, pid: u32, instance: &str, started_ticks: Option<u64>) {
        self.members_behind.push(UpstreamProcess { pid, instance: instance.to_owned(), started_ticks });
    }

    /// Returns all upstreams, each with the IDs and the instances of its processes.
    pub fn behind(&self) -> Vec<Upstream> {
        let process = |pid: &u32| self.members_behind.iter().find(|process| process.pid == *pid);
        let named = |pid: &u32| process(pid).map(|process| process.instance.clone());
        let with = |(behind, pids): &(Upstream, Vec<u32>)| {
            let (pids, mut processes): (Vec<u32>, Vec<String>) =
                pids.iter().filter_map(|pid| Some((*pid, named(pid)?))).unzip();
            let ended = self.ended_children.iter().filter(|(parent, _)| pids.contains(parent));
            processes.extend(ended.map(|(_, instance)| instance.clone()));
            Upstream { processes, pids, ..behind.clone() }
        };
        self.met.iter().map(with).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An earlier version of loadline forgot the upstreams at each new load. Until the second sample of the load, that
    /// version attributed the CPU time of the upstreams to other programs.
    #[test]
    fn upstream_processes_stay_known_while_they_run() {
        let upstream = |address: &str| Upstream { address: address.into(), ..Upstream::default() };
        let mut first = ProcessSet::new(vec![1]);
        first.met(upstream("a"), vec![10, 11]);
        first.met(upstream("b"), vec![20]);
        for pid in first.take_wanted_behind() {
            first.add_behind(pid, &format!("service:{pid}"), Some(u64::from(pid) * 100));
        }
        first.add_behind(12, "service:12", Some(1200));
        first.add_child_behind(11, 12);
        // Process 10 has ended, and another program has the ID of process 20.
        let started_ticks = |pid| (pid != 10).then_some(if pid == 20 { 9999 } else { u64::from(pid) * 100 });
        let mut second = ProcessSet::after(&first, vec![1], started_ticks);
        assert_eq!(second.take_wanted_behind(), [11, 12]);
        assert_eq!((second.pids_behind("a"), second.pids_behind("b")), (vec![11, 12], vec![]));
        second.met(upstream("b"), vec![21]);
        assert_eq!((second.pids_behind("b"), second.behind().len()), (vec![21], 2), "it was started again");
    }
}
