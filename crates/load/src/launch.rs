//! Runs a plan: prepares it, starts the shards (one per generator thread), forwards commands, reports progress, and
//! merges the results.

mod conduct;
mod context;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use proto::{AnyClient, Request, Trace};
use run::{Address, AgentCommand, AgentReport, Intensity, LoadPart, LoadPlan, Phase, Window};
use sys::hiccups::HiccupMeter;
use sys::peer::Peer;
use sys::{clock, limits};

pub use self::conduct::FINE_TICKS_S;
use self::conduct::{Parts, conduct, tick, wait_for_slots};
use self::context::LoadContext;
use crate::LoadError;
use crate::drivers::{self, Never, Setup, Shard};
use crate::partner::{self, Partner};
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

/// Runs the load that a load plan describes against `addr`, until the drain ends or the conductor (the process that
/// controls the run) stops the load. The load also stops when the `control` channel closes.
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

/// Conducts the running load. Meanwhile, watches for pauses of this machine if the plan limits the response time, and
/// reads the counts of each slot if the plan has slots.
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

/// Starts all threads of a load, which then allocate their memory and wait for the start. Returns the channel on which
/// each thread sends its result when it ends.
fn shards(common: &Arc<LoadContext>, client: &dyn AnyClient) -> Result<Parts, LoadError> {
    let mut partners = partners(common, client)?.into_iter();
    let (done, parts) = channel();
    let (warm, all_warm) = channel::<Never>();
    for i in 0..common.plan.threads.max(1) {
        let (common, client, done, warm) = (Arc::clone(common), client.clone_client(), done.clone(), warm.clone());
        let partner = partners.next();
        let body = move || drop(done.send((i, shard_thread(&common, &*client, i, partner, warm))));
        std::thread::Builder::new()
            .name(format!("load-{i}"))
            .spawn(body)
            .map_err(|e| LoadError::no_thread("starting a generator thread", &e))?;
    }
    drop(warm);
    // `recv` returns when each thread has allocated its memory or has failed. A failure of a thread is reported in the
    // thread's result.
    let _ = all_warm.recv();
    Ok(parts)
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

/// Runs one shard (generator thread) in its own thread, from its task to its result.
fn shard_thread(
    common: &LoadContext,
    client: &dyn AnyClient,
    i: u32,
    partner: Option<Partner>,
    warm: Sender<Never>,
) -> Result<LoadPart, LoadError> {
    let plan = &common.plan;
    let task = share::task(plan, i, common.begin.origin_ns(), common.limit);
    if task.capacity() == 0 {
        return Ok(LoadPart::default());
    }
    // Timers that expire 50 µs late would look like errors of the start times of requests.
    let _ = limits::exact_timers();
    let theirs = &common.shows[plan.threads.max(1) as usize + i as usize];
    let shard = Shard {
        client,
        plan,
        setup: setup(common, &task, client),
        task,
        begin: &common.begin,
        warm,
        orders: &common.orders,
        show: &common.shows[i as usize],
        partner: partner.map(|partner| (partner, theirs)),
    };
    drivers::run(common.driver, shard)
}

/// Starts the processes that handle the connections of two-process S-Clients (sockets that connect again and again),
/// one for each thread. Without two-process S-Clients, starts no process.
fn partners(common: &LoadContext, client: &dyn AnyClient) -> Result<Vec<Partner>, LoadError> {
    let mut partners = Vec::new();
    if !share::two_process(&common.plan) {
        return Ok(partners);
    }
    for i in 0..common.plan.threads.max(1) {
        let task = share::handling_task(&common.plan, i, common.begin.origin_ns(), common.limit);
        let setup = setup(common, &task, client);
        partners.push(partner::start(client, task, &setup, &partners)?);
    }
    Ok(partners)
}

/// Returns the parameters of the driver. To find the size of the longest request, a session writes each request of the
/// set once.
fn setup(common: &LoadContext, task: &crate::core::Task, client: &dyn AnyClient) -> Setup {
    let trace = if common.plan.traceparent > 0.0 { Trace::new(1) } else { Trace::NONE };
    let written = written(client, trace);
    let single = written.is_some();
    let depth = task.depth();
    let one_request = common.plan.new_connections || matches!(common.plan.intensity, Intensity::SClients { .. });
    Setup {
        capacity: task.capacity(),
        descriptors: share::room(common.limit, common.plan.threads),
        target: common.addr.clone(),
        further: common.plan.addresses.clone(),
        sources: common.plan.sources.clone(),
        burst: written.map(|bytes| (depth, depth * bytes.max(1))),
        // A single small write on a new connection is sent at once, with or without Nagle's algorithm (TCP_NODELAY).
        nodelay: !(single && one_request || common.addr.is_unix() || common.addr.is_datagram()),
        quick_ack: common.plan.quick_ack,
        receive_buffer: common.plan.receive_buffer,
    }
}

/// Returns the size of the longest request, bytes. Returns `None` if a request needs several writes or differs between
/// connections. Also returns `None` if a session sends other data than requests.
fn written(client: &dyn AnyClient, trace: Trace) -> Option<usize> {
    let mut sessions = client.sessions(1);
    let session = sessions.session(0);
    let mut piece = vec![0; 8 * 1024];
    let mut most = 0;
    for item in 0..client.mix().weights.len().clamp(1, usize::from(u16::MAX)) as u16 {
        session.reset();
        if session.sends_unasked() || !client.fixed() || !session.ready() {
            return None;
        }
        session.begin(Request { id: 0, item, trace });
        most = most.max(session.transmit(&mut piece));
        if session.wants_transmit() {
            return None;
        }
    }
    Some(most)
}
