//! The event API for C, with the names, types and values of the source (G. Banga, J. Mogul, P. Druschel, *A Scalable
//! and Explicit Event Delivery Mechanism for UNIX*, USENIX 1999). The header is [`HEADER`], `include/loadline_event.h`.
//! `cargo build --release -p loadline-event-c` makes `libloadline_event_c.a` and
//! `libloadline_event_c.so`; `scripts/install event` puts them and `loadline-event.pc` below a prefix.
//!
//! Interest is per thread. The first call of a thread creates its queue, on the backend named by
//! `event_use_backend` or the environment variable `LOADLINE_EVENTS`, otherwise on epoll.
//!
//! # A program
//!
//! ```c
#![doc = include_str!("../examples/echo.c")]
//! ```

mod calls;
pub mod header;

pub use calls::{
    EventDescr, declare_interest, declare_processwide_interest, event_close, event_use_backend, event_wakeup_one,
    get_next_event,
};
pub use header::HEADER;
