//! The page of this experiment for `loadline explain`.

/// `connections`.
pub(crate) const CONNECTIONS: &str = "\
Not from a source: what a connection that is held and says little takes here, and whether many of them slow down the few
messages that there are.

`connections` connections of echo (default 10,000; a million of them take some 12 GB of memory) between as many generator
and server processes as descriptors ask for, at least two on each side (`processes`). Each generator has a server of its
own, addresses of its own to connect from, and all are on the loopback of a network namespace of their own; where there
can be none, on this machine's. Before anything is started, memory, open files and descriptors are held against what is
asked for, and too much is refused with what there is room for.

`connects` connections a second are made, one after the other, and are silent until those of their process are up. Then
`rate` messages a second of `message_bytes` bytes, on random ones of them: each connection thinks for a time that is drawn at
random, `connections` / `rate` on average. After all are up and the rate is steady, `seconds` are measured.

The same is done with `few` connections (1,000) and as many processes before. User memory of a connection is the
difference of the resident memory of all processes of a side over the difference in connections, so what a process takes
without any connection is not in it; kernel memory is that of the machine's slab and of its socket buffers, both ends of
each connection in it, and what other programs did meanwhile. Until all were up is the generators' own time, from the
begin of the load to the last connection.

`model` and `strategy` are the server's (`epoll`, which holds no buffer for an idle connection; `uring` with
`high-connections` does neither).

Checked: all connections are held at once, by the generators' count and by the kernel's; none failed or was lost; all were up
within `open_within_s` (60 s); at most 200 bytes of user memory a connection on each side; at least 0.95 of the messages
are answered.

    loadline lab connections --set connections=1000000";
