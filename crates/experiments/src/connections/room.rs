//! Checks that this machine has enough resources for the requested connections. The check comes before the connections
//! are opened, because a machine that runs out of memory kills other programs.

use lab::LabError;
use probe::{Probe, Scope};
use run::Window;

/// Number of descriptors that a process needs beyond one per connection.
const SPARE: u64 = 300;
/// Minimum number of processes per side (generators or servers). With only one process per side, the experiment would
/// be the same as `loadline load`.
const MIN_PROCESSES: u32 = 2;
/// Maximum number of processes per side.
const MAX_PROCESSES: u32 = 128;
/// Memory that one connection uses, bytes, rounded up. A measurement found 10,300 bytes in the kernel for both ends of
/// a connection, and 300 bytes in the client's and the server's process together.
const CONNECTION_BYTES: f64 = 11_000.0;
/// Memory that a process uses without connections, bytes.
const PROCESS_BYTES: f64 = 8e6;
/// Maximum share of the available memory that the experiment may use.
const MAX_MEMORY_SHARE: f64 = 0.9;
/// Number of descriptors that this program needs for each process that it controls.
const PIPES: u64 = 3;
/// Number of descriptors that every process needs for its own purposes.
const OWN: u64 = 128;

/// Resources of this machine. A resource whose size is unknown is `None`, and is not checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resources {
    memory_bytes: Option<f64>,
    /// Number of files that may still be opened, by all programs of the system together.
    files: Option<f64>,
    /// Maximum number of descriptors per process.
    descriptors: u64,
}

/// Determines the resources of this machine.
pub(super) fn has() -> Resources {
    let mut probe = Probe::new(Scope { sources: Some(vec!["memory"]), ..Scope::default() });
    probe.sample(0.0);
    let memory_bytes = probe.take().sum("memory.available", Window::ALL, |_| true).value();
    Resources { memory_bytes, files: free_files(), descriptors: sys::limits::descriptors().0 }
}

/// Returns the number of files that may still be opened on this system. `/proc/sys/fs/file-nr` contains the number of
/// open files, a zero, and the maximum number.
fn free_files() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/sys/fs/file-nr").ok()?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    Some(numbers.get(2)? - numbers.first()?)
}

/// Returns the number of processes per side, at most one per connection. If `asked` is 0, the function chooses the
/// smallest number at which no process exceeds its descriptor limit, but at least [`MIN_PROCESSES`]. Returns an error
/// if `asked` is too small, or if more than [`MAX_PROCESSES`] processes are needed or asked for.
pub(super) fn processes(connections: u32, asked: u32, descriptors: u64) -> Result<u32, LabError> {
    let each = u32::try_from(descriptors.saturating_sub(SPARE)).unwrap_or(u32::MAX).max(1);
    let needed = connections.div_ceil(each).max(MIN_PROCESSES);
    let most = u64::from(each) * u64::from(MAX_PROCESSES);
    if needed > MAX_PROCESSES {
        return Err(refused(
            connections,
            format!(
                "that takes {needed} processes on each side, since one may have {descriptors} descriptors: ask for at most {most} \
             (--set connections={most}) or raise the limit (ulimit -Hn)"
            ),
        ));
    }
    if asked > 0 && asked < needed || asked > MAX_PROCESSES {
        return Err(refused(
            connections,
            format!(
                "processes = {asked} is out of range: give {needed} to {MAX_PROCESSES}, or 0 for as many as descriptors ask for"
            ),
        ));
    }
    Ok(needed.max(asked).min(connections))
}

fn refused(connections: u32, why: String) -> LabError {
    LabError::set_up(format!("holding {connections} connections"), why)
}

/// Returns an error if this machine lacks resources for `connections` connections. The error says what to do; most
/// errors also say how many connections are possible.
pub(super) fn check(connections: u32, processes: u32, has: &Resources) -> Result<(), LabError> {
    let (n, fixed) = (f64::from(connections), 2.0 * f64::from(processes) * PROCESS_BYTES);
    let (wanted, files) = (n * CONNECTION_BYTES + fixed, 2.0 * n + 2.0 * f64::from(processes) * OWN as f64);
    let own = 2 * PIPES * u64::from(processes) + OWN;
    if own > has.descriptors {
        return Err(refused(
            connections,
            format!(
                "leading {processes} processes on each side takes {own} descriptors and this program may have {}: raise the limit \
             (ulimit -Hn)",
                has.descriptors
            ),
        ));
    }
    if let Some(free) = has.memory_bytes.filter(|free| wanted > MAX_MEMORY_SHARE * free) {
        let most = ((MAX_MEMORY_SHARE * free - fixed) / CONNECTION_BYTES).max(0.0) as u32;
        return Err(refused(
            connections,
            format!(
                "both ends take about {:.1} GB of memory and {:.1} GB are available: ask for at most {most} \
             (--set connections={most})",
                wanted / 1e9,
                free / 1e9
            ),
        ));
    }
    match has.files.filter(|free| files > *free) {
        Some(free) => Err(refused(
            connections,
            format!(
                "both ends are {files} open files and the system has room for {free}: raise fs.file-max or ask for at most {0} \
             (--set connections={0})",
                (0.45 * free) as u32
            ),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: Resources = Resources { memory_bytes: Some(24e9), files: Some(2.4e6), descriptors: 20_000 };

    fn why(checked: Result<(), LabError>) -> String {
        checked.unwrap_err().to_string()
    }

    #[test]
    fn the_descriptor_limit_sets_the_number_of_processes() {
        let of = |n, asked| processes(n, asked, 20_000).unwrap();
        assert_eq!([of(10_000, 0), of(100_000, 0), of(1_000_000, 0), of(10_000, 5)], [2, 6, 51, 5]);
        let few = processes(1_000_000, 0, 1024).unwrap_err().to_string();
        assert!(few.contains("ask for at most 92672") && few.contains("ulimit"), "{few}");
        assert!(processes(100_000, 2, 20_000).unwrap_err().to_string().contains("give 6 to 128"));
    }

    #[test]
    fn too_many_connections_are_refused_with_the_possible_number() {
        assert!(check(1_000_000, 51, &LARGE).is_ok());
        let memory = why(check(1_000_000, 51, &Resources { memory_bytes: Some(4e9), ..LARGE }));
        assert!(
            memory.contains("11.8 GB") && memory.contains("4.0 GB") && memory.contains("connections=253"),
            "{memory}"
        );
        let files = why(check(1_000_000, 51, &Resources { files: Some(1e6), ..LARGE }));
        assert!(files.contains("fs.file-max") && files.contains("450000"), "{files}");
        assert!(why(check(1_000_000, 51, &Resources { descriptors: 256, ..LARGE })).contains("434 descriptors"));
        assert!(
            check(u32::MAX, 2, &Resources { memory_bytes: None, files: None, ..LARGE }).is_ok(),
            "nothing is known"
        );
    }

    #[test]
    fn this_machine_reports_its_resources() {
        let has = has();
        assert!(has.memory_bytes.is_none_or(|n| n > 1e6) && has.files.is_none_or(|n| n > 0.0), "{has:?}");
    }
}
