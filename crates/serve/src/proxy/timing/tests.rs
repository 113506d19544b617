use super::*;
use event::Backend;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

#[test]
fn calls_are_timed_up_to_the_goal_without_those_that_would_block() {
    let (timer, mut watch) = CallTimer::new();
    let asker = std::thread::spawn(move || timer.measure(1, TimingGoal::Calls(3), Duration::from_secs(20)));
    let (a, mut b) = UnixStream::pair().unwrap();
    let mut queue = EventQueue::new(Backend::Epoll).unwrap();
    watch.declare(&mut queue, a.as_raw_fd(), Mask::READ).unwrap();
    let mut events = [Event::default(); 4];
    while !asker.is_finished() {
        let room = watch.room(events.len());
        b.write_all(b"x").unwrap();
        watch.next(&mut queue, &mut events[..room], Some(Duration::from_millis(1))).unwrap();
        // The received byte is read from the socket, because unread bytes would fill the socket's buffer on a slow
        // machine.
        assert_eq!((&a).read(&mut [0; 8]).unwrap(), 1);
        watch.next(&mut queue, &mut events[..room], Some(Duration::ZERO)).unwrap();
    }
    let timings = asker.join().unwrap();
    assert_eq!(timings.calls.len(), 3);
    assert!(timings.rejected >= 3, "{timings:?}");
    assert!(timings.calls.iter().all(|&(counts, events)| counts > 0 && events == 1));
    assert_eq!(watch.room(9), 1, "the room stays");
}

#[test]
fn the_goal_needs_as_many_revocations_as_declarations() {
    let (timer, mut watch) = CallTimer::new();
    let asker = std::thread::spawn(move || timer.measure(9, TimingGoal::Declarations(4), Duration::from_secs(20)));
    let (a, _b) = UnixStream::pair().unwrap();
    let mut queue = EventQueue::new(Backend::Epoll).unwrap();
    let mut told = 0;
    while !asker.is_finished() {
        watch.room(9);
        // Each pass of the loop declares interest eight times. Every fourth pass of the loop also revokes interest.
        (0..8).for_each(|_| watch.declare(&mut queue, a.as_raw_fd(), Mask::READ).unwrap());
        told += 1;
        if told % 4 == 0 {
            watch.declare(&mut queue, a.as_raw_fd(), Mask::NONE).unwrap();
        }
    }
    let timings = asker.join().unwrap();
    assert_eq!(timings.revoked.len(), 4);
    assert!(timings.declared.len() > 96, "{}", timings.declared.len());
}

#[test]
fn a_request_gets_only_its_own_result() {
    let (timer, mut watch) = CallTimer::new();
    let mut queue = EventQueue::new(Backend::Epoll).unwrap();
    let (a, mut b) = UnixStream::pair().unwrap();
    watch.declare(&mut queue, a.as_raw_fd(), Mask::READ).unwrap();
    let mut events = [Event::default(); 4];
    let asker = std::thread::spawn(move || {
        (1..=200)
            .map(|array| (array, timer.measure(array, TimingGoal::Calls(array), Duration::from_secs(20)).calls.len()))
            .collect::<Vec<_>>()
    });
    while !asker.is_finished() {
        let room = watch.room(events.len());
        b.write_all(b"x").unwrap();
        watch.next(&mut queue, &mut events[..room], Some(Duration::ZERO)).unwrap();
        assert_eq!((&a).read(&mut [0; 8]).unwrap(), 1);
    }
    // Each result must belong to its own request, whatever the order in which the two threads run.
    assert!(asker.join().unwrap().iter().all(|&(array, calls)| calls == array));
}
