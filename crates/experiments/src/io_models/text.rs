//! The page of this experiment for `loadline explain`.

/// `io-models`.
pub(crate) const IO_MODELS: &str = "\
Source: A. Jones, A. Deshpande, Windows Sockets 2.0: Write Scalable Winsock Apps Using Completion Ports (2000), and the
table of I/O models in A. Jones, J. Ohlund, Network Programming for Microsoft Windows (2nd ed. 2002), chapter 6.

An echo server in every I/O model, one CPU, loaded three ways, each from a server of its own:
 1. `first` connections that send as fast as they can (the source: 7,000);
 2. `second` connections in blocks of `block`, each block limited to `block_rate` bytes/s (12,000; 1,000; 200,000);
 3. `third` connections, limited the same way, blocks of 4,000 after the first twelve: what the model holds, and what
    ended it.
A block is a process, as in the source, and each connection is made once. A limited block sends one message of
`message_bytes` after the other, each on its next connection, message_bytes / block_rate seconds apart; `compat = true`
computes that pause in whole numbers as the source's client does (20 ms, so 204,800 B/s instead of 200,000), and spaces
the connects by it. `processes` servers share the blocks; 0 takes as many as their descriptors ask for, 1 is the source's.

Columns are the source's: attempted and connected, user memory, kernel memory by part, CPU range, threads, bytes
both ways (the client's view), and what follows from them: memory per connection, CPU time per message. `held` is
what the server's kernel side really accepted (sockets with an inode), counted while the trial ran.

Kernel memory is the growth since before the load, when it rested; a growth that is not above the spread of those looks is
shown as below it (`< n`) and is not in the sum.

`medium` (`--medium hub100`) puts the server and three clients on hosts of their own, joined by that medium; rows then
have the share of the wire that was used.

On real machines (`--client-hosts a,b,c --server-host S`) each entry has one server process on S (`listen`, or --listen, is its
address), and the blocks are dealt out to the others. What is held and threads are there what the server counts itself;
kernel memory, the rules of threads and the share of the wire are left out.

Models with `max_threads` threads at most, so that a thread for every connection does not take the machine's process
numbers from everybody else; a name like `uring-groups:literal` is a model with that option on, one like
`uring+high-connections` a model under that strategy.

`limited by` is what ended the connections of a row (`server-fds`; `server-concurrency` where it may have no more threads); else `not-saturated` where all that
the blocks offer is served; else the verdict on the row alone, with a question mark where it is less than 60 % sure.
Client and server have CPUs of their own where there are two. In entry 1 both can be full: then the messages tell,
which wait unread as answers at the client or as requests at the server; where they wait at both, both limit the row.

select-array accepts one connection a wait, as the source's. Each wait searches its sets for every socket, so accepting
slows down with the square of those held, and a trial ends before it has the source's 4,011. `select-array:accept_all`
accepts all that have come at each wait: what it loses against select is the searches alone.

The source's clients send the next message when the send before it is done, ours when its answer has come; `posted` = 8 or
32 messages at a time come near that. We saw `accept_all` move 1.1 and 1.5 times what select did with them, 1.0 to 1.4
times with one: no way of sending makes the searches stop a server, so the check of entry 1 fails as it should.

Checked: threads of the group models are ceil(n/63) and ceil(n/62) more than at rest, of blocking 2n, for the n that each
held in a quiet moment; select-array collapses where the source's did: in what it accepts (4,011 of 7,000 and 5,779 of
12,000 or less), in what it gets through in entry 2, and with at least 4,011 connections in entry 1; the completion port needs the least CPU time per message of the source's six, in `turns` of entry 1 that alternate
between it and the two nearest, as moments of a machine differ more than these models; `uring` with high-connections takes at most 512 bytes of user memory a mostly idle connection.";

/// What does not add up in the source's table, which stands beside ours. Reported, not mended.
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
