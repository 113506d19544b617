//! The forwarder: a thread that moves frames between the hosts of a testbed. The forwarder reads each frame from its
//! sender, and asks the [`Relay`] (a model of the medium) for the frame's arrival time. The frame waits in a timer heap
//! until its arrival time, and then goes to the receiving host.
//!
//! The thread forwards frames by their destination address. A multicast or broadcast frame goes to all other hosts, but
//! takes time on the medium only once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use sys::epoll::{Epoll, Events, Interest};
use sys::tap::Tap;
use sys::{Errno, clock, limits};

use super::{Counts, Fate, Relay};

/// Maximum size of a frame, bytes: the header, a VLAN tag, and an MTU of 9000.
const MAX_FRAME_BYTES: usize = 9216;
/// Maximum number of frames that the thread reads from one host before it reads from the next host.
const MAX_FRAMES_PER_TURN: usize = 32;
/// Maximum time for which the thread sleeps, nanoseconds. The thread therefore notices within 50 ms that it must stop.
const MAX_SLEEP_NS: u64 = 50_000_000;

/// The forwarder's end of a host's network interface, and the host's hardware address.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) tap: Tap,
    pub(crate) mac: [u8; 6],
}

/// A running forwarder. Dropping this value stops the forwarder.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    /// Full rate of the medium, bits per second; `None` if the medium has no rate limit.
    bits_per_s: Option<u64>,
    /// Current rate of the medium, bits per second; 0 if the medium has no rate limit.
    now: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    relay: Mutex<Box<dyn Relay>>,
    stop: AtomicBool,
}

impl Shared {
    fn relay(&self) -> MutexGuard<'_, Box<dyn Relay>> {
        self.relay.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct ForwardLoop {
    ports: Vec<Port>,
    shared: Arc<Shared>,
    heap: BinaryHeap<Reverse<DueFrame>>,
    frames: Slots,
    number: u64,
}

/// A frame that is on its way, with its arrival time. Frames that arrive at the same time are delivered in the order of
/// `number`.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct DueFrame {
    at_ns: u64,
    number: u64,
    slot: usize,
}

impl Engine {
    /// Starts the forwarder's thread. `relay` models the medium, and `bits_per_s` is the medium's full rate.
    pub(crate) fn start(ports: Vec<Port>, relay: Box<dyn Relay>, bits_per_s: Option<u64>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        for (token, port) in ports.iter().enumerate() {
            epoll.add(&port.tap, token as u64, Interest::IN)?;
        }
        let shared = Arc::new(Shared { relay: Mutex::new(relay), stop: false.into() });
        let mut inner = ForwardLoop {
            ports,
            shared: Arc::clone(&shared),
            heap: BinaryHeap::with_capacity(1024),
            frames: Slots::default(),
            number: 0,
        };
        let thread = std::thread::Builder::new().name("medium".into()).spawn(move || inner.run(&epoll))?;
        Ok(Self { shared, bits_per_s, now: AtomicU64::new(bits_per_s.unwrap_or(0)), thread: Some(thread) })
    }

    /// Returns the current rate of the medium, bits per second; `None` if the medium has no rate limit.
    pub(crate) fn bits_per_s(&self) -> Option<u64> {
        self.bits_per_s.map(|_| self.now.load(Relaxed))
    }

    /// Sets the rate of the medium to a share of its full rate. The new rate does not change the arrival times of
    /// frames that are already on their way.
    pub(crate) fn set_speed(&self, share: f64) -> Result<(), String> {
        let full = self.bits_per_s.ok_or("it has no rate that could be changed")?;
        let bits_per_s = ((full as f64 * share) as u64).max(1);
        self.shared.relay().set_rate(bits_per_s);
        self.now.store(bits_per_s, Relaxed);
        Ok(())
    }

    /// Returns the traffic counts of a wire of the medium since its creation (see [`Relay::counts`]).
    pub(crate) fn counts(&self, wire: usize) -> Counts {
        self.shared.relay().counts(clock::monotonic_ns(), wire)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl ForwardLoop {
    fn run(&mut self, epoll: &Epoll) {
        // With inexact timers, every frame would be about 50 µs late. With normal priority, the forwarder would run
        // late on a busy machine, and would thereby slow the medium. The forwarder works even if the kernel refuses
        // exact timers and a higher priority.
        let _ = limits::exact_timers();
        let _ = limits::set_nice(-15);
        let mut events = Events::with_capacity(64);
        let mut buffer = vec![0_u8; MAX_FRAME_BYTES];
        while !self.shared.stop.load(Relaxed) {
            let now = self.deliver();
            let Ok(ready) = epoll.wait(&mut events, Some(self.sleep_ns(now))) else { return };
            for at in 0..ready {
                if let Some(event) = events.get(at) {
                    self.take(event.token as usize, &mut buffer);
                }
            }
        }
    }

    /// Returns the time until the thread must do something next, nanoseconds, at most [`MAX_SLEEP_NS`].
    fn sleep_ns(&self, now: u64) -> u64 {
        let due = self.heap.peek().map(|Reverse(due)| due.at_ns);
        let turn = self.relay().wakes_ns();
        due.into_iter().chain(turn).min().map_or(MAX_SLEEP_NS, |at| at.saturating_sub(now)).min(MAX_SLEEP_NS)
    }

    /// Delivers all frames whose arrival time has come. Returns the current time.
    fn deliver(&mut self) -> u64 {
        let mut now = clock::monotonic_ns();
        self.settle(now);
        while self.heap.peek().is_some_and(|Reverse(due)| due.at_ns <= now) {
            let Some(Reverse(due)) = self.heap.pop() else { break };
            self.hand_over(due.slot);
            now = clock::monotonic_ns();
            self.settle(now);
        }
        now
    }

    /// Asks the relay which waiting frames may be sent by now, and schedules their arrivals.
    fn settle(&mut self, now: u64) {
        loop {
            let Some((slot, at_ns)) = self.relay().settle(now) else { return };
            self.due(slot, at_ns);
        }
    }

    fn due(&mut self, slot: usize, at_ns: u64) {
        self.number += 1;
        self.heap.push(Reverse(DueFrame { at_ns, number: self.number, slot }));
    }

    /// Delivers a frame to the receiving host. If the interface of the receiving host is down, the frame is lost, as on
    /// a real wire.
    fn hand_over(&mut self, slot: usize) {
        if let Some(frame) = self.frames.get(slot) {
            for (at, port) in self.ports.iter().enumerate() {
                if frame.to.map_or(at != frame.from, |to| to == at) {
                    let _ = port.tap.write(&frame.bytes);
                }
            }
        }
        self.frames.free(slot);
    }

    fn take(&mut self, from: usize, buffer: &mut [u8]) {
        for _ in 0..MAX_FRAMES_PER_TURN {
            let read = match self.ports.get(from).map(|port| port.tap.read(buffer)) {
                Some(Ok(read)) if read >= 14 => read,
                Some(Ok(_) | Err(Errno::INTR)) => continue,
                _ => return,
            };
            self.accept(from, &buffer[..read]);
        }
    }

    /// Passes a frame from a host to the relay (the model of the medium). A frame for several hosts is passed only
    /// once. Drops a frame to an unknown address, or to its own sender.
    fn accept(&mut self, from: usize, bytes: &[u8]) {
        let group = bytes[0] & 1 == 1;
        let to = self.ports.iter().position(|port| bytes[..6] == port.mac);
        if !group && to.is_none_or(|to| to == from) {
            return;
        }
        let slot = self.frames.keep(bytes, from, to.filter(|_| !group));
        let fate = self.relay().offer(clock::monotonic_ns(), from, bytes.len(), slot);
        match fate {
            Fate::Arrives(at_ns) => self.due(slot, at_ns),
            Fate::Waits => {}
            Fate::Lost => self.frames.free(slot),
        }
    }

    fn relay(&self) -> MutexGuard<'_, Box<dyn Relay>> {
        self.shared.relay()
    }
}

/// Buffers for the frames that have not arrived yet. After a frame has been delivered, a later frame uses its buffer.
#[derive(Default)]
struct Slots {
    frames: Vec<Frame>,
    free: Vec<usize>,
}

/// A frame that has not arrived yet. `to` is the index of the receiving host; `None` for a frame to all hosts except
/// its sender.
#[derive(Default)]
struct Frame {
    bytes: Vec<u8>,
    from: usize,
    to: Option<usize>,
}

impl Slots {
    fn keep(&mut self, bytes: &[u8], from: usize, to: Option<usize>) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.frames.push(Frame { bytes: Vec::with_capacity(1600), ..Frame::default() });
            self.frames.len() - 1
        });
        let frame = &mut self.frames[slot];
        (frame.from, frame.to) = (from, to);
        frame.bytes.clear();
        frame.bytes.extend_from_slice(bytes);
        slot
    }

    fn get(&self, slot: usize) -> Option<&Frame> {
        self.frames.get(slot)
    }

    fn free(&mut self, slot: usize) {
        self.free.push(slot);
    }
}
