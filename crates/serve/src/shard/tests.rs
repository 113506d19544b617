//! A thread's bookkeeping without its loop: places, deadlines and ends.

use super::*;
use crate::connection::{LINGER_MS, Next};
use crate::services::tests::service;
use crate::strategies::{LimitHit, Limits};

fn common(policy: Policy) -> Common {
    let control = Control::new(&[], None);
    let inbox = Inbox::new(control.waker().unwrap());
    let cell = control.cell();
    let service = service("http", &[]);
    Common::new(Shard { control, service, policy, listener: None, pace: None, inbox, cell, on_close: None })
}

fn with_places(places: u32, waiting: Option<u32>) -> Common {
    let active = crate::strategies::Active { places, idle_ms: 100, waiting, refuse: Refuse::Close };
    common(Policy { active: Some(active), ..Policy::NONE })
}

/// Moves the clock on, which no test waits for.
fn pass(common: &mut Common, ms: u32) {
    common.now_ns += u64::from(ms) * 1_000_000;
}

/// A connection that has its place, or waits in the line.
fn enter(common: &mut Common, token: u32) -> Connection {
    let waits = common.admit().unwrap();
    let mut connection = common.begin(waits);
    if waits {
        common.wait_in_line(token, &mut connection.activity);
    }
    connection
}

#[test]
fn places_pass_on_in_the_order_of_arrival_and_skip_those_that_have_gone() {
    let mut common = with_places(1, None);
    let first = enter(&mut common, 1);
    let (second, third) = (enter(&mut common, 2), enter(&mut common, 3));
    assert!(!first.activity.parked && second.activity.parked && third.activity.parked);
    assert!(common.anybody_waits());
    assert!(!common.end(2, second, End::Done), "it had no place");
    assert!(common.end(1, first, End::Done));
    assert_eq!(common.next_in_line(), Some(3));
    assert!(!common.anybody_waits());
    let mut third = third;
    third.activity.take_place(common.now_ms());
    assert!(common.end(3, third, End::Done));
    assert_eq!(common.next_in_line(), None);
    assert!(!enter(&mut common, 4).activity.parked);
}

#[test]
fn a_full_line_refuses_and_counts() {
    let mut common = with_places(1, Some(1));
    let (_first, _second) = (enter(&mut common, 1), enter(&mut common, 2));
    assert_eq!(common.admit(), Err(Refuse::Close));
    common.refuse(None, Refuse::Close);
    let cell = &common.shard.cell;
    assert_eq!((cell.accepted.get(), cell.refused.get(), cell.connections.get()), (3, 1, 2));
}

#[test]
fn whoever_finished_an_exchange_gives_way_while_others_wait() {
    let mut common = with_places(1, None);
    let mut first = enter(&mut common, 1);
    first.activity.heard(1, false, 5);
    assert!(!common.gives_way(&first.activity), "nobody waits");
    let _second = enter(&mut common, 2);
    assert!(common.gives_way(&first.activity));
    first.activity.output_waits(5);
    assert!(!common.gives_way(&first.activity), "its answer has not left");
}

#[test]
fn a_silent_connection_is_asked_for_its_place_after_its_time() {
    let mut common = with_places(1, None);
    let first = enter(&mut common, 1);
    let second = enter(&mut common, 2);
    let idle = |common: &mut Common| {
        let conns = [(1, &first.activity), (2, &second.activity)];
        common.overdue(conns.into_iter()).idle
    };
    pass(&mut common, 99);
    assert_eq!(idle(&mut common), [] as [u32; 0]);
    pass(&mut common, 1);
    assert_eq!(idle(&mut common), [1]);
}

#[test]
fn limits_name_their_reason() {
    let limits = Limits { sends: 1, unsent_ms: 50, silent_ms: 100 };
    let mut common = common(Policy { limits: Some(limits), ..Policy::NONE });
    let silent = common.begin(false);
    let mut unread = common.begin(false);
    unread.activity.output_waits(common.now_ms());
    pass(&mut common, 100);
    let over = common.overdue([(1, &silent.activity), (2, &unread.activity)].into_iter());
    assert_eq!(over.close, [(1, Some(LimitHit::Silent)), (2, Some(LimitHit::Unread))]);
    common.close_at_limit(LimitHit::Unread, None::<std::os::fd::BorrowedFd<'_>>);
    assert_eq!((common.shard.cell.closed_unread.get(), common.shard.cell.closed_silent.get()), (1, 0));
}

#[test]
fn a_goodbye_is_looked_at_until_its_time_is_over() {
    let mut common = common(Policy::NONE);
    assert_eq!(common.next_sweep_ns, None, "without deadlines nobody is woken");
    let mut connection = common.begin(false);
    connection.received(b"NONSENSE\r\n\r\n", common.now_ms()).unwrap();
    while connection.transmit(&mut [0; 4096]) > 0 {}
    assert_eq!(connection.settle(common.now_ms()), Next::EndSide);
    common.somebody_lingers();
    assert!(common.next_sweep_ns.is_some() && !common.sweep_due());
    pass(&mut common, LINGER_MS - 1);
    assert!(common.sweep_due());
    assert!(common.overdue([(1, &connection.activity)].into_iter()).close.is_empty());
    assert!(common.next_sweep_ns.is_some(), "it still lingers");
    pass(&mut common, 1);
    assert_eq!(common.overdue([(1, &connection.activity)].into_iter()).close, [(1, None)]);
    common.overdue(std::iter::empty());
    assert_eq!(common.next_sweep_ns, None);
}

#[test]
fn a_slow_head_is_watched_until_it_is_late() {
    let mut common = common(Policy { head_ms: 300, ..Policy::NONE });
    let mut connection = common.begin(false);
    connection.received(b"GET / HT", common.now_ms()).unwrap();
    common.watch_head(1, &mut connection.activity);
    common.watch_head(1, &mut connection.activity);
    pass(&mut common, 299);
    assert_eq!(common.heads(), [1], "watched once");
    assert!(!common.head_is_late(1, &mut connection.activity));
    pass(&mut common, 1);
    assert_eq!(common.heads(), [1]);
    assert!(common.head_is_late(1, &mut connection.activity));
    assert!(common.heads().is_empty());
}

#[test]
fn heads_are_not_watched_where_they_may_take_for_ever() {
    let mut common = common(Policy { head_ms: 0, ..Policy::NONE });
    let mut connection = common.begin(false);
    connection.received(b"GET / HT", common.now_ms()).unwrap();
    common.watch_head(1, &mut connection.activity);
    assert!(common.heads().is_empty());
}

#[test]
fn ends_are_counted_and_told() {
    let mut common = common(Policy::NONE);
    let told = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counts = told.clone();
    common.shard.on_close = Some(Box::new(move || {
        counts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }));
    for end in [End::Done, End::Reset, End::Fault] {
        let connection = common.begin(false);
        assert!(!common.end(1, connection, end), "without the strategy there are no places");
    }
    let cell = &common.shard.cell;
    assert_eq!((cell.connections.get(), cell.resets.get(), cell.faults.get()), (0, 1, 1));
    assert_eq!(told.load(std::sync::atomic::Ordering::Relaxed), 3);
    assert_eq!(common.spare.len(), 1, "sessions are used again");
}
