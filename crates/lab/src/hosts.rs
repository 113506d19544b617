//! The other hosts of a run: connected, observed from there, and told what cannot be sent to them.

use std::path::Path;
use std::process::Command;

use run::{Address, HostPlan, LoadPlan, ObserverSpec, Role, WatchSpec};

use crate::remote_observer::RemoteObserver;
use crate::via::Via;
use crate::{Host, LabError, Local};

/// Hosts that a load is spread over.
#[derive(Clone, Debug)]
struct Fleet {
    name: String,
    members: Vec<(Via, u32)>,
}

impl Host for Fleet {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, program: &Path) -> Result<Command, LabError> {
        let first = self.members.first().ok_or_else(|| LabError::set_up("starting an agent", "no host was named"))?;
        first.0.command(program)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn members(&self) -> Vec<(&dyn Host, u32)> {
        self.members.iter().map(|(host, agents)| (host as &dyn Host, *agents)).collect()
    }
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    clients: Option<Fleet>,
    server: Option<Via>,
}

impl Hosts {
    /// Connects to the hosts of a plan.
    pub(crate) fn connect(plans: &[HostPlan], program: &Path) -> Result<Self, LabError> {
        if plans.is_empty() {
            return Ok(Self::default());
        }
        let mut hosts = Self::default();
        let mut members = Vec::new();
        for (host, plan) in Via::connect(plans, program)?.into_iter().zip(plans) {
            match plan.role {
                Role::Client => members.push((host, plan.agents)),
                Role::Server => hosts.server = Some(host),
            }
        }
        let names: Vec<&str> = members.iter().map(|(host, _)| host.name()).collect();
        hosts.clients = (!members.is_empty()).then(|| Fleet { name: names.join(", "), members: members.clone() });
        Ok(hosts)
    }

    /// Where generators run, and where the server does; this host where no other was named.
    pub(crate) fn into_sides(self) -> [Box<dyn Host>; 2] {
        let here = || Box::new(Local::default()) as Box<dyn Host>;
        [
            self.clients.map_or_else(here, |fleet| Box::new(fleet) as Box<dyn Host>),
            self.server.map_or_else(here, |via| Box::new(via) as Box<dyn Host>),
        ]
    }

    /// Observers on the clients' hosts.
    pub(crate) fn observe_clients(&self, program: &Path, addr: &Address) -> Result<Vec<RemoteObserver>, LabError> {
        let members = self.clients.iter().flat_map(|fleet| &fleet.members);
        let start = |(host, _): &(Via, u32)| {
            let observer =
                ObserverSpec { host: host.name().into(), connect: Some(addr.clone()), ..ObserverSpec::default() };
            RemoteObserver::start(host, program, WatchSpec { observer, find: None })
        };
        members.map(start).collect()
    }

    /// The observer on the server's host, which looks for whoever takes connections to `addr` there.
    pub(crate) fn observe_server(&self, program: &Path, addr: &Address) -> Result<Option<RemoteObserver>, LabError> {
        let Some(host) = &self.server else { return Ok(None) };
        let observer = ObserverSpec { host: host.name().into(), role: Role::Server, ..ObserverSpec::default() };
        RemoteObserver::start(host, program, WatchSpec { observer, find: Some(addr.clone()) }).map(Some)
    }
}

/// Refuses a load that names files: an agent on another host would read its own, or none.
pub(crate) fn without_files(load: &LoadPlan) -> Result<(), LabError> {
    let said = [serde_json::to_value(&load.protocol), serde_json::to_value(&load.tls)];
    let mut named = Vec::new();
    said.iter().flatten().for_each(|value| files_in(value, &mut named));
    match named.first() {
        None => Ok(()),
        Some(file) => Err(LabError::set_up(
            format!("sending the load to other hosts (--client-hosts), which names the file {file:?}"),
            "files are not sent to other hosts yet; leave it out, or generate the load on this one",
        )),
    }
}

/// Values of all keys that name a file.
fn files_in(value: &serde_json::Value, found: &mut Vec<String>) {
    let Some(object) = value.as_object() else { return };
    for (key, value) in object {
        if let (true, Some(file)) = (key.ends_with("_file") || key == "file", value.as_str()) {
            found.push(file.into());
        }
        files_in(value, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Protocol, TlsPlan};

    #[test]
    fn a_load_that_names_a_file_is_not_sent_elsewhere() {
        assert!(without_files(&LoadPlan::default()).is_ok());
        let raw = Protocol::Raw { send_file: Some("/etc/motd".into()), expect_bytes: None };
        let error = without_files(&LoadPlan { protocol: raw, ..LoadPlan::default() }).unwrap_err().to_string();
        assert!(error.contains("/etc/motd"), "{error}");
        let tls = Some(TlsPlan { key_file: Some("key.pem".into()), ..TlsPlan::default() });
        assert!(without_files(&LoadPlan { tls, ..LoadPlan::default() }).is_err());
    }
}
