use std::sync::mpsc::channel;

use super::*;

#[test]
fn the_maximum_number_of_threads_is_not_exceeded() {
    let control = Control::new(&[], Some(1));
    let (release, held) = channel::<()>();
    control.spawn("first", move || held.recv().map_err(|_| unreachable!())).unwrap();
    let error = control.spawn("second", || Ok(())).unwrap_err().to_string();
    assert!(error.contains("max_threads"), "{error}");
    release.send(()).unwrap();
    control.join();
    let stats = control.stats();
    assert_eq!((stats.threads, stats.threads_peak), (0, 1));
}

#[test]
fn a_thread_that_fails_or_panics_is_reported() {
    let control = Control::new(&[], None);
    control.spawn("fails", || Err(ServeError::Combination("no luck".into()))).unwrap();
    control.spawn("panics", || std::panic::resume_unwind(Box::new(()))).unwrap();
    control.join();
    let failed = lock(&control.failed).clone();
    assert!(failed.contains(&"no luck".to_owned()), "{failed:?}");
    assert!(failed.iter().any(|f| f.contains("panicked")) && failed.len() == 2, "{failed:?}");
}

#[test]
fn only_the_last_closed_peers_are_kept() {
    let control = Control::new(&[], None);
    for n in 0..MAX_NAMED_PEERS + 5 {
        let hit = if n == MAX_NAMED_PEERS + 4 { LimitHit::Unread } else { LimitHit::Silent };
        control.close_at_limit(hit, None::<std::os::fd::BorrowedFd<'_>>);
    }
    let peers = control.stats().closed_peers;
    assert_eq!(peers.len(), MAX_NAMED_PEERS);
    assert_eq!(peers.last().unwrap(), "a peer sends and does not read");
    assert_eq!(peers[0], "a peer is silent");
}

#[test]
fn stopping_wakes_waiting_threads_and_later_ones() {
    let control = Control::new(&[], None);
    let waker = control.waker().unwrap();
    control.stop();
    let late = control.waker().unwrap();
    for waker in [waker, late] {
        let mut entries = [sys::poll::Entry::new(std::os::fd::AsRawFd::as_raw_fd(&*waker), sys::poll::IN)];
        sys::poll::poll(&mut entries, Some(0)).unwrap();
        assert_ne!(entries[0].found(), 0);
    }
}

#[test]
fn the_counts_of_all_threads_are_added_up() {
    let control = Control::new(&[], None);
    let (first, second) = (control.cell(), control.cell());
    first.opened();
    first.opened();
    first.closed(crate::connection::End::Fault);
    second.opened_shared();
    second.closed_shared(crate::connection::End::Reset);
    second.limit_counter(LimitHit::SlowHead).add(2);
    let stats = control.stats();
    assert_eq!((stats.accepted, stats.connections, stats.connections_peak), (3, 1, 3));
    assert_eq!((stats.faults, stats.resets, stats.closed_slow), (1, 1, 2));
}
