//! Text that `loadline explain connections` shows.

/// Text about `lab connections`.
pub(crate) const CONNECTIONS: &str = "\
This experiment follows no published paper. It measures the cost of holding many mostly idle connections, and how much
they slow down the few messages.

`connections` echo connections (default 10,000; a million takes about 12 GB of memory) connect generator and server
processes. There are as many processes as the descriptor limit requires, at least two on each side (`processes`). Each
generator has its own server and its own source addresses. All processes run on the loopback of a separate network
namespace, or on this machine's loopback if no namespace can be created. Memory, open files and descriptors are checked
first. If there are not enough, the experiment refuses to start and names the possible number of connections.

The generators open `connects` connections per second. No messages are sent until all connections of a process are open.
Then `rate` messages per second of `message_bytes` bytes are sent on random connections: each connection waits for a
random time, `connections` / `rate` on average. The measurement starts when all connections are open and the rate is
steady, and lasts `seconds`.

Before this trial, another trial sends an equal load on `few` connections (1,000), with as many processes. User memory
per connection is the difference in resident memory of one side's processes, divided by the difference in connections.
It therefore excludes the memory of an idle process. Kernel memory is that of the machine's slab and of its socket
buffers. It includes both ends of each connection, and changes that other programs cause. The generators measure the
time from the start of the load until the last connection is open.

`model` and `strategy` select the server. `epoll`, and `uring` with `high-connections`, hold no buffer for an idle
connection.

Checked: all connections are held at once, as the generators and the kernel count them. No connection failed or was
lost. All were open within `open_within_s` (60 s). A connection takes at most 200 bytes of user memory on each side. At
least 95 % of the messages are answered.

    loadline lab connections --set connections=1000000";
