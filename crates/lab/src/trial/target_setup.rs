//! Set-up of a run: the server (embedded, or found by its listening socket), the CPUs of client and server, and the
//! test request. A lever is a temporary change that an experiment makes, such as slowing a CPU.

mod last_answers;
mod server_processes;

use run::{Address, LoadPlan, RequestSet, ServePlan, ServerQuestion, TlsPlan};
use testbed::named::Joining;

use server_processes::{allowed, find_server, keep_off};

use crate::agents::AgentGroup;
use crate::agents::files;
use crate::hosts::cpu_split::CpuSplit;
use crate::levers::LeverHost;
use crate::observe::RemoteObserver;
use crate::observe::hosts::Hosts;
use crate::observe::{Observation, ObservedServer};
use crate::trial::asker::Asker;
use crate::trial::own_server::start_server;
use crate::trial::{addresses, calls, cluster, put_back, target};
use crate::{Host, Lab, LabError, Load, Local, preflight};

/// Everything that the load tests of a run against one server need.
pub struct TargetSetup {
    /// Address of the server.
    pub addr: Address,
    /// Observers of client and server.
    pub observation: Observation,
    /// Load plan of the run, with target and CPUs filled in. Each load test changes some settings of this plan, such as
    /// intensity and times.
    pub load: LoadPlan,
    /// Duration of the test request, seconds; 0 if the test request failed and the load of S-Clients goes on without
    /// it.
    pub first_s: f64,
    /// Host of the generators.
    host: Box<dyn Host>,
    /// Host of the server, or this host if agents cannot be started on the server's host.
    server_host: Box<dyn Host>,
    /// Embedded server, which ends when this value is dropped; `None` if the plan names a target.
    _server: Option<AgentGroup>,
}

/// Note in the result of every run that accepts any certificate.
const INSECURE: &str = "insecure: the server's certificate is not verified (--insecure); whoever answers is measured";

impl TargetSetup {
    /// Prepares the target of the run's plan, and starts the embedded server if the plan names no target.
    pub fn prepare(lab: &mut Lab<'_>) -> Result<Self, LabError> {
        let is_embedded = lab.run.plan.target.url.is_empty();
        let prepared = if is_embedded { Self::embedded(lab) } else { Self::of_target(lab) };
        // If the user stops the run, the server's missing answer is not an error.
        let mut target_setup = prepared.map_err(|error| if lab.stopped() { LabError::Interrupted } else { error })?;
        last_answers::give_time(&mut target_setup.load, target_setup.first_s);
        let [client, server] = target_setup.observation.here();
        if client || server {
            let role = match (client, server) {
                (true, true) => "client and server",
                (true, false) => "client",
                (false, _) => "server",
            };
            lab.host(probe::host_info("localhost", role));
        }
        // The load uses all arrival times and requests. The stored plan has no arrival times. If there are many
        // requests, the stored plan has only the first requests.
        lab.run.plan.load.arrivals.iter_mut().for_each(|arrivals| arrivals.times = None);
        lab.run.plan.load.requests = lab.run.plan.load.requests.as_ref().map(RequestSet::abridged);
        Ok(target_setup)
    }

    fn embedded(lab: &mut Lab<'_>) -> Result<Self, LabError> {
        if !lab.run.plan.hosts.is_empty() {
            let why = "name a target: the embedded server, used without one, runs on this host";
            return Err(LabError::set_up("preparing a run on other hosts", why));
        }
        let work_us = Some(lab.run.plan.target.embedded_work_us).filter(|us| *us > 0.0 && us.is_finite());
        lab.announce(match work_us {
            Some(us) => format!("embedded server: no target was given; its page takes {us} us of CPU per request"),
            None => "embedded server: no target was given".into(),
        });
        let mut load = lab.run.plan.load.clone();
        let cpus = CpuSplit::for_own_server(&allowed(), &load.cpus);
        let options = work_us.map(|us| ("work_us".to_string(), us.to_string())).into_iter().collect();
        let plan = ServePlan { cpus: cpus.server.clone(), options, ..ServePlan::default() };
        let (group, addr, notes) = start_server(&Local::default(), lab.program(), plan)?;
        notes.into_iter().for_each(|n| lab.note(n));
        let watched = ObservedServer::started("localhost", &group, None, addr, &cpus);
        lab.run.plan.target.url = format!("http://{addr}/");
        load.protocol = target::resolve(&lab.run.plan.target.url, &load.protocol)?.protocol;
        load.cpus = cpus.client;
        lab.run.plan.load.protocol = load.protocol.clone();
        let here = Local::default();
        let first_s = test_request(lab, &Asker::new(&here, lab.program()), &addr.into(), &load)?;
        let observation = lab.observation(addr, Some(watched));
        let [host, server_host] = Hosts::default().into_sides();
        Ok(Self { addr: addr.into(), observation, load, first_s, host, server_host, _server: Some(group) })
    }

    fn of_target(lab: &mut Lab<'_>) -> Result<Self, LabError> {
        let plan = lab.run.plan.clone();
        let parsed = target::parse(&plan.target.url, &plan.load.protocol)?;
        let hosts = Hosts::connect(&plan.hosts, lab.program())?;
        if hosts.server().is_remote() {
            put_back(lab, hosts.server());
        }
        let asker = Asker::new(hosts.clients(), lab.program());
        let mut found = addresses::look_up(lab, parsed, &asker)?;
        addresses::choose(lab, &mut found, &asker)?;
        let mut load = plan.load;
        load.protocol = found.protocol.clone();
        load.addresses = std::mem::take(&mut found.others);
        load.tls =
            found.tls_name.clone().map(|server_name| TlsPlan { server_name, ..load.tls.take().unwrap_or_default() });
        cluster::join(lab, &mut found, &mut load, &asker)?;
        calls::encode(lab, &found.addr, &mut load, &asker)?;
        if load.tls.as_ref().is_some_and(|tls| tls.insecure) {
            lab.note(INSECURE);
        }
        lab.run.plan.load.tls = load.tls.clone();
        lab.run.plan.load.addresses.clone_from(&load.addresses);
        lab.run.plan.load.protocol = load.protocol.clone().abridged();
        let first_s = test_request(lab, &asker, &found.addr, &load)?;
        if !plan.hosts.is_empty() {
            return Self::elsewhere(lab, hosts, (found.addr, load, first_s));
        }
        let watched = find_server(lab, &found.addr, &mut load)?;
        let testbed = watched.as_ref().and_then(joined);
        let mut observation = lab.observation(found.addr.clone(), watched);
        if let Some(testbed) = testbed {
            lab.joined(&testbed);
            observation = observation.with_testbed(testbed);
        }
        let [host, server_host] = Hosts::default().into_sides();
        Ok(Self { addr: found.addr, observation, load, first_s, host, server_host, _server: None })
    }

    /// Prepares a run whose generators or server are on other hosts.
    fn elsewhere(
        lab: &mut Lab<'_>,
        hosts: Hosts,
        (addr, mut load, first_s): (Address, LoadPlan, f64),
    ) -> Result<Self, LabError> {
        let program = lab.program().to_path_buf();
        let clients = hosts.observe_clients(&program, &addr)?;
        if !clients.is_empty() {
            files::read_all(&load)?;
        }
        let server = hosts.observe_server(&program, None, Some(addr.clone()), &lab.run.plan.observe)?;
        note_remote_hosts(lab, &clients, server.as_ref());
        let here = probe::boot_id();
        let client_machines: Vec<String> = match clients.is_empty() {
            true => vec![here.clone()],
            false => clients.iter().map(RemoteObserver::machine).collect(),
        };
        let watched = match &server {
            None if clients.is_empty() || client_machines.contains(&here) => find_server(lab, &addr, &mut load)?,
            // The generators are on other hosts, so they share no CPU with a server on this host.
            None => find_server(lab, &addr, &mut load.clone())?.map(|found| ObservedServer { shared: false, ..found }),
            Some(server) => {
                let one_machine = client_machines.contains(&server.machine());
                Some(Self::server_there(lab, server, one_machine, &mut load))
            }
        };
        let observation = lab.observation(addr.clone(), watched).with_hosts(clients, server);
        let [host, server_host] = hosts.into_sides();
        Ok(Self { addr, observation, load, first_s, host, server_host, _server: None })
    }

    /// Returns the facts about the server, as found by the observer on the server's host. If possible, a generator on
    /// the same machine gets CPUs that the server does not use.
    fn server_there(
        lab: &mut Lab<'_>,
        server: &RemoteObserver,
        one_machine: bool,
        load: &mut LoadPlan,
    ) -> ObservedServer {
        let shared = one_machine && keep_off(lab, load, &server.found().cpus);
        ObservedServer { shared, ..ObservedServer::remote(server) }
    }

    /// Returns the list of loads for a load test with a single load, whose plan is `plan`.
    pub(crate) fn single_load(&self, plan: LoadPlan) -> [Load<'_>; 1] {
        [Load { host: self.host(), addr: self.addr.clone(), plan }]
    }

    /// Returns the host of the generators: this host, or the hosts in the plan.
    pub fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// Returns the host of the server, or this host if agents cannot be started on the server's host.
    pub(crate) fn server_host(&self) -> &dyn Host {
        &*self.server_host
    }

    /// Returns the hosts on which a lever is used; empty if the lever is a different load.
    pub(crate) fn hosts_of(&self, place: LeverHost) -> Vec<&dyn Host> {
        match place {
            LeverHost::Load => Vec::new(),
            LeverHost::Server => vec![&*self.server_host],
            LeverHost::Clients => match self.host.members() {
                members if members.is_empty() => vec![&*self.host],
                members => members.into_iter().map(|(host, _)| host).collect(),
            },
        }
    }

    /// Makes one request from the generators' host, after a load that got no answers. Returns the counts of the
    /// request, or the reason why no answer came within `wait_s` seconds.
    pub(crate) fn still_answers(&self, lab: &Lab<'_>, wait_s: f64) -> Result<run::Tally, String> {
        Asker::new(self.host(), lab.program()).still_answers(lab, wait_s, &self.addr, &self.load)
    }

    /// Returns true if the protocol is HTTP, so answers have a status.
    pub fn is_http(&self) -> bool {
        self.load.protocol.http().is_some()
    }
}

/// Records the other hosts of the run, and adds a warning if the server's processes cannot be seen.
pub(super) fn note_remote_hosts(lab: &mut Lab<'_>, clients: &[RemoteObserver], server: Option<&RemoteObserver>) {
    clients.iter().chain(server).for_each(|observer| lab.host(observer.found().host.clone()));
    if let Some((host, why)) = server.and_then(|server| Some((server.host(), server.found().missing.as_ref()?))) {
        lab.warn(format!("the server's processes on {host} are not visible: {why}"));
    }
}

/// Sends the test request before any load and returns its duration in seconds. If the answer counts as a failure, the
/// run ends (except with S-Clients), because every request of the load would fail, too.
fn test_request(lab: &mut Lab<'_>, asker: &Asker<'_>, addr: &Address, load: &LoadPlan) -> Result<f64, LabError> {
    let target = lab.run.plan.target.url.clone();
    let fail = |why| LabError::Preflight { target: target.clone(), why };
    let answer = asker.ask(lab, ServerQuestion::Answers, addr, load);
    let why = answer.error.unwrap_or_else(|| "no answer came".into());
    // S-Clients (Banga and Druschel, 1997) are meant for overloaded servers, so a full accept queue is not an error.
    if answer.accepts_nothing {
        lab.note(format!("the test request failed, S-Clients go on without it: {why}"));
        return Ok(0.0);
    }
    let first = answer.response.ok_or_else(|| fail(why))?;
    if let Some(said) = preflight::refusal(&first) {
        // An overloaded server may refuse the test request, which is not an error for S-Clients.
        if !matches!(load.intensity, run::Intensity::SClients { .. }) {
            return Err(fail(said));
        }
        lab.note(format!("the first request to {target}: {said}"));
    }
    lab.count(&preflight::tally(&first));
    if let (Some(to), Some(status)) = (&first.redirect, &first.status_line) {
        lab.warn(format!(
            "{target} answers {status:?} and redirects to {to}: loadline measures the redirect, not its destination"
        ));
    }
    if first.may_be_compressed && !accepts_encodings(load) {
        lab.warn(UNCOMPRESSED);
    }
    Ok(first.took_us / 1e6)
}

/// Warning about a server that may compress its answers for browsers, but not for this load.
const UNCOMPRESSED: &str = "answers are not compressed here, but may be for browsers (Vary: Accept-Encoding): to measure that, add \
                            -H 'Accept-Encoding: gzip'";

/// Returns true if the first request of a load has the header `Accept-Encoding`.
fn accepts_encodings(load: &LoadPlan) -> bool {
    let of_set = load.requests.as_ref().and_then(|set| set.requests.first()).map(|request| &request.headers);
    let mut headers = load.protocol.http().map(|http| &http.headers).into_iter().chain(of_set).flatten();
    headers.any(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"))
}

/// Returns the testbed of `loadline testbed` in which this process is on one host and the server on another; `None` if
/// there is none.
fn joined(server: &ObservedServer) -> Option<Joining> {
    let there = server.netns_pid.or(server.pids.first().copied())?;
    testbed::named::joining(std::process::id(), there)
}
