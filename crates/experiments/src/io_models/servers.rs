//! The server processes of an entry: one, or as many as their descriptors ask for, with the blocks dealt out to them.

use std::net::SocketAddr;

use run::ServePlan;

use super::counts::{self, Counts};
use super::held::{Held, Seen};
use lab::agent::AgentGroup;
use lab::{Host, Lab, LabError, start_server};

/// Descriptors that a server needs besides its connections.
const SPARE: u64 = 300;

/// Which block goes to which server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) processes: usize,
    pub(super) server_of: Vec<usize>,
}

/// Deals blocks out to `processes` servers, each to the one that has least; 0 takes as many as descriptors ask for. A
/// group needs up to two descriptors of its own for 62 connections.
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

/// Servers that run.
pub(super) struct Servers {
    crews: Vec<AgentGroup>,
    addrs: Vec<SocketAddr>,
    notes: Vec<String>,
}

impl Servers {
    pub(super) fn start(lab: &Lab<'_>, host: &dyn Host, plan: &ServePlan, layout: &Layout) -> Result<Self, LabError> {
        let mut servers = Self { crews: Vec::new(), addrs: Vec::new(), notes: Vec::new() };
        let mut plan = plan.clone();
        // The bound on threads is for the machine, so the processes share it.
        if let Some(most) = plan.options.get("max_threads").and_then(|n| n.parse::<usize>().ok()) {
            plan.options.insert("max_threads".into(), (most / layout.processes).max(1).to_string());
        }
        for _ in 0..layout.processes {
            let (group, addr, notes) = start_server(host, lab.program(), plan.clone())?;
            servers.crews.push(group);
            servers.addrs.push(addr);
            servers.notes.extend(notes);
        }
        if layout.processes > 1 {
            servers.notes.push(format!("{} server processes, for their descriptors", layout.processes));
        }
        Ok(servers)
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.crews.iter().flat_map(AgentGroup::pids).collect()
    }

    /// The address of a server; that of the first for a number that is none.
    pub(super) fn addr(&self, at: usize) -> SocketAddr {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        self.addrs.get(at).or(self.addrs.first()).copied().unwrap_or(any)
    }

    pub(super) fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Conducts while the servers are looked at from outside and asked for their own counts.
    pub(super) fn watch<T>(&mut self, conduct: impl FnOnce() -> T) -> (T, Seen, Counts) {
        let held = Held::watch(self.pids().into_iter().zip(self.addrs.iter().map(SocketAddr::port)).collect());
        let crews = &mut self.crews;
        let (outcome, counts) = Counts::during(|| counts::ask(crews), conduct);
        (outcome, held.end(), counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_dealt_out_evenly() {
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
