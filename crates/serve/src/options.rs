//! The named options of a server: one table says which exist, one function reads them, and a wrong name or value is
//! refused with what would be right.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::ServeError;

/// One row of [`OPTIONS`].
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Name, as in `--option NAME=VALUE`.
    pub name: &'static str,
    /// What it takes.
    pub value: &'static str,
    /// What it does.
    pub help: &'static str,
}

const fn row(name: &'static str, value: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, value, help }
}

/// Every option of services, models and strategies.
pub const OPTIONS: &[OptionSpec] = &[
    row("descriptors", "count", "soft limit of the process's open descriptors (default: the hard one)"),
    row("work_us", "microseconds", "CPU work added to each request"),
    row("work_by", "clock or loops", "how that work is measured: CPU clock, or calibrated loops that interrupts delay"),
    row("sleep_ms", "milliseconds", "each request sleeps this long in the thread that serves it"),
    row("workers", "count", "threads of model `workers`: requests served at the same time"),
    row("capacity", "requests/s", "a request starts only when 1/capacity has passed since the one before, per thread"),
    row("capacity_by", "work|sleep", "how that time is spent: with the CPU busy (default) or idle"),
    row("accept_every_ms", "milliseconds", "connections are accepted only this often"),
    row("accept_batch", "count", "connections accepted each time (default 1)"),
    row("split_head", "0|1", "http: head and body leave in two writes, with Nagle's algorithm on"),
    row("reject_over", "requests/s", "http: requests above this rate are refused"),
    row("reject_status", "status", "http: with this status (default 503)"),
    row("status", "status", "http, h2: every page has this status; grpc: every call has this one"),
    row("streams", "count", "h2, grpc: streams of a connection at once (default 128)"),
    row("source_bytes", "bytes", "source: bytes a connection, then it is closed (default: without end)"),
    row("tls", "0|1", "over TLS; with a self-signed certificate for localhost where none is given"),
    row("tls_cert", "file", "the server's certificate chain (PEM)"),
    row("tls_key", "file", "its private key (PEM)"),
    row("direct", "0|1", "record: the file is read past the page cache (O_DIRECT)"),
    row("sync", "0|1", "record: every write reaches the disk before it is answered"),
    row("large_read_buffers", "count", "record: reads above 4096 bytes under way at once (default 16)"),
    row("upstream", "address:port", "proxy: where requests are forwarded"),
    row("events", "back end", "proxy and model `event`: back end of the event API"),
    row("head_bytes", "bytes", "proxy: longest head (default 65536)"),
    row("max_connections", "count", "proxy: clients at once, a thread; further ones are told 503"),
    row("timeout_ms", "milliseconds", "proxy: an upstream that is silent for this long is given up (default 60000)"),
    row(
        "probe_ms",
        "milliseconds",
        "proxy: a waiting client that ended its side is sent a 100 after this (default 1000)",
    ),
    row("pool", "count", "proxy: upstream connections kept for further requests, a thread (default 1024)"),
    row("read_bytes", "bytes", "proxy: most bytes of one read (default 65536)"),
    row("upstream_buffer", "bytes", "proxy: receive buffer of upstream connections (default: the kernel's)"),
    row("timed", "true or false", "proxy: time the calls of the event API and count them (default false)"),
    row("array", "count", "proxy: most events taken by one call (default 256)"),
    row(
        "gather_us",
        "microseconds",
        "proxy: shortest rest under load, where it lets events come together; the longest is 4 times it (default 50, on uring 0; 0: none)",
    ),
    row("congestion", "name", "http and proxy: congestion control of accepted connections (default: the system's)"),
    row("max_threads", "count", "blocking and group models: most threads; connections that need more are reset"),
    row("fair", "0|1", "event-groups: a wake serves all ready sockets instead of the lowest one"),
    row("accept_all", "0|1", "select-array: a wait accepts all connections that have come, not one"),
    row("literal", "0|1", "uring-groups: an eventfd is signalled for each completed operation"),
    row("sends", "count", "most sends outstanding at once (uring: default 200; limits)"),
    row("active", "count", "high-throughput: connections that operations are posted for (default 100)"),
    row("active_idle_ms", "milliseconds", "high-throughput: a silent one gives up its place after this (default 1000)"),
    row("waiting", "count", "high-throughput: most connections that wait for a place; further ones are refused"),
    row("refuse", "busy|close|reset", "high-throughput: how they are refused (default busy: a short reply)"),
    row(
        "header_timeout_ms",
        "milliseconds",
        "http, record and proxy: a request whose head takes longer is given up with 408 (default 10000; 0: never)",
    ),
    row("drain", "bytes", "high-connections: most bytes drained of one connection a wake (default 262144)"),
    row("unsent_ms", "milliseconds", "limits: a peer that does not read for this long is closed (default 5000)"),
    row("silent_ms", "milliseconds", "limits: a peer that says nothing for this long is closed (default 30000)"),
];

/// The options of one plan.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(&'a BTreeMap<String, String>);

impl<'a> Options<'a> {
    /// Checks that every name exists; names beginning with the service's own name and a dot are its own affair.
    pub fn new(map: &'a BTreeMap<String, String>) -> Result<Self, ServeError> {
        for name in map.keys() {
            if !name.contains('.') && !OPTIONS.iter().any(|o| o.name == name) {
                let known = OPTIONS.iter().map(|o| o.name).collect::<Vec<_>>().join(", ");
                return Err(ServeError::UnknownOption { name: name.clone(), known });
            }
        }
        Ok(Self(map))
    }

    /// The value of an option, if it is given.
    pub fn get<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, ServeError> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let wants = OPTIONS.iter().find(|o| o.name == name).map_or("another value", |o| o.value);
        text.parse().map(Some).map_err(|_| ServeError::BadOption { name, value: text.clone(), wants })
    }

    /// A number above zero, if it is given.
    pub fn positive(&self, name: &'static str) -> Result<Option<f64>, ServeError> {
        match self.get::<f64>(name)? {
            Some(v) if !(v > 0.0 && v.is_finite()) => {
                Err(ServeError::BadOption { name, value: v.to_string(), wants: "a number above zero" })
            }
            v => Ok(v),
        }
    }

    /// Whether a switch is on.
    pub fn on(&self, name: &'static str) -> Result<bool, ServeError> {
        Ok(self.get::<u8>(name)?.unwrap_or(0) != 0)
    }
}
