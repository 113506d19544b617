//! Finds the CPUs to which a server is pinned, and reduces recordings to these CPUs, as if the server's host had no
//! other CPUs.

use std::path::Path;

use run::Recording;

use crate::text::{after, keyed};

/// Largest number of CPUs that a Linux kernel can be built for (`NR_CPUS` of x86-64).
pub const MAX_CPUS: u32 = 8192;

/// Returns the CPUs on which a server's worker processes may run. Workers are the processes in `pids` that have no
/// child in `pids`. Leaves out parents, because a parent that only waits (such as nginx's master) is usually not
/// pinned. The result is empty if nothing can be read.
pub fn cpus_of(root: &Path, pids: &[u32]) -> Vec<u32> {
    let status = |pid: &u32| std::fs::read(root.join(format!("proc/{pid}/status"))).ok();
    let all: Vec<(u32, Vec<u8>)> = pids.iter().filter_map(|pid| status(pid).map(|text| (*pid, text))).collect();
    let parents: Vec<f64> = all.iter().filter_map(|(_, text)| keyed(text, "PPid:")).collect();
    let workers = all.iter().filter(|(pid, _)| !parents.contains(&f64::from(*pid)));
    let list = |text: &Vec<u8>| {
        let words = after(text, "Cpus_allowed_list:").and_then(|mut words| words.next().map(<[u8]>::to_vec));
        list_of(&String::from_utf8_lossy(&words.unwrap_or_default()))
    };
    let mut cpus: Vec<u32> = workers.flat_map(|(_, text)| list(text)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Returns the lowest CPU number of the core that `cpu` belongs to. Returns `cpu` itself if the core cannot be read.
pub fn core_of(cpu: u32) -> u32 {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    list_of(&list).into_iter().min().unwrap_or(cpu)
}

/// Parses a list in the kernel's format: `0-3,8`.
fn list_of(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        Some(first..=last.min(first.saturating_add(MAX_CPUS)))
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Returns the boot ID of this machine, which is equal in all namespaces of the machine. The result is empty if the
/// kernel has no boot ID.
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().into()
}

/// Returns a name for the CPUs that an observer counts: the boot ID of this machine. If only some CPUs of the machine
/// count as the observed host, the name also has the numbers of these CPUs.
pub(crate) fn machine(cpus: &[u32]) -> String {
    let boot = boot_id();
    let boot = if boot.is_empty() { "this machine" } else { &boot };
    if cpus.is_empty() { boot.into() } else { format!("{boot} CPUs {cpus:?}") }
}

/// Reduces a recording to some CPUs of the host. The instance `total` becomes the sum over the CPUs in `cpus`, and
/// `cpu.online` becomes their number. Counters without a value per CPU (interrupts, context switches) still count the
/// whole machine.
pub(crate) fn only(recording: &mut Recording, cpus: &[u32]) {
    if cpus.is_empty() {
        return;
    }
    let names: Vec<String> = cpus.iter().map(u32::to_string).collect();
    for at in 0..recording.columns.len() {
        let column = &recording.columns[at];
        let id = column.counter.as_str();
        if id == "cpu.online" {
            recording.columns[at].values.iter_mut().flatten().for_each(|v| *v = cpus.len() as f64);
        } else if id.starts_with("cpu.") && column.instance == "total" {
            recording.columns[at].values = sums(recording, id, &names);
        }
    }
}

/// Sums a counter over some CPUs, row by row. A sum is `None` if one of the CPUs has no value.
fn sums(recording: &Recording, id: &str, names: &[String]) -> Vec<Option<f64>> {
    let parts: Vec<_> = recording.columns_of(id).filter(|c| names.contains(&c.instance)).collect();
    let sum = |row: usize| {
        let values = parts.iter().map(|c| c.values.get(row).copied().flatten());
        (parts.len() == names.len()).then(|| values.sum::<Option<f64>>()).flatten()
    };
    (0..recording.t_s.len()).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, CounterId};

    #[test]
    fn some_cpus_can_represent_the_host() {
        let column = |id: &'static str, instance: &str, v: f64| Column {
            counter: CounterId::new(id),
            instance: instance.into(),
            values: vec![Some(v)],
        };
        let mut r = Recording { t_s: vec![0.0], ..Recording::default() };
        r.columns = vec![
            column("cpu.user", "0", 1.0),
            column("cpu.user", "1", 5.0),
            column("cpu.user", "total", 6.0),
            column("cpu.online", "", 2.0),
            column("system.interrupts", "", 9.0),
        ];
        only(&mut r, &[1]);
        let now = |id: &str, instance: &str| r.column(id, instance).unwrap().values[0];
        assert_eq!((now("cpu.user", "total"), now("cpu.online", "")), (Some(5.0), Some(1.0)));
        assert_eq!(now("system.interrupts", ""), Some(9.0));
    }

    #[test]
    fn the_cpus_of_a_waiting_parent_do_not_count() {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent, list) in [(10, 1, "0-3"), (11, 10, "1"), (12, 10, "3")] {
            let dir = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&dir).unwrap();
            let text = format!("Name:\tx\nPPid:\t{parent}\nCpus_allowed_list:\t{list}\n");
            std::fs::write(dir.join("status"), text).unwrap();
        }
        assert_eq!(cpus_of(root.path(), &[10, 11, 12, 99]), [1, 3]);
        assert_eq!(cpus_of(root.path(), &[10]), [0, 1, 2, 3]);
        assert!(cpus_of(root.path(), &[99]).is_empty());
    }
}
