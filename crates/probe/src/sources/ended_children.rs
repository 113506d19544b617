//! CPU time of unseen children: child processes that end before a sample could find them. A server may start a process
//! for each request, such as a CGI script or an image converter. Only the parent's counters include the CPU time of a
//! process that ends before a sample. All unseen children of one parent share columns in the recording, as one instance
//! called `program of parent`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::column_writer::Slots;
use crate::process_tree::pids_in;
use crate::reread_file::reread;
use crate::source::Round;
use crate::text::name;
use crate::tree_cpu::ended_children;
use crate::units;

/// Counters of the instance with the CPU time of unseen children. Ended children are assumed to be allowed the CPUs of
/// their parent.
const IDS: &[&str] = &["process.cpu", "process.cpus_allowed", "process.cpu_mask"];
/// CPU time from which unseen children get an instance, nanoseconds. The kernel counts their user and kernel time in
/// clock ticks (usually 10 ms), so less may be a rounding error.
const MIN_NS: u64 = 30_000_000;

/// For each parent (by process ID), the name of the program of its children that ended in earlier load tests. A later
/// load test counts the CPU time of these children from its beginning.
pub(super) type KnownChildren = BTreeMap<u32, String>;

/// Ended children of one process.
#[derive(Default)]
pub(super) struct EndedChildren {
    parent: u32,
    /// CPU time of all ended children at the first reading, nanoseconds.
    first_ns: Option<u64>,
    /// CPU time of all ended children at the last reading, nanoseconds.
    last_ns: u64,
    /// CPU time of ended children that were followed as processes of their own, nanoseconds.
    followed_ns: u64,
    /// Highest total so far of the CPU time of unseen children, nanoseconds.
    unseen_ns: u64,
    /// CPUs that the parent may use: their number, and their bit mask if it is exact.
    pub(super) cpus: Option<(u32, Option<u64>)>,
    /// Columns of the instance, and the CPU time at which the instance began, nanoseconds.
    opened: Option<(Slots, u64)>,
}

/// Process whose children end.
pub(super) struct ParentOfEnded<'a> {
    pub(super) pid: u32,
    /// Name and ID of the process.
    pub(super) instance: &'a str,
    /// Folder with the process's threads.
    pub(super) task: &'a Path,
}

impl EndedChildren {
    /// Reads the counter of ended children from `/proc/PID/stat` of their parent.
    pub(super) fn read(&mut self, stat: &[u8]) {
        let Some((parent, ns)) = ended_children(stat) else { return };
        (self.parent, self.last_ns) = (parent, ns);
        self.first_ns.get_or_insert(ns);
    }

    /// Returns the ID of the parent of the process itself.
    pub(super) const fn parent(&self) -> u32 {
        self.parent
    }

    /// Returns the CPU time of all ended children, nanoseconds.
    pub(super) const fn total_ns(&self) -> u64 {
        self.last_ns
    }

    /// Subtracts the CPU time of a child that was followed until its end, because the child's own columns contain this
    /// time.
    pub(super) fn take_followed(&mut self, ns: u64) {
        self.followed_ns = self.followed_ns.saturating_add(ns);
    }

    /// Updates the CPU time of unseen children. The CPU time of a followed child is subtracted when the child ends. The
    /// parent's counter includes the time of an ended child only after the parent has called wait(2). To prevent that
    /// the sum drops until then, the highest result so far is kept.
    fn update(&mut self) -> u64 {
        let grown_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns));
        self.unseen_ns = self.unseen_ns.max(grown_ns.saturating_sub(self.followed_ns));
        self.unseen_ns
    }

    /// Writes the CPU time of unseen children. Opens an instance once the CPU time is large enough, or at once if the
    /// parent is in `known`. `tids` are the threads of the parent.
    pub(super) fn put(
        &mut self,
        parent: &ParentOfEnded<'_>,
        tids: impl Iterator<Item = u32>,
        known: &mut KnownChildren,
        round: &mut Round<'_>,
        buffer: &mut Vec<u8>,
    ) {
        let unseen_ns = self.update();
        if self.opened.is_none() && (unseen_ns >= MIN_NS || known.contains_key(&parent.pid)) {
            let name = known.entry(parent.pid).or_insert_with(|| child_name(parent, tids, round, buffer));
            let instance = format!("{name} of {}", parent.instance);
            let slots = round.writer.open(IDS, &instance);
            round.process_set.add_ended_children(parent.pid, &instance);
            self.opened = Some((slots, unseen_ns));
        }
        let Some((slots, first_ns)) = self.opened else { return };
        round.writer.put(slots, 0, units::ns_us((unseen_ns - first_ns) as f64));
        round.writer.put_some(slots, 1, self.cpus.map(|(count, _)| f64::from(count)));
        round.writer.put_some(slots, 2, self.cpus.and_then(|(_, mask)| mask).map(|mask| mask as f64));
    }
}

/// Returns the program of one current child of a process, or `children` if the process has no child at this moment. If
/// this child is a shell that runs another program, returns the other program.
fn child_name(
    parent: &ParentOfEnded<'_>,
    tids: impl Iterator<Item = u32>,
    round: &Round<'_>,
    buffer: &mut Vec<u8>,
) -> String {
    let child_of = |task: &Path, tid: u32, buffer: &mut Vec<u8>| {
        let file = std::fs::File::open(task.join(format!("{tid}/children"))).ok()?;
        pids_in(reread(&file, buffer).ok()?).next()
    };
    let name_of = |pid: u32, buffer: &mut Vec<u8>| {
        let file = std::fs::File::open(round.tree.process(pid, "comm")).ok()?;
        Some(name(reread(&file, buffer).ok()?).trim_end().to_owned())
    };
    let own = parent.instance.rsplit_once(':').map_or(parent.instance, |(own, _)| own);
    let mut tids = tids;
    let named = tids.find_map(|tid| {
        let child = child_of(parent.task, tid, buffer)?;
        let inner = child_of(&round.tree.process(child, "task"), child, buffer);
        let name = inner.and_then(|pid| name_of(pid, buffer)).or_else(|| name_of(child, buffer))?;
        // A child that has not started its program yet has the name of its parent.
        (name != own).then_some(name)
    });
    named.unwrap_or_else(|| "children".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(ticks: u64) -> Vec<u8> {
        format!("7 (sh) S 5 7 7 0 -1 0 1 2 3 4 10 20 {ticks} 0 20 0 1 0 99 0 0").into_bytes()
    }

    #[test]
    fn only_children_that_were_not_followed_are_left() {
        let ns = |ticks: u64| (units::ticks_us(ticks) * 1e3) as u64;
        let mut children = EndedChildren::default();
        children.read(&stat(100));
        assert_eq!((children.update(), children.parent(), children.total_ns()), (0, 5, ns(100)), "before the start");
        children.take_followed(ns(30));
        assert_eq!(children.update(), 0, "a followed child ended, and nobody has waited for it yet");
        children.read(&stat(150));
        assert_eq!(children.update(), ns(20));
        children.take_followed(ns(10));
        assert_eq!(children.update(), ns(20), "the next followed child ended");
        children.read(&stat(170));
        assert_eq!(children.update(), ns(30));
    }
}
