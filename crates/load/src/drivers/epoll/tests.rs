//! Tests of the epoll driver with real sockets.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use super::*;

/// Number of full reads that the answer of the test needs.
const FULL_READS: usize = 3;

/// The kernel has received the answer before the driver reads it, so one event covers several reads. The test pauses
/// after each read. An earlier version of the epoll driver gave all reads of one event the same time.
#[test]
fn each_full_read_of_a_long_answer_has_its_own_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let setup = Setup {
        capacity: 1,
        descriptors: 16,
        target: listener.local_addr().unwrap().into(),
        further: Vec::new(),
        sources: Vec::new(),
        burst: None,
        nodelay: false,
        quick_ack: false,
        receive_buffer: Some((2 * FULL_READS * BUFFER_BYTES) as u32),
    };
    let mut driver = EpollDriver::new(&setup).unwrap();
    driver.ops().connect(0).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let answer = vec![b'x'; FULL_READS * BUFFER_BYTES];
    let sends = std::thread::spawn(move || {
        server.write_all(&answer).unwrap();
        server
    });
    let waits_ms = (0..1000).take_while(|_| !sends.is_finished());
    waits_ms.for_each(|_| std::thread::sleep(Duration::from_millis(1)));
    let (mut reads, mut received) = (Vec::new(), 0);
    while received < FULL_READS * BUFFER_BYTES {
        let until_ns = driver.ops().refresh() + 1_000_000_000;
        let heard = |ops: &mut EpollOps, completion: Completion<'_>| {
            if let Completion::Received { bytes, .. } = completion {
                received += bytes.len();
                reads.push((ops.now(), bytes.len()));
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        driver.wait(until_ns, Batch::default(), heard).unwrap();
    }
    drop(sends.join());
    let behind_full = reads.windows(2).filter(|two| two[0].1 == BUFFER_BYTES);
    let waits: Vec<u64> = behind_full.map(|two| two[1].0 - two[0].0).collect();
    assert!(!waits.is_empty() && waits.iter().all(|ns| *ns >= 1_000_000), "{reads:?}");
}
