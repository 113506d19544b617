//! Which processors client and server get, so that they share as few as possible. Pure decisions, one reader of /proc.

use std::path::Path;

/// Processors for both sides; empty means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The generator's.
    pub client: Vec<u32>,
    /// The server's, as far as they are known.
    pub server: Vec<u32>,
}

impl Places {
    /// For a server that is started here: the last processor is its own where there are at least two.
    pub fn for_own_server(allowed: &[u32], asked: &[u32]) -> Self {
        match allowed {
            [rest @ .., last] if !rest.is_empty() && asked.is_empty() => {
                Self { client: rest.to_vec(), server: vec![*last] }
            }
            _ => {
                let client = if asked.is_empty() { allowed } else { asked };
                let left: Vec<u32> = allowed.iter().copied().filter(|cpu| !client.contains(cpu)).collect();
                Self { client: client.to_vec(), server: if left.is_empty() { allowed.to_vec() } else { left } }
            }
        }
    }

    /// For a local server that runs already on `server` processors: the generator takes the others, if there are any.
    pub fn beside(allowed: &[u32], asked: &[u32], server: &[u32]) -> Self {
        let free: Vec<u32> = allowed.iter().copied().filter(|cpu| !server.contains(cpu)).collect();
        let client = match (asked.is_empty(), free.is_empty()) {
            (false, _) => asked.to_vec(),
            (true, false) => free,
            (true, true) => allowed.to_vec(),
        };
        Self { client, server: server.to_vec() }
    }

    /// Whether both sides can run on one processor.
    pub fn shared(&self) -> bool {
        self.client.iter().any(|cpu| self.server.contains(cpu))
    }
}

/// The processors that a server's working processes may run on: those of processes that have no children among
/// `pids`, since a parent that only waits (nginx's master) is mostly not pinned. Empty when nothing can be read.
pub fn cpus_of(root: &Path, pids: &[u32]) -> Vec<u32> {
    let status = |pid: &u32| std::fs::read_to_string(root.join(format!("proc/{pid}/status"))).ok();
    let field = |text: &str, name: &str| -> Option<String> {
        text.lines().find_map(|l| l.strip_prefix(name)).map(|v| v.trim_start_matches(':').trim().to_string())
    };
    let all: Vec<(u32, String)> = pids.iter().filter_map(|pid| status(pid).map(|text| (*pid, text))).collect();
    let parents: Vec<u32> = all.iter().filter_map(|(_, text)| field(text, "PPid")?.parse().ok()).collect();
    let workers = all.iter().filter(|(pid, _)| !parents.contains(pid));
    let mut cpus: Vec<u32> =
        workers.filter_map(|(_, text)| field(text, "Cpus_allowed_list")).flat_map(|list| list_of(&list)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

fn list_of(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            cpus.extend(first..=last.min(first.saturating_add(8192)));
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_server_gets_an_own_processor_where_there_are_two() {
        let places = Places::for_own_server(&[0, 1], &[]);
        assert_eq!((places.client.as_slice(), places.server.as_slice(), places.shared()), (&[0][..], &[1][..], false));
        assert!(Places::for_own_server(&[0], &[]).shared());
        assert_eq!(Places::for_own_server(&[0, 1], &[1]).server, [0]);
        assert!(Places::for_own_server(&[0, 1], &[0, 1]).shared());
    }

    #[test]
    fn the_generator_keeps_off_a_pinned_server() {
        assert_eq!(Places::beside(&[0, 1, 2], &[], &[1]).client, [0, 2]);
        assert!(Places::beside(&[0, 1], &[], &[0, 1]).shared());
        assert_eq!(Places::beside(&[0, 1], &[1], &[1]).client, [1]);
    }

    #[test]
    fn a_waiting_parent_does_not_widen_its_workers() {
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
