//! The page of this experiment for `loadline explain`.

/// Page of `io-models`.
pub(crate) const IO_MODELS: &str = "\
Source: A. Jones, A. Deshpande, Windows Sockets 2.0: Write Scalable Winsock Apps Using Completion Ports (2000), and the
table of I/O models in A. Jones, J. Ohlund, Network Programming for Microsoft Windows (2nd ed. 2002), chapter 6.

An echo server in every I/O model runs on one CPU. Three loads follow, each on a fresh server:
 1. `first` connections that send as fast as they can (source: 7,000);
 2. `second` connections in blocks of `block`, each block limited to `block_rate` bytes/s (12,000; 1,000; 200,000);
 3. `third` connections, limited the same way, in blocks of 4,000 after the first twelve. This load shows how many
    connections the model holds, and what ends them.
A block is a process, as in the source, and each connection is made once. A limited block sends messages of `message_bytes`
one after the other, each on its next connection, message_bytes / block_rate seconds apart. `compat = true` computes that
pause in whole milliseconds, as the source's client does (20 ms, so 204,800 B/s instead of 200,000), and spaces the connects
by it. `processes` servers share the blocks; 0 starts as many as their descriptor limit needs; the source has 1.

The columns are those of the source: attempted and connected, user memory, kernel memory by part, CPU range, threads, bytes
both ways (as the client counts them), memory per connection, CPU time per message. `held` is the number of connections that
the server's kernel really accepted (sockets with an inode), counted during the trial.

Kernel memory is the growth since before the load. A growth that is no larger than the scatter
before the load is shown as `< n` and is not in the sum.

`medium` (`--medium hub100`) puts the server and three clients on hosts of their own, joined by that medium. Rows then show
the used share of the wire.

On real machines (`--client-hosts a,b,c --server-host S`) each load has one server process on S, and the other hosts share
the blocks. `listen` or --listen is the server's address. Held connections and threads are the server's own counts. Kernel memory,
the check of threads and the share of the wire are left out.

`max_threads` bounds the threads of a model, so that a thread per connection does not use up the machine's process
numbers. A name such as `uring-groups:literal` is a model with that option on; `uring+high-connections` is a model with that
strategy.

`limited by` names what ended the connections of a row: `server-fds`, or `server-concurrency` when the thread limit was
reached. Otherwise it is `not-saturated` when the server serves everything that the blocks offer, or the verdict on the row
alone, with a question mark below 60 % confidence. With two CPUs, client and server each have one. In entry 1 both can be
full. Then unread messages decide: answers that wait at the client, or requests that wait at the server. When both wait,
both limit the row.

select-array accepts one connection per wait, as the source's server does. Each wait searches its sets for every socket, so
accepting gets slower with the square of the connections, and a trial ends below the source's 4,011. `select-array:accept_all`
accepts all waiting connections; its loss against select is the searches alone.

The source's clients send the next message once the send before it is done; ours wait for the answer. `posted` = 8 or 32
messages at a time come near the source's way. Then `accept_all` moved 1.1 to 1.5 times as much as select, and 1.0 to 1.4
times with one message. So the searches never stop a server,
however its clients send, and the check of entry 1 rightly fails.

Checked, on the connections that each model held in a quiet moment: group models have ceil(n/63) and ceil(n/62) threads more
than at rest, blocking has 2n. select-array collapses as the source's server did: it accepts at most 4,011 of 7,000 and
5,779 of 12,000; its throughput falls in entry 2, and in entry 1 with at least 4,011 connections. Of the source's six models the completion
port needs the least CPU time per message. That is measured in `turns` of entry 1 between it and the two nearest, because a
machine varies more over time than these models differ. `uring` with high-connections takes at most 512 bytes of user memory
per mostly idle connection.";

/// Inconsistencies in the published table beside the results. They are reported and not corrected.
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
