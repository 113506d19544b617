//! The page of this experiment for `loadline explain`.

/// Page of `connections`.
pub(crate) const CONNECTIONS: &str = "\
Not from a source. It shows the cost of holding many mostly idle connections, and whether they slow down the few messages.

`connections` echo connections (default 10,000; a million take some 12 GB of memory) join generator and server processes.
There are as many processes as the descriptor limit needs, at least two on each side (`processes`). Each generator has its
own server and its own source addresses. All run on the loopback of a network namespace of their own, or on this machine's
loopback where no namespace can be made. Memory, open files and descriptors are checked first. A number that does not fit is
refused, with the number that does.

`connects` connections per second are made one after the other. They are silent until all connections of their process are
up. Then `rate` messages per second of `message_bytes` bytes go over random connections: each connection thinks for a random
time, `connections` / `rate` on average. Measuring lasts `seconds`; it starts when all connections are up and the rate is
steady.

Before that, `few` connections (1,000) carry the same load, with as many processes. User memory per connection is the difference
in resident memory of one side's processes over the difference in connections, so the memory of an idle process is not in it. Kernel
memory is that of the machine's slab and of its socket buffers. It includes both ends of each connection, and changes that
other programs caused. The time until all were up is the generators' own, from the start of the load to the last connection.

`model` and `strategy` are the server's. `epoll` holds no buffer for an idle connection, nor does `uring` with
`high-connections`.

Checked: all connections are held at once, by the generators' count and by the kernel's; none failed or was lost; all were
up within `open_within_s` (60 s); a connection takes at most 200 bytes of user memory on each side; at least 95 % of the
messages are answered.

    loadline lab connections --set connections=1000000";
