//! An explicit event API: a thread declares in which descriptors it is interested, once, and then takes events out of
//! a queue; a call costs what it delivers and not what is declared.
//!
//! The interface is that of G. Banga, J. Mogul and P. Druschel, *A Scalable and Explicit Event Delivery Mechanism for
//! UNIX* (USENIX 1999), here in user space over what Linux has: epoll, io_uring, and as baselines poll and select
//! ([`BACKENDS`]). The same calls exist for C; see the header `loadline_event.h` of the crate `loadline-event-c`.
//!
//! - [`EventQueue::declare_interest`] declares, changes and revokes, and can return the state at that moment, from
//!   before any event is queued: nothing is lost between accepting a connection and declaring it.
//! - [`EventQueue::get_next_event`] delivers events in the order of their arrival, many arrivals of one descriptor as
//!   one event, and only what still holds when it is delivered. Events may be repeated, and are never lost.
//! - A queue belongs to one thread. [`Group`] declares for all threads, or so that each event wakes only one.
//! - [`EventQueue::forget`] before a close keeps events of a closed descriptor from the next one with its number.
//!
//! # An echo server
//!
//! ```
//! use std::io::{ErrorKind, Read, Write};
//! use std::net::{TcpListener, TcpStream};
//! use std::os::fd::AsRawFd;
//!
//! use loadline_event::{Backend, Event, EventQueue, Mask};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let mut client = TcpStream::connect(listener.local_addr()?)?;
//! client.write_all(b"hello")?;
//!
//! let (mut connection, _) = listener.accept()?;
//! connection.set_nonblocking(true)?;
//! let mut queue = EventQueue::new(Backend::Epoll)?;
//! // The state tells what arrived before; afterwards events do.
//! let state = queue.declare_interest(connection.as_raw_fd(), Mask::READ, true)?;
//!
//! let mut readable = state.is_some_and(|state| state.is_read());
//! let mut events = [Event::default(); 16];
//! let mut echoed = 0;
//! while echoed < 5 {
//!     if !readable {
//!         let count = queue.get_next_event(&mut events, None)?;
//!         readable = events[..count].iter().any(|event| event.fd == connection.as_raw_fd());
//!     }
//!     // Read until it would block: the next event is for what arrives after that.
//!     let mut buffer = [0; 1024];
//!     loop {
//!         match connection.read(&mut buffer) {
//!             Ok(bytes) => {
//!                 connection.write_all(&buffer[..bytes])?;
//!                 echoed += bytes;
//!             }
//!             Err(e) if e.kind() == ErrorKind::WouldBlock => break,
//!             Err(e) => return Err(e.into()),
//!         }
//!     }
//!     readable = false;
//! }
//! queue.forget(connection.as_raw_fd());
//! drop(connection);
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hello");
//! # Ok(())
//! # }
//! ```

/// The examples of the page in `docs/` are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/event-library.md")]
struct Page;

mod backend;
mod backends;
mod error;
mod event;
mod group;
mod mask;
mod options;
mod queue;
mod state;
mod table;

pub use backend::{BACKENDS, Backend, BackendSpec};
pub use error::{EventError, Result};
pub use event::Event;
pub use group::Group;
pub use mask::{Mask, State};
pub use options::{Options, Revocation};
pub use queue::EventQueue;
