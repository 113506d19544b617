//! Experiments of the paper by G. Banga, J. Mogul and P. Druschel (USENIX 1999, source 2): the cost of event API calls,
//! and its effect on a proxy with many idle connections.

mod across;
mod api;
mod bench;
mod callers;
mod conclude;
mod declares;
mod figures;
mod hot;
mod proxy;
mod rate;
mod relay;
mod rounds;
mod stand;
mod sweeps;
mod values;

use super::Experiment;

/// Row of `lab event-api`.
pub(super) const API: Experiment = Experiment {
    name: "event-api",
    help: "cost of get_next_event and declare_interest, by back end and cold connections (source 2)",
    page: "\
Source: G. Banga, J. Mogul, P. Druschel, A Scalable and Explicit Event Delivery Mechanism for UNIX (USENIX 1999),
figures 6 and 7.

Figure 6: `clients` clients fetch a 40 MB file through a proxy, each time on a new connection, while agents hold 750 cold
connections. The proxy times its calls of get_next_event. Its receive window is about 8 KiB, so a file is thousands of events
and the proxy is the bottleneck. The clients have one transfer at a time, as the source's figure counts them. They are not
S-Clients: those connect again during a transfer, and nothing refuses them. Behind such a proxy 4, 12 and 32 S-Clients had
more than 1,000 transfers at once after two seconds, and only the descriptor limit stopped them.

Several rounds go over `array_max`. With fewer clients, they cover the values that these clients fill and two more. A
round in which a call would have blocked is rejected. Points of the source's figure (up to 10) that lack calls get
further rounds. A point without a valid round is shown, but not used in fits and checks. Figures are medians, because network interrupts fall into
some calls. All sockets use the congestion control reno: one that paces can slow such small windows to a crawl, and then the
web server is the bottleneck.

Figure 7: 32 S-Clients (sockets that always connect, T 500 ms) fetch a 1 KB file; each file is one declaration and one
revocation.

Cost against cold connections: 32 connections always have something to read. One thread writes to each served connection
(not timed), takes events with get_next_event (timed), and reads the data (not timed). `cold` connections are declared, too.
No call blocks. Hot rate: calls alternate between 1, 2, 4 and 8 arrivals per event. The other arrivals of a call go to
connections without declared interest, so the work between two calls stays equal. The bare system calls of epoll are timed beside the
declarations. `across` cold connections, more than a process may have descriptors, are spread over proxies in several
processes, and each process times itself.

Times come from the cycle counter, less the cost of reading it. Each point has `calls` calls, or fewer when its seconds are over first;
the table shows the number. Checks of cost against cold connections use the mean without the highest and the lowest
twentieth, because a preempted call contains other programs' time.

Published: a call costs linearly more with array_max until the clients run out; at most 0.005 % of change from 0 to 2000
cold connections; no growth with the hot rate; declaring costs more than revoking.

Checked: cost against returned events is a line; no growth with cold connections for epoll and uring (the 95 % interval of
the slope contains zero, or the slope is below 2 %), visible growth for select and poll; the library's overhead over the bare
system call at array_max 10, both on the same connections in turn; uring against epoll at array_max 64; independence of the
hot rate; declaring costs more than revoking.",
    toml: include_str!("../../../../experiments/event-api.toml"),
    on_hosts: false,
    run: api::run,
    figures: figures::EVENT_API,
};

/// Row of `lab proxy`.
pub(super) const PROXY: Experiment = Experiment {
    name: "proxy",
    help: "a proxy on each back end of the event API with ever more cold connections (source 2)",
    page: "\
Source: the same paper, the proxy's throughput with the event API and with select().

`loadline serve proxy` runs with one thread on a CPU of its own, with `loadline serve http` behind it. `connections`
keep-alive clients load it, and `cold` connections to it are silent. Each of `backends` takes its turn, with ever more cold
connections. Reported: completed rate, response time, and the proxy's CPU time per request in user mode and in the kernel.

Checked: epoll and uring complete as much with the most cold connections as without any; select and poll do not.",
    toml: include_str!("../../../../experiments/proxy.toml"),
    on_hosts: false,
    run: proxy::run,
    figures: figures::PROXY,
};
