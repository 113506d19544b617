//! Tests of threads that wait for other servers, files or pipes, or listen to a subscription.

use run::{PeerConnections, ThreadState, WaitCause, WaitGroup};

use super::tests::{causes, clients, peer, process};
use super::waits;

/// This test repeats a situation that was observed with threads that ask three services for each request.
#[test]
fn threads_that_wait_for_several_servers_wait_for_none_of_them_alone() {
    let peers = [("10.0.0.2:80", 3.0), ("10.0.0.3:80", 2.6), ("10.0.0.4:80", 2.4)];
    let mut profile = process(9.0, &peers.map(|(key, threads)| (ThreadState::Peer, key, threads)));
    profile.clients = Some(clients(8.0, 0.0));
    assert_eq!(waits(&profile, &[])[0].sentence, "8 of 9 threads of app:7 wait for replies of other servers");
    // The two groups of threads of one server have different thread names.
    profile.groups[1] = WaitGroup { key: "10.0.0.2:80".into(), thread: "other".into(), ..profile.groups[1].clone() };
    assert_eq!(waits(&profile, &[])[0].peer, "10.0.0.2:80");
}

/// This test repeats a situation that was observed with two threads that listen after SUBSCRIBE, while requests wait
/// for a condition variable.
#[test]
fn threads_that_listen_to_a_subscription_wait_for_no_reply() {
    let told = |busy: f64, answers| {
        let mut profile = process(7.0, &[(ThreadState::Peer, "10.0.0.2:5432", 2.0), (ThreadState::Futex, "", 3.0)]);
        profile.clients = Some(clients(2.5, 0.0));
        profile.peers = vec![PeerConnections { answers, ..peer("app:7", 2.0, busy) }];
        causes(&profile)
    };
    assert!(told(0.0, Some(0.0)).is_empty());
    assert_eq!(told(1.8, Some(0.0)), [WaitCause::Peer], "a slow reply");
    assert_eq!(told(0.0, Some(9.0)), [WaitCause::Peer], "a long reply, whose last part has not come");
    assert_eq!(told(0.0, None), [WaitCause::Peer], "an older run");
}

#[test]
fn threads_that_wait_for_several_files_or_pipes_have_the_same_call() {
    let told = |state, keys: [&str; 3]| {
        let mut profile = process(9.0, &keys.map(|key| (state, key, 2.6)));
        profile.clients = Some(clients(8.0, 0.0));
        waits(&profile, &[]).remove(0).sentence
    };
    let pread = told(ThreadState::Disk, ["pread64 of /a on vda", "pread64 of /b on vda", "pread64 of /c on vda"]);
    assert_eq!(pread, "7.8 of 9 threads of app:7 wait for the disk in pread64");
    let calls = told(ThreadState::Disk, ["pread64 of /a", "openat", "fsync of /c"]);
    assert_eq!(calls, "7.8 of 9 threads of app:7 wait for a disk");
    let pipes = told(ThreadState::FullPipe, ["pipe to a:1", "pipe to b:2", "pipe to c:3"]);
    assert_eq!(pipes, "7.8 of 9 threads of app:7 wait for several full pipes");
}
