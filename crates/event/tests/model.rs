//! Performs random sequences of declare, write, read, shutdown, close and reuse on Unix and TCP sockets. The tests
//! predict the events of every backend with a simple model. No event may be lost, reported twice in one call, or
//! reported after a close. Every reported event must be of a kind that the test has asked the backend to report. With
//! `recheck`, the reported kind of event must also be true at the moment of delivery.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::time::Duration;

use common::{Stream, every};
use loadline_event::{Event, EventQueue, Mask, Options};
use proptest::prelude::*;
use sys::poll;

const SOCKETS: usize = 6;

#[derive(Clone, Debug)]
enum Op {
    Declare { at: usize, mask: u32, want_state: bool },
    Write { at: usize },
    Drain { at: usize },
    EndSending { at: usize },
    CloseAndReuse { at: usize, tcp: bool },
    Take { room: usize },
}

fn op() -> impl Strategy<Value = Op> {
    let at = 0..SOCKETS;
    prop_oneof![
        4 => (at.clone(), 0..4_u32, any::<bool>()).prop_map(|(at, mask, want_state)| Op::Declare { at, mask, want_state }),
        4 => at.clone().prop_map(|at| Op::Write { at }),
        3 => at.clone().prop_map(|at| Op::Drain { at }),
        1 => at.clone().prop_map(|at| Op::EndSending { at }),
        1 => (at, any::<bool>()).prop_map(|(at, tcp)| Op::CloseAndReuse { at, tcp }),
        4 => (1..9_usize).prop_map(|room| Op::Take { room }),
    ]
}

/// One socket, its declared interest, and the kinds of events that the queue must still report for it.
struct Socket {
    ours: Stream,
    theirs: Stream,
    declared: Mask,
    owed: Mask,
    ended: bool,
}

impl Socket {
    fn new(tcp: bool) -> Self {
        let (ours, theirs) = Stream::pair(tcp);
        Self { ours, theirs, declared: Mask::NONE, owed: Mask::NONE, ended: false }
    }

    /// Writes at the other end, and waits until the bytes have arrived. If bytes arrived between two calls of the
    /// queue, the test could not predict the events of each call. Returns false if the other end cannot send.
    fn write(&mut self) -> bool {
        let before = self.ours.unread();
        let is_written = self.theirs.write(b"some bytes");
        if is_written {
            self.ours.await_more_than(before);
        }
        is_written
    }

    /// Ends sending at the other end, and waits until the end has arrived.
    fn end_sending(&self) {
        self.theirs.end_sending();
        let has_ended = || poll::now(self.ours.fd(), poll::RDHUP).unwrap() & poll::RDHUP != 0;
        testkit::eventually(|| has_ended().then_some(()));
    }

    fn state(&self) -> Mask {
        let found = poll::now(self.ours.fd(), poll::IN | poll::OUT | poll::PRI | poll::RDHUP).unwrap();
        let mut state = Mask::NONE;
        if found & (poll::IN | poll::RDHUP | poll::HUP | poll::ERR) != 0 {
            state |= Mask::READ;
        }
        if found & (poll::OUT | poll::HUP | poll::ERR) != 0 {
            state |= Mask::WRITE;
        }
        state
    }
}

struct World {
    name: String,
    /// True if the test calls `drained` each time it has read everything.
    tells: bool,
    checked: bool,
    level: bool,
    queue: EventQueue,
    sockets: Vec<Socket>,
}

impl World {
    fn new(name: &str, options: Options, tcp: bool, tells: bool) -> Self {
        let queue = EventQueue::with(options).unwrap();
        let sockets = (0..SOCKETS).map(|at| Socket::new(tcp && at % 2 == 0)).collect();
        let level = options.backend.spec().level;
        Self { name: name.into(), tells, checked: options.recheck, level, queue, sockets }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Declare { at, mask, want_state } => self.declare(at, Mask::from_bits(mask), want_state),
            Op::Write { at } => {
                let socket = &mut self.sockets[at];
                if socket.write() {
                    socket.owed |= socket.declared & Mask::READ;
                }
            }
            Op::Drain { at } => {
                self.sockets[at].ours.drain();
                if self.tells {
                    self.queue.drained(self.sockets[at].ours.fd());
                }
            }
            Op::EndSending { at } => {
                let socket = &mut self.sockets[at];
                if !std::mem::replace(&mut socket.ended, true) {
                    socket.end_sending();
                    socket.owed |= socket.declared & Mask::READ;
                }
            }
            Op::CloseAndReuse { at, tcp } => {
                self.queue.forget(self.sockets[at].ours.fd());
                self.sockets[at] = Socket::new(tcp);
            }
            Op::Take { room } => {
                self.take(room, Duration::ZERO);
            }
        }
    }

    fn declare(&mut self, at: usize, mask: Mask, want_state: bool) {
        let socket = &mut self.sockets[at];
        let state = self.queue.declare_interest(socket.ours.fd(), mask, want_state).unwrap();
        assert_eq!(state.is_some(), want_state);
        if let Some(state) = state {
            assert!(socket.state().contains(state), "{}: told {state:?}", self.name);
        }
        // If the call returned the state, it has already reported the earlier arrivals, so the queue must report only
        // later arrivals. If the call did not return the state, the queue must report the whole current state.
        socket.declared = mask;
        socket.owed = if want_state { Mask::NONE } else { mask & socket.state() };
    }

    /// Takes at most `room` events, checks them, and returns the number of events.
    fn take(&mut self, room: usize, timeout: Duration) -> usize {
        let mut events = vec![Event::default(); room];
        let count = self.queue.get_next_event(&mut events, Some(timeout)).unwrap();
        assert!(count <= room);
        for (n, event) in events[..count].iter().enumerate() {
            let name = &self.name;
            assert!(events[..n].iter().all(|e| e.fd != event.fd), "{name}: {event:?} twice in one call");
            assert!(self.queue.is_current(event), "{name}: {event:?} is stale");
            let socket = self.sockets.iter_mut().find(|s| s.ours.fd() == event.fd);
            let socket = socket.unwrap_or_else(|| panic!("{name}: {event:?} of no open descriptor"));
            assert!(!event.mask.is_none() && socket.declared.contains(event.mask), "{name}: {event:?} not declared");
            assert!(!self.checked || socket.state().contains(event.mask), "{name}: {event:?} does not hold");
            socket.owed = Mask::from_bits(socket.owed.bits() & !event.mask.bits());
        }
        count
    }

    /// Takes all events from the queue. Checks that the queue reported each expected kind of event, unless the socket's
    /// state has changed since.
    fn settle(&mut self) {
        for _ in 0..if self.level { 2 * SOCKETS } else { 1000 } {
            if self.take(2, Duration::ZERO) == 0 {
                break;
            }
        }
        // If an event is missing, the queue gets more time, so that an event that comes late is told from a lost one.
        let missing = |w: &Self| w.sockets.iter().position(|s| !(s.owed & s.declared & s.state()).is_none());
        for _ in 0..5 {
            if missing(self).is_some() {
                self.take(SOCKETS, Duration::from_millis(200));
            }
        }
        if let Some(at) = missing(self) {
            let s = &self.sockets[at];
            panic!("{}: lost {:?} of socket {at}, declared {:?}", self.name, s.owed & s.state(), s.declared);
        }
        if !self.level {
            self.take(SOCKETS, Duration::ZERO);
            assert_eq!(self.take(SOCKETS, Duration::ZERO), 0, "{}: events without an arrival", self.name);
        }
    }
}

/// New data may arrive between two declarations of interest in one descriptor. An earlier version of the event API then
/// lost a part of the descriptor's state. The second declaration must report the whole current state.
#[test]
fn a_second_declaration_reports_the_whole_state_despite_new_data() {
    let declare = Op::Declare { at: 4, mask: 3, want_state: false };
    let ops = [declare.clone(), Op::Take { room: 1 }, Op::Drain { at: 4 }, declare, Op::Write { at: 4 }];
    for (name, options) in every() {
        let mut world = World::new(&name, options, false, true);
        ops.iter().for_each(|op| world.apply(op));
        world.settle();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_backend_reports_what_the_model_predicts(ops in prop::collection::vec(op(), 1..60), tcp: bool, tells: bool) {
        for (name, options) in every() {
            let mut world = World::new(&name, options, tcp, tells);
            for op in &ops {
                world.apply(op);
            }
            world.settle();
        }
    }

    #[test]
    fn events_come_in_the_order_of_first_arrival(writes in prop::collection::vec(0..SOCKETS, 1..40), room in 1..4_usize) {
        for (name, options) in every().into_iter().filter(|(_, o)| o.backend.spec().fifo) {
            let mut world = World::new(&name, options, false, false);
            for at in 0..SOCKETS {
                world.declare(at, Mask::READ, true);
            }
            prop_assert_eq!(world.take(SOCKETS, Duration::ZERO), 0);
            let mut expected: Vec<i32> = Vec::new();
            for &at in &writes {
                world.apply(&Op::Write { at });
                let fd = world.sockets[at].ours.fd();
                if !expected.contains(&fd) {
                    expected.push(fd);
                }
            }
            let (mut got, mut events) = (Vec::new(), vec![Event::default(); room]);
            while got.len() < expected.len() {
                let count = world.queue.get_next_event(&mut events, Some(Duration::from_secs(30))).unwrap();
                prop_assert!(count > 0, "{}: {:?} of {:?}", name, got, expected);
                got.extend(events[..count].iter().map(|e| e.fd));
            }
            prop_assert_eq!(&got, &expected, "{}", name);
            prop_assert_eq!(world.take(SOCKETS, Duration::ZERO), 0);
        }
    }
}
