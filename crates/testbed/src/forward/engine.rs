//! The thread that moves frames. The thread reads frames from hosts and asks the [`Relay`] when each frame arrives.
//! Frames wait in a timer heap until their arrival time. Then they go to their host.
//!
//! The thread switches frames by their destination address. A frame to a group address goes to every other host, but
//! uses the medium only once.

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

/// Maximum size of a frame in bytes: header, VLAN tag and an MTU of 9000.
const MAX_FRAME_BYTES: usize = 9216;
/// Maximum number of frames taken from one host before the other hosts have their turn.
const MAX_FRAMES_PER_TURN: usize = 32;
/// Maximum sleep of the thread in nanoseconds. The thread therefore notices a request to stop within this time.
const MAX_SLEEP_NS: u64 = 50_000_000;

/// The forwarder's end of one host's interface.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) tap: Tap,
    pub(crate) mac: [u8; 6],
}

/// The running forwarder. Dropping this value stops the forwarder.
pub(crate) struct Engine {
    shared: Arc<Shared>,
    /// Full rate in bits per second; `None` means no limit.
    bits_per_s: Option<u64>,
    /// Current rate in bits per second.
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

/// A frame and its arrival time. Frames with equal arrival times are ordered by their number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct DueFrame {
    at_ns: u64,
    number: u64,
    slot: usize,
}

impl Engine {
    /// Starts the forwarder thread for a relay. `bits_per_s` is the full rate of the medium.
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

    /// Returns the current rate in bits per second; `None` means no limit.
    pub(crate) fn bits_per_s(&self) -> Option<u64> {
        self.bits_per_s.map(|_| self.now.load(Relaxed))
    }

    /// Sets the rate of the medium to this share of its full rate, beginning with the next frame.
    pub(crate) fn set_speed(&self, share: f64) -> Result<(), String> {
        let full = self.bits_per_s.ok_or("it has no rate that could be changed")?;
        let bits_per_s = ((full as f64 * share) as u64).max(1);
        self.shared.relay().set_rate(bits_per_s);
        self.now.store(bits_per_s, Relaxed);
        Ok(())
    }

    /// Returns the counts of the medium so far.
    pub(crate) fn counts(&self) -> Counts {
        self.shared.relay().counts(clock::monotonic_ns())
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
        // Without exact timers, every frame would be 50 µs late. Without a high priority, a busy host would slow the
        // medium down. The forwarder works even if the kernel refuses both.
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

    /// Returns the time until the next frame is due.
    fn sleep_ns(&self, now: u64) -> u64 {
        let due = self.heap.peek().map(|Reverse(due)| due.at_ns);
        let turn = self.relay().wakes_ns();
        due.into_iter().chain(turn).min().map_or(MAX_SLEEP_NS, |at| at.saturating_sub(now)).min(MAX_SLEEP_NS)
    }

    /// Passes every frame whose arrival time has come to its host. Returns the current time.
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

    /// Gives arrival times to waiting frames whose turn has come. The relay decides when this is.
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

    /// Passes a frame to its host. If the host's interface is down, the frame is lost, as on a real wire.
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

    /// Accepts a frame from a host. A frame for several hosts is offered to the relay only once.
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

/// Frames that have not arrived yet. Their buffers are reused.
#[derive(Default)]
struct Slots {
    frames: Vec<Frame>,
    free: Vec<usize>,
}

/// A frame that has not arrived yet. If `to` is `None`, the frame is for all hosts except its sender.
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
