//! Store of tickets for resuming TLS sessions with one server, for many connections. The ticket store of rustls keeps
//! only eight tickets, but a load has hundreds of concurrent handshakes.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Maximum number of session tickets that are kept. When a new ticket would exceed the maximum number, the oldest
/// ticket is dropped.
const MAX_TICKETS: usize = 4096;

thread_local! {
    /// True if a ticket for TLS 1.3 was stored on this thread since the last call of [`take_new_ticket`].
    static NEW_TICKET: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if a ticket for TLS 1.3 was stored on this thread since the last call. quinn-proto does not report new
/// tickets.
pub(crate) fn take_new_ticket() -> bool {
    NEW_TICKET.take()
}

/// The ticket store of one load. Only TLS handshakes use this store.
#[derive(Debug, Default)]
pub(super) struct Tickets(Mutex<TicketStore>);

#[derive(Debug, Default)]
struct TicketStore {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    tls13: VecDeque<Tls13ClientSessionValue>,
}

impl Tickets {
    fn kept(&self) -> MutexGuard<'_, TicketStore> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.kept().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().tls12.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if kept.tls13.len() == MAX_TICKETS {
            kept.tls13.pop_front();
        }
        kept.tls13.push_back(value);
        NEW_TICKET.set(true);
    }

    /// Uses each ticket at most once (RFC 8446, appendix C.4). The newest ticket comes first, because tickets expire.
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tls13.pop_back()
    }
}
