//! Choice of CPUs for client and server, so that they share as few as possible. All functions of this file are pure.

/// CPUs of client and server; an empty list means all CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSplit {
    /// CPUs of the generator.
    pub client: Vec<u32>,
    /// CPUs of the server; empty if they are not known.
    pub server: Vec<u32>,
}

impl CpuSplit {
    /// Chooses CPUs for a server that loadline starts on this host, and for the generator. By default, the server gets
    /// the last CPU, and the generator gets all others. If the user chose the generator's CPUs (`asked`), the server
    /// gets all other CPUs. If no CPU is left for the server, generator and server share CPUs.
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

    /// Chooses CPUs for the generator if a server on this host uses the CPUs in `server`. The user's choice (`asked`)
    /// comes first, then the CPUs that the server does not use. If the server uses all CPUs, the generator gets all
    /// CPUs, too.
    pub fn beside(allowed: &[u32], asked: &[u32], server: &[u32]) -> Self {
        let free: Vec<u32> = allowed.iter().copied().filter(|cpu| !server.contains(cpu)).collect();
        let client = match (asked.is_empty(), free.is_empty()) {
            (false, _) => asked.to_vec(),
            (true, false) => free,
            (true, true) => allowed.to_vec(),
        };
        Self { client, server: server.to_vec() }
    }

    /// Returns true if the generator and the server can run on the same CPU.
    pub fn shared(&self) -> bool {
        self.client.iter().any(|cpu| self.server.contains(cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedded_server_gets_its_own_cpu_if_there_are_two() {
        let cpus = CpuSplit::for_own_server(&[0, 1], &[]);
        assert_eq!((cpus.client.as_slice(), cpus.server.as_slice(), cpus.shared()), (&[0][..], &[1][..], false));
        assert!(CpuSplit::for_own_server(&[0], &[]).shared());
        assert_eq!(CpuSplit::for_own_server(&[0, 1], &[1]).server, [0]);
        assert!(CpuSplit::for_own_server(&[0, 1], &[0, 1]).shared());
    }

    #[test]
    fn the_generator_keeps_off_a_pinned_server() {
        assert_eq!(CpuSplit::beside(&[0, 1, 2], &[], &[1]).client, [0, 2]);
        assert!(CpuSplit::beside(&[0, 1], &[], &[0, 1]).shared());
        assert_eq!(CpuSplit::beside(&[0, 1], &[1], &[1]).client, [1]);
    }
}
