//! A complete testbed: its hosts with their addresses, programs started in the hosts, and counters of the medium.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::process::Command;
use std::sync::{Arc, Weak};

use run::{Column, CounterId, Recording};
use sys::netns::Netns;

use crate::error::{Result, TestbedError, setup};
use crate::media::{BuiltMedium, Medium, MediumSpec, Wire};
use crate::net::Net;
use crate::steer::{self, Receiver, Steered};
use crate::tools;

/// Description of a testbed to build.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Spec {
    /// Names of the hosts, in order. Each host has its own IP address.
    pub hosts: Vec<String>,
    /// Text that describes the medium between the hosts, as [`Medium::parse`] accepts it.
    pub medium: String,
    /// CPUs that do the kernel's receive work for each host, as if a network card interrupted these CPUs. If a host has
    /// no entry, the sender's CPU does the receive work for this host. [`Testbed::steered`] says whether the kernel
    /// accepted the CPUs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub receives_on: BTreeMap<String, Vec<u32>>,
}

impl Spec {
    /// Describes a testbed with a server and `clients` clients. The hosts are called `server`, `client1`, `client2` and
    /// so on.
    pub fn server_and_clients(clients: usize, medium: &str) -> Self {
        let hosts = std::iter::once("server".to_string()).chain((1..=clients).map(|n| format!("client{n}")));
        Self { hosts: hosts.collect(), medium: medium.into(), receives_on: BTreeMap::new() }
    }
}

/// Hosts (network namespaces) joined by a medium. The hosts, and all programs started in them, end when the testbed is
/// dropped. Hosts and programs also end when the process that built the testbed ends for any reason.
pub struct Testbed {
    /// Medium that joins the hosts. Rust drops the first field first, so a forwarder releases the hosts' interfaces
    /// before the hosts end.
    medium: Arc<dyn BuiltMedium>,
    medium_text: String,
    medium_spec: &'static MediumSpec,
    hosts_apart: bool,
    steered: BTreeMap<String, Steered>,
    net: Net,
}

impl std::fmt::Debug for Testbed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Testbed").field("medium", &self.medium_text).field("net", &self.net).finish_non_exhaustive()
    }
}

impl Testbed {
    /// Builds a testbed. If the caller is not root, the network namespaces belong to a new user namespace.
    pub fn build(spec: &Spec) -> Result<Self> {
        let medium = Medium::parse(&spec.medium)?;
        let net = Net::new(&spec.hosts, medium.hosts_apart())?;
        let receivers = steer::ask(&spec.receives_on, &net)?;
        let joined = medium.join(&net)?;
        net.wait_for_links()?;
        let steered = receivers.into_iter().map(Receiver::settle).collect();
        Ok(Self {
            medium: Arc::from(joined),
            medium_text: spec.medium.clone(),
            medium_spec: medium.spec(),
            hosts_apart: medium.hosts_apart(),
            steered,
            net,
        })
    }

    /// Returns the names of the hosts.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.net.hosts.iter().map(|host| host.name.as_str())
    }

    /// Returns the address of a host on the medium.
    pub fn address(&self, host: &str) -> Result<IpAddr> {
        let at = self.net.index(host)?;
        Ok(self.net.hosts[at].address.into())
    }

    /// Returns the ID of a process that stays in the host's network namespace as long as the testbed exists.
    /// `/proc/PID/net` shows the host's network.
    pub fn netns_pid(&self, host: &str) -> Result<u32> {
        Ok(self.net.pid(self.net.index(host)?))
    }

    /// Returns the network namespace of a host, so that callers can start programs in it.
    pub fn netns(&self, host: &str) -> Result<Netns> {
        Ok(self.net.netns(self.net.index(host)?).clone())
    }

    /// Returns a command that runs `program` in a host.
    pub fn command(&self, host: &str, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
        let mut command = Command::new(program);
        self.net.netns(self.net.index(host)?).enter(&mut command);
        Ok(command)
    }

    /// Sets a network sysctl of a host. Example: `sysctl("server", "net.ipv4.tcp_syncookies", "0")`.
    pub fn sysctl(&self, host: &str, key: &str, value: &str) -> Result<()> {
        let path = format!("/proc/sys/{}", key.replace('.', "/"));
        let advice = "the name may be wrong, or this setting is not one of a namespace";
        let written = tools::write(self.net.netns(self.net.index(host)?), &path, value);
        written.map_err(setup(format!("set {key} to {value} in {host}"), advice))
    }

    /// Returns the mechanism that moved a host's receive work to the CPUs that the spec names. If the receive work was
    /// not moved, returns the reason. Returns `None` if the spec names no CPUs for the host.
    pub fn steered(&self, host: &str) -> Option<&Steered> {
        self.steered.get(host)
    }

    /// Returns the text that describes the medium, as written in the spec.
    pub fn medium(&self) -> &str {
        &self.medium_text
    }

    /// Returns the medium's row in [`MEDIA`](crate::MEDIA).
    pub fn medium_spec(&self) -> &'static MediumSpec {
        self.medium_spec
    }

    /// Returns true if each host has its own network namespace.
    pub fn hosts_apart(&self) -> bool {
        self.hosts_apart
    }

    /// Describes the medium's implementation in one sentence.
    pub fn made_of(&self) -> String {
        self.medium.made_of()
    }

    /// Returns the amount of traffic that may pass without delay after a pause. The amount is given as the time that
    /// the wire normally needs for this traffic, microseconds. Media in the kernel let some traffic pass without delay
    /// after a pause, because the kernel's timer may send frames late. Returns 0 if every frame takes its full time on
    /// the wire, even after a pause.
    pub fn catches_up_us(&self) -> u64 {
        self.medium.catches_up_us()
    }

    /// Returns a handle that can change the medium's rate from any thread. The handle does not keep the testbed alive.
    pub fn speed(&self) -> MediumSpeed {
        MediumSpeed(Arc::downgrade(&self.medium))
    }

    /// Returns a handle that can read the medium's counters from any thread. The handle does not keep the testbed
    /// alive.
    pub fn gauge(&self) -> MediumGauge {
        MediumGauge(Arc::downgrade(&self.medium))
    }
}

/// Handle that can change the rate of a medium.
#[derive(Clone)]
pub struct MediumSpeed(Weak<dyn BuiltMedium>);

impl std::fmt::Debug for MediumSpeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MediumSpeed")
    }
}

impl MediumSpeed {
    /// Lowest rate to which a medium can be slowed, as a share of its full rate.
    const MIN_SHARE: f64 = 0.01;

    /// Sets every wire of the medium to a share of its full rate, from now on.
    pub fn set(&self, share: f64) -> Result<()> {
        if !(Self::MIN_SHARE..=1.0).contains(&share) {
            return Err(TestbedError::Speed(format!(
                "{share} is not a share of its rate from {} to 1",
                Self::MIN_SHARE
            )));
        }
        let medium = self.0.upgrade().ok_or_else(|| TestbedError::Speed("its testbed has ended".into()))?;
        medium.set_speed(share).map_err(TestbedError::Speed)
    }
}

/// Handle that can read the counters of a medium.
#[derive(Clone)]
pub struct MediumGauge(Weak<dyn BuiltMedium>);

impl std::fmt::Debug for MediumGauge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MediumGauge")
    }
}

impl MediumGauge {
    /// Adds one sample of the counters `medium.*` to `recording`, with one instance per wire. If the testbed has ended,
    /// the sample has no values.
    pub fn sample(&self, t_s: f64, recording: &mut Recording) {
        let rows = recording.t_s.len();
        recording.t_s.push(t_s);
        for wire in self.0.upgrade().map(|medium| medium.wires()).unwrap_or_default() {
            for (id, value) in readings(&wire, recording) {
                put(recording, rows, id, &wire.name, value);
            }
        }
        let full = rows + 1;
        recording.columns.iter_mut().for_each(|column| column.values.resize(full, None));
    }
}

fn readings(wire: &Wire, recording: &mut Recording) -> Vec<(&'static str, f64)> {
    let counts = match &wire.counts {
        Ok(counts) => counts,
        Err(reason) => {
            let absence = |id: &'static str| run::Absence {
                counter: CounterId::new(id),
                instance: wire.name.clone(),
                reason: reason.clone(),
            };
            if recording.absent.iter().all(|a| a.instance != wire.name) {
                recording.absent.extend(["medium.bytes", "medium.busy"].map(absence));
            }
            return Vec::new();
        }
    };
    let mut list = vec![
        ("medium.bytes", counts.bytes as f64),
        ("medium.frames", counts.frames as f64),
        ("medium.deferrals", counts.deferrals as f64),
        ("medium.drops", counts.drops as f64),
        ("medium.lost", counts.lost as f64),
        ("medium.queue", counts.queue_bytes as f64),
    ];
    list.extend(counts.busy_ns.map(|ns| ("medium.busy", ns as f64 / 1e3)));
    list.extend(wire.bits_per_s.map(|bits| ("medium.rate", bits as f64 / 8.0)));
    list
}

fn put(recording: &mut Recording, row: usize, id: &'static str, instance: &str, value: f64) {
    let found = recording.columns.iter().position(|c| c.counter.as_str() == id && c.instance == instance);
    let at = found.unwrap_or_else(|| {
        recording.columns.push(Column { counter: CounterId::new(id), instance: instance.into(), values: Vec::new() });
        recording.columns.len() - 1
    });
    let values = &mut recording.columns[at].values;
    values.resize(row, None);
    values.push(Some(value));
}
