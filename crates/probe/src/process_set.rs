//! This side's processes, as far as other sources need them: numbers and instance names.

/// The processes that are followed.
#[derive(Debug, Default)]
pub struct ProcessSet {
    wanted: Vec<u32>,
    members: Vec<(u32, String)>,
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
        Self { wanted, members: Vec::new(), edition: before.edition + 1 }
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
        self.members.iter().any(|(p, _)| *p == pid)
    }

    /// Numbers of all processes seen so far.
    pub fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|(pid, _)| *pid)
    }

    /// Instances `name:pid` of all processes seen so far.
    pub fn instances(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(_, instance)| instance.as_str())
    }
}
