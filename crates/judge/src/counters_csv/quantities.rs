//! Quantities that can be derived from collected counters: one row per quantity, with its formula in words and in code.
//!
//! The quantities come from R. Blake, *Optimizing Windows NT* (1993). Rates at rest are always subtracted, so that all
//! quantities can be compared.

use std::collections::BTreeMap;

use crate::number::finite;

/// One row of [`QUANTITIES`].
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Name of the quantity, with its unit.
    pub id: &'static str,
    /// Meaning of the quantity, in one line.
    pub help: &'static str,
    /// The formula, with the names of the inputs.
    pub formula: &'static str,
    /// Inputs: columns, quantities of earlier rows, and `before.…` for values of the preceding case.
    pub inputs: &'static [&'static str],
    /// Unit of the value.
    pub unit: &'static str,
    /// Function that computes the value from the values of `inputs`, in their order.
    pub compute: fn(&[f64]) -> f64,
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Quantity {
    /// Returns the value if all inputs are known and the result is finite.
    pub fn of(&self, known: &Values) -> Option<f64> {
        let inputs: Option<Vec<f64>> = self.inputs.iter().map(|name| known.get(*name).copied()).collect();
        finite((self.compute)(&inputs?))
    }
}

/// Returns the names of all inputs of the quantities, which a file may have as columns. Leaves out values of the
/// preceding case.
pub fn columns() -> Vec<&'static str> {
    let mut names: Vec<&str> =
        QUANTITIES.iter().flat_map(|q| q.inputs).copied().filter(|n| !n.starts_with("before.")).collect();
    names.sort_unstable();
    names.dedup();
    names
}

const fn q(
    id: &'static str,
    unit: &'static str,
    formula: &'static str,
    inputs: &'static [&'static str],
    compute: fn(&[f64]) -> f64,
    help: &'static str,
) -> Quantity {
    Quantity { id, help, formula, inputs, unit, compute }
}

/// Returns the CPU time per request in microseconds. `percent` is the busy share in per cent, and `per_s` are the
/// requests per second.
fn us_of(percent: f64, per_s: f64) -> f64 {
    1e4 * percent / per_s
}

/// The quantities that are derived from the columns of a file.
pub const QUANTITIES: &[Quantity] = &[
    q(
        "request_bytes",
        "B",
        "message_bytes_sent_per_s / messages_received_per_s",
        &["message_bytes_sent_per_s", "messages_received_per_s"],
        |i| i[0] / i[1],
        "bytes of a request message",
    ),
    q(
        "reply_bytes",
        "B",
        "message_bytes_received_per_s / messages_received_per_s",
        &["message_bytes_received_per_s", "messages_received_per_s"],
        |i| i[0] / i[1],
        "bytes of a reply message",
    ),
    q(
        "packets_per_read",
        "",
        "packets_received_per_s / messages_received_per_s",
        &["packets_received_per_s", "messages_received_per_s"],
        |i| i[0] / i[1],
        "packets per reply",
    ),
    q(
        "payload_bytes",
        "B",
        "reply_bytes - request_bytes",
        &["reply_bytes", "request_bytes"],
        |i| i[0] - i[1],
        "bytes of a reply without the header, which is as long as a request",
    ),
    q(
        "packet_bytes",
        "B",
        "reply_bytes / packets_per_read",
        &["reply_bytes", "packets_per_read"],
        |i| i[0] / i[1],
        "mean bytes of a packet",
    ),
    q(
        "packets_needed",
        "",
        "reply_bytes / mtu_bytes, rounded up",
        &["reply_bytes", "mtu_bytes"],
        |i| (i[0] / i[1]).ceil(),
        "fewest packets that a reply needs",
    ),
    q(
        "frames_per_read",
        "",
        "frames_per_s / reads_per_s",
        &["frames_per_s", "reads_per_s"],
        |i| i[0] / i[1],
        "frames on the wire per read",
    ),
    q(
        "frame_bytes",
        "B",
        "wire_bytes_per_read / frames_per_read",
        &["wire_bytes_per_read", "frames_per_read"],
        |i| i[0] / i[1],
        "mean bytes of a frame on the wire",
    ),
    q(
        "response_ms",
        "ms",
        "1000 clients / reads_per_s",
        &["clients", "reads_per_s"],
        |i| 1e3 * i[0] / i[1],
        "response time of a closed system without think time: N / X",
    ),
    q("response_us", "us", "1000 response_ms", &["response_ms"], |i| 1e3 * i[0], "response time in microseconds"),
    q(
        "rate_per_client",
        "1/s",
        "reads_per_s / clients",
        &["reads_per_s", "clients"],
        |i| i[0] / i[1],
        "rate of reads per client",
    ),
    q(
        "rate_from_response",
        "1/s",
        "1000 clients / response_given_ms",
        &["clients", "response_given_ms"],
        |i| 1e3 * i[0] / i[1],
        "rate, if only the response time is known: X = N / R",
    ),
    q(
        "cpu_us",
        "us",
        "10^4 cpu_percent / reads_per_s",
        &["cpu_percent", "reads_per_s"],
        |i| us_of(i[0], i[1]),
        "CPU time per read",
    ),
    q(
        "process_us",
        "us",
        "10^4 process_percent / reads_per_s",
        &["process_percent", "reads_per_s"],
        |i| us_of(i[0], i[1]),
        "CPU time per read that the process was charged with",
    ),
    q(
        "interrupts_implied_per_s",
        "1/s",
        "interrupts_given_per_read reads_per_s",
        &["interrupts_given_per_read", "reads_per_s"],
        |i| i[0] * i[1],
        "interrupts per second, if only their number per read is known",
    ),
    q(
        "interrupts_per_read",
        "",
        "interrupts_per_s / reads_per_s",
        &["interrupts_per_s", "reads_per_s"],
        |i| i[0] / i[1],
        "interrupts per read, including those at rest",
    ),
    q(
        "interrupts_net_per_read",
        "",
        "(interrupts_per_s - interrupts_at_rest_per_s) / reads_per_s",
        &["interrupts_per_s", "interrupts_at_rest_per_s", "reads_per_s"],
        |i| (i[0] - i[1]) / i[2],
        "interrupts per read, without those at rest",
    ),
    q(
        "interrupt_us",
        "us",
        "10^4 (cpu_percent - process_percent) / (interrupts_per_s - interrupts_at_rest_per_s)",
        &["cpu_percent", "process_percent", "interrupts_per_s", "interrupts_at_rest_per_s"],
        |i| us_of(i[0] - i[1], i[2] - i[3]),
        "CPU time of an interrupt, from the CPU time that no process was charged with",
    ),
    q(
        "interrupt_gross_us",
        "us",
        "10^4 (cpu_percent - process_percent) / interrupts_per_s",
        &["cpu_percent", "process_percent", "interrupts_per_s"],
        |i| us_of(i[0] - i[1], i[2]),
        "CPU time of an interrupt with the rate at rest included: too small, only for texts that do so",
    ),
    q(
        "interrupt_us_per_read",
        "us",
        "10^4 (cpu_percent - process_percent) / reads_per_s",
        &["cpu_percent", "process_percent", "reads_per_s"],
        |i| us_of(i[0] - i[1], i[2]),
        "interrupt time per read, from CPU time outside the process",
    ),
    q(
        "interrupt_product_us_per_read",
        "us",
        "interrupt_given_us interrupts_given_per_read",
        &["interrupt_given_us", "interrupts_given_per_read"],
        |i| i[0] * i[1],
        "interrupt time per read as a product of two means: too large if only one of them excludes the rate at rest",
    ),
    q(
        "rate_growth_percent",
        "%",
        "100 (reads_per_s / before.reads_per_s - 1)",
        &["reads_per_s", "before.reads_per_s"],
        |i| 100.0 * (i[0] / i[1] - 1.0),
        "growth of the rate over the case before",
    ),
    q(
        "cpu_growth_factor",
        "",
        "cpu_percent / before.cpu_percent",
        &["cpu_percent", "before.cpu_percent"],
        |i| i[0] / i[1],
        "growth of the CPU use over the case before",
    ),
    q(
        "process_growth_percent",
        "%",
        "100 (process_us / before.process_us - 1)",
        &["process_us", "before.process_us"],
        |i| 100.0 * (i[0] / i[1] - 1.0),
        "growth of the process time per read over the case before",
    ),
    q(
        "interrupt_growth_percent",
        "%",
        "100 (interrupt_us_per_read / before.interrupt_us_per_read - 1)",
        &["interrupt_us_per_read", "before.interrupt_us_per_read"],
        |i| 100.0 * (i[0] / i[1] - 1.0),
        "growth of the interrupt time per read over the case before",
    ),
    q(
        "server_growth_us",
        "us",
        "(process_us - before.process_us) + (interrupt_us_per_read - before.interrupt_us_per_read)",
        &["process_us", "before.process_us", "interrupt_us_per_read", "before.interrupt_us_per_read"],
        |i| (i[0] - i[1]) + (i[2] - i[3]),
        "growth of the server's CPU time per read over the case before",
    ),
    q(
        "response_growth_us",
        "us",
        "response_us - before.response_us",
        &["response_us", "before.response_us"],
        |i| i[0] - i[1],
        "growth of the response time over the case before",
    ),
    q(
        "residual_us",
        "us",
        "response_growth_us - server_growth_us",
        &["response_growth_us", "server_growth_us"],
        |i| i[0] - i[1],
        "growth of the response time that the server's CPU does not explain: wire, adapters, queues",
    ),
    q(
        "link_share_percent",
        "%",
        "100 reads_per_s wire_bytes_per_read / link_bytes_per_s",
        &["reads_per_s", "wire_bytes_per_read", "link_bytes_per_s"],
        |i| 100.0 * i[0] * i[1] / i[2],
        "used share of the link",
    ),
    q(
        "knee_clients",
        "",
        "response_one_client_ms reads_max_per_s / 1000",
        &["response_one_client_ms", "reads_max_per_s"],
        |i| i[0] * i[1] / 1e3,
        "clients at the knee: N* = R1 Xmax",
    ),
    q(
        "media_us",
        "us",
        "wire_bytes_per_read wire_ns_per_byte / 1000",
        &["wire_bytes_per_read", "wire_ns_per_byte"],
        |i| i[0] * i[1] / 1e3,
        "time of a read on the wire",
    ),
    q(
        "model_us",
        "us",
        "server_us + client_us + media_us",
        &["server_us", "client_us", "media_us"],
        |i| i[0] + i[1] + i[2],
        "time of a read in a simple model: server, client and wire one after the other",
    ),
    q(
        "unexplained_us",
        "us",
        "response_given_us - model_us",
        &["response_given_us", "model_us"],
        |i| i[0] - i[1],
        "response time that the model does not explain, such as the adapters; a negative value proves that the parts overlap",
    ),
    q(
        "descriptors",
        "",
        "offered_per_s connect_timeout_s",
        &["offered_per_s", "connect_timeout_s"],
        |i| i[0] * i[1],
        "descriptors that S-Clients need for a rate: D = rate T",
    ),
    q(
        "dropped_syn_us",
        "us",
        "10^6 (1 - completed_per_s / peak_per_s) / (offered_per_s - completed_per_s)",
        &["completed_per_s", "peak_per_s", "offered_per_s"],
        |i| 1e6 * (1.0 - i[0] / i[1]) / (i[2] - i[0]),
        "CPU time of a dropped connection request, from the last point of an overload curve",
    ),
];

/// Figures of one case, by name.
pub type Values = BTreeMap<String, f64>;
