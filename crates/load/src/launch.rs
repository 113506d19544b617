//! Carries out a plan: prepares, starts the shards, passes phases on, shows progress, merges the parts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use proto::{Client, ClientKind, Session as _};
use run::{AgentCommand, AgentReport, Intensity, Io, LoadPart, LoadPlan, Phase, Tick};
use sys::{Errno, clock, limits};

use crate::LoadError;
use crate::drivers::epoll::EpollDriver;
use crate::drivers::uring::UringDriver;
use crate::drivers::{Setup, null::NullDriver};
use crate::partner::{self, Partner};
use crate::shard::{self, LONGEST_WAIT_NS, Orders, Show};
use crate::{ceiling, share, simulate};

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

/// What all shards share: read only while load is on, each shard's counts apart.
struct Common {
    plan: LoadPlan,
    addr: SocketAddr,
    io: Io,
    origin_ns: u64,
    limit: u64,
    orders: Orders,
    shows: Vec<Show>,
}

/// Makes the load of a plan against `addr`, from `start_at_ns` (nanoseconds since the epoch; the past means now) until
/// the drain ends or the conductor says stop. `control` that is closed means stop.
///
/// The load starts in the warm-up phase and stays there until told otherwise. Reports `Ready` once and `Tick` ten times a
/// second; the end is the return value.
pub fn run(
    plan: &LoadPlan,
    addr: SocketAddr,
    start_at_ns: u64,
    control: Receiver<AgentCommand>,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    plan.check()?;
    share::check_sources(&plan.sources, addr)?;
    let plan = share::prepared(plan);
    if plan.io == Io::Sim {
        return simulate::as_load(&plan, report);
    }
    match proto::client(&plan.protocol)? {
        ClientKind::Http1(client) => with_client(&client, plan, addr, start_at_ns, control, report),
        ClientKind::Echo(client) => with_client(&client, plan, addr, start_at_ns, control, report),
        ClientKind::Raw(client) => with_client(&client, plan, addr, start_at_ns, control, report),
        ClientKind::Discard(client) => with_client(&client, plan, addr, start_at_ns, control, report),
        ClientKind::Source(client) => with_client(&client, plan, addr, start_at_ns, control, report),
        ClientKind::Record(client) => with_client(&client, plan, addr, start_at_ns, control, report),
    }
}

fn with_client<C: Client>(
    client: &C,
    plan: LoadPlan,
    addr: SocketAddr,
    start_at_ns: u64,
    control: Receiver<AgentCommand>,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    let (limit, mut notes) = descriptors(&plan);
    if !plan.cpus.is_empty() {
        limits::confine_to_cpus(&plan.cpus).map_err(|errno| LoadError::System {
            what: "confining the generator to its processors",
            errno,
            advice: "name processors that this machine has and this process may use",
        })?;
    }
    let io = choose(&plan, &mut notes)?;
    let lead = start_at_ns.saturating_sub(clock::realtime_ns());
    let threads = plan.threads.max(1);
    let common = Arc::new(Common {
        origin_ns: clock::monotonic_ns() + lead,
        shows: std::iter::repeat_with(Show::default).take(2 * threads as usize).collect(),
        orders: Orders::default(),
        plan,
        addr,
        io,
        limit,
    });
    let mut partners = partners(&common, client)?.into_iter();
    let (done, parts) = channel();
    for i in 0..threads {
        let (common, client, done) = (Arc::clone(&common), client.clone(), done.clone());
        let partner = partners.next();
        let body = move || drop(done.send((i, shard_thread(&common, &client, i, partner))));
        std::thread::Builder::new().name(format!("load-{i}")).spawn(body).map_err(|e| LoadError::System {
            what: "starting a generator thread",
            errno: Errno::from_io_error(&e).unwrap_or(Errno::AGAIN),
            advice: "ask for fewer threads or raise the limit of processes (ulimit -u)",
        })?;
    }
    drop(done);
    report(AgentReport::Ready {
        pid: std::process::id(),
        listening: None,
        io: io_name(io).into(),
        notes: notes.clone(),
    });
    let mut part = conduct(&common, &control, &parts, report)?;
    notes.append(&mut part.notes);
    notes.extend(share::timeout_note(&common.plan.intensity, &part));
    part.notes = notes;
    Ok(part)
}

/// Raises the descriptor limit and says what it means for the plan.
fn descriptors(plan: &LoadPlan) -> (u64, Vec<String>) {
    let (soft, hard) = limits::descriptors();
    let limit = limits::raise_descriptors().unwrap_or(soft);
    let mut notes = share::descriptor_notes(plan, limit);
    if limit < hard {
        notes.push(format!("the limit of descriptors stays at {limit}; it could not be raised to {hard}"));
    }
    (limit, notes)
}

/// The driver that is really used.
fn choose(plan: &LoadPlan, notes: &mut Vec<String>) -> Result<Io, LoadError> {
    match plan.io {
        Io::Uring if two_process(plan) => {
            notes.push("two-process S-Clients pass plain descriptors, which the epoll driver does; it is used".into());
            Ok(Io::Epoll)
        }
        // S-Clients live from connects: epoll takes a socket back and connects it again, which io_uring cannot.
        Io::Auto if matches!(plan.intensity, Intensity::SClients { .. }) => Ok(Io::Epoll),
        Io::Auto => match sys::uring::Ring::new(&sys::uring::Config { files: 1, buffers: 1, ..Default::default() }) {
            Ok(_) => Ok(Io::Uring),
            Err(errno) => {
                notes.push(format!("io_uring cannot be used here ({errno}); epoll is used instead"));
                Ok(Io::Epoll)
            }
        },
        Io::Uring => match sys::uring::Ring::new(&sys::uring::Config { files: 1, buffers: 1, ..Default::default() }) {
            Ok(_) => Ok(Io::Uring),
            Err(errno) => Err(LoadError::NoUring(errno)),
        },
        io => Ok(io),
    }
}

fn io_name(io: Io) -> &'static str {
    match io {
        Io::Auto | Io::Epoll => "epoll",
        Io::Uring => "uring",
        Io::Null => "null",
        Io::Sim => "sim",
    }
}

/// One shard from its driver to its part.
fn shard_thread<C: Client>(
    common: &Common,
    client: &C,
    i: u32,
    partner: Option<Partner>,
) -> Result<LoadPart, LoadError> {
    let plan = &common.plan;
    let task = share::task(plan, i, common.origin_ns, common.limit);
    if task.capacity() == 0 {
        return Ok(LoadPart::default());
    }
    // Timers that fire 50 µs late would show as start errors.
    let _ = limits::exact_timers();
    let setup = setup(common, &task, client);
    let order = |now, phase| common.orders.read(now, phase);
    let show = &common.shows[i as usize];
    let failed = |errno| LoadError::System {
        what: "driving the connections",
        errno,
        advice: "see the limits of descriptors and locked memory (ulimit -n, ulimit -l), or use --io epoll",
    };
    match common.io {
        Io::Uring => {
            let mut driver = UringDriver::new(&setup).map_err(failed)?;
            clock::sleep_until_ns(common.origin_ns);
            shard::run(&mut driver, client, task, show, order)
        }
        Io::Null => {
            let (request, answer) = ceiling::exchange(plan, client);
            let mut driver = NullDriver::new(setup.capacity, request, &answer);
            shard::run(&mut driver, client, task, show, order)
        }
        _ => {
            let mut driver = EpollDriver::new(&setup).map_err(failed)?;
            clock::sleep_until_ns(common.origin_ns);
            let Some(partner) = partner else {
                return shard::run(&mut driver, client, task, show, order).map_err(failed);
            };
            let (end, listener) = partner.split();
            driver.hand_over_to(end);
            let theirs = &common.shows[common.plan.threads.max(1) as usize + i as usize];
            return std::thread::scope(|scope| {
                let heard = scope.spawn(|| listener.listen(theirs));
                let part = shard::run(&mut driver, client, task, show, order).map_err(failed);
                // Its end of the socketpair goes with it: the partner sees that nothing more comes.
                drop(driver);
                let mut handled = heard.join().map_err(|_| LoadError::ThreadLost)??;
                handled.merge(&part?);
                Ok(handled)
            });
        }
    }
    .map_err(failed)
}

/// The handling processes of two-process S-Clients, one a thread; none otherwise.
fn partners<C: Client>(common: &Common, client: &C) -> Result<Vec<Partner>, LoadError> {
    let mut partners = Vec::new();
    if !two_process(&common.plan) {
        return Ok(partners);
    }
    for i in 0..common.plan.threads.max(1) {
        let task = share::handling_task(&common.plan, i, common.origin_ns, common.limit);
        let setup = setup(common, &task, client);
        partners.push(partner::start(client, task, &setup, &partners)?);
    }
    Ok(partners)
}

fn two_process(plan: &LoadPlan) -> bool {
    plan.two_process && matches!(plan.intensity, Intensity::SClients { .. })
}

/// What the driver must know. A request is measured by letting a session write one.
fn setup<C: Client>(common: &Common, task: &crate::core::Task, client: &C) -> Setup {
    let mut session = client.session();
    let mut piece = vec![0; 8 * 1024];
    session.begin();
    let bytes = session.transmit(&mut piece);
    let single = !session.wants_transmit();
    let depth = task.depth();
    let one_request = common.plan.new_connections || matches!(common.plan.intensity, Intensity::SClients { .. });
    Setup {
        capacity: task.capacity(),
        descriptors: share::room(common.limit, common.plan.threads),
        target: common.addr,
        sources: common.plan.sources.clone(),
        burst: single.then_some((depth, depth * bytes.max(1))),
        // One small write on a fresh connection leaves at once with or without Nagle.
        nodelay: !(single && one_request),
    }
}

type Parts = Receiver<(u32, Result<LoadPart, LoadError>)>;

/// Passes commands on and shows progress until all shards have ended.
fn conduct(
    common: &Common,
    control: &Receiver<AgentCommand>,
    parts: &Parts,
    report: &mut dyn FnMut(AgentReport),
) -> Result<LoadPart, LoadError> {
    let mut phase = Phase::WarmUp;
    let mut next_tick = std::time::Instant::now() + TICK;
    let (mut merged, mut ended) = (LoadPart::default(), 0);
    let mut failure = None;
    let mut listening = true;
    while ended < common.plan.threads.max(1) as usize {
        let left = next_tick.saturating_duration_since(std::time::Instant::now());
        if listening {
            // Waiting happens on the control channel, so a phase begins without delay.
            match control.recv_timeout(left.min(Duration::from_millis(10))) {
                Ok(AgentCommand::Enter { phase: next }) => {
                    if next != phase {
                        common.orders.enter(next, clock::monotonic_ns() + LONGEST_WAIT_NS + 500_000);
                    }
                    phase = next;
                }
                Ok(AgentCommand::Count) => {}
                Ok(AgentCommand::Stop) => common.orders.stop(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    common.orders.stop();
                    listening = false;
                }
            }
        } else if let Ok(part) = parts.recv_timeout(left) {
            take(part, &mut merged, &mut ended, &mut failure);
        }
        while let Ok(part) = parts.try_recv() {
            take(part, &mut merged, &mut ended, &mut failure);
        }
        if failure.is_some() {
            common.orders.stop();
        }
        if std::time::Instant::now() >= next_tick {
            next_tick += TICK;
            report(AgentReport::Tick(tick(common, phase)));
        }
    }
    failure.map_or(Ok(merged), Err)
}

fn take(
    (_, part): (u32, Result<LoadPart, LoadError>),
    merged: &mut LoadPart,
    ended: &mut usize,
    failure: &mut Option<LoadError>,
) {
    *ended += 1;
    match part {
        Ok(part) => merged.merge(&part),
        Err(e) => {
            failure.get_or_insert(e);
        }
    }
}

fn tick(common: &Common, phase: Phase) -> Tick {
    let t_s = clock::monotonic_ns() as i64 - common.origin_ns as i64;
    let mut tick = Tick { t_s: t_s as f64 / 1e9, phase, ..Tick::default() };
    common.shows.iter().for_each(|show| show.add_to(&mut tick));
    tick
}
