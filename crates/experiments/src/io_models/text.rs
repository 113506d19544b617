//! Text that `loadline explain io-models` shows.

/// Text about `lab io-models`.
pub(crate) const IO_MODELS: &str = "\
Source: A. Jones, A. Deshpande, Windows Sockets 2.0: Write Scalable Winsock Apps Using Completion Ports (2000), and the
table of I/O models in A. Jones, J. Ohlund, Network Programming for Microsoft Windows (2nd ed. 2002), chapter 6.

An echo server with each I/O model runs on one CPU. It gets three loads, each on a new server process:
1. `first` connections that send as fast as they can (published: 7,000);
2. `second` connections in blocks of `block`, each block limited to `block_rate` bytes/s (published: 12,000; 1,000;
    200,000);
3. `third` connections with this limit, in blocks of 4,000 after the first twelve blocks. This load shows how many
    connections the model can hold, and what limits their number. A block is a process, as in the paper, and each
    connection is opened once. A limited block sends one message of `message_bytes` on each connection in turn, every
    message_bytes / block_rate seconds. `compat = true` computes this interval in whole milliseconds, as the paper's
    client does (20 ms, which gives 204,800 instead of 200,000 B/s), and opens connections at this interval. `processes`
    servers share the blocks. 0 starts as many servers as the descriptor limit requires. The paper has 1.

The columns are those of the published table: attempted and established connections, user memory, kernel memory by part,
range of CPU use, threads, bytes in both directions (as the client counts them), memory per connection, and CPU time per
message. `held` is the number of connections that the server accepted (sockets with an inode), counted during the trial.

Kernel memory is the growth during the load. A growth within the noise before the load is shown as `< n`, and is not
part of the sum.

`medium` (`--medium hub100`) puts the server and three clients on separate hosts that this medium joins. Rows then show
the utilization of the wire.

On real machines (`--client-hosts a,b,c --server-host S`) each load has one server process on S, and the other hosts
share the blocks. `listen` or --listen is the server's address. Held connections and threads are the server's own
counts. Kernel memory, the check of threads and the utilization of the wire are not available.

`max_threads` limits the threads of a model, so that a model with a thread per connection does not use up the machine's
process IDs. `uring-groups:literal` means the model `uring-groups` with option `literal`. `uring+high-connections` means
the model `uring` with strategy `high-connections`.

`limited by` names the limit of a row's connections: `server-fds`, or `server-concurrency` if the thread limit was
reached. Otherwise it is `not-saturated` if the server handles everything that the blocks offer. In all other cases it
is the verdict on this row, with a question mark below 60 % confidence. With two CPUs, client and server have one each,
and in entry 1 both can be full. Unread messages then decide: answers that wait at the client, or requests that wait at
the server. If both wait, both limit the row.

select-array accepts one connection per wait, like the paper's server. Each wait searches its sets for every socket. The
time for accepting therefore grows with the square of the connections, and a trial ends with fewer than the published
4,011 connections. `select-array:accept_all` accepts all waiting connections, so only the searches make it slower than
select.

The paper's clients send the next message as soon as the previous send is done. loadline's clients wait for the answer.
`posted` = 8 or 32 messages at a time is similar to the paper's clients. `accept_all` then moved 1.1 to 1.5 times as
many bytes as select, and 1.0 to 1.4 times as many with one message. The searches alone therefore never stop a server,
and the check of entry 1 rightly fails.

Checked while the number of connections n is constant: group models have ceil(n/63) and ceil(n/62) threads more than at
rest, and blocking has 2n. select-array collapses like the paper's server: it accepts at most 4,011 of 7,000 and 5,779
of 12,000 connections. Its throughput falls in entry 2, and in entry 1 with at least 4,011 connections. Of the paper's
six models, the completion port needs the least CPU time per message. This is measured in `turns` alternating trials of
entry 1 with the completion port and the two cheapest other models, because a machine varies more over time than these
models differ. `uring` with high-connections takes at most 512 bytes of user memory per mostly idle connection.";

/// Notes about contradictions in the published table. loadline reports the contradictions, but does not correct them.
pub(super) const NOTES: [&str; 6] = [
    "source's table: the best rows of entry 1 carry 10.1 to 10.2 MB/s of the hub's 12.5, so the wire limited them; only \
     their CPU use ranks these models",
    "source's table: entry 2 can offer 2.4 MB/s (12 blocks of 200,000 B/s), yet two rows show 3.2 and 5.0 MB/s",
    "source's table: the completion port's entry 1 sends more than it receives, which an echo server cannot, so that row \
     is the client's view; others fit the server's view; the source names neither",
    "source's table: 66 threads for 5,558 connections of overlapped I/O with events do not fit 62 operations a thread; \
     blocking's entry 2 differs by exactly 2,000 B/s between its rates, probably a misprint",
    "source's table: linear searches do not explain the 0 B/s of its non-blocking server. At 4,011 sockets they are some 48 \
     million comparisons a wait (three sets built and searched), 0.06 s at two cycles each; to serve 4,011 messages takes \
     1.9 s at its completion port's 0.47 ms. Its pool stood at 135 and 156 MB, the level of the rows of 50,000 \
     connections: memory is likelier. The footnote to its CPU use is not known",
    "kernel memory is the growth on the whole machine: client and server ends of every connection are both in it, and \
     what other programs did meanwhile",
];
