//! Finds the parents, ancestors and descendants of processes by the parent IDs in /proc/PID/stat.
//!
//! A server, such as a test framework, may have started loadline itself. If the server itself started loadline, then
//! loadline, its ancestors and all processes that it started belong neither to the server nor to an upstream.

use std::path::Path;

use crate::text::{after, hex, number, stat_fields, words};

/// Returns the ID of every process in a `proc` folder.
pub(crate) fn pids(proc: &Path) -> impl Iterator<Item = u32> {
    let folder = std::fs::read_dir(proc).into_iter().flatten();
    folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
}

/// Returns ID and parent ID of every process in a `proc` folder.
pub(crate) fn parents(proc: &Path) -> Vec<(u32, u32)> {
    pids(proc).filter_map(|pid| Some((pid, parent(proc, pid)?))).collect()
}

/// Returns the parent of a process of this machine, or `None` if the process does not exist.
pub fn parent_of(pid: u32) -> Option<u32> {
    parent(Path::new("/proc"), pid)
}

/// Returns the start time of a process of this machine in ticks since boot, or `None` if the process does not exist.
/// Source: proc_pid_stat(5), field 22.
pub fn started_ticks(pid: u32) -> Option<u64> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let (_, mut fields) = stat_fields(&text)?;
    number(fields.nth(19)?)
}

/// Returns true if a process is stopped, or will be stopped by a pending SIGSTOP as soon as it runs. Source:
/// proc_pid_status(5).
pub fn is_stopped(pid: u32) -> bool {
    let text = std::fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| after(&text, name).and_then(|mut words| words.next());
    let pending = |name| field(name).and_then(hex).is_some_and(|signals| signals & STOP_SIGNAL_BIT != 0);
    field("State:") == Some(b"T") || pending("SigPnd:") || pending("ShdPnd:")
}

/// Bit of SIGSTOP (19) in a signal mask.
const STOP_SIGNAL_BIT: u64 = 1 << 18;

/// Returns the IDs of the processes that the main thread of a process started, without ended ones that their parent has
/// waited for. Reads a single file, so it takes far less time than a search through all processes. The result is empty
/// if the kernel does not list children (CONFIG_PROC_CHILDREN), or if the process ended. Source: proc_tid_children(5).
pub(crate) fn children_of_main_thread(pid: u32) -> Vec<u32> {
    let text = std::fs::read(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    pids_in(&text).collect()
}

/// Returns the process IDs in the text of a file `children`. Source: proc_tid_children(5).
pub(crate) fn pids_in(text: &[u8]) -> impl Iterator<Item = u32> {
    words(text).filter_map(|word| u32::try_from(number(word)?).ok())
}

fn parent(proc: &Path, pid: u32) -> Option<u32> {
    let text = std::fs::read(proc.join(format!("{pid}/stat"))).ok()?;
    let (_, mut fields) = stat_fields(&text)?;
    number(fields.nth(1)?).and_then(|n| u32::try_from(n).ok())
}

/// Returns the IDs of all descendants of a process of this machine, ascending.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    descendants(Path::new("/proc"), &[pid])
}

/// Returns the ID of a process of this machine, followed by the IDs of all its descendants.
pub fn with_descendants(pid: u32) -> Vec<u32> {
    all_with_descendants(&[pid])
}

/// Returns the IDs of processes of this machine, followed by the IDs of all their descendants. Reads the parent of
/// every process of this machine once.
pub fn all_with_descendants(pids: &[u32]) -> Vec<u32> {
    pids.iter().copied().chain(descendants(Path::new("/proc"), pids)).collect()
}

/// Returns the IDs of all descendants of the given processes, in ascending order. Leaves out the processes themselves.
pub(crate) fn descendants(proc: &Path, pids: &[u32]) -> Vec<u32> {
    below(&parents(proc), pids)
}

/// Returns the IDs of this process and of its ancestors, nearest first. Reads one file for each of these processes.
/// Returns no IDs if the `proc` folder, which may be one of a test, does not contain this process.
pub(crate) fn own_line(proc: &Path) -> Vec<u32> {
    /// Maximum number of ancestors. In a test, the parents in the files may form a circle.
    const MAX_ANCESTORS: usize = 4096;
    let me = std::process::id();
    let line = std::iter::successors(parent(proc, me), |pid| parent(proc, *pid));
    let ancestors = line.take(MAX_ANCESTORS).take_while(|pid| *pid != 0);
    parent(proc, me).map(|_| me).into_iter().chain(ancestors).collect()
}

/// Returns the IDs of all descendants of a server's processes, in ascending order. Leaves out the server's processes
/// themselves. Also leaves out loadline, loadline's ancestors, and every process that is a descendant of the server
/// only through loadline or through one of these ancestors.
pub(crate) fn server_descendants(proc: &Path, pids: &[u32]) -> Vec<u32> {
    let mut parents = parents(proc);
    let own = own_line(proc);
    parents.retain(|(pid, _)| !own.contains(pid));
    below(&parents, pids)
}

fn below(parents: &[(u32, u32)], pids: &[u32]) -> Vec<u32> {
    let mut known = pids.to_vec();
    let mut at = 0;
    while at < known.len() {
        let parent = known[at];
        let children = parents.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid);
        let new: Vec<u32> = children.filter(|pid| !known.contains(pid)).collect();
        known.extend(new);
        at += 1;
    }
    let mut found = known.split_off(pids.len());
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found() {
        let parents = [(1, 0), (5, 1), (6, 5), (7, 6), (8, 5), (9, 1)];
        assert_eq!(below(&parents, &[5]), [6, 7, 8]);
        assert_eq!(below(&parents, &[6, 8]), [7]);
    }

    #[test]
    fn the_own_line_is_read_from_the_folder_of_a_test_too() {
        let dir = tempfile::tempdir().unwrap();
        let me = std::process::id();
        assert_eq!(own_line(dir.path()), [0; 0], "this process is not there");
        for (pid, parent) in [(me, me.wrapping_add(1)), (me.wrapping_add(1), 1), (1, 0)] {
            std::fs::create_dir_all(dir.path().join(pid.to_string())).unwrap();
            std::fs::write(dir.path().join(format!("{pid}/stat")), format!("{pid} (x) S {parent} 1")).unwrap();
        }
        assert_eq!(own_line(dir.path()), [me, me.wrapping_add(1), 1]);
    }

    #[test]
    fn a_server_that_started_loadline_has_other_descendants_only() {
        let child = testkit::ChildProcess::start(std::process::Command::new("sleep").arg("60"));
        let (me, proc) = (std::process::id(), Path::new("/proc"));
        let server = parent_of(me).unwrap();
        let found = server_descendants(proc, &[server]);
        assert!(descendants(proc, &[server]).contains(&me));
        assert!(!found.contains(&me) && !found.contains(&child.pid()), "{found:?}");
        assert!(server_descendants(proc, &[me]).contains(&child.pid()), "below a process that was asked for");
        assert!(own_line(proc).starts_with(&[me, server]));
    }

    #[test]
    fn parents_are_read_from_proc() {
        let dir = tempfile::tempdir().unwrap();
        for (pid, stat) in [("12", "12 (a (b) S 7 1"), ("13", "13 (x) S 12 1"), ("self", "odd"), ("14", "odd")] {
            std::fs::create_dir_all(dir.path().join(pid)).unwrap();
            std::fs::write(dir.path().join(pid).join("stat"), stat).unwrap();
        }
        assert_eq!(descendants(dir.path(), &[7]), [12, 13]);
    }

    #[test]
    fn a_stopped_process_is_found_even_if_its_name_ends_inside_a_character() {
        let script = r"printf 'server\303' >/proc/self/comm; kill -STOP $$; echo";
        let child = testkit::ChildProcess::start(std::process::Command::new("sh").args(["-c", script]));
        testkit::eventually(|| is_stopped(child.pid()).then_some(()));
        assert!(!is_stopped(std::process::id()));
    }

    #[test]
    fn a_process_comes_before_its_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let all = with_descendants(std::process::id());
        assert!(all[0] == std::process::id() && all[1..].contains(&child.id()), "{all:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
