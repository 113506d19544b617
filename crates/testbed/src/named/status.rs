//! What there is under a name.

use std::net::IpAddr;
use std::time::Duration;

use run::Recording;
use serde::{Deserialize, Serialize};

use super::socket::{Heard, PATIENCE, ask, clear, fail, socket_of};
use crate::error::Result;

/// What a keeper says of its testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// What joins the hosts, as it was asked for.
    pub medium: String,
    /// What the medium is made of.
    pub made_of: String,
    /// Process id of the keeper.
    pub keeper: u32,
    /// Seconds since it was made.
    pub age_s: f64,
    /// The hosts.
    pub hosts: Vec<HostStatus>,
    /// One sample of the medium's counters.
    pub medium_use: Recording,
}

/// A host of a named testbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostStatus {
    /// Its name.
    pub name: String,
    /// Its address on the medium.
    pub address: IpAddr,
    /// A process in its namespace.
    pub netns_pid: u32,
}

/// What there is under a name; `None` when nothing is.
pub fn status(name: &str) -> Result<Option<Status>> {
    status_within(name, PATIENCE)
}

/// The same for whoever cannot wait so long.
pub(super) fn status_within(name: &str, patience: Duration) -> Result<Option<Status>> {
    let path = socket_of(name)?;
    let text = match ask(&path, "status", patience) {
        Heard::Answer(text) => text,
        Heard::Silence(keeper) => {
            let who = keeper.map_or(String::new(), |pid| format!(" (process {pid})"));
            let advice = format!("`loadline testbed down {name}` ends it");
            return Err(fail(name, format!("its keeper{who} does not answer; {advice}")));
        }
        Heard::Nobody => {
            clear(&path);
            return Ok(None);
        }
    };
    let parsed = serde_json::from_str(&text);
    parsed.map(Some).map_err(|e| fail(name, format!("its keeper answers oddly ({e}); take it down and make it anew")))
}
