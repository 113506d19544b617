//! The requests in flight of all connections: what is known of each from its begin to its end, in the order of begin,
//! whatever order they end in. All memory is taken once; begin, end and "the oldest" take a few stores each.

use proto::Which;

use crate::driver::Start;

/// No place.
const NONE: u16 = u16::MAX;
/// Most requests in flight on one connection.
pub(super) const MOST: usize = NONE as usize;

/// What is known of a request in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) start: Start,
    pub(crate) class: u16,
    /// Its place in the set of requests.
    pub(crate) item: u16,
}

/// A request that is to be made again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) begun: Begun,
    /// It is counted as sent.
    pub(super) sent: bool,
}

/// A request in flight, joined to its neighbours in time; a free place is joined to the next free one by `newer`.
#[derive(Clone, Copy, Default)]
struct Place {
    begun: Begun,
    older: u16,
    newer: u16,
}

/// The places of one connection.
#[derive(Clone, Copy)]
struct List {
    oldest: u16,
    newest: u16,
    free: u16,
    /// Places from here on were never used since the connect, so that a connect need not join them.
    fresh: u16,
}

const EMPTY: List = List { oldest: NONE, newest: NONE, free: NONE, fresh: 0 };

/// The requests in flight of a shard.
pub(crate) struct InFlight {
    places: Box<[Place]>,
    lists: Box<[List]>,
    depth: usize,
}

impl InFlight {
    /// Room for `depth` requests, at most [`MOST`], on each of so many connections.
    pub(super) fn new(connections: usize, depth: usize) -> Self {
        let depth = depth.clamp(1, MOST);
        let places = vec![Place::default(); connections * depth].into();
        Self { places, lists: vec![EMPTY; connections].into(), depth }
    }

    /// Nothing is in flight on a connection.
    pub(super) fn clear(&mut self, conn: u32) {
        self.lists[conn as usize] = EMPTY;
    }

    fn at(&mut self, conn: u32, id: u16) -> &mut Place {
        &mut self.places[conn as usize * self.depth + usize::from(id)]
    }

    /// A request begins: its name on this connection, or `None` when as many are in flight as there is room for.
    #[inline]
    pub(super) fn begin(&mut self, conn: u32, begun: Begun) -> Option<u16> {
        let mut list = self.lists[conn as usize];
        let id = if list.free != NONE {
            let id = list.free;
            list.free = self.at(conn, id).newer;
            id
        } else if usize::from(list.fresh) < self.depth {
            list.fresh += 1;
            list.fresh - 1
        } else {
            return None;
        };
        *self.at(conn, id) = Place { begun, older: list.newest, newer: NONE };
        match list.newest {
            NONE => list.oldest = id,
            newest => self.at(conn, newest).newer = id,
        }
        list.newest = id;
        self.lists[conn as usize] = list;
        Some(id)
    }

    /// A request ends; `None` when it is not in flight.
    #[inline]
    pub(super) fn end(&mut self, conn: u32, which: Which) -> Option<Begun> {
        let list = self.lists[conn as usize];
        let id = match which {
            Which::Oldest => list.oldest,
            Which::Id(id) => id,
        };
        if id >= list.fresh || !self.is_in_flight(conn, id) {
            return None;
        }
        let Place { begun, older, newer } = *self.at(conn, id);
        match older {
            NONE => self.lists[conn as usize].oldest = newer,
            older => self.at(conn, older).newer = newer,
        }
        match newer {
            NONE => self.lists[conn as usize].newest = older,
            newer => self.at(conn, newer).older = older,
        }
        // A free place is its own elder, which none in flight is.
        (self.at(conn, id).newer, self.at(conn, id).older) = (list.free, id);
        self.lists[conn as usize].free = id;
        Some(begun)
    }

    fn is_in_flight(&mut self, conn: u32, id: u16) -> bool {
        self.at(conn, id).older != id
    }

    /// Tells of every request in flight on a connection, the oldest first.
    pub(super) fn each(&mut self, conn: u32, mut told: impl FnMut(&Begun)) {
        let mut id = self.lists[conn as usize].oldest;
        while id != NONE {
            let Place { begun, newer, .. } = *self.at(conn, id);
            told(&begun);
            id = newer;
        }
    }

    /// The request that was begun first of those in flight.
    pub(super) fn oldest(&mut self, conn: u32) -> Option<Begun> {
        match self.lists[conn as usize].oldest {
            NONE => None,
            id => Some(self.at(conn, id).begun),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn begun(class: u16) -> Begun {
        Begun { class, ..Begun::default() }
    }

    proptest! {
        /// Against a plain list: names are unique, "the oldest" is the oldest, what is not in flight cannot end.
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
                    let at = if oldest { 0 } else { model.iter().position(|m| m.0 == id).unwrap_or(usize::MAX) };
                    let expected = (at < model.len()).then(|| model.remove(at).1);
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
