//! The pages of these experiments for `loadline explain`.

/// Page of `request-rate`.
pub(crate) const REQUEST_RATE: &str = "\
Source: G. Banga, P. Druschel, Measuring the Capacity of a Web Server (USITS 1997), the request generation rate.

A server completes `capacity` requests/s, since each request takes CPU time. A growing number of simple clients loads it,
then S-Clients do, from `hosts` client machines (network namespaces) with `s_clients_a_host` threads each. In all, D sockets
try to connect, each for at most T = `connect_timeout_ms`.

The figure is connection requests (SYNs) per second at the server. Three counts give it: the generator's, the kernel's of
the server (PassiveOpens + ListenDrops; exact without syncookies, which are off unless `syncookies = true`), and that of a
packet filter on the server's interface. Published: simple clients stay at 130/s, S-Clients grow linearly up to 2065/s.

Checked: simple clients stay within 5 %; the S-Clients' rate against D is a line with R2 of at least 0.999 and slope 1/T;
16 times the capacity is reached; the three counts agree within 0.5 %. The report names what ends the S-Clients' line.

On real machines (`--client-hosts a,b,c,d --server-host S`) the server runs on S and the clients on the other hosts.
`listen` or --listen is the server's address. There is no packet filter there, the kernel's count is of the whole host S,
and the network settings of S stay as they are.";

/// Page of `overload`.
pub(crate) const OVERLOAD: &str = "\
Source: the same paper, behaviour under overload. Published: the best rate, 130 requests/s, falls to 75 at 2065 offered.

S-Clients offer `multiples` of the capacity, with syncookies off and on. Reported: completed against offered rate; the cost
of a dropped connection request ((1 - X/X0) of a CPU over the dropped rate); overflows of the accept queue; cookies; and
phantoms, which are connections that the client sees as established and the server does not know.

The kernel's receive work is steered to the server's CPU. On one machine the kernel would otherwise do it in the clients'
time. Older kernels let only root steer it; then a note says so, and the decline is small. A drop costs far less today
than in 1997, so the offered rates go further.

Checked: 16 times the capacity is offered; each trial completes less than the capacity; at the highest offered rate at most
97 % of the best rate is left; every SYN arrives (generator against filter; the kernel also counts the last
acknowledgements that it dropped).";

/// Page of `bursty`.
pub(crate) const BURSTY: &str = "\
Source: the same paper, bursty request rates. Published: peaks of 6 times the mean for 5 % of the time cost 12 to 20 % of
the throughput, at means well below the capacity.

Each mean (`mean_shares` of the capacity) is offered in three ways: steadily, then with peaks of `peaks` times the mean for
`shares` of each period, then with self-similar arrivals. Every arrival is one connection, given up after the time T.

Checked: peaks cost throughput at a mean below the capacity, and longer peaks of the same height cost more.";

/// Page of `wan`.
pub(crate) const WAN: &str = "\
Source: the same authors' journal paper (World Wide Web 2, 1999), throughput against the delay of the network.

The same server gets `offered_share` of its capacity through a long line, which loadline's own forwarder makes: `delays_ms`
each way, `losses`. This is done for each of `models`. `blocking` has two threads per connection and at most
`server_threads` (one of them accepts); it resets connections beyond them, as the source's server with a process per
connection does. `epoll` keeps every connection. The client closes once it has the page, so the server keeps a connection
open for a round trip and the service time. Reported: completed rate and open connections at the server.";
