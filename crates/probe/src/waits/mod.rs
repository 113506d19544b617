//! Samples the threads of a server from /proc: which threads run, and for which objects the other threads wait.
//!
//! In each round, a [`WaitSampler`] reads /proc/PID/task/TID/syscall of the threads. Rounds come at random times, and
//! take less than 1 % of a CPU in total. The memory of a futex distinguishes a lock from other objects, and shows the
//! owner of a lock. If an argument of a call is a file descriptor, the descriptor shows the file for which the thread
//! waits. For a socket, sock_diag shows the client or other peer. If several threads wait for a lock, the crate
//! `stacks` finds the names of the lock's global variable and of the waiting function. [`profile`] sums up the readings
//! of all rounds, and reads nothing itself.

mod active_sum;
mod calls;
mod client_sums;
mod counted;
mod exchanges;
mod futex;
mod futex_reader;
mod futex_sums;
mod holder_functions;
mod holder_reader;
mod holder_threads;
mod lock_holders;
mod monitors;
mod names;
mod own_function;
mod paced;
mod path;
mod peer_readings;
mod pipe_ends;
mod process;
mod profile;
mod reader;
mod refusal;
mod round;
mod rows;
mod sampler;
mod sockets;
mod sqlite;
mod sqlite_writers;
mod stacks;
mod tasks;
mod thread;
mod thread_reader;
mod turn;

pub use sampler::WaitSampler;
