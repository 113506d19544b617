//! Starts the shards (one per generator thread), and the processes that handle connections of two-process S-Clients.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use proto::{AnyClient, Request, Trace};
use run::{Intensity, LoadPart};
use sys::limits;

use super::conduct::Parts;
use super::context::LoadContext;
use crate::LoadError;
use crate::drivers::{self, Never, Setup, Shard};
use crate::partner::{self, Partner};
use crate::share;

/// Starts all threads of a load, which then allocate their memory and wait for the start. Returns the channel on which
/// each thread sends its result when it ends.
pub(super) fn shards(common: &Arc<LoadContext>, client: &dyn AnyClient) -> Result<Parts, LoadError> {
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
