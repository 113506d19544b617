//! The null driver, which uses no network. Every connect succeeds at once. Every send is answered in the next pass of
//! the event loop, always with the same bytes. A load with this driver therefore shows only the work of the generator
//! itself. The driver uses the machine's real clock, not a simulated one.

use std::collections::VecDeque;

use run::{Io, LoadPart};
use sys::{Errno, clock};

use super::row::DriverSpec;
use super::shard::Shard;
use crate::driver::{Batch, Completion, Driver, Ops, Sent};
use crate::{LoadError, ceiling};

/// Row of the null driver in [`DRIVERS`](super::DRIVERS).
pub(super) const SPEC: DriverSpec = DriverSpec {
    io: Io::Null,
    name: "null",
    help: "no network: every request is answered at once, which shows the generator's highest rate",
    ..DriverSpec::DEFAULT
};

/// Runs one shard (generator thread) with the null driver.
pub(super) fn run(shard: Shard<'_>) -> Result<LoadPart, LoadError> {
    let (request, answer) = ceiling::exchange(shard.plan, shard.client);
    let mut driver = NullDriver::new(shard.setup.capacity, request, &answer);
    shard.drive(&mut driver)
}

/// Maximum number of answers per pass of the event loop.
const MAX_ANSWERS_PER_PASS: usize = 256;

/// The null driver.
#[derive(Debug)]
pub(crate) struct NullDriver {
    ops: NullOps,
    answer: Box<[u8]>,
}

/// Operations of the null driver.
#[derive(Debug)]
pub(crate) struct NullOps {
    now_ns: u64,
    generations: Vec<u32>,
    connected: VecDeque<(u32, u32)>,
    answered: VecDeque<(u32, u32)>,
    scratch: Box<[u8]>,
    request_bytes: usize,
    part: Vec<usize>,
}

impl NullDriver {
    /// Creates a driver that answers every `request_bytes` sent bytes with `answer`.
    pub(crate) fn new(capacity: u32, request_bytes: usize, answer: &[u8]) -> Self {
        let capacity = capacity as usize;
        let ops = NullOps {
            now_ns: clock::monotonic_ns(),
            generations: vec![0; capacity],
            connected: VecDeque::with_capacity(capacity),
            answered: VecDeque::with_capacity(capacity * 16),
            scratch: vec![0; 64 * 1024].into_boxed_slice(),
            request_bytes: request_bytes.max(1),
            part: vec![0; capacity],
        };
        Self { ops, answer: answer.into() }
    }
}

impl Driver for NullDriver {
    type Ops = NullOps;
    const WAKES_LATE: bool = false;

    fn ops(&mut self) -> &mut NullOps {
        &mut self.ops
    }

    fn wait(
        &mut self,
        until_ns: u64,
        _batch: Batch,
        mut f: impl FnMut(&mut NullOps, Completion<'_>),
    ) -> Result<(), Errno> {
        let Self { ops, answer } = self;
        if ops.connected.is_empty() && ops.answered.is_empty() {
            clock::sleep_until_ns(until_ns);
        }
        ops.refresh();
        for _ in 0..ops.connected.len().min(MAX_ANSWERS_PER_PASS) {
            let Some((conn, generation)) = ops.connected.pop_front() else { break };
            if ops.generations[conn as usize] == generation {
                f(ops, Completion::Connected { conn });
            }
        }
        for _ in 0..ops.answered.len().min(MAX_ANSWERS_PER_PASS) {
            let Some((conn, generation)) = ops.answered.pop_front() else { break };
            if ops.generations[conn as usize] == generation {
                f(ops, Completion::Received { conn, bytes: answer });
            }
        }
        Ok(())
    }
}

impl Ops for NullOps {
    #[inline]
    fn now(&self) -> u64 {
        self.now_ns
    }

    #[inline]
    fn refresh(&mut self) -> u64 {
        self.now_ns = clock::monotonic_ns();
        self.now_ns
    }

    fn connect(&mut self, conn: u32) -> Result<(), Errno> {
        self.connected.push_back((conn, self.generations[conn as usize]));
        Ok(())
    }

    #[inline]
    fn send(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno> {
        let part = &mut self.part[conn as usize];
        *part += fill(&mut self.scratch);
        while *part >= self.request_bytes {
            *part -= self.request_bytes;
            self.answered.push_back((conn, self.generations[conn as usize]));
        }
        Ok(Sent::All)
    }

    fn close(&mut self, conn: u32) {
        let generation = &mut self.generations[conn as usize];
        *generation = generation.wrapping_add(1);
        self.part[conn as usize] = 0;
    }
}
