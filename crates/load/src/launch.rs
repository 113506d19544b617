//! Runs a plan: prepares it, starts the shards (one per generator thread), forwards commands, reports progress, and
//! merges the results.

mod conduct;
mod context;
mod shards;

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use proto::AnyClient;
use run::{Address, AgentCommand, AgentReport, LoadPart, LoadPlan, Phase, Window};
use sys::hiccups::HiccupMeter;
use sys::peer::Peer;
use sys::{clock, limits};

pub use self::conduct::FINE_TICKS_S;
use self::conduct::{Parts, conduct, tick, wait_for_slots};
use self::context::LoadContext;
use self::shards::shards;
use crate::LoadError;
use crate::drivers;
use crate::shard::{LiveCounts, Orders};
use crate::start_moment::StartMoment;
use crate::{share, slots};

/// Moment at which a load starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The threads start as soon as possible.
    AtOnce,
    /// The threads start at the time given by [`AgentCommand::Start`].
    OnCommand,
}

/// Runs the load that a load plan describes against `addr`. The load ends with its drain, or when the conductor (the
/// process that controls the run) stops it. The load also stops when the `control` channel closes.
///
/// The load starts with the warm-up, which lasts until a command starts the next phase. The load sends `Ready` once,
/// before it waits for its start. When `Ready` is sent, all memory is allocated, except in loads with two-process
/// S-Clients (sockets that connect again and again). The load sends a progress report (`Tick`) ten times a second, and
/// every other report has details. At the beginning of the warm-up, reports are more frequent. Returns the result of
/// the load.
pub fn run(
    plan: &LoadPlan,
    addr: impl Into<Address>,
    start: Start,
    control: Receiver<AgentCommand>,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    make(plan, &addr.into(), start, control, report)
}

/// Does the work of [`run`], but without a type parameter. The loops of all drivers are therefore compiled only once,
/// in this crate. With a type parameter, each calling crate would compile these loops again.
fn make(
    plan: &LoadPlan,
    addr: &Address,
    start: Start,
    control: Receiver<AgentCommand>,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    let plan = share::prepared(plan)?;
    let addr = share::peer(addr)?;
    let addr = if proto::spec(&plan.protocol).datagrams { addr.over_udp() } else { addr };
    share::check_sources(&plan.sources, &addr)?;
    for further in &plan.addresses {
        share::check_sources(&plan.sources, &(*further).into())?;
    }
    if let Some(whole) = drivers::asked(plan.io).and_then(|row| row.whole) {
        return whole(&plan, report, &|| wait_for_start(start, &control).is_some());
    }
    // The null driver uses no network, so its plan is simpler and has no TLS.
    let network = plan.io != run::Io::Null;
    let tls = plan.tls.clone().filter(|_| network);
    let plan = if network { plan } else { share::without_network(plan) };
    let requests = plan.requests.clone();
    let further = plan.addresses.iter().map(ToString::to_string);
    let addresses: Vec<String> = std::iter::once(addr.to_string()).chain(further).collect();
    let client = proto::stream_client(&plan.protocol, requests.as_ref(), tls.as_ref(), plan.stream.as_ref())?;
    let mut part = with_client(&*client, plan, addr, start, control, report)?;
    let names = requests.map(|set| set.classes().0).unwrap_or_default();
    part.classes.iter_mut().zip(names).for_each(|(class, name)| class.name = name);
    part.addresses.iter_mut().zip(addresses).for_each(|(part, address)| part.requests.name = address);
    Ok(part)
}

fn confine(cpus: &[u32]) -> Result<(), LoadError> {
    if cpus.is_empty() {
        return Ok(());
    }
    limits::confine_to_cpus(cpus).map_err(|errno| LoadError::System {
        what: "confining the generator to its CPUs",
        errno,
        advice: "name CPUs that this machine has and this process may use",
    })
}

fn with_client(
    client: &dyn AnyClient,
    plan: LoadPlan,
    addr: Peer,
    start: Start,
    control: Receiver<AgentCommand>,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    let (limit, mut notes) = raise_descriptor_limit(&plan);
    confine(&plan.cpus)?;
    let driver = drivers::choose(&plan, &mut notes)?;
    let threads = plan.threads.max(1);
    let common = Arc::new(LoadContext {
        begin: StartMoment::default(),
        shows: std::iter::repeat_with(LiveCounts::default).take(2 * threads as usize).collect(),
        orders: Orders::default(),
        plan,
        addr,
        driver,
        limit,
    });
    let mut ready = || {
        let (pid, io) = (std::process::id(), driver.name.into());
        report(AgentReport::Ready { pid, listening: None, io, notes: notes.clone() });
        let told_ns = wait_for_start(start, &control)?;
        common.begin.set(told_ns.max(clock::monotonic_ns()));
        Some(told_ns)
    };
    // A process that handles connections gets its task, with the start time, when it is created. With two-process
    // S-Clients, the start time must be known before the generator threads start, because the processes that handle
    // connections are created first.
    let known = if share::two_process(&common.plan) { Some(ready()) } else { None };
    let parts = match known {
        Some(None) => return Ok(LoadPart::default()),
        _ => shards(&common, client).inspect_err(|_| common.begin.never())?,
    };
    let Some(told_ns) = known.unwrap_or_else(ready) else {
        common.begin.never();
        return Ok(LoadPart::default());
    };
    let mut part = conduct_watched(&common, &control, &parts, report)?;
    part.late_s = common.begin.origin_ns().saturating_sub(told_ns) as f64 / 1e9;
    notes.append(&mut part.notes);
    notes.extend(share::timeout_note(&common.plan.intensity, &part));
    part.notes = notes;
    Ok(part)
}

/// Conducts the running load. During the load, watches for pauses of this machine if the plan limits the response time.
/// Also reads the counts of each slot if the plan has slots.
fn conduct_watched(
    common: &Arc<LoadContext>,
    control: &Receiver<AgentCommand>,
    parts: &Parts,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    let slots = slot_watch(common)?;
    let hiccups = (!common.plan.late_us.is_empty()).then(HiccupMeter::start).flatten();
    let mut part = conduct(common, control, parts, report)?;
    let pauses = hiccups.map(HiccupMeter::end).unwrap_or_default();
    part.pauses = Window::of_ns(pauses.iter().map(|p| (p.begin_ns, p.end_ns)), common.begin.origin_ns());
    if let Some(slots) = slots {
        wait_for_slots(&slots, &common.orders, control);
        part.slot_rates = slots.join().map_err(|_| LoadError::ThreadLost)?;
    }
    Ok(part)
}

/// Returns the start time of the load. Unless the load starts at once, waits for the start command, which contains the
/// start time. Returns `None` if the load is stopped first.
fn wait_for_start(start: Start, control: &Receiver<AgentCommand>) -> Option<u64> {
    let now = clock::monotonic_ns();
    if start == Start::AtOnce {
        return Some(now);
    }
    loop {
        match control.recv() {
            Ok(AgentCommand::Start { at_ns }) => return Some(at_ns),
            Ok(AgentCommand::Stop) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// If the load plan has slots (short periods of an experiment), starts a thread that reads the published counts in each
/// slot.
fn slot_watch(common: &Arc<LoadContext>) -> Result<Option<std::thread::JoinHandle<Vec<f64>>>, LoadError> {
    let Some(slots) = common.plan.slots else { return Ok(None) };
    let common = Arc::clone(common);
    let body = move || {
        let _ = limits::exact_timers();
        let completed = || tick(&common, Phase::Measure).completed;
        slots::rates(&slots, common.begin.origin_ns(), completed, || common.orders.stopped())
    };
    let started = std::thread::Builder::new().name("slots".into()).spawn(body);
    started.map(Some).map_err(|e| LoadError::no_thread("starting the thread that watches slots", &e))
}

/// Raises the limit on descriptors. Returns the limit, and notes about its consequences for the load plan.
fn raise_descriptor_limit(plan: &LoadPlan) -> (u64, Vec<String>) {
    let (soft, hard) = limits::descriptors();
    let limit = limits::raise_descriptors().unwrap_or(soft);
    let mut notes = share::descriptor_notes(plan, limit);
    if limit < hard {
        notes.push(format!("the limit of open descriptors stays at {limit}; it could not be raised to {hard}"));
    }
    (limit, notes)
}
