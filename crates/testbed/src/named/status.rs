//! Status of a named testbed.

use std::net::IpAddr;
use std::time::Duration;

use run::Recording;
use serde::{Deserialize, Serialize};

use super::socket::{ANSWER_TIMEOUT, KeeperReply, ask, clear, fail, socket_of};
use crate::error::Result;

/// Status of a named testbed, as its keeper (the process that keeps it alive) reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the testbed.
    pub name: String,
    /// Text that describes the medium, as the user entered it.
    pub medium: String,
    /// Description of the medium's implementation.
    pub made_of: String,
    /// Process ID of the keeper.
    pub keeper: u32,
    /// Time since the testbed was created, seconds.
    pub age_s: f64,
    /// Status of each host.
    pub hosts: Vec<HostStatus>,
    /// One sample of the medium's counters.
    pub medium_use: Recording,
}

/// A host of a named testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostStatus {
    /// Name of the host.
    pub name: String,
    /// IP address of the host on the medium.
    pub address: IpAddr,
    /// ID of a process in the host's network namespace.
    pub netns_pid: u32,
}

/// Returns the status of a named testbed; `None` if there is no testbed with this name.
pub fn status(name: &str) -> Result<Option<Status>> {
    status_within(name, ANSWER_TIMEOUT)
}

/// Returns the status of a named testbed; `None` if there is no testbed with this name. Waits at most `patience` for
/// each part of the answer.
pub(super) fn status_within(name: &str, patience: Duration) -> Result<Option<Status>> {
    let path = socket_of(name)?;
    let text = match ask(&path, "status", patience) {
        KeeperReply::Answer(text) => text,
        KeeperReply::Silence(keeper) => {
            let who = keeper.map_or(String::new(), |pid| format!(" (process {pid})"));
            let advice = format!("`loadline testbed down {name}` ends it");
            return Err(fail(name, format!("its keeper{who} does not answer; {advice}")));
        }
        KeeperReply::Nobody => {
            clear(&path);
            return Ok(None);
        }
    };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|e| fail(name, format!("its keeper answers oddly ({e}); take it down and make it anew")))
}
