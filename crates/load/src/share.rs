//! Divides a load plan among generator threads (shards), within the limits of the system.

use std::net::{IpAddr, SocketAddr};

use crate::addresses::AddressTurns;
use crate::slot_times::SlotTimes;
use crate::tenths::TenthCounter;
use run::{Address, ErrorKind, Intensity, LoadPart, LoadPlan, Summary, even_share};
use sys::peer::Peer;
use sys::{Errno, socket};

use crate::LoadError;
use crate::arrivals::{self, Arrivals};
use crate::core::{self, BlockTurns, Paced, Shape, Task, Think};

/// Number of descriptors that the process needs for itself.
const OWN_DESCRIPTORS: u64 = 64;

/// Returns the number of descriptors that each of `shards` threads may have.
pub(crate) fn room(limit: u64, shards: u32) -> u32 {
    u32::try_from(limit.saturating_sub(OWN_DESCRIPTORS) / u64::from(shards.max(1))).unwrap_or(u32::MAX).max(1)
}

/// Returns the task of thread number `shard`. `limit` is the descriptor limit of the process.
pub(crate) fn task(plan: &LoadPlan, shard: u32, origin_ns: u64, limit: u64) -> Task {
    let shards = plan.threads.max(1);
    let ns = |s: f64| (s.max(0.0) * 1e9) as u64;
    let phase = plan.share_phase(shard, shards);
    let seed = plan.seed.wrapping_add(u64::from(shard).wrapping_mul(0xd134_2543_de82_ef95));
    let mut task = Task {
        intensity: shape(plan, (shard, shards), phase, limit),
        spares: 0,
        new_connections: plan.new_connections,
        connect_gap_ns: if plan.connect_rate > 0.0 { 1e9 * f64::from(shards) / plan.connect_rate } else { 0.0 },
        blocks: BlockTurns::from_plan(plan),
        timeout_ns: ns(plan.timeout_s),
        connect_timeout_ns: ns(plan.connect_timeout_s),
        drain_ns: ns(plan.drain_s),
        seed,
        origin_ns,
        measured_from_begin: plan.is_measured_from_its_begin(),
        slots: plan.slots.is_some(),
        slot_times: SlotTimes::new(plan.slots.filter(|_| matches!(plan.intensity, Intensity::Open { .. }))),
        stall_s: plan.stream.as_ref().map(|stream| stream.stall_s),
        tenths: TenthCounter::new(&plan.late_us, plan.duration_s),
        early_data: plan.tls.as_ref().is_some_and(|tls| tls.early_data),
        trace_share: plan.traceparent,
        turns: turns(plan, shard),
        items: items(plan, (shard, shards)),
    };
    if matches!(task.intensity, Shape::Closed { .. } | Shape::Open { .. }) && task.blocks.is_none() {
        task.spares = core::spares(task.connections(), room(limit, shards));
    }
    task
}

/// Returns the part of the load's intensity for this shard (generator thread).
fn shape(plan: &LoadPlan, (shard, shards): (u32, u32), phase: f64, limit: u64) -> Shape {
    match &plan.intensity {
        Intensity::Closed { connections, pipeline, think } => Shape::Closed {
            connections: even_share(*connections, shard, shards),
            pipeline: *pipeline,
            think: Think::from(think),
        },
        Intensity::Open { rate, arrival, max_connections, pipeline } => Shape::Open {
            arrivals: Arrivals::new(arrival, *rate, (shard, shards), phase, plan.seed).with_schedule(
                plan,
                *rate,
                (shard, shards),
            ),
            rate: *rate / f64::from(shards),
            max_connections: even_share(*max_connections, shard, shards).clamp(1, room(limit, shards)),
            pipeline: *pipeline,
        },
        Intensity::SClients { descriptors, connect_timeout_ms, think, pace } => {
            let descriptors = even_share(*descriptors, shard, shards);
            Shape::SClients {
                descriptors,
                timeout_ns: (connect_timeout_ms * 1e6) as u64,
                think: Think::from(think),
                established: room(limit, shards).saturating_sub(descriptors).clamp(1, descriptors.max(1024)),
                phase,
                pace: pace.as_ref().map(|pace| Paced {
                    arrivals: Arrivals::new(&pace.arrival, pace.rate, (shard, shards), phase, plan.seed),
                    rate: pace.rate / f64::from(shards),
                }),
            }
        }
    }
}

/// Returns the order in which the connections of this shard (generator thread) use the server's addresses.
fn turns(plan: &LoadPlan, shard: u32) -> AddressTurns {
    let count = 1 + plan.addresses.len();
    let threads = plan.threads.max(1) as usize;
    AddressTurns::new(count, (plan.phase * count as f64) as usize + shard as usize, threads)
}

/// Returns the indexes of the requests for this shard (generator thread), in the order of the recording. The list is
/// empty for a plan without recorded requests.
fn items(plan: &LoadPlan, (shard, shards): (u32, u32)) -> Box<[u16]> {
    let times = plan.recorded();
    let all = times.map_or(&[][..], |times| &times.items);
    all.iter().skip(shard as usize).step_by(shards.max(1) as usize).copied().collect()
}

/// Returns the task of the process that handles the connections of thread number `shard` (two-process S-Clients, which
/// are sockets that connect again and again).
pub(crate) fn handling_task(plan: &LoadPlan, shard: u32, origin_ns: u64, limit: u64) -> Task {
    let connections = room(limit, plan.threads);
    let paced = matches!(&plan.intensity, Intensity::SClients { pace: Some(_), .. });
    Task { intensity: Shape::Handling { connections, paced }, spares: 0, ..task(plan, shard, origin_ns, limit) }
}

/// Checks the load plan, and completes it. With one connection per request, the client asks the server to close each
/// connection, if the protocol allows this.
pub(crate) fn prepared(plan: &LoadPlan) -> Result<LoadPlan, LoadError> {
    plan.check()?;
    let arrival = match &plan.intensity {
        Intensity::Open { arrival, .. } => Some(arrival),
        Intensity::SClients { pace, .. } => pace.as_ref().map(|pace| &pace.arrival),
        Intensity::Closed { .. } => None,
    };
    arrival.map_or(Ok(()), arrivals::check)?;
    let mut plan = plan.clone();
    let one_request = plan.new_connections || matches!(plan.intensity, Intensity::SClients { .. });
    if one_request {
        (proto::spec(&plan.protocol).one_request)(&mut plan.protocol);
    }
    Ok(plan)
}

/// Adapts the load plan to a driver that makes the answers itself. A driver that makes the answers needs a single
/// request with a known answer.
pub(crate) fn without_network(plan: LoadPlan) -> LoadPlan {
    let protocol = (proto::spec(&plan.protocol).without_network)(plan.protocol.clone());
    LoadPlan { protocol, requests: None, stream: None, ..plan }
}

/// Returns true if the load plan has S-Clients (sockets that connect again and again) that use two processes for each
/// thread.
pub(crate) fn two_process(plan: &LoadPlan) -> bool {
    plan.two_process && matches!(plan.intensity, Intensity::SClients { .. })
}

/// Returns notes about the consequences of the descriptor limit for a load plan.
pub(crate) fn descriptor_notes(plan: &LoadPlan, limit: u64) -> Vec<String> {
    let wanted = u64::from(match &plan.intensity {
        Intensity::Closed { connections, .. } => *connections,
        Intensity::Open { .. } => 0,
        Intensity::SClients { descriptors, .. } => *descriptors,
    });
    if wanted + OWN_DESCRIPTORS <= limit {
        return Vec::new();
    }
    let needed = wanted + OWN_DESCRIPTORS;
    vec![format!(
        "{wanted} connections were asked for but this process may have {limit} descriptors: raise the limit with \
         `ulimit -Hn {needed}` as root (LimitNOFILE={needed} in a systemd unit), or spread the load over more agents"
    )]
}

/// Converts the server's address to the form that system calls take.
pub(crate) fn peer(addr: &Address) -> Result<Peer, LoadError> {
    match addr {
        Address::Inet(addr) => Ok(Peer::Inet(*addr)),
        Address::Unix(path) => Peer::unix(path).map_err(|errno| LoadError::System {
            what: "taking the path of the unix socket",
            errno,
            advice: "give a path of at most 107 bytes; a link to its directory makes it shorter",
        }),
    }
}

/// Checks the local addresses by binding to each once. The local addresses must belong to this host, and to the address
/// family of the server. Without the check, a wrong local address would look like a lack of ports.
pub(crate) fn check_sources(sources: &[IpAddr], target: &Peer) -> Result<(), LoadError> {
    if let (Peer::Unix(_), Some(&source_addr)) = (target, sources.first()) {
        let why = "a unix socket has no addresses to bind to; leave --source out";
        return Err(LoadError::Source { source_addr, target: target.to_string(), why });
    }
    let (Peer::Inet(target) | Peer::Udp(target)) = *target else { return Ok(()) };
    for &source_addr in sources {
        let wrong = |why| Err(LoadError::Source { source_addr, target: target.to_string(), why });
        if source_addr.is_ipv4() != target.is_ipv4() {
            return wrong("give addresses of the server's family (IPv4 or IPv6)");
        }
        let bound = socket::tcp(target).and_then(|fd| socket::bind(&fd, SocketAddr::new(source_addr, 0)));
        if bound == Err(Errno::ADDRNOTAVAIL) {
            return wrong("it is not an address of this host; `ip address` lists them");
        }
    }
    Ok(())
}

/// Returns a note if the connect timeout of a load by S-Clients may be too short. The timeout may be too short if no
/// connect succeeded within it, or if more than 1 % of the connects took more than half of it. The timeout must exceed
/// the longest round-trip time (Banga and Druschel 1997).
pub(crate) fn timeout_note(intensity: &Intensity, part: &LoadPart) -> Option<String> {
    let Intensity::SClients { connect_timeout_ms, .. } = intensity else { return None };
    let timed_out = part.total.errors.0.contains_key(&ErrorKind::ConnectTimeout);
    let connect = part.histograms.get("connect").map(Summary::of).unwrap_or_default();
    if part.total.connected == 0 && timed_out {
        return Some(format!(
            "no connect was up within T = {connect_timeout_ms} ms: either the server takes none, or T is shorter than the \
             round trip and every connect is given up while its answer is on the way; try a longer T"
        ));
    }
    (connect.count > 0 && connect.p99 > connect_timeout_ms * 500.0).then(|| {
        format!(
            "connects took up to {:.1} ms (99th percentile) and T is {connect_timeout_ms} ms: with T near the round trip \
             good connects are given up; use a T of at least twice as long",
            connect.p99 / 1e3
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for (total, parts) in [(10, 3), (3, 10), (0, 4), (64, 1)] {
            assert_eq!((0..parts).map(|i| even_share(total, i, parts)).sum::<u32>(), total);
        }
    }

    #[test]
    fn a_source_that_is_not_ours_is_named() {
        let target = Peer::Inet("127.0.0.1:80".parse().unwrap());
        assert!(check_sources(&["127.0.0.9".parse().unwrap()], &target).is_ok());
        for foreign in ["192.0.2.77", "::1"] {
            let error = check_sources(&[foreign.parse().unwrap()], &target).unwrap_err().to_string();
            assert!(error.contains(foreign), "{error}");
        }
    }

    #[test]
    fn a_timeout_near_the_round_trip_is_warned_of() {
        let t = |connect_timeout_ms| Intensity::SClients {
            descriptors: 1,
            connect_timeout_ms,
            think: Default::default(),
            pace: None,
        };
        let mut part = LoadPart::default();
        part.total.connected = 10;
        let connect = part.histograms.entry("connect".into()).or_default();
        (0..10).for_each(|_| connect.record_ns(60_000_000));
        assert!(timeout_note(&t(500.0), &part).is_none());
        assert!(timeout_note(&t(100.0), &part).unwrap().contains("60."));
        assert!(timeout_note(&Intensity::default(), &part).is_none());
        part.total.connected = 0;
        part.total.errors.0.insert(ErrorKind::ConnectTimeout, 5);
        assert!(timeout_note(&t(500.0), &part).unwrap().contains("longer T"));
    }

    #[test]
    fn simple_clients_ask_the_server_to_close() {
        let plan = prepared(&LoadPlan { new_connections: true, ..LoadPlan::default() }).unwrap();
        assert_eq!(plan.protocol.http().unwrap().headers, [("Connection".to_owned(), "close".to_owned())]);
        assert!(prepared(&LoadPlan::default()).unwrap().protocol.http().unwrap().headers.is_empty());
    }
}
