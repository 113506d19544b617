//! Connections in memory, on which tests of the connection engine write bytes directly.

use run::{Intensity, LoadPart, LoadPlan, Phase, ThinkTime};
use sys::Errno;

use super::Core;
use super::test_protocol::TestProtocol;
use crate::driver::{Completion, Op, Ops, Sent};

/// Connections in memory, with a clock that the test sets.
#[derive(Default)]
pub(super) struct MemoryWire {
    pub(super) now_ns: u64,
    /// Time that each send takes, nanoseconds. `now` includes the time of a send only after the next `refresh`.
    pub(super) send_ns: u64,
    unseen_ns: u64,
    pub(super) writes: Vec<Vec<u8>>,
    /// True if the driver reports later, and not at once, that a send is complete.
    pub(super) acked: bool,
    /// Number of sent bytes that the server has not received when it closes.
    pub(super) unreceived: usize,
    /// Error with which each send fails; `None` if sends succeed.
    pub(super) send_error: Option<Errno>,
    pub(super) connects: u32,
    pub(super) closes: u32,
    /// Number of the connection that was connected last.
    pub(super) current: u32,
}

impl Ops for MemoryWire {
    fn now(&self) -> u64 {
        self.now_ns
    }

    fn refresh(&mut self) -> u64 {
        self.now_ns += std::mem::take(&mut self.unseen_ns);
        self.now_ns
    }

    fn connect(&mut self, conn: u32) -> Result<(), Errno> {
        self.connects += 1;
        self.current = conn;
        Ok(())
    }

    fn send(&mut self, _conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> Result<Sent, Errno> {
        let mut buffer = [0; 256];
        let n = fill(&mut buffer);
        if let Some(errno) = self.send_error {
            return Err(errno);
        }
        self.writes.push(buffer[..n].to_vec());
        self.unseen_ns += self.send_ns;
        Ok(if self.acked { Sent::Pending } else { Sent::All })
    }

    fn send_last(&mut self, conn: u32, fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        self.send(conn, fill).is_ok()
    }

    fn unreceived(&mut self, _conn: u32) -> usize {
        self.unreceived
    }

    fn close(&mut self, _conn: u32) {
        self.closes += 1;
    }
}

/// The connection engine with its connections on a [`MemoryWire`].
pub(super) struct Fixture {
    pub(super) core: Core,
    pub(super) wire: MemoryWire,
}

impl Fixture {
    /// Creates a closed loop with one client and up to `pipeline` requests in flight, and connects the client. The
    /// measured window begins together with the load.
    pub(super) fn new(pipeline: u32, think_ms: f64, weights: &[f64]) -> Self {
        let think = ThinkTime { mean_ms: think_ms, exponential: false };
        let mut fixture = Self::with(Intensity::Closed { connections: 1, pipeline, think }, weights);
        fixture.up();
        fixture
    }

    /// Starts a load with the intensity `intensity`. The measured window begins together with the load.
    pub(super) fn with(intensity: Intensity, weights: &[f64]) -> Self {
        let mix = proto::Mix { weights: weights.to_vec().into(), ..proto::Mix::ONE.clone() };
        Self::speaking(intensity, &TestProtocol { mix, takes_early: false })
    }

    /// Starts a load with the intensity `intensity` and the protocol of `client`. The measured window begins together
    /// with the load.
    pub(super) fn speaking<C: proto::Client>(intensity: Intensity, client: &C) -> Self {
        Self::loading(&LoadPlan { intensity, ..LoadPlan::default() }, client)
    }

    /// Starts the load that a load plan describes. The measured window begins together with the load.
    pub(super) fn loading(plan: &LoadPlan, client: &dyn proto::AnyClient) -> Self {
        let core = Core::new(crate::share::task(plan, 0, 0, 1000), client);
        let mut fixture = Self { core, wire: MemoryWire::default() };
        fixture.core.enter(&mut fixture.wire, Phase::Measure, 0);
        fixture.core.start(&mut fixture.wire);
        fixture
    }

    /// Connects one client and completes the handshake. After the handshake, the first requests are sent.
    pub(super) fn ready(pipeline: u32, think_ms: f64, weights: &[f64]) -> Self {
        let mut fixture = Self::new(pipeline, think_ms, weights);
        fixture.hear(b"h");
        assert_eq!(fixture.wire.writes.drain(..2).collect::<Vec<_>>(), [b"H", b"F"]);
        fixture
    }

    pub(super) fn hear(&mut self, bytes: &[u8]) {
        let conn = self.wire.current;
        self.core.on(&mut self.wire, Completion::Received { conn, bytes });
    }

    /// Receives a datagram.
    pub(super) fn hear_datagram(&mut self, bytes: &[u8]) {
        let conn = self.wire.current;
        self.core.on(&mut self.wire, Completion::Datagrams { conn, bytes, datagram_bytes: bytes.len() });
    }

    pub(super) fn up(&mut self) {
        let conn = self.wire.current;
        self.core.on(&mut self.wire, Completion::Connected { conn });
    }

    /// Lets the server refuse the current connect.
    pub(super) fn refused(&mut self) {
        let conn = self.wire.current;
        self.core.on(&mut self.wire, Completion::Failed { conn, op: Op::Connect, errno: Errno::CONNREFUSED });
    }

    pub(super) fn closed(&mut self, conn: u32) {
        self.core.on(&mut self.wire, Completion::PeerClosed { conn });
    }

    /// Lets the server reset the current connection.
    pub(super) fn reset_by_server(&mut self) {
        let conn = self.wire.current;
        self.core.on(&mut self.wire, Completion::Failed { conn, op: Op::Receive, errno: Errno::CONNRESET });
    }

    pub(super) fn at_ms(&mut self, ms: u64) {
        self.wire.now_ns = ms * 1_000_000;
        self.core.advance(&mut self.wire);
    }

    pub(super) fn sent(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.wire.writes)
    }

    pub(super) fn part(mut self) -> LoadPart {
        self.core.finish(&mut self.wire)
    }
}
