//! Texts about the S-Clients experiments that `loadline explain` shows.

/// Text about `lab request-rate`.
pub(crate) const REQUEST_RATE: &str = "\
Source: G. Banga, P. Druschel, Measuring the Capacity of a Web Server (USITS 1997), the request generation rate.

A server can complete `capacity` requests/s, because each request takes CPU time. First a growing number of simple
clients loads the server, then S-Clients do. They run on `hosts` client machines (network namespaces) with
`s_clients_a_host` threads each. In total, D sockets try to connect, each for at most T = `connect_timeout_ms`.

The result is the number of connection requests (SYNs) per second at the server. It is counted three times: by the
generator, by the server's kernel, and by a packet filter on the server's interface. The kernel's count is PassiveOpens plus
ListenDrops. This is exact without syncookies, which are off unless `syncookies = true`. Published: simple clients
stay at 130/s, and S-Clients grow linearly up to 2065/s.

Checked: the rate of simple clients stays within 5 %. The rate of S-Clients over D is a line with R2 of at least 0.999
and slope 1/T. It reaches 16 times the capacity. The three counts agree within 0.5 %. The report names the reason why
the line of the S-Clients ends.

On real machines (`--client-hosts a,b,c,d --server-host S`) the server runs on S and the clients on the other hosts.
`listen` or --listen is the server's address. There is no packet filter on S, the kernel's count covers the whole host,
and its network settings stay unchanged.";

/// Text about `lab overload`.
pub(crate) const OVERLOAD: &str = "\
Source: the paper of `request-rate`, section on overload. Published: the highest throughput, 130 requests/s, falls to 75
requests/s at an offered rate of 2065/s.

S-Clients offer `multiples` of the capacity, with syncookies off and on. The report shows throughput by offered rate,
and the cost of a dropped connection request: (1 - X/X0) of a CPU, divided by the rate of drops. It also shows overflows
of the accept queue, cookies, and phantoms. A phantom is a connection that is established for the client and unknown to
the server.

The kernel's receive work is moved to the server's CPU. On one machine, the kernel would otherwise do this work on the
clients' CPUs. Older kernels let only root move it. If it cannot be moved, a note states this, and throughput declines
only a little. A drop costs far less today than in 1997, so the experiment offers higher rates.

Checked: 16 times the capacity is offered. Each trial completes less than the capacity. At the highest offered rate, at
most 97 % of the highest throughput is left. Every SYN arrives, as generator and filter count them. (The kernel's count
also includes final acknowledgements that it dropped.)";

/// Text about `lab bursty`.
pub(crate) const BURSTY: &str = "\
Source: the paper of `request-rate`, section on bursty request rates. Published: peaks of 6 times the mean rate for 5 %
of the time cost 12 to 20 % of the throughput, at mean rates well below the capacity.

Each mean rate (`mean_shares` of the capacity) is offered in three ways: steadily, with peaks of `peaks` times the mean
for `shares` of each period, and with self-similar arrivals. Every arrival is one connection attempt, which is abandoned
after the time T.

Checked: peaks reduce throughput at a mean rate below the capacity, and longer peaks of equal height reduce it more.";

/// Text about `lab wan`.
pub(crate) const WAN: &str = "\
Source: the authors' journal paper (World Wide Web 2, 1999), section on throughput and network delay.

The server of `request-rate` gets `offered_share` of its capacity through a simulated long line with delays of
`delays_ms` in each direction and losses of `losses`. The trials are repeated for each of `models`. `blocking` has two
threads per connection and at most `server_threads` threads, one of which accepts connections. It resets further
connections, like the paper's server with a process per connection. `epoll` keeps every connection. The client closes a
connection when it has the page, so the server keeps the connection open for a round trip and the service time. The
report shows throughput, and open connections at the server.";
