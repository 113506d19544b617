//! Threads of a server, sampled from /proc: running threads, and the objects for which other threads wait.
//!
//! A [`WaitSampler`] reads /proc/PID/task/TID/syscall of each thread, at random times, at a rate whose cost stays below
//! 1 % of a CPU. The memory of a futex distinguishes a lock from other objects and shows its owner. A descriptor shows
//! the file for which a thread waits, or by sock_diag the client or peer. A lock that many threads wait for gets the
//! names of its global variable and of the waiting function, by the crate `stacks`. [`profile`] sums up the rounds, and
//! reads nothing itself.

mod calls;
mod client_sums;
mod exchanges;
mod futex;
mod futex_reader;
mod futex_sums;
mod monitors;
mod names;
mod process;
mod profile;
mod reader;
mod refusal;
mod round;
mod rows;
mod sampler;
mod sockets;
mod stacks;
mod tasks;
mod thread;
mod thread_reader;

pub use sampler::WaitSampler;
