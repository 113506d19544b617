//! Named options of a server, in one table. If a name or a value is invalid, the error lists the valid ones.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::ServeError;

/// Entry of [`OPTIONS`].
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Name, as in `--option NAME=VALUE`.
    pub name: &'static str,
    /// Description of the values that the option takes.
    pub value: &'static str,
    /// Effect of the option on the server.
    pub help: &'static str,
}

const fn row(name: &'static str, value: &'static str, help: &'static str) -> OptionSpec {
    OptionSpec { name, value, help }
}

/// All options of services, models and strategies.
pub const OPTIONS: &[OptionSpec] = &[
    row("descriptors", "count", "soft limit of open descriptors of the process (default: the hard limit)"),
    row("work_us", "microseconds", "CPU time added to each request"),
    row(
        "work_by",
        "clock or loops",
        "method of timing this work: by the CPU clock, or by calibrated loops (which interrupts prolong)",
    ),
    row("sleep_ms", "milliseconds", "each request sleeps this long in the thread that serves it"),
    row("lock", "milliseconds", "each request holds one lock of the whole server this long, asleep"),
    row(
        "pool",
        "count",
        "each request holds one of this many places of the whole server, asleep; proxy: upstream connections per thread that are kept for further requests (default 1024)",
    ),
    row("pool_ms", "milliseconds", "time for which a request holds a place (default 10)"),
    row("spin", "microseconds", "CPU time added to each request, in the function planted_spin"),
    row("workers", "count", "threads of model `workers`, each of which serves one request at a time"),
    row("capacity", "requests/s", "a thread starts its next request at the earliest 1/capacity after the previous one"),
    row("capacity_by", "work|sleep", "use of the CPU in this time: busy (work, the default) or idle (sleep)"),
    row("accept_every_ms", "milliseconds", "time between two rounds of accepting connections"),
    row("accept_batch", "count", "connections accepted in each round (default 1)"),
    row("split_head", "0|1", "http: head and body are sent by two writes, with Nagle's algorithm on"),
    row("reject_over", "requests/s", "http: requests above this rate are refused"),
    row("reject_status", "status", "http: status of refused requests (default 503)"),
    row("status", "status", "http, h2: every page has this status; grpc: every call has this one"),
    row("streams", "count", "h2, grpc: maximum number of concurrent streams per connection (default 128)"),
    row("source_bytes", "bytes", "source: bytes sent on a connection before it is closed (default: no limit)"),
    row("tls", "0|1", "serve over TLS, with a self-signed certificate for localhost if none is given"),
    row("tls_cert", "file", "the server's certificate chain (PEM)"),
    row("tls_key", "file", "private key of the certificate (PEM)"),
    row("early_data", "0|1", "h3: requests of resumed connections are answered before the handshake ends (0-RTT)"),
    row("direct", "0|1", "record: reads of the file bypass the page cache (O_DIRECT)"),
    row("sync", "0|1", "record: every write reaches the disk before it is answered"),
    row("large_read_buffers", "count", "record: maximum number of concurrent reads above 4096 bytes (default 16)"),
    row("upstream", "address:port", "proxy: address to which requests are forwarded"),
    row(
        "events",
        "back end or count",
        "proxy and model `event`: back end of the event API; sse: events per stream (default 100); h2, grpc and ws: events of the stream that answers each request",
    ),
    row("first_ms", "milliseconds", "streams of events: time from a request to the first one (default 300)"),
    row("gap_ms", "milliseconds", "streams of events: time between two (default 20)"),
    row(
        "profile",
        "even or tokens",
        "streams of events: all gaps equal, or irregular with the same mean, as of a server of language models (default even)",
    ),
    row("seed", "count", "streams of events: seed of the profile tokens (default 1)"),
    row("format", "sse or ndjson", "sse, h2: form of the events (default sse)"),
    row("end", "text", "sse, ws: text of an additional event that ends each stream, such as [DONE]"),
    row("head_bytes", "bytes", "proxy: maximum size of a request or response head (default 65536)"),
    row("max_connections", "count", "proxy: maximum number of clients per thread; further clients get status 503"),
    row("timeout_ms", "milliseconds", "proxy: maximum silence of an upstream before its request fails (default 60000)"),
    row(
        "probe_ms",
        "milliseconds",
        "proxy: time after which a waiting client that closed its sending side gets a 100 response (default 1000)",
    ),
    row("read_bytes", "bytes", "proxy: maximum bytes of one read (default 65536)"),
    row("upstream_buffer", "bytes", "proxy: receive buffer of upstream connections (default: the kernel's)"),
    row("timed", "true or false", "proxy: time the calls of the event API and count them (default false)"),
    row("array", "count", "proxy: maximum number of events per call (default 256)"),
    row(
        "gather_us",
        "microseconds",
        "proxy: minimum pause under load, so that events arrive in batches; the maximum is 4 times as long (default 50, on uring 0; 0: no pause)",
    ),
    row("congestion", "name", "http and proxy: congestion control of accepted connections (default: the system's)"),
    row(
        "max_threads",
        "count",
        "blocking and group models: maximum number of threads; connections without a thread are reset",
    ),
    row("fair", "0|1", "event-groups: each wake-up serves all ready sockets, not only the lowest"),
    row("accept_all", "0|1", "select-array: each wait accepts all waiting connections, not only one"),
    row("literal", "0|1", "uring-groups: each completed operation signals an eventfd"),
    row("sends", "count", "uring, limits: maximum number of outstanding sends (default of uring: 200)"),
    row(
        "active",
        "count",
        "high-throughput: number of active connections, which have a posted operation (default 100)",
    ),
    row(
        "active_idle_ms",
        "milliseconds",
        "high-throughput: silence after which a waiting connection replaces an active one (default 1000)",
    ),
    row("waiting", "count", "high-throughput: maximum number of waiting connections; further connections are refused"),
    row("refuse", "busy|close|reset", "high-throughput: method of refusing connections (default busy: a short reply)"),
    row(
        "header_timeout_ms",
        "milliseconds",
        "http, record and proxy: maximum time for the head of a request, which is then refused with status 408 (default 10000; 0: no limit)",
    ),
    row("drain", "bytes", "high-connections: maximum bytes read from one connection per wake-up (default 262144)"),
    row(
        "unsent_ms",
        "milliseconds",
        "limits: maximum time in which a peer reads nothing, then it is closed (default 5000)",
    ),
    row("silent_ms", "milliseconds", "limits: maximum silence of a peer, then it is closed (default 30000)"),
];

/// Options that the user gave, by name.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a>(&'a BTreeMap<String, String>);

impl<'a> Options<'a> {
    /// Checks that every option exists. An option with a dot in its name belongs to a standalone service, and this
    /// function does not check it.
    pub fn new(map: &'a BTreeMap<String, String>) -> Result<Self, ServeError> {
        for name in map.keys() {
            if !name.contains('.') && !OPTIONS.iter().any(|o| o.name == name) {
                let known = OPTIONS.iter().map(|o| o.name).collect::<Vec<_>>().join(", ");
                return Err(ServeError::UnknownOption { name: name.clone(), known });
            }
        }
        Ok(Self(map))
    }

    /// Returns the value of an option, if it is set.
    pub fn get<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, ServeError> {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        let wants = OPTIONS.iter().find(|o| o.name == name).map_or("another value", |o| o.value);
        text.parse().map(Some).map_err(|_| ServeError::BadOption { name, value: text.clone(), wants })
    }

    /// Returns the value of an option as a number above zero, if it is set.
    pub fn positive(&self, name: &'static str) -> Result<Option<f64>, ServeError> {
        match self.get::<f64>(name)? {
            Some(v) if !(v > 0.0 && v.is_finite()) => {
                Err(ServeError::BadOption { name, value: v.to_string(), wants: "a number above zero" })
            }
            v => Ok(v),
        }
    }

    /// Returns true if an option that is a switch is on.
    pub fn on(&self, name: &'static str) -> Result<bool, ServeError> {
        Ok(self.get::<u8>(name)?.unwrap_or(0) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
    }

    #[test]
    fn an_unknown_option_is_refused_with_the_valid_names() {
        let error = Options::new(&map(&[("wrok_us", "1")])).unwrap_err().to_string();
        assert!(error.contains("wrok_us") && error.contains("work_us"), "{error}");
        assert!(Options::new(&map(&[("proxy.own", "1")])).is_ok());
    }

    #[test]
    fn an_invalid_value_is_refused_with_the_valid_ones() {
        let map = map(&[("work_us", "fast"), ("capacity", "0"), ("tls", "yes"), ("array", "-1")]);
        let options = Options::new(&map).unwrap();
        assert!(options.get::<f64>("work_us").unwrap_err().to_string().contains("microseconds"));
        assert!(options.positive("capacity").unwrap_err().to_string().contains("above zero"));
        assert!(options.on("tls").unwrap_err().to_string().contains("0|1"));
        assert!(options.get::<u32>("array").unwrap_err().to_string().contains("count"));
    }

    #[test]
    fn values_are_parsed_and_missing_options_are_none() {
        let map = map(&[("work_us", "1.5"), ("tls", "1"), ("sync", "0")]);
        let options = Options::new(&map).unwrap();
        assert_eq!(options.positive("work_us").unwrap(), Some(1.5));
        assert_eq!((options.on("tls").unwrap(), options.on("sync").unwrap()), (true, false));
        assert_eq!((options.on("direct").unwrap(), options.get::<u32>("array").unwrap()), (false, None));
        assert!(options.positive("capacity").unwrap().is_none());
    }

    #[test]
    fn infinite_numbers_are_refused() {
        for value in ["inf", "NaN", "-1"] {
            let map = map(&[("capacity", value)]);
            assert!(Options::new(&map).unwrap().positive("capacity").is_err(), "{value}");
        }
    }

    #[test]
    fn every_row_has_a_help_text_and_a_unique_name() {
        let mut names: Vec<&str> = OPTIONS.iter().map(|o| o.name).collect();
        names.sort_unstable();
        assert!(names.is_sorted_by(|a, b| a < b), "a name stands twice");
        assert!(OPTIONS.iter().all(|o| !o.value.is_empty() && !o.help.is_empty()));
    }
}
