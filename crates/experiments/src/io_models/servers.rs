//! Server processes of an entry (load). An entry has one server process, or several if one process may not open enough
//! descriptors. This module also decides which process gets which blocks of connections.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lab::agents::AgentGroup;
use lab::{Host, Lab, LabError, ServerCounters, start_servers};
use run::{ServePlan, Trial};

use super::held;
use super::values::{SERVER_RECEIVES_BYTES_PER_S, SERVER_SENDS_BYTES_PER_S};

/// Number of descriptors that each server process needs beyond one per connection.
const SPARE: u64 = 300;
/// Name of the group under which the servers report their own counts.
pub(super) const COUNTED: &str = "Server";
/// Maximum time to wait for a server's counts. A busy server reports its counts late.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of server processes, and for each block of connections the index of its server process.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) processes: usize,
    pub(super) server_of: Vec<usize>,
}

/// Assigns each block to the server process that has the fewest connections so far. There are at most as many processes
/// as blocks. If `processes` is 0, the descriptor limit decides how many processes are needed. The I/O models with
/// groups need up to two further descriptors for every 62 connections.
pub(super) fn layout(blocks: &[u32], processes: u32, descriptors: u64) -> Layout {
    let room = (descriptors.saturating_sub(SPARE) * 62 / 64).max(1);
    let all: u64 = blocks.iter().map(|n| u64::from(*n)).sum();
    let needed = if processes == 0 { all.div_ceil(room) } else { u64::from(processes) };
    let processes = (needed as usize).clamp(1, blocks.len().max(1));
    let mut held = vec![0_u64; processes];
    let deal = |n: &u32| {
        let at = (0..processes).min_by_key(|i| held[*i]).unwrap_or(0);
        held[at] += u64::from(*n);
        at
    };
    let server_of = blocks.iter().map(deal).collect();
    Layout { processes, server_of }
}

/// Running server processes and their addresses.
pub(super) struct Servers {
    group: Arc<Mutex<AgentGroup>>,
    pids: Vec<u32>,
    addrs: Vec<SocketAddr>,
    notes: Vec<String>,
}

impl Servers {
    pub(super) fn start(lab: &Lab<'_>, host: &dyn Host, plan: &ServePlan, layout: &Layout) -> Result<Self, LabError> {
        let mut plan = plan.clone();
        // The limit on threads applies to the whole machine, so it is divided among the processes.
        if let Some(most) = plan.options.get("max_threads").and_then(|n| n.parse::<usize>().ok()) {
            plan.options.insert("max_threads".into(), (most / layout.processes).max(1).to_string());
        }
        let (group, addrs, mut notes) = start_servers(host, lab.program(), &plan, layout.processes)?;
        if layout.processes > 1 {
            notes.push(format!("{} server processes, for their descriptors", layout.processes));
        }
        let pids = group.pids();
        Ok(Self { group: Arc::new(Mutex::new(group)), pids, addrs, notes })
    }

    pub(super) fn pids(&self) -> &[u32] {
        &self.pids
    }

    pub(super) fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// Returns the ID and the listening address of each process.
    pub(super) fn listeners(&self) -> Vec<(u32, SocketAddr)> {
        self.pids.iter().copied().zip(self.addrs.iter().copied()).collect()
    }

    /// Returns the address of server process number `at`. If `at` is too high, returns the address of the first
    /// process.
    pub(super) fn addr(&self, at: usize) -> SocketAddr {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        self.addrs.get(at).or(self.addrs.first()).copied().unwrap_or(any)
    }

    /// Returns an object that reads the servers' own counts.
    pub(super) fn counters(&self) -> ServerCounters {
        ServerCounters::new(&self.group, COUNTED)
    }

    pub(super) fn group(&self) -> &Mutex<AgentGroup> {
        &self.group
    }

    pub(super) fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// Stores what the server itself counted: the rates of received and sent bytes in the window, and failures, such as
/// threads that could not start.
pub(super) fn put_own_view(trial: &mut Trial, group: &Mutex<AgentGroup>) {
    let per_s = |id| held::growth_per_s(&trial.server.as_ref()?.recording, id, trial.measured.window);
    let [receives, sends] = ["server.bytes_in", "server.bytes_out"].map(per_s);
    trial.results.put(SERVER_RECEIVES_BYTES_PER_S, receives);
    trial.results.put(SERVER_SENDS_BYTES_PER_S, sends);
    let (_, failures) = group.lock().unwrap_or_else(PoisonError::into_inner).counts(PATIENCE);
    if !failures.is_empty() {
        trial.notes.push(format!("the server: {}", failures.join("; ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_assigned_evenly() {
        let mut blocks = vec![1000; 12];
        assert_eq!(layout(&blocks, 0, 20_000).processes, 1);
        blocks.extend([4000; 3]);
        let dealt = layout(&blocks, 0, 20_000);
        let of =
            |at: usize| -> u32 { blocks.iter().zip(&dealt.server_of).filter(|(_, s)| **s == at).map(|(n, _)| n).sum() };
        assert_eq!((dealt.processes, of(0) + of(1)), (2, 24_000));
        assert!(of(0).max(of(1)) <= 16_000);
        assert_eq!(layout(&[7000], 4, 20_000).processes, 1);
    }
}
