//! Tests with several threads: writers, and threads that wait for the same events.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use loadline_event::{Event, EventQueue, Group, Mask};

use super::LONG;
use super::common::{Stream, every};

#[test]
fn no_event_is_lost_between_two_threads() {
    between_two_threads(false);
}

#[test]
fn no_event_is_lost_if_the_reader_reports_drained_descriptors() {
    between_two_threads(true);
}

fn between_two_threads(tells: bool) {
    const SOCKETS: usize = 64;
    const WRITES: usize = 20_000;
    for (name, options) in every() {
        let mut queue = EventQueue::with(options).unwrap();
        let (mut ours, mut theirs): (Vec<_>, Vec<_>) = (0..SOCKETS).map(|_| Stream::pair(false)).unzip();
        for stream in &ours {
            queue.declare_interest(stream.fd(), Mask::READ, false).unwrap();
        }
        let writer = std::thread::spawn(move || {
            let (mut sent, mut at) = (0, 1_usize);
            for _ in 0..WRITES {
                at = (at * 1_103_515_245 + 12_345) % 2_147_483_648;
                sent += usize::from(theirs[at / 7 % SOCKETS].write(b"x"));
            }
            (sent, theirs)
        });
        let (mut got, mut events) = (0, [Event::default(); 16]);
        let mut sent = None;
        while sent.as_ref().is_none_or(|(n, _)| *n > got) {
            // If a wait returns no event although the writer has ended, an event was lost.
            let wait = if sent.is_some() { Duration::from_secs(30) } else { Duration::from_millis(5) };
            let count = queue.get_next_event(&mut events, Some(wait)).unwrap();
            assert!(count > 0 || sent.is_none(), "{name}: {got} of {:?}", sent.map(|s| s.0));
            for event in &events[..count] {
                let stream = ours.iter_mut().find(|s| s.fd() == event.fd).unwrap();
                got += stream.drain().0;
                if tells {
                    queue.drained(event.fd);
                }
            }
            if writer.is_finished() && sent.is_none() {
                break;
            }
        }
        sent.get_or_insert_with(|| writer.join().unwrap());
        let total = sent.as_ref().unwrap().0;
        while got < total {
            let count = queue.get_next_event(&mut events, Some(Duration::from_secs(30))).unwrap();
            assert!(count > 0, "{name}: lost {} of {total}", total - got);
            for event in &events[..count] {
                let stream = ours.iter_mut().find(|s| s.fd() == event.fd).unwrap();
                got += stream.drain().0;
                if tells {
                    queue.drained(event.fd);
                }
            }
        }
        assert_eq!(got, total, "{name}");
    }
}

/// Lets two threads wait while one write happens. Returns, for each kind of queue, the number of events that the two
/// threads got in total. The function first waits for the expected number of events, and then briefly for surplus
/// events.
fn two_threads(expected: usize, declare: impl Fn(&Group, i32)) -> Vec<(String, usize)> {
    let mut totals = Vec::new();
    for (name, options) in every() {
        let group = Group::new().unwrap();
        let (a, mut b) = UnixStream::pair().unwrap();
        let ((ready, waiting), (tell, told)) = (mpsc::channel(), mpsc::channel());
        let over = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (group, ready, tell, over) = (group.clone(), ready.clone(), tell.clone(), over.clone());
                std::thread::spawn(move || {
                    let mut queue = EventQueue::with(options).unwrap();
                    queue.join(&group).unwrap();
                    ready.send(()).unwrap();
                    let mut events = [Event::default(); 4];
                    while !over.load(Ordering::Relaxed) {
                        let count = queue.get_next_event(&mut events, Some(Duration::from_millis(20))).unwrap();
                        if count == 0 {
                            continue;
                        }
                        tell.send(count).unwrap();
                        if options.backend.spec().level {
                            // A level-triggered mechanism reports an event again and again, because nobody reads the
                            // data. To end the repetition, the thread revokes its interest in the descriptor.
                            std::thread::sleep(Duration::from_millis(30));
                            let _ = queue.declare_interest(events[0].fd, Mask::NONE, false);
                        }
                    }
                })
            })
            .collect();
        (0..2).for_each(|_| waiting.recv().unwrap());
        declare(&group, a.as_raw_fd());
        b.write_all(b"x").unwrap();
        let mut seen = 0;
        while let Ok(count) =
            told.recv_timeout(if seen < expected { LONG.unwrap() } else { Duration::from_millis(100) })
        {
            seen += count;
        }
        over.store(true, Ordering::Relaxed);
        threads.into_iter().for_each(|t| t.join().unwrap());
        totals.push((name, seen + told.try_iter().sum::<usize>()));
        group.forget(a.as_raw_fd());
    }
    totals
}

#[test]
fn process_wide_events_reach_every_thread() {
    let totals = two_threads(2, |group, fd| {
        group.declare_processwide_interest(fd, Mask::READ, false).unwrap();
    });
    assert!(totals.iter().all(|(_, total)| *total >= 2), "{totals:?}");
}

#[test]
fn wake_one_events_reach_one_thread() {
    let totals = two_threads(1, |group, fd| {
        group.declare_wake_one(fd, Mask::READ, false).unwrap();
    });
    assert!(totals.iter().all(|(_, total)| *total == 1), "{totals:?}");
}
