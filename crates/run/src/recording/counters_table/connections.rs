//! Counters of listeners and of sampled connections.

use super::row::c;
use crate::recording::counter_spec::Kind::{Cumulative, Gauge};
use crate::recording::counter_spec::Unit::{Bytes, BytesPerSecond, Count, Cpus, Microseconds, Share};
use crate::recording::counter_spec::{CounterSpec, Unit};

/// Returns the row of a gauge for this side's sampled connections. If the gauge has several instances, the value for
/// the side is the largest of them.
const fn sampled(id: &'static str, unit: Unit, help: &'static str) -> CounterSpec {
    c(id, "Connection", unit, Gauge, help).largest()
}

pub(super) const ROWS: &[CounterSpec] = &[
    // The instance name of a listening socket is `address:port`. Further sockets with an equal address (SO_REUSEPORT)
    // have the instance names `address:port#2`, …. For upstream services, the instances are addresses
    // (`127.0.0.1:5432`) and paths of unix sockets.
    c(
        "behind.connections",
        "Behind",
        Count,
        Gauge,
        "sock_diag: connections of the server, or of its upstream services, to this address",
    ),
    c("behind.queue", "Behind", Count, Gauge, "sock_diag: connections that wait to be accepted at this address"),
    c("behind.unread", "Behind", Bytes, Gauge, "sock_diag rqueue: bytes that the upstream service has not read yet"),
    c(
        "behind.busy",
        "Behind",
        Count,
        Gauge,
        "tcp_info last_data_sent, last_data_recv; sock_diag rqueue: connections to this address whose last request has no reply yet",
    ),
    c(
        "behind.data_out",
        "Behind",
        Count,
        Cumulative,
        "tcp_info data_segs_out: segments with data to this address; those of ended connections as last seen",
    ),
    c(
        "behind.data_in",
        "Behind",
        Count,
        Cumulative,
        "tcp_info data_segs_in: segments with data from this address; those of ended connections as last seen",
    ),
    c("behind.cpu_quota", "Behind", Cpus, Gauge, "CPU quotas of the control groups of the upstream service, in CPUs"),
    c(
        "behind.cpu_periods",
        "Behind",
        Count,
        Cumulative,
        "cpu.stat nr_periods of these groups: enforcement periods with a quota",
    ),
    c(
        "behind.cpu_throttled_periods",
        "Behind",
        Count,
        Cumulative,
        "cpu.stat nr_throttled of these groups: periods in which a quota ran out",
    ),
    c("listen.queue", "Listener", Count, Gauge, "sock_diag rqueue: connections in the accept queue"),
    c(
        "listen.limit",
        "Listener",
        Count,
        Gauge,
        "sock_diag wqueue: limit of the accept queue, the smaller of backlog and somaxconn; the queue holds one more",
    )
    .largest(),
    c(
        "listen.drops",
        "Listener",
        Count,
        Cumulative,
        "sock_diag skmeminfo drops: connection requests dropped at this listener",
    ),
    // The counters `listen.accepted` and `listen.waiting` are read only if an experiment needs them. For
    // `listen.accepted` and `listen.waiting`, the kernel must describe each connection, which takes long with many
    // connections.
    c("listen.accepted", "Listener", Count, Gauge, "sock_diag inode: established connections that were accepted"),
    c("listen.waiting", "Listener", Count, Gauge, "sock_diag inode: established connections that wait to be accepted"),
    // Values of TCP_INFO from a sample of this side's connections. For counters of sampled connections, the name of the
    // instance is empty.
    c("connection.sampled", "Connection", Count, Gauge, "connections that sock_diag described in this sample"),
    sampled("connection.rtt", Microseconds, "tcp_info rtt: smoothed round-trip time, mean"),
    sampled("connection.cwnd", Count, "tcp_info snd_cwnd: congestion window in segments, mean"),
    sampled("connection.unacked", Count, "tcp_info unacked: segments in flight, mean"),
    sampled("connection.retrans", Count, "tcp_info total_retrans: segments sent again, mean per connection"),
    sampled("connection.send_queue", Bytes, "sock_diag wqueue: bytes not yet acknowledged, mean"),
    sampled("connection.receive_queue", Bytes, "sock_diag rqueue: bytes not yet read, mean"),
    sampled(
        "connection.rwnd_limited",
        Share,
        "tcp_info rwnd_limited over busy_time: share of time in which the peer's window stopped the sender",
    ),
    sampled(
        "connection.sndbuf_limited",
        Share,
        "tcp_info sndbuf_limited over busy_time: share of time in which the send buffer stopped the sender",
    ),
    sampled("connection.min_rtt", Microseconds, "tcp_info min_rtt: smallest round-trip time seen, mean"),
    sampled("connection.mss", Bytes, "tcp_info snd_mss: largest segment size, mean"),
    sampled("connection.peer_window", Bytes, "tcp_info snd_wnd: window that the other end advertised, mean"),
    sampled(
        "connection.delivery_rate",
        BytesPerSecond,
        "tcp_info delivery_rate: latest measured rate, mean per connection",
    ),
    sampled(
        "connection.waiting",
        Count,
        "tcp_info notsent_bytes: connections of the sample with bytes that TCP has not sent yet",
    ),
    sampled("connection.write_full", Count, "sock_diag skmeminfo: connections of the sample whose send buffer is full"),
    sampled("connection.ato", Microseconds, "tcp_info ato: timer of delayed acknowledgements, mean"),
];
