//! Finds the named testbed whose medium joins two processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use run::Recording;
use sys::netns::Netns;

use super::socket::{KeeperReply, ask, names, socket_of};
use super::status::{HostStatus, Status, status_within};
use crate::media::Medium;

/// Maximum time to wait for an answer of the keeper (the process that keeps the testbed alive). The wait is short,
/// because it may happen while a load runs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// A medium that joins two processes on different hosts of a named testbed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    /// Name of the testbed.
    pub name: String,
    /// Names of the two hosts.
    pub hosts: [String; 2],
    /// Text that describes the medium, as the user entered it.
    pub medium: String,
    /// Description of the medium's implementation.
    pub made_of: String,
    /// True if all hosts and both directions share one wire.
    pub shared_wire: bool,
    socket: PathBuf,
}

/// Finds this user's testbed that contains both processes, on different hosts. `here` and `there` are process IDs.
/// Returns `None` if both processes are on one host, or if no testbed contains both.
pub fn joining(here: u32, there: u32) -> Option<Joining> {
    let ends = [Netns::of_process(here).ok()?, Netns::of_process(there).ok()?];
    if ends[0].id() == ends[1].id() {
        return None;
    }
    names().into_iter().find_map(|name| Joining::from_status(status_within(&name, ANSWER_TIMEOUT).ok()??, &ends))
}

impl Joining {
    fn from_status(status: Status, ends: &[Netns; 2]) -> Option<Self> {
        let host = |end: &Netns| status.hosts.iter().find(|host: &&HostStatus| end.holds(host.netns_pid));
        let hosts = [host(&ends[0])?.name.clone(), host(&ends[1])?.name.clone()];
        let shared_wire = Medium::parse(&status.medium).ok()?.spec().shared_wire;
        let socket = socket_of(&status.name).ok()?;
        Some(Self { name: status.name, hosts, medium: status.medium, made_of: status.made_of, shared_wire, socket })
    }

    /// Returns the path of the keeper's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Takes one sample of the medium's counters. The sample is empty if the keeper does not answer.
    pub fn sample(&self) -> Recording {
        match ask(&self.socket, "status", ANSWER_TIMEOUT) {
            KeeperReply::Answer(text) => serde_json::from_str(&text).map(|s: Status| s.medium_use).unwrap_or_default(),
            KeeperReply::Silence(_) | KeeperReply::Nobody => Recording::default(),
        }
    }
}
