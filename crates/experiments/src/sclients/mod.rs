//! The experiments around S-Clients (G. Banga, P. Druschel, "Measuring the Capacity of a Web Server", USITS 1997): a
//! server of known, small capacity in a namespace of its own, client machines in theirs, and the connection requests
//! that reach the server counted three ways. `request-rate` is played on real hosts, too.

pub(super) mod bursty;
pub(super) mod figures;
pub(super) mod overload;
pub(super) mod request_rate;
pub(super) mod wan;

mod arena;
mod bed;
mod counts;
mod deal;
mod far;
mod plans;
mod text;
mod values;

pub(super) use text::{BURSTY, OVERLOAD, REQUEST_RATE, WAN};
