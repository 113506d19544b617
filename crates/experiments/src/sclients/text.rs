//! The pages of these experiments for `loadline explain`.

/// `request-rate`.
pub(crate) const REQUEST_RATE: &str = "\
Source: G. Banga, P. Druschel, Measuring the Capacity of a Web Server (USITS 1997), the request generation rate.

A server that completes `capacity` requests/s (CPU work per request) is asked by a growing number of simple
clients, then by S-Clients: on `hosts` client machines (namespaces), `s_clients_a_host` threads each, D descriptors in
all, each connecting for at most T = `connect_timeout_ms`.

The measure is connection requests (SYNs) a second at the server, counted by the generator, by the server's kernel
(PassiveOpens + ListenDrops; exact without syncookies, which are off unless `syncookies = true`), and by a packet filter
on the server's interface. The published result: simple clients flat at 130/s, S-Clients linear up to 2065/s.

Checked: simple clients flat within 5 %; S-Clients' rate against D with R2 of at least 0.999 and slope 1/T; 16 times the
capacity reached; the three counts within 0.5 %. What ends the line of the S-Clients is named.

On real machines (`--client-hosts a,b,c,d --server-host S`) the server runs on S (`listen`, or --listen, is its address) and
the clients on the others. The filter's count is left out there, the kernel's is of the whole host S, and the network
settings of S stay as they are.";

/// `overload`.
pub(crate) const OVERLOAD: &str = "\
Source: the same paper, behaviour under overload: 130 requests/s at best fall to 75 at 2065 offered.

S-Clients offer `multiples` of the capacity, with syncookies off and on. Reported: completed against offered rate, what
a dropped connection request costs ((1 - X/X0) of a CPU over the dropped rate), overflows of the accept queue,
cookies, and phantoms: connections that the client holds for established and the server does not know.

The receiving work of the kernel is steered to the server's CPU: on one machine it would otherwise be charged to
the clients. Where the kernel lets only root do that, as older ones do, a note says so and the decline is small. Drops
cost far less today than in 1997, so the range goes further.

Checked: 16 times the capacity offered; all completed below it; at most 97 % of the best left at the highest offered rate;
every SYN arrives (generator against filter; the kernel also counts the last acknowledgements that it dropped).";

/// `bursty`.
pub(crate) const BURSTY: &str = "\
Source: the same paper, bursty request rates: peaks of (6, 5 %) cost 12 to 20 % of the throughput at means well below
the capacity.

Each mean (`mean_shares` of the capacity) is offered steadily, then with peaks of `peaks` times the mean for `shares` of
each period, then by self-similar arrivals. Every arrival is one connection that is given up after T.

Checked: peaks cost throughput at a mean below the capacity, and longer ones of the same height cost more.";

/// `wan`.
pub(crate) const WAN: &str = "\
Source: the same authors' journal paper (World Wide Web 2, 1999): throughput against the delay of the network.

The same server, offered `offered_share` of its capacity, behind a long line (loadline's own forwarder): `delays_ms` each
way, `losses`, for each of `models`: `blocking` has two threads for each connection, `server_threads` at most (one of them
accepts), and resets what it has none for, as the source's process a connection; `epoll` holds what comes. The client
closes when it has the page, so a connection stays open at the server for a round trip and the service.
Reported: completed rate and open connections at the server.";
