//! The page of this experiment for `loadline explain`.

/// `io-models`.
pub(in crate::experiments) const IO_MODELS: &str = "\
Source: A. Jones, A. Deshpande, Windows Sockets 2.0: Write Scalable Winsock Apps Using Completion Ports (2000), and the
table of I/O models in A. Jones, J. Ohlund, Network Programming for Microsoft Windows (2nd ed. 2002), chapter 6.

An echo server in every I/O model, one processor, loaded three ways, each from a server of its own:
 1. `first` connections that send as fast as they can (the source: 7,000);
 2. `second` connections in blocks of `block`, each block limited to `block_rate` bytes/s (12,000; 1,000; 200,000);
 3. `third` connections, limited the same way, blocks of 4,000 after the first twelve: what the model holds, and what
    ended it.
A block is a process, as in the source. Each connection of a limited block sends one message of `message_bytes` in
block x message_bytes / block_rate seconds on average, at random times; `compat = true` computes that pause in whole numbers as the source's client
does (20 ms a connection, so 204,800 B/s instead of 200,000).

Columns are the source's: attempted and connected, user memory, kernel memory by part, processor range, threads, bytes
both ways (the client's view), and what follows from them: memory a connection, processor time a message. `held` is
what the server's kernel side really accepted (sockets with an inode), counted while the trial ran.

Models with `max_threads` threads at most, so that a thread for every connection does not take the machine's process
numbers from everybody else; a name like `uring-groups:literal` is a model with that option on.

Checked: threads of the group models are ceil(n/63) and ceil(n/62) more than at rest, of blocking 2n; select-array
collapses against select where the source's did (7,000 connections); the completion port needs the least processor time
a message of the source's six.";
