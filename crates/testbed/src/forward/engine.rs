//! The thread that moves frames: reads what hosts send, asks the [`Relay`] when each frame arrives, keeps it in a
//! timer heap until then, and gives it to the host it is for.
//!
//! Frames are switched by the destination address; a group address goes to every other host, as copies of one frame.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use sys::epoll::{Epoll, Events, Interest};
use sys::tap::Tap;
use sys::{Errno, clock, limits};

use super::{Counts, Relay};

/// Longest frame that is read: header, VLAN tag and an MTU of 9000 fit.
const LONGEST: usize = 9216;
/// Frames taken from one host before the others have their turn.
const TURN: usize = 32;
/// How long the thread sleeps at most, so that it sees a stop.
const NAP_NS: u64 = 50_000_000;

/// One host's end.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) tap: Tap,
    pub(crate) mac: [u8; 6],
}

/// The running forwarder. It ends when this value goes.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    relay: Mutex<Box<dyn Relay>>,
    stop: std::sync::atomic::AtomicBool,
}

struct Loop {
    ports: Vec<Port>,
    shared: Arc<Shared>,
    heap: BinaryHeap<Reverse<Due>>,
    frames: Slots,
    number: u64,
}

/// When a frame arrives where; the number keeps frames of one moment in order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at_ns: u64,
    number: u64,
    to: usize,
    slot: usize,
}

impl Engine {
    /// Starts the thread.
    pub(crate) fn start(ports: Vec<Port>, relay: Box<dyn Relay>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        for (token, port) in ports.iter().enumerate() {
            epoll.add(&port.tap, token as u64, Interest::IN)?;
        }
        let shared = Arc::new(Shared { relay: Mutex::new(relay), stop: false.into() });
        let mut inner = Loop {
            ports,
            shared: Arc::clone(&shared),
            heap: BinaryHeap::with_capacity(1024),
            frames: Slots::default(),
            number: 0,
        };
        let thread = std::thread::Builder::new().name("medium".into()).spawn(move || inner.run(&epoll))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What the medium did so far.
    pub(crate) fn counts(&self) -> Counts {
        self.shared.relay.lock().unwrap_or_else(PoisonError::into_inner).counts(clock::monotonic_ns())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Loop {
    fn run(&mut self, epoll: &Epoll) {
        // Without exact timers every frame would be 50 us late, and without precedence a busy host would slow the wire;
        // the medium still works.
        let _ = limits::exact_timers();
        let _ = limits::set_nice(-15);
        let mut events = Events::with_capacity(64);
        let mut buffer = vec![0_u8; LONGEST];
        while !self.shared.stop.load(std::sync::atomic::Ordering::Relaxed) {
            let now = self.deliver();
            let next = self.heap.peek().map_or(NAP_NS, |Reverse(due)| due.at_ns.saturating_sub(now));
            let Ok(ready) = epoll.wait(&mut events, Some(next.min(NAP_NS))) else { return };
            for at in 0..ready {
                if let Some(event) = events.get(at) {
                    self.take(event.token as usize, &mut buffer);
                }
            }
        }
    }

    /// Gives every frame whose time has come to its host; returns the time.
    fn deliver(&mut self) -> u64 {
        let mut now = clock::monotonic_ns();
        while self.heap.peek().is_some_and(|Reverse(due)| due.at_ns <= now) {
            let Some(Reverse(due)) = self.heap.pop() else { break };
            if let (Some(port), Some(frame)) = (self.ports.get(due.to), self.frames.get(due.slot)) {
                // A host whose interface is down refuses the frame: it is lost, as on a wire.
                let _ = port.tap.write(frame);
            }
            self.frames.free(due.slot);
            now = clock::monotonic_ns();
        }
        now
    }

    fn take(&mut self, from: usize, buffer: &mut [u8]) {
        for _ in 0..TURN {
            let read = match self.ports.get(from).map(|port| port.tap.read(buffer)) {
                Some(Ok(read)) if read >= 14 => read,
                Some(Ok(_) | Err(Errno::INTR)) => continue,
                _ => return,
            };
            self.accept(from, &buffer[..read]);
        }
    }

    fn accept(&mut self, from: usize, frame: &[u8]) {
        let group = frame[0] & 1 == 1;
        let mut at = None;
        for to in 0..self.ports.len() {
            if to == from || !(group || frame[..6] == self.ports[to].mac) {
                continue;
            }
            // A frame for several hosts is on the wire once.
            let arrives = *at.get_or_insert_with(|| self.offer(from, to, frame.len()));
            if let Some(at_ns) = arrives {
                self.number += 1;
                let slot = self.frames.keep(frame);
                self.heap.push(Reverse(Due { at_ns, number: self.number, to, slot }));
            }
        }
    }

    fn offer(&self, from: usize, to: usize, bytes: usize) -> Option<u64> {
        let mut relay = self.shared.relay.lock().unwrap_or_else(PoisonError::into_inner);
        relay.offer(clock::monotonic_ns(), from, to, bytes)
    }
}

/// Frames that wait, in buffers that are used again.
#[derive(Default)]
struct Slots {
    frames: Vec<Vec<u8>>,
    free: Vec<usize>,
}

impl Slots {
    fn keep(&mut self, frame: &[u8]) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Vec::with_capacity(1600));
            self.frames.len() - 1
        });
        self.frames[slot].clear();
        self.frames[slot].extend_from_slice(frame);
        slot
    }

    fn get(&self, slot: usize) -> Option<&[u8]> {
        self.frames.get(slot).map(Vec::as_slice)
    }

    fn free(&mut self, slot: usize) {
        self.free.push(slot);
    }
}
