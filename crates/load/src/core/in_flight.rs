//! The requests in flight on all connections, in the order in which they were started. Requests may end in any order.
//! All memory is allocated at the start. Starting a request, ending one, and finding the oldest take only a few memory
//! accesses.

use proto::{Trace, Which};

use crate::driver::Start;

/// Index that means "no slot" (a slot is the memory for one request).
const NO_SLOT: u16 = u16::MAX;
/// Maximum number of requests in flight on one connection.
pub(super) const MAX_IN_FLIGHT: usize = NO_SLOT as usize;

/// A request in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InFlightRequest {
    pub(crate) start: Start,
    pub(crate) class: u16,
    /// Index of the server's address to which the request was sent.
    pub(crate) address: u16,
    /// Index of the request in the load plan's set of requests.
    pub(crate) item: u16,
    /// Time at which the first byte of the answer arrived. The value is 0 before the first byte arrives, and for an
    /// answer that arrives in one piece.
    pub(crate) first_byte_ns: u64,
    /// Trace context of the request.
    pub(crate) trace: Trace,
    /// Number of times that the request was sent again after a keep-alive race.
    pub(crate) resends: u8,
    /// ID of the request on its connection.
    pub(crate) id: u16,
    /// True if an event of the answer (a stream) has arrived.
    pub(crate) has_events: bool,
}

/// A request that will be sent again, on another connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requeued {
    pub(super) begun: InFlightRequest,
    /// True if the request was already counted as sent.
    pub(super) sent: bool,
}

/// Memory for one request. A used slot is linked to the slots of two other requests: those that were started directly
/// before and directly after the slot's own request. A free slot is linked to the next free slot by `newer`.
#[derive(Clone, Copy, Default)]
struct Slot {
    begun: InFlightRequest,
    older: u16,
    newer: u16,
}

/// The slots (memory for requests) of one connection.
#[derive(Clone, Copy)]
struct SlotList {
    oldest: u16,
    newest: u16,
    free: u16,
    /// First slot (memory for one request) that has not been used since the connect. Without the index `fresh`, each
    /// new connection would have to link all its slots into a list of free slots.
    fresh: u16,
}

const EMPTY: SlotList = SlotList { oldest: NO_SLOT, newest: NO_SLOT, free: NO_SLOT, fresh: 0 };

/// The requests in flight of a shard (generator thread).
pub(crate) struct InFlight {
    slots: Box<[Slot]>,
    lists: Box<[SlotList]>,
    depth: usize,
}

impl InFlight {
    /// Allocates memory for `depth` requests on each connection, but at most [`MAX_IN_FLIGHT`].
    pub(super) fn new(connections: usize, depth: usize) -> Self {
        let depth = depth.clamp(1, MAX_IN_FLIGHT);
        let slots = vec![Slot::default(); connections * depth].into();
        Self { slots, lists: vec![EMPTY; connections].into(), depth }
    }

    /// Removes all requests of a connection, without counting them.
    pub(super) fn clear(&mut self, conn: u32) {
        self.lists[conn as usize] = EMPTY;
    }

    fn slot_mut(&mut self, conn: u32, id: u16) -> &mut Slot {
        &mut self.slots[conn as usize * self.depth + usize::from(id)]
    }

    /// Adds a request to the requests in flight, and returns the request's ID on this connection. Returns `None` if all
    /// slots (memory for requests) are in use.
    #[inline]
    pub(super) fn begin(&mut self, conn: u32, begun: InFlightRequest) -> Option<u16> {
        let mut list = self.lists[conn as usize];
        let id = if list.free != NO_SLOT {
            let id = list.free;
            list.free = self.slot_mut(conn, id).newer;
            id
        } else if usize::from(list.fresh) < self.depth {
            list.fresh += 1;
            list.fresh - 1
        } else {
            return None;
        };
        let begun = InFlightRequest { id, ..begun };
        *self.slot_mut(conn, id) = Slot { begun, older: list.newest, newer: NO_SLOT };
        match list.newest {
            NO_SLOT => list.oldest = id,
            newest => self.slot_mut(conn, newest).newer = id,
        }
        list.newest = id;
        self.lists[conn as usize] = list;
        Some(id)
    }

    /// Handles an answer of which more bytes have arrived, but not all.
    pub(super) fn answer_goes_on(&mut self, conn: u32, which: Which, now: u64, events: u32) -> Option<InFlightRequest> {
        let id = self.id_in_flight(conn, which)?;
        let begun = &mut self.slot_mut(conn, id).begun;
        // The condition uses `&`, which compiles to one branch, because `&&` would compile to two branches. The
        // function `answer_goes_on` runs for each read of a long answer.
        if (begun.first_byte_ns != 0) & (events == 0) {
            return None;
        }
        if begun.first_byte_ns == 0 {
            begun.first_byte_ns = now;
        }
        begun.has_events |= events > 0;
        Some(*begun)
    }

    /// Stores the time at which a request was sent, if the request had to wait for a stream after its start.
    pub(super) fn sent(&mut self, conn: u32, id: u16, now: u64) {
        if let Some(id) = self.id_in_flight(conn, Which::Id(id)) {
            self.slot_mut(conn, id).begun.start.sent_ns = now;
        }
    }

    /// Returns the ID of the request that `which` means, or `None` if that request is not in flight.
    fn id_in_flight(&mut self, conn: u32, which: Which) -> Option<u16> {
        let list = self.lists[conn as usize];
        let id = match which {
            Which::Oldest => list.oldest,
            Which::Id(id) => id,
        };
        (id < list.fresh && self.is_in_flight(conn, id)).then_some(id)
    }

    /// Removes a request from the requests in flight, and returns this request. Returns `None` if the request is not in
    /// flight.
    #[inline]
    pub(super) fn end(&mut self, conn: u32, which: Which) -> Option<InFlightRequest> {
        let id = self.id_in_flight(conn, which)?;
        let Slot { begun, older, newer } = *self.slot_mut(conn, id);
        match older {
            NO_SLOT => self.lists[conn as usize].oldest = newer,
            older => self.slot_mut(conn, older).newer = newer,
        }
        match newer {
            NO_SLOT => self.lists[conn as usize].newest = older,
            newer => self.slot_mut(conn, newer).older = older,
        }
        // In a free slot (memory for one request), `older` is the slot's own ID. In a used slot, `older` is never the
        // slot's own ID.
        let free = self.lists[conn as usize].free;
        (self.slot_mut(conn, id).newer, self.slot_mut(conn, id).older) = (free, id);
        self.lists[conn as usize].free = id;
        Some(begun)
    }

    fn is_in_flight(&mut self, conn: u32, id: u16) -> bool {
        self.slot_mut(conn, id).older != id
    }

    /// Calls `visit` with each request in flight on a connection, the oldest first.
    pub(super) fn each(&mut self, conn: u32, mut visit: impl FnMut(&InFlightRequest)) {
        let mut id = self.lists[conn as usize].oldest;
        while id != NO_SLOT {
            let Slot { begun, newer, .. } = *self.slot_mut(conn, id);
            visit(&begun);
            id = newer;
        }
    }

    /// Returns the oldest request in flight on a connection.
    pub(super) fn oldest(&mut self, conn: u32) -> Option<InFlightRequest> {
        match self.lists[conn as usize].oldest {
            NO_SLOT => None,
            id => Some(self.slot_mut(conn, id).begun),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn begun(class: u16) -> InFlightRequest {
        InFlightRequest { class, ..InFlightRequest::default() }
    }

    proptest! {
        /// The test compares [`InFlight`] with a plain list. IDs must be unique, the oldest request must be found, and
        /// only requests in flight may end.
        #[test]
        fn any_order_of_ends_keeps_the_order_of_begins(depth in 1_usize..9, steps in prop::collection::vec(any::<(u8, bool)>(), 0..200)) {
            let mut requests = InFlight::new(2, depth);
            let mut model: Vec<(u16, u16)> = Vec::new();
            for (n, (step, oldest)) in (0_u16..).zip(steps) {
                prop_assert_eq!(requests.oldest(1).map(|b| b.class), model.first().map(|m| m.1));
                if step < 128 {
                    let id = requests.begin(1, begun(n));
                    prop_assert_eq!(id.is_some(), model.len() < depth);
                    prop_assert!(model.iter().all(|m| Some(m.0) != id));
                    model.extend(id.map(|id| (id, n)));
                } else {
                    let id = u16::from(step - 128) % (depth as u16 + 2);
                    let slot_mut = if oldest { 0 } else { model.iter().position(|m| m.0 == id).unwrap_or(usize::MAX) };
                    let expected = (slot_mut < model.len()).then(|| model.remove(slot_mut).1);
                    let which = if oldest { Which::Oldest } else { Which::Id(id) };
                    prop_assert_eq!(requests.end(1, which).map(|b| b.class), expected);
                }
            }
            prop_assert_eq!(requests.oldest(0), None);
            requests.clear(1);
            prop_assert_eq!((requests.oldest(1), requests.end(1, Which::Oldest)), (None, None));
        }
    }
}
