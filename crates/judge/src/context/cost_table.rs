//! Table of the costs of one request: the counters from which each cost comes, and the meaning of the cost.

use run::FigureUnit::{self, Bytes, Micros, Plain};

/// One counter that goes into a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Counter from which one part of the cost comes.
    pub counter: &'static str,
    /// The only instance of the counter that the cost uses, such as one device. If `instance` is empty, the cost uses
    /// the counter's value for the whole side (see `Side.counters`).
    pub instance: &'static str,
    /// True if a counter that could not be read counts as 0, as on a host without IPv6.
    pub optional: bool,
}

/// Treatment of the rate at rest: the rate at which a counter grew before any load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Subtracts nothing, so the cost contains the rate at rest.
    Gross,
    /// Subtracts the counter's rate at rest. If the rate at rest is unknown, the cost is unknown.
    Net,
}

/// Definition of one cost per request: a row of [`COSTS`].
#[derive(Clone, Copy, Debug)]
pub struct CostSpec {
    /// Name of the cost, which contains the unit unless the cost is a count.
    pub id: &'static str,
    /// Counters whose growth is summed.
    pub numerator: &'static [Part],
    /// Divisor: always the completed requests of the window.
    pub denominator: &'static str,
    /// Unit of the quotient; `Plain` for counts.
    pub unit: FigureUnit,
    /// Says whether the rate at rest (growth of the counters before any load) is subtracted.
    pub rest: Rest,
    /// Meaning of the cost, in one line.
    pub help: &'static str,
    /// Explanation of the cost for the reader.
    pub explain: &'static str,
}

const fn p(counter: &'static str) -> Part {
    Part { counter, instance: "", optional: false }
}

const fn maybe(counter: &'static str) -> Part {
    Part { counter, instance: "", optional: true }
}

const fn at(counter: &'static str, instance: &'static str) -> Part {
    Part { counter, instance, optional: false }
}

const fn row(
    id: &'static str,
    numerator: &'static [Part],
    unit: FigureUnit,
    rest: Rest,
    help: &'static str,
    explain: &'static str,
) -> CostSpec {
    CostSpec { id, numerator, denominator: "completed request", unit, rest, help, explain }
}

use Rest::{Gross, Net};

const HOST_CPU: &str = "Time of all CPUs of the host, of every program. It includes interrupts and most soft interrupts, which no process is charged with. If client and server share the host, it is the cost of both.";
const PROCESS: &str = "Charged to the side's own processes and their children. On kernels without interrupt time accounting it includes the soft interrupts that ran while a process was on the CPU.";
const NET: &str = "A name that ends in _net has the rate before any load subtracted, so only the part that the load caused remains. (Source 3 subtracts its clock interrupts in the same way.)";
const WIRE: &str = "Counted by the network namespace of this side. On loopback both directions of both ends pass through one interface. A segment that the kernel merges or splits later (GSO, GRO) counts once.";
const SWITCH: &str = "At a voluntary switch a thread waits for something; at an involuntary one it is preempted while it has work. Many voluntary switches per request mean that threads hand the work to each other.";

const RECORDS: &str =
    "Counted by the record server itself. A read that is split into several requests counts as several records.";

/// The costs that loadline derives from counters.
pub const COSTS: &[CostSpec] = &[
    row(
        "cpu_us",
        &[p("cpu.user"), p("cpu.system"), p("cpu.irq"), p("cpu.softirq")],
        Micros,
        Gross,
        "CPU time of the host",
        HOST_CPU,
    ),
    row("cpu_user_us", &[p("cpu.user")], Micros, Gross, "CPU time of the host in user mode", HOST_CPU),
    row("cpu_system_us", &[p("cpu.system")], Micros, Gross, "CPU time of the host in the kernel", HOST_CPU),
    row("cpu_softirq_us", &[p("cpu.softirq")], Micros, Gross, "CPU time of the host in soft interrupts", HOST_CPU),
    row("cpu_irq_us", &[p("cpu.irq")], Micros, Gross, "CPU time of the host in hardware interrupts", HOST_CPU),
    row("process_cpu_us", &[p("process.cpu")], Micros, Gross, "CPU time of the side's processes", PROCESS),
    row(
        "process_user_us",
        &[p("process.user")],
        Micros,
        Gross,
        "CPU time of the side's processes in user mode (by ticks)",
        PROCESS,
    ),
    row(
        "process_system_us",
        &[p("process.system")],
        Micros,
        Gross,
        "CPU time of the side's processes in the kernel (by ticks)",
        PROCESS,
    ),
    row(
        "process_wait_us",
        &[p("process.run_delay")],
        Micros,
        Gross,
        "time that the side's threads were ready to run and had no CPU",
        "Near zero on a host with idle CPUs. It grows when threads queue for a CPU.",
    ),
    row(
        "instructions",
        &[p("process.instructions")],
        Plain,
        Gross,
        "instructions of the side's processes",
        "Counted where the machine has a hardware counter. Other programs change the CPU time of a request, but hardly its instructions.",
    ),
    row(
        "cpu_net_us",
        &[p("cpu.user"), p("cpu.system"), p("cpu.irq"), p("cpu.softirq")],
        Micros,
        Net,
        "CPU time of the host, net of rest",
        NET,
    ),
    row("interrupts", &[p("system.interrupts")], Plain, Gross, "hardware interrupts", NET),
    row("interrupts_net", &[p("system.interrupts")], Plain, Net, "hardware interrupts, net of rest", NET),
    row("softirqs", &[p("softirq.count")], Plain, Gross, "soft interrupts of all kinds", NET),
    row("softirqs_net", &[p("softirq.count")], Plain, Net, "soft interrupts of all kinds, net of rest", NET),
    row(
        "softirqs_net_rx",
        &[at("softirq.count", "NET_RX")],
        Plain,
        Gross,
        "soft interrupts that received packets",
        "Below one per packet means that the kernel takes several packets at once. On loopback these run on the sender's CPU.",
    ),
    row(
        "softirqs_net_tx",
        &[at("softirq.count", "NET_TX")],
        Plain,
        Gross,
        "soft interrupts that sent packets",
        "Most packets need no such interrupt; many mean that the queue of the interface was busy.",
    ),
    row("context_switches", &[p("system.context_switches")], Plain, Gross, "context switches of the host", SWITCH),
    row(
        "context_switches_net",
        &[p("system.context_switches")],
        Plain,
        Net,
        "context switches of the host, net of rest",
        SWITCH,
    ),
    row(
        "voluntary_switches",
        &[p("process.voluntary_switches")],
        Plain,
        Gross,
        "context switches of threads that waited for something",
        SWITCH,
    ),
    row(
        "involuntary_switches",
        &[p("process.involuntary_switches")],
        Plain,
        Gross,
        "context switches of threads that were preempted",
        SWITCH,
    ),
    row("packets_in", &[p("ip.in_receives"), maybe("ip6.in_receives")], Plain, Gross, "IP packets in", WIRE),
    row("packets_out", &[p("ip.out_requests"), maybe("ip6.out_requests")], Plain, Gross, "IP packets out", WIRE),
    row("bytes_in", &[p("ip.in_octets"), maybe("ip6.in_octets")], Bytes, Gross, "IP bytes in, headers included", WIRE),
    row(
        "bytes_out",
        &[p("ip.out_octets"), maybe("ip6.out_octets")],
        Bytes,
        Gross,
        "IP bytes out, headers included",
        WIRE,
    ),
    row("segments_in", &[p("tcp.in_segs")], Plain, Gross, "TCP segments in", WIRE),
    row("segments_out", &[p("tcp.out_segs")], Plain, Gross, "TCP segments out, without those sent again", WIRE),
    row("segments_again", &[p("tcp.retrans_segs")], Plain, Gross, "TCP segments sent again", WIRE),
    row(
        "delayed_acks",
        &[p("tcp.delayed_acks")],
        Plain,
        Gross,
        "acknowledgements that waited for their timer",
        "About one per request together with 40 ms of response time is Nagle's algorithm waiting for the other end's timer.",
    ),
    row("connections_accepted", &[p("tcp.passive_opens")], Plain, Gross, "connections accepted", WIRE),
    row("connections_opened", &[p("tcp.active_opens")], Plain, Gross, "connections opened", WIRE),
    row("forks", &[p("system.forks")], Plain, Gross, "processes and threads created", NET),
    row("minor_faults", &[p("process.minor_faults")], Plain, Gross, "page faults without a disk", PROCESS),
    row("major_faults", &[p("process.major_faults")], Plain, Gross, "page faults with a disk", PROCESS),
    row("disk_read_bytes", &[p("process.read_bytes")], Bytes, Gross, "bytes the side read from a disk", PROCESS),
    row("disk_write_bytes", &[p("process.write_bytes")], Bytes, Gross, "bytes the side wrote to a disk", PROCESS),
    row(
        "cache_hits",
        &[p("record.cache_hits")],
        Plain,
        Gross,
        "records that the record server read from its page cache",
        RECORDS,
    ),
    row(
        "disk_reads",
        &[p("record.disk_reads")],
        Plain,
        Gross,
        "records that the record server read from its disk",
        RECORDS,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_a_known_counter_and_every_id_is_once() {
        for spec in COSTS {
            assert_eq!(COSTS.iter().filter(|s| s.id == spec.id).count(), 1, "{}", spec.id);
            spec.numerator.iter().for_each(|p| assert!(run::counter(p.counter).is_some(), "{}", p.counter));
        }
    }
}
