//! Registrations of a group: which events are current, and when a forgotten descriptor is closed.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::Duration;

use common::every;
use loadline_event::{Event, EventQueue, Group, Mask};

const LONG: Duration = Duration::from_secs(30);

#[test]
fn wake_one_events_are_current_until_their_registration_ends() {
    for (name, options) in every() {
        let (group, (a, mut b)) = (Group::new().unwrap(), UnixStream::pair().unwrap());
        let mut queue = EventQueue::with(options).unwrap();
        queue.join(&group).unwrap();
        group.declare_wake_one(a.as_raw_fd(), Mask::READ, false).unwrap();
        b.write_all(b"x").unwrap();
        let mut events = [Event::default(); 4];
        assert_eq!(queue.get_next_event(&mut events, Some(LONG)).unwrap(), 1, "{name}");
        assert!(queue.is_current(&events[0]), "{name}");
        group.forget(a.as_raw_fd());
        assert!(!queue.is_current(&events[0]), "{name}");
        group.declare_wake_one(a.as_raw_fd(), Mask::READ, false).unwrap();
        assert!(!queue.is_current(&events[0]), "{name}: the event belongs to the earlier registration");
    }
}

#[test]
fn a_forgotten_descriptor_is_closed_although_a_queue_waits() {
    for (name, options) in every() {
        let group = Group::new().unwrap();
        let ((a, mut b), (end, mut ends)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
        for stream in [&a, &end] {
            group.declare_processwide_interest(stream.as_raw_fd(), Mask::READ, false).unwrap();
        }
        let (tell, waits) = mpsc::channel();
        std::thread::scope(|scope| {
            let (joined, end) = (group.clone(), end.as_raw_fd());
            scope.spawn(move || {
                let mut queue = EventQueue::with(options).unwrap();
                queue.join(&joined).unwrap();
                let mut events = [Event::default()];
                tell.send(()).unwrap();
                while queue.get_next_event(&mut events, Some(3 * LONG)).unwrap() > 0 && events[0].fd != end {}
            });
            waits.recv().unwrap();
            // After the pause, the other thread usually waits. If the other thread does not wait yet, the test passes
            // without testing anything.
            std::thread::sleep(Duration::from_millis(50));
            group.forget(a.as_raw_fd());
            drop(a);
            b.set_read_timeout(Some(LONG)).unwrap();
            let ended = b.read(&mut [0]);
            ends.write_all(b"x").unwrap();
            assert_eq!(ended.ok(), Some(0), "{name}: the file stays open in the kernel");
        });
    }
}
