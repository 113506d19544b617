//! What a run stands on: the server (embedded, or found from its listening socket), where both sides run, and whether
//! the target speaks at all.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use run::{AgentSpec, LoadPlan, Protocol, ServePlan};

use crate::agent::Crew;
use crate::eyes::{Scene, Watched};
use crate::place::{Places, cpus_of};
use crate::{Host, Lab, LabError, Local, preflight, target};

/// The ground of a run against one server.
pub struct Ground {
    /// The server's address.
    pub addr: SocketAddr,
    /// What the samplers look at.
    pub scene: Scene,
    /// The load plan of the run, with target and placement put in; intensity and times change by trial.
    pub load: LoadPlan,
    /// Seconds that the first request took, before any load.
    pub first_s: f64,
    /// The embedded server; it ends when this is dropped.
    _server: Option<Crew>,
}

/// How long a server may take to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// Starts `loadline agent` as a server on a host. The address that it listens on comes back with its crew.
pub fn start_server(
    host: &dyn Host,
    program: &Path,
    plan: ServePlan,
) -> Result<(Crew, SocketAddr, Vec<String>), LabError> {
    let mut crew = Crew::default();
    crew.start(host, program, "server", &AgentSpec::Serve(plan))?;
    let ready = crew.await_ready(LISTENS_WITHIN)?.into_iter().next().unwrap_or_default();
    let addr = ready
        .listening
        .ok_or_else(|| LabError::Agent { name: "server".into(), why: "it did not say where it listens".into() })?;
    Ok((crew, addr, ready.notes))
}

impl Ground {
    /// Prepares the target of the run's plan: the embedded server when it names none.
    pub fn prepare(lab: &mut Lab<'_>) -> Result<Self, LabError> {
        let ground = if lab.run.plan.target.url.is_empty() { Self::embedded(lab) } else { Self::of_target(lab) }?;
        lab.host(probe::host_info(
            "localhost",
            if ground.scene.server().is_some() { "client and server" } else { "client" },
        ));
        if ground.scene.shared() {
            lab.note(
                "client and server share processors: each takes time from the other, so the capacity found is lower than \
                 with a processor for each",
            );
        }
        Ok(ground)
    }

    fn embedded(lab: &mut Lab<'_>) -> Result<Self, LabError> {
        let mut load = lab.run.plan.load.clone();
        let places = Places::for_own_server(&allowed(), &load.cpus);
        let plan = ServePlan { cpus: places.server.clone(), ..ServePlan::default() };
        let (crew, addr, notes) = start_server(&Local::default(), lab.program(), plan)?;
        notes.into_iter().for_each(|n| lab.note(n));
        let watched = Watched {
            host: "localhost".into(),
            pids: crew.agents().iter().map(crate::agent::Agent::pid).collect(),
            netns_pid: None,
            listen: Some(addr),
            shared: places.shared(),
        };
        lab.run.plan.target.url = format!("http://{addr}/");
        load.protocol = target::resolve(&lab.run.plan.target.url, &load.protocol)?.protocol;
        load.cpus = places.client;
        lab.run.plan.load.protocol = load.protocol.clone();
        let first_s = first_request(lab, addr, &load)?;
        let scene = lab.scene(addr, Some(watched));
        Ok(Self { addr, scene, load, first_s, _server: Some(crew) })
    }

    fn of_target(lab: &mut Lab<'_>) -> Result<Self, LabError> {
        let plan = lab.run.plan.clone();
        let found = target::resolve(&plan.target.url, &plan.load.protocol)?;
        target::check_authorized(&plan.target.url, found.addr, plan.target.authorized)?;
        let mut load = plan.load;
        load.protocol = found.protocol;
        lab.run.plan.load.protocol = load.protocol.clone();
        let first_s = first_request(lab, found.addr, &load)?;
        let watched = Self::find_server(lab, found.addr, &mut load);
        let scene = lab.scene(found.addr, watched);
        Ok(Self { addr: found.addr, scene, load, first_s, _server: None })
    }

    /// The server's processes, where they are on this machine; what cannot be seen is said and not an error.
    fn find_server(lab: &mut Lab<'_>, addr: SocketAddr, load: &mut LoadPlan) -> Option<Watched> {
        let (pids, netns_pid, listen) = match lab.run.plan.target.server_pid {
            Some(pid) if !Path::new(&format!("/proc/{pid}")).exists() => {
                lab.note(format!(
                    "there is no process {pid} (--server-pid), so the server is judged from the client's side alone"
                ));
                return None;
            }
            Some(pid) => (vec![pid], Some(pid), Some(addr)),
            None => match probe::find_server(addr) {
                Ok(found) => (found.pids, found.netns_pid, Some(found.listen)),
                Err(why) => {
                    lab.note(format!("the server is judged from the client's side alone: {why}"));
                    return None;
                }
            },
        };
        let server = cpus_of(Path::new("/"), &pids);
        let places = Places::beside(&allowed(), &load.cpus, &server);
        if load.cpus.is_empty() && places.client.len() < allowed().len() {
            lab.note(format!("the generator keeps to processors {:?}, the server has {server:?}", places.client));
            load.cpus.clone_from(&places.client);
        }
        Some(Watched { host: "localhost".into(), pids, netns_pid, listen, shared: places.shared() })
    }

    /// The load plan with an own intensity and times.
    pub fn load_plan(&self, intensity: run::Intensity, length: crate::search::Length) -> LoadPlan {
        let connections = match &intensity {
            run::Intensity::Closed { connections, .. } => *connections,
            _ => u32::MAX,
        };
        LoadPlan {
            intensity,
            threads: self.load.threads.min(connections),
            warmup_s: length.warmup_s,
            duration_s: length.measure_s,
            ..self.load.clone()
        }
    }

    /// Whether requests are HTTP and can be answered with a status.
    pub fn is_http(&self) -> bool {
        matches!(self.load.protocol, Protocol::Http1 { .. })
    }
}

/// One exchange before any load, and the seconds it took; a status that counts as a failure is said and not refused.
fn first_request(lab: &mut Lab<'_>, addr: SocketAddr, load: &LoadPlan) -> Result<f64, LabError> {
    let target = lab.run.plan.target.url.clone();
    let first = preflight::first_request(addr, load);
    let s_clients = matches!(load.intensity, run::Intensity::SClients { .. });
    // S-Clients are for servers past their capacity, so one whose queue is full already is no mistake of the user.
    if let (true, Err(why)) = (s_clients && preflight::takes_none(addr, load), &first) {
        lab.note(format!("the first request was not answered, S-Clients go on without: {why}"));
        return Ok(0.0);
    }
    let first = first.map_err(|why| LabError::Preflight { target: target.clone(), why })?;
    lab.count(&first.tally());
    if let (true, Some(status)) = (first.unexpected, &first.status_line) {
        let code = status.split_whitespace().nth(1).unwrap_or("that");
        lab.note(format!(
            "{target} answers {status:?}, which counts as a failure; correct the path, or say --expect-status {code}"
        ));
    }
    Ok(first.took_us / 1e6)
}

fn allowed() -> Vec<u32> {
    sys::limits::allowed_cpus().unwrap_or_default()
}
