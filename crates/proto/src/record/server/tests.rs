//! Tests of the server that reads and writes records of a file.

use super::super::{ClientPlan, HEAD_BYTES, LARGE_BYTES};
use super::*;
use crate::{Client as _, Request, Requester as _};
use proptest::prelude::*;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// A file in memory, with a limited number of buffers for large reads.
struct Memory {
    bytes: Vec<u8>,
    free: AtomicI32,
    gone: bool,
}

impl Records for Memory {
    fn file_bytes(&self) -> Result<u64, Status> {
        if self.gone { Err(Status::Vanished) } else { Ok(self.bytes.len() as u64) }
    }

    fn read(&self, offset: u64, length: u32, into: &mut Vec<u8>) -> Result<Origin, Status> {
        self.file_bytes()?;
        let from = (offset as usize).min(self.bytes.len());
        let to = (from + length as usize).min(self.bytes.len());
        into.extend_from_slice(&self.bytes[from..to]);
        Ok(Origin { cached: true, disk: false })
    }

    fn write(&self, _: u64, _: &[u8]) -> Result<(), Status> {
        Err(Status::ReadOnly)
    }

    fn large_buffer(self: Arc<Self>) -> Option<LargeBuffer> {
        if self.free.fetch_sub(1, Relaxed) <= 0 {
            self.free.fetch_add(1, Relaxed);
            return None;
        }
        Some(LargeBuffer::new(move || {
            self.free.fetch_add(1, Relaxed);
        }))
    }
}

fn memory(bytes: usize, free: i32) -> Arc<Memory> {
    Arc::new(Memory { bytes: vec![7; bytes], free: free.into(), gone: false })
}

/// Passes bytes between a client and a server in pieces of `cut` bytes. Returns the number of completed requests,
/// the number of bytes that the client sent, and the number that it received.
fn talk(record: u32, times: u32, free: i32, cut: usize) -> (u32, usize, usize) {
    let records = memory(1 << 20, free);
    let mut server = ServerSession::new(Arc::clone(&records));
    let mut client = ClientPlan::new(record).session();
    (0..times).for_each(|_| client.begin(Request::default()));
    let talked = crate::testing::exchange(&mut client, &mut server, cut);
    assert_eq!(records.free.load(Relaxed), free, "every buffer is given back");
    talked
}

#[test]
fn messages_have_the_sizes_of_the_source() {
    assert_eq!(talk(2048, 1, 1, 9999), (1, 60, 2108));
    assert_eq!(talk(4096, 1, 1, 9999), (1, 60, 4156));
    assert_eq!(talk(8192, 1, 1, 9999), (1, 120, 8192 + 120), "two requests of 4096");
    assert_eq!(talk(LARGE_BYTES, 1, 1, 99_999), (1, 60, 12_288 + 60), "one large read");
    assert_eq!(talk(57_344, 1, 1, 99_999), (1, 60, 57_404));
    assert_eq!(talk(12_288, 1, 0, 99_999), (1, 240, 12_288 + 240), "no buffer: refused once, then split in three");
}

proptest! {
    #[test]
    fn any_splitting_gives_the_same(record in 1_u32..70_000, times in 1_u32..4, free in 0_i32..3, cut in 1_usize..9000) {
        let (completed, up, down) = talk(record, times, free, cut);
        prop_assert_eq!(completed, times);
        prop_assert_eq!((up, down), { let (_, u, d) = talk(record, times, free, 1 << 17); (u, d) });
    }

    #[test]
    fn no_bytes_make_either_half_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), head in any::<bool>()) {
        let mut server = ServerSession::new(memory(5000, 1));
        let good = Head::request(Operation::Read, 0, 100).encode();
        if head {
            server.receive(&good[..30]).unwrap();
        }
        let _ = server.receive(&bytes);
        let mut client = ClientPlan::new(100).session();
        client.begin(Request::default());
        let _ = client.receive(&bytes, &mut drop);
    }
}

fn status_of(request: Head, records: Arc<Memory>) -> Status {
    let mut server = ServerSession::new(records);
    server.receive(&request.encode()).unwrap();
    let mut out = [0; 9000];
    let n = server.transmit(&mut out);
    let head = Head::decode(out[..HEAD_BYTES].try_into().unwrap()).unwrap();
    assert_eq!(n, HEAD_BYTES + head.length as usize);
    head.status.unwrap()
}

#[test]
fn failed_operations_have_a_status() {
    let read = |offset, length| Head::request(Operation::Read, offset, length);
    assert_eq!(status_of(read(0, 5000), memory(5000, 1)), Status::Done);
    assert_eq!(status_of(read(0, 5000), memory(5000, 0)), Status::NoBuffer);
    assert_eq!(status_of(read(4000, 2048), memory(5000, 1)), Status::Short);
    assert_eq!(status_of(read(5000, 1), memory(5000, 1)), Status::PastEnd);
    assert_eq!(status_of(read(u64::MAX, 1), memory(5000, 1)), Status::PastEnd);
    assert_eq!(status_of(read(0, u32::MAX), memory(5000, 1)), Status::TooLong);
    let gone = Arc::new(Memory { bytes: vec![], free: 1.into(), gone: true });
    assert_eq!(status_of(read(0, 1), gone), Status::Vanished);
    assert_eq!(status_of(Head { status: Some(Status::Done), ..read(0, 1) }, memory(9, 1)), Status::Malformed);
    assert_eq!(status_of(Head::request(Operation::Write, 0, 0), memory(9, 1)), Status::ReadOnly);
}

#[test]
fn a_bad_head_is_answered_and_then_the_connection_ends() {
    let mut server = ServerSession::new(memory(9, 1));
    let progress = server.receive(&[b'x'; 200]).unwrap();
    assert!(progress.close && progress.linger && server.wants_transmit());
}

#[test]
fn a_client_is_told_why_its_read_failed() {
    let mut client = ClientPlan::new(2048).session();
    client.begin(Request::default());
    let reply = Head { status: Some(Status::Vanished), ..Head::request(Operation::Read, 0, 0) };
    assert_eq!(client.receive(&reply.encode(), &mut drop), Err(Fault::WrongBody(Status::Vanished.words())));
}
