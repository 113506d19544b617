//! This side's processes, as far as other sources need them, and those behind it: numbers and instance names.

use run::Behind;

/// The processes that are followed.
#[derive(Debug, Default)]
pub struct ProcessSet {
    wanted: Vec<u32>,
    members: Vec<(u32, String)>,
    wanted_behind: Vec<u32>,
    members_behind: Vec<(u32, String)>,
    met: Vec<(Behind, Vec<u32>)>,
    /// Goes up when other processes are to be followed.
    edition: u64,
}

impl ProcessSet {
    /// Processes to follow, with their children.
    pub fn new(wanted: Vec<u32>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Other processes, to be followed from now on.
    pub fn after(before: &Self, wanted: Vec<u32>) -> Self {
        Self { wanted, edition: before.edition + 1, ..Self::default() }
    }

    /// Changes when others are to be followed: forget what you know of the former ones.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Processes to look at that were asked for, once.
    pub fn take_wanted(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.wanted)
    }

    /// Adds a process that was not known.
    pub fn add(&mut self, pid: u32, instance: &str) {
        self.members.push((pid, instance.to_owned()));
    }

    /// Whether a process is followed already.
    pub fn holds(&self, pid: u32) -> bool {
        self.members.iter().chain(&self.members_behind).any(|(p, _)| *p == pid)
    }

    /// Numbers of all processes seen so far.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|(pid, _)| *pid)
    }

    /// Instances `name:pid` of all processes seen so far.
    pub fn instances(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(_, instance)| instance.as_str())
    }

    /// An address was met that this side is connected to, with the processes that answer there: they are followed, too.
    pub fn met(&mut self, behind: Behind, pids: Vec<u32>) {
        self.wanted_behind.extend(&pids);
        self.met.push((behind, pids));
    }

    /// Processes behind this side to look at, once.
    pub fn take_wanted_behind(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.wanted_behind)
    }

    /// Adds a process behind this side that was not known.
    pub fn add_behind(&mut self, pid: u32, instance: &str) {
        self.members_behind.push((pid, instance.to_owned()));
    }

    /// All that was met, with the instances of its processes.
    pub fn behind(&self) -> Vec<Behind> {
        let named = |pid: &u32| self.members_behind.iter().find(|(p, _)| p == pid).map(|(_, name)| name.clone());
        let with = |(behind, pids): &(Behind, Vec<u32>)| {
            let (pids, processes) = pids.iter().filter_map(|pid| Some((*pid, named(pid)?))).unzip();
            Behind { processes, pids, ..behind.clone() }
        };
        self.met.iter().map(with).collect()
    }
}
