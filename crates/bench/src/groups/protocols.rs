//! Rows about protocols other than HTTP/1.1 without TLS.

use crate::row::Goal::{AtLeast, AtMost};
use crate::row::{Row, long};
use crate::rows::{lossy_line, transports};

pub(super) const ROWS: &[Row] = &[
    long("https-cpu", "CPU us per request of `load` within TLS over wrk's", AtMost(0.80), 55, transports::https)
        .aim(AtMost(0.60))
        .shortened(3, 40),
    long(
        "tls-handshakes",
        "full TLS 1.3 handshakes per CPU second of `load` over openssl s_time's",
        AtLeast(1.0),
        55,
        transports::handshakes,
    )
    .shortened(3, 40),
    long("http2-cpu", "CPU us per request of `load --http2` over h2load's", AtMost(1.0), 55, transports::http2)
        .aim(AtMost(0.70))
        .shortened(3, 40),
    long("grpc-cpu", "CPU us per gRPC call of `load` over h2load's", AtMost(1.0), 55, transports::grpc)
        .shortened(3, 40),
    long(
        "stream-cpu",
        "CPU us per stream of 20 events of `load --http2 --stream sse` over h2load's, which times no events",
        AtMost(1.5),
        55,
        transports::stream,
    )
    .shortened(3, 40),
    long(
        "http3-cpu",
        "CPU us per request of `load --http3` over that of `load --http2` without TLS",
        AtMost(3.0),
        70,
        transports::http3,
    ),
    long("http3-cpu-oha", "CPU us per request of `load --http3` over oha's", AtMost(0.80), 80, transports::http3_oha),
    long(
        "http3-lossy",
        "pages per second of `load --http3` over a quic-go client's; 1 % of the packets are lost, round trips take 40 ms",
        AtLeast(0.95),
        160,
        lossy_line::quic_go,
    ),
    long(
        "http3-lossy-oha",
        "pages per second of `load --http3` over oha's; 1 % of the packets are lost, round trips take 40 ms",
        AtLeast(0.95),
        220,
        lossy_line::oha,
    ),
    long("redis-cpu", "CPU us per PING of `load` over redis-benchmark's", AtMost(0.70), 55, transports::redis)
        .shortened(3, 40),
    long("postgres-cpu", "CPU us per SELECT 1 of `load` over pgbench's", AtMost(0.80), 60, transports::postgres),
];
