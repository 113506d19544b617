//! The event API for C. Names, types and values are taken from the paper by G. Banga, J. Mogul and P. Druschel, *A
//! Scalable and Explicit Event Delivery Mechanism for UNIX*, USENIX 1999. The header is [`HEADER`],
//! `include/loadline_event.h`. `cargo build --release -p loadline-event-c` builds `libloadline_event_c.a` and
//! `libloadline_event_c.so`. `scripts/install event` copies both libraries and `loadline-event.pc` below a prefix.
//!
//! Each thread declares its own interest. The first call of a thread creates the thread's queue. `event_use_backend` or
//! the environment variable `LOADLINE_EVENTS` names the backend; epoll is the default.
//!
//! # Example
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
