//! Experiments with S-Clients (G. Banga, P. Druschel, "Measuring the Capacity of a Web Server", USITS 1997; source 1).
//! An S-Client is a socket that tries to connect for at most a fixed time T, and then begins anew. S-Clients offer at
//! least a fixed rate of connection requests, however slow the server is. A server with a small, known capacity, and
//! its clients, run in their own network namespaces. Three counters count the connection requests (SYNs): the
//! generator's counter, the server kernel's counter, and a packet filter. `request-rate` can also run on real hosts.

pub(super) mod bursty;
pub(super) mod figures;
pub(super) mod overload;
pub(super) mod request_rate;
pub(super) mod wan;

mod counts;
mod deal;
mod namespace_hosts;
mod other_hosts;
mod plans;
mod test_setup;
mod text;
mod values;

pub(super) use text::{BURSTY, OVERLOAD, REQUEST_RATE, WAN};
