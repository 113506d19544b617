//! The test bed of these experiments: one server host, client hosts, a medium, and a filter that counts SYNs where they
//! arrive.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use probe::{Probe, Scope};
use run::{ErrorKind, Intensity, LoadPlan, Recording, ServePlan, Trial, TrialKind, Window};
use sys::netns::Inside;
use sys::syn_count::SynCounter;
use testbed::{Spec, Testbed};

use crate::agent::Crew;
use crate::{Guest, Lab, LabError, Load, Places, Point, Scene, Watched};

/// Port of the server in its own namespace.
const PORT: u16 = 80;
/// The server's interface; packets that arrive there are counted.
const INTERFACE: &str = "eth0";

/// Trials that are repeated at most because other programs disturbed them: a machine that is never quiet must not make an
/// experiment twice as long.
const MOST_REPEATS: u32 = 4;

/// How long the server may take to be done with what a trial left behind.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

/// A server under test with its clients around it.
pub(in crate::experiments) struct Arena {
    addr: SocketAddr,
    clients: Vec<Guest>,
    client_cpus: Vec<u32>,
    server_cpus: Vec<u32>,
    scene: Scene,
    syns: SynCounter,
    probe: Probe,
    /// Trials that were made a second time.
    repeats: u32,
    // The server ends before the hosts that it lives in: fields are dropped in this order.
    _server: Crew,
    bed: Testbed,
}

impl Arena {
    /// Builds the hosts and starts the server in one of them.
    pub(in crate::experiments) fn build(
        lab: &mut Lab<'_>,
        medium: &str,
        clients: u32,
        server: &ServePlan,
    ) -> Result<Self, LabError> {
        let bed = Testbed::build(&Spec::server_and_clients(clients as usize, medium))?;
        let places = Places::for_own_server(&sys::limits::allowed_cpus().unwrap_or_default(), &[]);
        let listen = SocketAddr::new(bed.address("server")?, PORT);
        let plan = ServePlan { listen: listen.to_string(), cpus: places.server.clone(), ..server.clone() };
        let host = Guest::of(&bed, "server")?;
        let (crew, addr, notes) = crate::start_server(&host, lab.program(), plan)?;
        notes.into_iter().for_each(|n| lab.note(n));
        let watched = Watched {
            host: "server".into(),
            pids: crew.agents().iter().map(crate::agent::Agent::pid).collect(),
            netns_pid: Some(bed.netns_pid("server")?),
            listen: Some(addr),
            shared: places.shared(),
        };
        let scene = Scene::new(addr, Some(watched)).with_client("client1", Some(bed.netns_pid("client1")?));
        let clients = (1..=clients).map(|n| Guest::of(&bed, &format!("client{n}"))).collect::<Result<_, _>>()?;
        let syns = count_syns(&bed)?;
        let sources = Some(vec!["netstat", "listener"]);
        let netns_pid = Some(bed.netns_pid("server")?);
        let probe = Probe::new(Scope { netns_pid, listen: Some(addr), sources, ..Scope::default() });
        Ok(Self {
            addr,
            clients,
            client_cpus: places.client,
            server_cpus: places.server,
            scene,
            syns,
            probe,
            repeats: 0,
            _server: crew,
            bed,
        })
    }

    /// Sets a network sysctl of the server's host.
    pub(in crate::experiments) fn server_sysctl(&self, key: &str, value: &str) -> Result<(), LabError> {
        Ok(self.bed.sysctl("server", key, value)?)
    }

    /// Lets the kernel's receiving work for the server run on the server's own processor, as a network card's interrupt
    /// would (receive packet steering); without it, that work runs on the processor of whoever sends. Returns what to
    /// say where it cannot be set.
    pub(in crate::experiments) fn receive_on_server_cpu(&self) -> Result<Option<String>, LabError> {
        let mask = self.server_cpus.iter().filter(|c| **c < 64).fold(0_u64, |mask, cpu| mask | 1 << cpu);
        // The sysfs of the host's own namespace is mounted for this one command.
        let script = r#"mount -t sysfs sysfs /sys && echo "$1" > /sys/class/net/eth0/queues/rx-0/rps_cpus"#;
        let mut command = self.bed.command("server", "unshare")?;
        let output = command.args(["-m", "sh", "-c", script, "sh", &format!("{mask:x}")]).output();
        let done =
            output.map_err(|e| LabError::set_up("running unshare in the server's namespace", e))?.status.success();
        let why = "the work of receiving could not be moved to the server's processor (that needs root), so dropped \
                   connection requests cost the clients' processor time and the decline is small";
        Ok((!done).then(|| why.to_string()))
    }

    /// Processors that the clients may use.
    pub(in crate::experiments) fn client_cpus(&self) -> f64 {
        self.client_cpus.len().max(1) as f64
    }

    /// Conducts one trial with its load dealt out to all client hosts, and writes the three counts of connection
    /// requests on its axes: `syns_generator`, `syns_kernel`, `syns_filter`.
    pub(in crate::experiments) fn trial(
        &mut self,
        lab: &mut Lab<'_>,
        label: &str,
        axes: &[(&str, f64)],
        plan: &LoadPlan,
    ) -> Result<Trial, LabError> {
        let axes: BTreeMap<String, f64> = axes.iter().map(|(name, v)| ((*name).to_string(), *v)).collect();
        let point = Point { label: label.into(), kind: TrialKind::Experiment, axes, within_us: None };
        let trial = self.attempt(lab, &point, plan)?;
        match judge::disturbed(&trial) {
            Some(others) if self.repeats < MOST_REPEATS && !lab.stopped() => {
                self.again(lab, &point, plan, trial, others)
            }
            _ => Ok(trial),
        }
    }

    /// Once more what other programs disturbed; the attempt that they took less from stays.
    fn again(
        &mut self,
        lab: &mut Lab<'_>,
        point: &Point,
        plan: &LoadPlan,
        first: Trial,
        (taken, online): (f64, f64),
    ) -> Result<Trial, LabError> {
        self.repeats += 1;
        let second = self.attempt(lab, point, plan)?;
        let (mut kept, other) = match judge::disturbed(&second) {
            Some((more, _)) if more >= taken => (first, "the second"),
            _ => (second, "the first"),
        };
        kept.notes.push(format!(
            "made twice, since other programs used {taken:.2} of {online} processors in the first attempt; {other} is left out"
        ));
        Ok(kept)
    }

    fn attempt(&mut self, lab: &mut Lab<'_>, point: &Point, plan: &LoadPlan) -> Result<Trial, LabError> {
        self.settle();
        let before = self.counts()?;
        let mut trial = lab.conduct(&self.scene, &self.loads(plan), point)?;
        let after = self.counts()?;
        trial.intensity = plan.intensity.clone();
        put_counts(&mut trial, before, after);
        Ok(trial)
    }

    /// The load of each client host that gets a share.
    fn loads(&self, plan: &LoadPlan) -> Vec<Load<'_>> {
        let shares = deal(plan, self.clients.len() as u32).into_iter().zip(&self.clients);
        let load = |plan: LoadPlan, host| Load {
            host,
            addr: self.addr,
            plan: LoadPlan { cpus: self.client_cpus.clone(), ..plan },
        };
        shares.filter_map(|(plan, host)| Some(load(plan?, host as &dyn crate::Host))).collect()
    }

    /// Waits until the server has nothing left of the trial before: no connection, none that waits to be accepted.
    fn settle(&mut self) {
        let end = Instant::now() + SETTLES_WITHIN;
        while Instant::now() < end {
            let now = self.look();
            let left = |id| now.sum(id, Window::ALL, |_| true).value().unwrap_or(0.0);
            if left("listen.queue") + left("tcp.established") == 0.0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// SYNs by the filter and by the kernel since the hosts were built.
    fn counts(&mut self) -> Result<Counts, LabError> {
        let filter = self.syns.count().map_err(|e| LabError::set_up("counting SYNs at the server's interface", e))?;
        let now = self.look();
        let level = |id| now.column(id, "").and_then(|c| c.values.last().copied().flatten());
        let (opens, drops) = (level("tcp.passive_opens"), level("tcp.listen_drops"));
        Ok(Counts { filter, opens, drops, cookies: level("tcp.syncookies_sent") })
    }

    /// One look at the server's network counters.
    fn look(&mut self) -> Recording {
        self.probe.sample(0.0);
        self.probe.take()
    }
}

/// The packet filter, opened inside the server's namespace.
fn count_syns(bed: &Testbed) -> Result<SynCounter, LabError> {
    let (family, kind, protocol) = SynCounter::KIND;
    let opened = bed.netns("server")?.open(&[Inside::Socket { family, kind, protocol }]);
    let socket = opened.map_err(|e| LabError::set_up("opening a packet socket in the server's namespace", e))?;
    let socket = socket.into_iter().next().ok_or_else(|| LabError::set_up("opening a packet socket", "none came"))?;
    SynCounter::on(socket, INTERFACE, PORT).map_err(|e| LabError::set_up("counting SYNs at the server's eth0", e))
}

/// What had arrived at one moment.
#[derive(Clone, Copy)]
struct Counts {
    filter: u64,
    opens: Option<f64>,
    drops: Option<f64>,
    cookies: Option<f64>,
}

/// The three counts, all of the whole trial. The kernel's is exact only without cookies: a SYN that was answered with
/// one is not counted until its acknowledgement comes back.
fn put_counts(trial: &mut Trial, before: Counts, after: Counts) {
    let errors = &trial.tally.errors.0;
    let never_left = [ErrorKind::ClientPorts, ErrorKind::ClientFds].map(|kind| errors.get(&kind).copied().unwrap_or(0));
    let sent = trial.tally.attempted.saturating_sub(never_left.into_iter().sum());
    trial.axes.insert("syns_generator".into(), sent as f64);
    trial.axes.insert("syns_filter".into(), (after.filter - before.filter) as f64);
    let grown = |of: fn(&Counts) -> Option<f64>| of(&after).zip(of(&before)).map(|(a, b)| a - b);
    let opens = grown(|c| c.opens);
    if let Some(opens) = opens {
        trial.axes.insert("opens_kernel".into(), opens);
    }
    let cookies = grown(|c| c.cookies).unwrap_or(0.0);
    if cookies > 0.0 {
        trial.notes.push(format!("the kernel's count of SYNs is left out: it answered {cookies} of them with cookies"));
    } else if let Some((opens, drops)) = opens.zip(grown(|c| c.drops)) {
        trial.axes.insert("syns_kernel".into(), opens + drops);
    }
}

/// Deals a load out to hosts as evenly as whole numbers go; a host without a share gets none.
fn deal(plan: &LoadPlan, hosts: u32) -> Vec<Option<LoadPlan>> {
    let share = |total: u32, at: u32| total / hosts + u32::from(at < total % hosts);
    let one = |at: u32| {
        let mut dealt = plan.clone();
        let units = match &mut dealt.intensity {
            Intensity::Closed { connections, .. } => {
                *connections = share(*connections, at);
                *connections
            }
            Intensity::SClients { descriptors, pace, .. } => {
                *descriptors = share(*descriptors, at);
                pace.iter_mut().for_each(|pace| pace.rate /= f64::from(hosts));
                *descriptors
            }
            Intensity::Open { rate, max_connections, .. } => {
                *rate /= f64::from(hosts);
                *max_connections = (*max_connections / hosts).max(1);
                u32::MAX
            }
        };
        dealt.threads = plan.threads.min(units);
        dealt.seed = plan.seed + u64::from(at);
        dealt.phase = plan.phase_of(at, hosts);
        (units > 0).then_some(dealt)
    };
    (0..hosts).map(one).collect()
}

#[cfg(test)]
mod tests {
    use run::ThinkTime;

    use super::*;

    #[test]
    fn a_load_is_dealt_out_whole() {
        for total in [1, 3, 4, 7, 1040] {
            let think = ThinkTime::default();
            let intensity = Intensity::SClients { descriptors: total, connect_timeout_ms: 500.0, think, pace: None };
            let dealt = deal(&LoadPlan { intensity, threads: 3, ..LoadPlan::default() }, 4);
            let sum: u32 = dealt
                .iter()
                .flatten()
                .map(|p| match p.intensity {
                    Intensity::SClients { descriptors, .. } => descriptors,
                    _ => 0,
                })
                .sum();
            assert_eq!(sum, total);
            assert_eq!(dealt.iter().flatten().count() as u32, total.min(4));
        }
    }
}
