//! This side's processes, as far as other sources need them: numbers and instance names.

/// The processes that are followed.
#[derive(Debug, Default)]
pub struct Roster {
    members: Vec<(u32, String)>,
}

impl Roster {
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
