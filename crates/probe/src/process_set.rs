//! IDs and instance names of the processes of one side (server or load generator), and of its upstreams' processes. The
//! sources of a probe share one set of processes.

use run::Upstream;

/// The followed processes of one side, and those of its upstreams.
#[derive(Debug, Default)]
pub struct ProcessSet {
    wanted: Vec<u32>,
    members: Vec<(u32, String)>,
    wanted_behind: Vec<u32>,
    members_behind: Vec<(u32, String)>,
    met: Vec<(Upstream, Vec<u32>)>,
    /// Instances with the CPU time of unseen children (children that ended before a sample could find them). Each comes
    /// with the ID of the parent.
    ended_children: Vec<(u32, String)>,
    /// Number that increases when the processes to follow are replaced.
    edition: u64,
}

impl ProcessSet {
    /// Creates a set of processes to follow, with their children.
    pub fn new(wanted: Vec<u32>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Creates a set that replaces the followed processes of `before` by `wanted`.
    pub fn after(before: &Self, wanted: Vec<u32>) -> Self {
        Self { wanted, edition: before.edition + 1, ..Self::default() }
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
        self.members.iter().chain(&self.members_behind).any(|(p, _)| *p == pid)
    }

    /// Returns the IDs of the followed processes, without those of upstreams.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|(pid, _)| *pid)
    }

    /// Returns the IDs of the followed processes, including those of upstreams.
    pub(crate) fn all_pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().chain(&self.members_behind).map(|(pid, _)| *pid)
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

    /// Adds an upstream service of the server. The processes `pids`, which listen at the upstream's address, will be
    /// followed, too.
    pub fn met(&mut self, behind: Upstream, pids: Vec<u32>) {
        self.wanted_behind.extend(&pids);
        self.met.push((behind, pids));
    }

    /// Adds a process that the upstream process `parent` started, to each upstream of the parent.
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
    pub fn add_behind(&mut self, pid: u32, instance: &str) {
        self.members_behind.push((pid, instance.to_owned()));
    }

    /// Returns all upstreams, each with the IDs and the instances of its processes.
    pub fn behind(&self) -> Vec<Upstream> {
        let named = |pid: &u32| self.members_behind.iter().find(|(p, _)| p == pid).map(|(_, name)| name.clone());
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
