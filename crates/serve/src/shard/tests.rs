//! Tests of a shard without its event loop: worker slots, deadlines and ends of connections.

use super::*;
use crate::connection::{LINGER_MS, Next};
use crate::services::tests::service;
use crate::strategies::{LimitHit, Limits};

fn shard(policy: Policy) -> Shard {
    let control = Control::new(&[], None);
    let inbox = Inbox::new(control.waker().unwrap());
    let cell = control.cell();
    let service = service("http", &[]);
    Shard::new(ShardSetup { control, service, policy, listener: None, pace: None, inbox, cell, on_close: None })
}

fn with_places(places: u32, waiting: Option<u32>) -> Shard {
    let active = crate::strategies::Active { slots: places, idle_ms: 100, waiting, refuse: Refuse::Close };
    shard(Policy { active: Some(active), ..Policy::NONE })
}

/// Moves the shard's clock forward, so that no test has to wait.
fn pass(shard: &mut Shard, ms: u32) {
    shard.now_ns += u64::from(ms) * 1_000_000;
}

/// Begins a connection, which gets a worker slot or waits in the queue.
fn enter(shard: &mut Shard, token: u32) -> Connection {
    let waits = shard.admit().unwrap();
    let mut connection = shard.begin(waits);
    if waits {
        shard.wait_in_line(token, &mut connection.activity);
    }
    connection
}

#[test]
fn slots_go_to_the_first_waiting_connection_that_is_still_open() {
    let mut shard = with_places(1, None);
    let first = enter(&mut shard, 1);
    let (second, third) = (enter(&mut shard, 2), enter(&mut shard, 3));
    assert!(!first.activity.parked && second.activity.parked && third.activity.parked);
    assert!(shard.any_waits());
    assert!(!shard.end(2, second, End::Done), "it had no place");
    assert!(shard.end(1, first, End::Done));
    assert_eq!(shard.next_in_line(), Some(3));
    assert!(!shard.any_waits());
    let mut third = third;
    third.activity.take_slot(shard.now_ms());
    assert!(shard.end(3, third, End::Done));
    assert_eq!(shard.next_in_line(), None);
    assert!(!enter(&mut shard, 4).activity.parked);
}

#[test]
fn a_full_waiting_line_refuses_and_counts() {
    let mut shard = with_places(1, Some(1));
    let (_first, _second) = (enter(&mut shard, 1), enter(&mut shard, 2));
    assert_eq!(shard.admit(), Err(Refuse::Close));
    shard.refuse(None, Refuse::Close);
    let cell = &shard.setup.cell;
    assert_eq!((cell.accepted.get(), cell.refused.get(), cell.connections.get()), (3, 1, 2));
}

#[test]
fn a_connection_gives_up_its_slot_after_an_exchange_if_others_wait() {
    let mut shard = with_places(1, None);
    let mut first = enter(&mut shard, 1);
    first.activity.heard(1, false, 5);
    assert!(!shard.gives_way(&first.activity), "nobody waits");
    let _second = enter(&mut shard, 2);
    assert!(shard.gives_way(&first.activity));
    first.activity.output_waits(5);
    assert!(!shard.gives_way(&first.activity), "its answer has not left");
}

#[test]
fn a_silent_connection_loses_its_slot_after_its_time() {
    let mut shard = with_places(1, None);
    let first = enter(&mut shard, 1);
    let second = enter(&mut shard, 2);
    let idle = |shard: &mut Shard| {
        let conns = [(1, &first.activity), (2, &second.activity)];
        shard.overdue(conns.into_iter()).idle
    };
    pass(&mut shard, 99);
    assert_eq!(idle(&mut shard), [] as [u32; 0]);
    pass(&mut shard, 1);
    assert_eq!(idle(&mut shard), [1]);
}

#[test]
fn each_limit_reports_its_reason() {
    let limits = Limits { sends: 1, unsent_ms: 50, silent_ms: 100 };
    let mut shard = shard(Policy { limits: Some(limits), ..Policy::NONE });
    let silent = shard.begin(false);
    let mut unread = shard.begin(false);
    unread.activity.output_waits(shard.now_ms());
    pass(&mut shard, 100);
    let over = shard.overdue([(1, &silent.activity), (2, &unread.activity)].into_iter());
    assert_eq!(over.close, [(1, Some(LimitHit::Silent)), (2, Some(LimitHit::Unread))]);
    shard.close_at_limit(LimitHit::Unread, None::<std::os::fd::BorrowedFd<'_>>);
    assert_eq!((shard.setup.cell.closed_unread.get(), shard.setup.cell.closed_silent.get()), (1, 0));
}

#[test]
fn a_connection_that_the_server_does_not_read_is_not_silent() {
    let limits = Limits { sends: 1, unsent_ms: 50, silent_ms: 100 };
    let mut shard = shard(Policy { limits: Some(limits), ..Policy::NONE });
    let held = shard.begin(true);
    pass(&mut shard, 100);
    assert_eq!(shard.overdue([(1, &held.activity)].into_iter()).close, []);
}

#[test]
fn a_lingering_connection_is_checked_until_its_deadline() {
    let mut shard = shard(Policy::NONE);
    assert_eq!(shard.next_sweep_ns, None, "without deadlines nobody is woken");
    let mut connection = shard.begin(false);
    connection.received(b"NONSENSE\r\n\r\n", shard.now_ms()).unwrap();
    while connection.transmit(&mut [0; 4096]) > 0 {}
    assert_eq!(connection.settle(shard.now_ms()), Next::EndSide);
    shard.note_lingering();
    assert!(shard.next_sweep_ns.is_some() && !shard.sweep_due());
    pass(&mut shard, LINGER_MS - 1);
    assert!(shard.sweep_due());
    assert!(shard.overdue([(1, &connection.activity)].into_iter()).close.is_empty());
    assert!(shard.next_sweep_ns.is_some(), "it still lingers");
    pass(&mut shard, 1);
    assert_eq!(shard.overdue([(1, &connection.activity)].into_iter()).close, [(1, None)]);
    shard.overdue(std::iter::empty());
    assert_eq!(shard.next_sweep_ns, None);
}

#[test]
fn a_slow_head_is_checked_until_its_deadline() {
    let mut shard = shard(Policy { head_ms: 300, ..Policy::NONE });
    let mut connection = shard.begin(false);
    connection.received(b"GET / HT", shard.now_ms()).unwrap();
    shard.watch_head(1, &mut connection.activity);
    shard.watch_head(1, &mut connection.activity);
    pass(&mut shard, 299);
    assert_eq!(shard.take_heads(), [1], "watched once");
    assert!(!shard.head_is_late(1, &mut connection.activity));
    pass(&mut shard, 1);
    assert_eq!(shard.take_heads(), [1]);
    assert!(shard.head_is_late(1, &mut connection.activity));
    assert!(shard.take_heads().is_empty());
}

#[test]
fn heads_without_a_time_limit_are_not_checked() {
    let mut shard = shard(Policy { head_ms: 0, ..Policy::NONE });
    let mut connection = shard.begin(false);
    connection.received(b"GET / HT", shard.now_ms()).unwrap();
    shard.watch_head(1, &mut connection.activity);
    assert!(shard.take_heads().is_empty());
}

#[test]
fn ends_of_connections_are_counted_and_reported() {
    let mut shard = shard(Policy::NONE);
    let told = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counts = told.clone();
    shard.setup.on_close = Some(Box::new(move || {
        counts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }));
    for end in [End::Done, End::Reset, End::Fault] {
        let connection = shard.begin(false);
        assert!(!shard.end(1, connection, end), "without the strategy there are no places");
    }
    let cell = &shard.setup.cell;
    assert_eq!((cell.connections.get(), cell.resets.get(), cell.faults.get()), (0, 1, 1));
    assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 3);
    assert_eq!(shard.spare.len(), 1, "sessions are used again");
}
