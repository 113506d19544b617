//! Tests of a connection's state machine, without a socket. Some tests use a scripted session, and others use the
//! sessions of real services.

use std::sync::{Arc, Mutex};

use proto::Fault;

use super::*;

/// A session that reacts to single bytes. The session answers `a` with `a`, closes at `c`, and begins a request head at
/// `h`. At `l`, the session closes but continues to read, and at `f`, it fails.
#[derive(Default)]
struct Scripted {
    output: Vec<u8>,
    awaits_head: bool,
    told: Arc<Mutex<Vec<&'static str>>>,
}

impl Session for Scripted {
    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let n = self.output.len().min(out.len());
        out[..n].copy_from_slice(&self.output[..n]);
        self.output.drain(..n);
        n
    }

    fn wants_transmit(&self) -> bool {
        !self.output.is_empty()
    }

    fn receive(&mut self, input: &[u8]) -> Result<Progress, Fault> {
        let mut progress = Progress::default();
        for byte in input {
            self.awaits_head = *byte == b'h';
            match byte {
                b'f' => return Err(Fault::Malformed("f")),
                b'h' => continue,
                b'c' => progress.close = true,
                b'l' => (progress.close, progress.linger) = (true, true),
                _ => {}
            }
            progress.completed += 1;
            self.output.push(*byte);
        }
        Ok(progress)
    }

    fn peer_closed(&mut self) -> Result<Progress, Fault> {
        self.told.lock().unwrap().push("peer closed");
        if self.awaits_head { Err(Fault::Short) } else { Ok(Progress::default()) }
    }

    fn awaits_head(&self) -> bool {
        self.awaits_head
    }

    fn head_is_late(&mut self) {
        self.output.extend_from_slice(b"late");
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

fn scripted() -> Connection {
    Connection::new(Box::new(Scripted::default()), 1, false)
}

/// Returns all output that the connection has now.
fn output(connection: &mut Connection) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 3]);
    while let n @ 1.. = connection.transmit(&mut piece) {
        all.extend_from_slice(&piece[..n]);
    }
    all
}

#[test]
fn an_open_connection_answers_and_continues_reading() {
    let mut c = scripted();
    assert_eq!((c.settle(1), c.takes_input(), c.wants_write()), (Next::Wait, true, false));
    assert_eq!(c.received(b"aaaaa", 2), Ok(5));
    assert!(c.wants_write() && c.activity.served);
    assert_eq!(output(&mut c), b"aaaaa");
    assert_eq!((c.settle(2), c.takes_input(), c.wants_write()), (Next::Wait, true, false));
}

#[test]
fn a_close_follows_the_last_answer_and_drops_later_bytes() {
    let mut c = scripted();
    assert_eq!(c.received(b"ac", 1), Ok(2));
    assert!(!c.takes_input());
    // The bytes `aaa` arrived after the session decided to close the connection, so they are dropped.
    assert_eq!(c.received(b"aaa", 1), Ok(0));
    assert_eq!(output(&mut c), b"ac");
    assert_eq!(c.settle(1), Next::Close(End::Done));
}

#[test]
fn lingering_closes_the_server_side_and_reads_until_the_peer_closes() {
    let mut c = scripted();
    assert_eq!(c.received(b"l", 1), Ok(1));
    assert_eq!(output(&mut c), b"l");
    assert_eq!(c.settle(5), Next::EndSide);
    assert_eq!((c.settle(5), c.takes_input()), (Next::Wait, true));
    // After the server has closed its side, arriving bytes are dropped and not answered.
    assert_eq!(c.received(b"aaa", 6), Ok(0));
    assert!(!c.wants_write() && !c.mirrors());
    assert_eq!(c.end_of_input(), Err(End::Done));
}

#[test]
fn lingering_is_bounded_in_time_and_bytes() {
    let mut c = scripted();
    c.received(b"l", 1).unwrap();
    output(&mut c);
    assert_eq!(c.settle(100), Next::EndSide);
    c.received(b"aaa", 1000).unwrap();
    assert!(!c.activity.lingered_enough(100 + LINGER_MS - 1));
    assert!(c.activity.lingered_enough(100 + LINGER_MS));
    let flood = vec![b'a'; 512 << 10];
    assert_eq!(c.received(&flood, 1000), Ok(0));
    assert_eq!(c.received(&flood, 1000), Err(End::Done));
}

#[test]
fn no_lingering_for_a_peer_that_has_closed_its_side() {
    let mut c = scripted();
    assert_eq!(c.received(b"l", 1), Ok(1));
    assert_eq!(c.end_of_input(), Ok(0));
    assert_eq!(output(&mut c), b"l");
    assert_eq!(c.settle(1), Next::Close(End::Done));
}

#[test]
fn a_half_closed_peer_gets_its_answers_before_the_close() {
    let mut c = scripted();
    assert_eq!(c.received(b"aa", 1), Ok(2));
    assert_eq!(c.end_of_input(), Ok(0));
    assert!(!c.takes_input() && c.wants_write());
    assert_eq!(output(&mut c), b"aa");
    assert_eq!(c.settle(1), Next::Close(End::Done));
}

#[test]
fn after_a_close_the_session_learns_of_no_end_of_input() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let session = Scripted { told: told.clone(), ..Scripted::default() };
    let mut c = Connection::new(Box::new(session), 1, false);
    c.received(b"c", 1).unwrap();
    assert_eq!(c.end_of_input(), Ok(0));
    assert!(told.lock().unwrap().is_empty());
}

#[test]
fn protocol_errors_end_the_connection() {
    assert_eq!(scripted().received(b"af", 1), Err(End::Fault));
    let mut short = scripted();
    short.received(b"h", 1).unwrap();
    assert_eq!(short.end_of_input(), Err(End::Fault));
}

#[test]
fn a_parked_connection_is_neither_read_nor_written_until_it_has_a_slot() {
    let mut c = scripted();
    c.received(b"aa", 1).unwrap();
    c.activity.parked = true;
    assert_eq!((c.takes_input(), c.wants_write(), c.settle(2)), (false, false, Next::Wait));
    assert!(output(&mut c).is_empty());
    c.activity.take_slot(3);
    assert!(c.takes_input() && !c.activity.served);
    assert_eq!(output(&mut c), b"aa");
    // A connection that waits for a worker slot and has no output ends when its peer closes.
    c.activity.parked = true;
    c.end_of_input().unwrap();
    assert_eq!(c.settle(4), Next::Close(End::Done));
}

#[test]
fn the_deadline_of_a_head_counts_from_its_first_byte() {
    let mut c = scripted();
    assert!(!c.activity.starts_head_watch());
    c.received(b"h", 100).unwrap();
    assert!(c.activity.starts_head_watch() && !c.activity.starts_head_watch());
    // Further bytes of the incomplete head do not extend its deadline.
    c.received(b"h", 600).unwrap();
    assert_eq!(c.activity.head_left_ms(700, 700), Some(100));
    assert_eq!(c.activity.quiet_ms(700), 600);
    assert_eq!(c.activity.check_head(799, 700), HeadState::Incomplete);
    assert_eq!(c.activity.check_head(800, 700), HeadState::Late);
    c.head_is_late();
    assert_eq!(output(&mut c), b"late");
    assert_eq!(c.settle(800), Next::Close(End::Done));
}

#[test]
fn a_complete_head_has_no_deadline_and_the_next_has_a_new_one() {
    let mut c = scripted();
    c.received(b"h", 100).unwrap();
    assert!(c.activity.starts_head_watch());
    c.received(b"a", 200).unwrap();
    assert_eq!(c.activity.check_head(5000, 700), HeadState::Complete);
    c.received(b"h", 6000).unwrap();
    assert!(c.activity.starts_head_watch());
    assert_eq!(c.activity.head_left_ms(6000, 700), Some(700));
    // One piece of input completes a request and begins the head of another request.
    c.received(b"ah", 6500).unwrap();
    assert_eq!(c.activity.head_left_ms(6500, 700), Some(700));
}

#[test]
fn no_head_is_late_while_the_connection_waits_for_a_slot_or_for_output() {
    let mut c = scripted();
    c.received(b"h", 100).unwrap();
    c.activity.starts_head_watch();
    c.activity.parked = true;
    assert_eq!(c.activity.check_head(9000, 700), HeadState::Incomplete);
    c.activity.take_slot(9000);
    c.activity.output_waits(9000);
    assert_eq!(c.activity.check_head(9000, 700), HeadState::Incomplete);
    c.activity.output_left();
    assert_eq!(c.activity.check_head(9000, 700), HeadState::Late);
}

#[test]
fn echo_may_be_sent_from_the_receive_buffer() {
    let mut c = Connection::new(Box::new(proto::echo::ServerSession::default()), 1, false);
    assert!(c.mirrors());
    c.mirrored(5, 7);
    assert_eq!((c.activity.served, c.activity.heard_ms), (true, 7));
    // If the socket did not accept some bytes of an echo, the session sends them as usual.
    assert_eq!(c.received(b"rest", 7), Ok(1));
    assert!(!c.mirrors());
    assert_eq!(output(&mut c), b"rest");
    assert_eq!(c.settle(7), Next::Wait);
}

#[test]
fn a_source_with_a_limit_closes_after_its_last_byte() {
    let plan = proto::source::ServerPlan::new(Some(5));
    let mut c = Connection::new(Box::new(plan.session()), 1, false);
    assert_eq!(output(&mut c).len(), 5);
    assert_eq!(c.settle(1), Next::Close(End::Done));
}
