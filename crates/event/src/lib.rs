//! An event API with explicit declarations of interest. A thread declares interest in descriptors once, and then takes
//! events from a queue. The cost of taking events depends on the number of delivered events, not on the number of
//! declared descriptors.
//!
//! The interface is taken from the paper by G. Banga, J. Mogul and P. Druschel, *A Scalable and Explicit Event Delivery
//! Mechanism for UNIX* (USENIX 1999). This library implements the event interface of Banga, Mogul and Druschel in user
//! space on epoll and io_uring. Backends on poll and select exist for comparison ([`BACKENDS`]). The crate
//! `loadline-event-c` offers the same functions to C programs, with the header `loadline_event.h`.
//!
//! - [`EventQueue::declare_interest`] declares, changes and revokes interest. The call can also return the descriptor's
//!   state, which is read after the declaration. The returned state also shows data that arrived after a connection was
//!   accepted and before interest in it was declared.
//! - [`EventQueue::get_next_event`] delivers events, by default in the order of arrival. Several arrivals on one
//!   descriptor become one event, which reports only the kinds of events that are true at delivery. An event may be
//!   repeated, but is never lost.
//! - A queue belongs to one thread. A [`Group`] declares interest for several threads: each event goes to every thread,
//!   or to only one of them.
//! - [`EventQueue::forget`] must be called before a descriptor is closed. After this call, events of the closed
//!   descriptor are not delivered to a new descriptor with the same number.
//!
//! # Example: an echo server
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
//! // The state shows earlier arrivals; events report later ones.
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
//!     // Read until it would block: the next event reports later arrivals.
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

/// The examples of `docs/reference/event-library.md`, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../event-library.md")]
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
