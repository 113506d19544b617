//! The experiments of source 2 (G. Banga, J. Mogul, P. Druschel, USENIX 1999): what the calls of the event API cost,
//! and what that means for a proxy with many connections that say nothing.

mod across;
mod api;
mod bench;
mod callers;
mod conclude;
mod declares;
mod hot;
mod proxy;
mod rate;
mod relay;
mod rounds;
mod stand;
mod sweeps;

use super::Experiment;

/// `lab event-api`.
pub(super) const API: Experiment = Experiment {
    name: "event-api",
    help: "what get_next_event and declare_interest cost, by back end and cold connections (source 2)",
    page: "\
Source: G. Banga, J. Mogul, P. Druschel, A Scalable and Explicit Event Delivery Mechanism for UNIX (USENIX 1999),
figures 6 and 7.

Figure 6: `clients` clients fetch a 40 MB file, each on a new connection, through a proxy whose calls of get_next_event
are timed, with 750 cold connections that agents hold. The proxy's receive window is about 8 KiB, so a file is thousands
of events and the proxy is what limits. Clients are not S-Clients here, because those connect again while a transfer
lasts and nothing turns them away: behind such a proxy 4, 12 and 32 of them had 1,028, 1,036 and 1,056 transfers under
way within two seconds, and only the limit of descriptors stopped them. So there would be no number to draw over; a
client with one transfer at a time is what the source's figure counts. Several rounds over `array_max` (for fewer
clients those that they fill and two more); a round in which a call would have blocked is rejected, points of the source
(up to 10) that lack calls get further rounds, and a point without a round that counts is shown and left out of fits and
checks. The median: network interrupts fall into some of the calls. All sockets use the congestion control reno: one
that paces by an estimate can hold windows that small to a crawl, and then the web server limits. Figure 7: 32 S-Clients
(descriptors that always connect, T 500 ms) on a 1 KB file, each file a declaration and a revocation.

Against cold connections, exactly: 32 connections always have something to read, because one thread writes to each that
was served, untimed, takes events with get_next_event, timed, and reads what they announce, untimed. `cold` connections
are declared too. No call blocks. The hot rate: 1, 2, 4 or 8 arrivals behind each event take turns call by call, and
connections in which nobody is interested get the others, so the same work goes on between two calls. Beside the
declarations stand the system calls of epoll alone. `across` cold connections, more than a process may have descriptors,
are spread over proxies in several processes, each of which times itself.

Timed with the cycle counter, its own cost subtracted, `calls` calls a point (fewer where the seconds are over first:
the table says how many). The checks of the second kind use the mean without the dearest and the cheapest twentieth: the
time of a call that was preempted is not its own.

Published: a call costs linearly more with array_max until the clients run out; at most 0.005 % of change from 0 to 2000
cold connections; no growth with the hot rate; declaring costs more than revoking.

Checked: the line of cost against events returned; no growth with cold connections for epoll and uring (the 95 % interval
of the slope holds zero, or it is below 2 %), visible growth for select and poll; the library's share over the bare
system call at array_max 10, both on the same connections in turn; uring against epoll at array_max 64; independence of
the hot rate; declaring over revoking.",
    toml: include_str!("../../../../experiments/event-api.toml"),
    on_hosts: false,
    run: api::run,
};

/// `lab proxy`.
pub(super) const PROXY: Experiment = Experiment {
    name: "proxy",
    help: "a proxy on each back end of the event API with ever more cold connections (source 2)",
    page: "\
Source: the same paper, the proxy's throughput with the event API and with select().

`loadline serve proxy` with one thread on a CPU of its own, `loadline serve http` behind it, `connections`
keep-alive clients, and `cold` connections to the proxy that say nothing. Each of `backends` in turn, the cold
connections growing. Reported: completed rate, response time, the proxy's CPU time per request, split.

Checked: epoll and uring complete as much with the most cold connections as without; select and poll do not.",
    toml: include_str!("../../../../experiments/proxy.toml"),
    on_hosts: false,
    run: proxy::run,
};
