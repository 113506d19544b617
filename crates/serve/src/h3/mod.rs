//! HTTP/3 over QUIC: the same pages and files as the service `http`, or streams of events. The service has no I/O
//! model, because connections share the sockets of their threads. Each thread has one UDP socket, and the kernel
//! chooses the socket by the addresses of a datagram (SO_REUSEPORT).

mod worker;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use proto::http3::{ServerPlan, ServerShard};
use proto::tls::with_early_data;
use run::ServePlan;
use sys::{socket, udp};

use self::worker::Worker;
use crate::control::Control;
use crate::services::{http, tls};
use crate::{Options, ServeError, Server, behaviours, listener};

/// Default maximum number of concurrent streams of one connection.
const STREAMS: u32 = 128;
/// Size of a socket's receive buffer and of its send buffer that the server requests from the kernel, bytes. The
/// buffers are large because many connections share a socket.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;
/// Options of `http` and `h2` that have no meaning for HTTP/3.
const WITHOUT_MEANING: &[&str] = &["split_head", "congestion", "workers", "accept_every_ms"];

/// Starts the HTTP/3 server.
pub(crate) fn start(plan: &ServePlan) -> Result<Server, ServeError> {
    let options = Options::new(&plan.options)?;
    refuse_options(plan)?;
    let (config, note) = tls::config(&["h3"], &options)?;
    let config = if options.on("early_data")? { with_early_data(&config) } else { config };
    let streams = options.get::<u32>("streams")?.filter(|streams| *streams > 0).unwrap_or(STREAMS);
    let unfit = |e: proto::ProtoError| ServeError::Combination(format!("HTTP/3: {e}"));
    let shared = ServerPlan::new(config, streams).map_err(unfit)?;
    let (site, delays) = (http::pages_or_streams(plan, &options)?, behaviours::delays(&options, plan.threads)?);
    let control = Control::new(&plan.cpus, None);
    let threads = plan.threads.max(1);
    let alone: Option<listener::Open<'_>> = if threads > 1 { Some(&|addr| open(addr, false)) } else { None };
    let (sockets, addr) = listener::open_each(&plan.listen, threads, &control, alone, &|addr| open(addr, threads > 1))?;
    // From here on, dropping `Server` stops the threads, even if an error occurs.
    let mut server = Server::new(addr, "udp", control.clone());
    note.into_iter().for_each(|note| server.note(note));
    for socket in sockets {
        let shard = ServerShard::new(&shared, site.clone());
        let worker = Worker::new(shard, site.clone(), delays.clone(), socket, control.clone())?;
        control.spawn("h3", move || worker.run())?;
    }
    Ok(server)
}

/// Returns an error for settings that only other services use, instead of ignoring these settings.
fn refuse_options(plan: &ServePlan) -> Result<(), ServeError> {
    if plan.model != "auto" || !plan.strategy.is_empty() {
        return Err(ServeError::Combination(
            "h3 has no I/O models and no strategies; leave --model and --strategy out".into(),
        ));
    }
    // A number of events asks for streams. A name would ask for a backend of the event API.
    let names_backend = plan.options.get("events").is_some_and(|events| events.parse::<u64>().is_err());
    let unused = WITHOUT_MEANING.iter().find(|name| plan.options.contains_key(**name));
    match unused.or(names_backend.then_some(&"events")) {
        Some(name) => Err(ServeError::Combination(format!("option {name} is not for h3; leave it out"))),
        None => Ok(()),
    }
}

/// Opens a UDP socket on the listen address. With `shares`, several sockets of one server share the port.
fn open(addr: SocketAddr, shares: bool) -> sys::Result<OwnedFd> {
    let fd = socket::udp(addr)?;
    socket::set_reuse_port(&fd, shares)?;
    udp::join_received(&fd)?;
    // The kernel may make a buffer smaller than requested, because it limits the sizes of buffers.
    let _ = socket::set_recv_buffer(&fd, SOCKET_BUFFER_BYTES);
    let _ = socket::set_send_buffer(&fd, SOCKET_BUFFER_BYTES);
    socket::bind(&fd, addr)?;
    Ok(fd)
}
