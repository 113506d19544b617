//! Tests of pools of threads and processes, with made-up profiles of used-up pools and of pools with free members.

use run::{PeerConnections, ThreadState, TitleGroup, WaitCause, WaitGroup, WaitProcess, WaitProfile};

use super::tests::{causes, clients, peer, process};
use super::waits;

/// Makes a profile of eight threads of a pool and four other threads. No system call shows that the pool's threads
/// wait.
fn pool_of_threads() -> WaitProfile {
    let mut profile = process(12.0, &[(ThreadState::Futex, "", 4.0)]);
    let thread = |state, threads| WaitGroup {
        process: "app:7".into(),
        thread: "exec-#".into(),
        state,
        threads,
        ..WaitGroup::default()
    };
    profile.groups.extend([thread(ThreadState::Futex, 7.8), thread(ThreadState::OnCpu, 0.2)]);
    profile
}

#[test]
fn a_pool_is_used_up_if_each_thread_has_a_request_and_others_queue() {
    let mut profile = pool_of_threads();
    profile.clients = Some(clients(7.6, 40.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause, found[0].name.as_str()), (1, WaitCause::WorkerPool, "exec-#"));
    assert_eq!(found[0].sentence, "all 8 threads exec-# of app:7 have a request, and further requests queue");
    let acceptor = WaitGroup { state: ThreadState::Accept, threads: 1.0, ..profile.groups.last().unwrap().clone() };
    profile.groups.push(acceptor);
    assert_eq!(waits(&profile, &[])[0].sentence, found[0].sentence, "the kernel cut the acceptor's name to the same");
    profile.groups.pop();
    for (in_progress, unread) in [(7.6, 0.0), (1.0, 40.0), (30.0, 40.0)] {
        profile.clients = Some(clients(in_progress, unread));
        assert!(causes(&profile).is_empty(), "{in_progress} in progress, {unread} unread");
    }
}

/// An earlier version of loadline counted the two compiler threads of a Java program as a pool of two workers.
#[test]
fn threads_that_compile_the_program_are_no_workers() {
    let mut profile = pool_of_threads();
    profile.clients = Some(clients(7.6, 40.0));
    profile.groups.iter_mut().for_each(|group| group.thread = "C# CompilerThre".into());
    assert!(causes(&profile).is_empty(), "{:#?}", waits(&profile, &[]));
}

#[test]
fn busy_children_of_a_parent_are_a_used_up_pool() {
    let mut profile = process(6.0, &[(ThreadState::Sleep, "", 4.9), (ThreadState::Events, "", 1.1)]);
    profile.processes[0].processes = 6.0;
    profile.processes[0].epoll = true;
    profile.clients = Some(clients(30.0, 0.0));
    let found = waits(&profile, &[]);
    assert_eq!((found.len(), found[0].cause), (1, WaitCause::WorkerPool));
    assert_eq!(found[0].sentence, "all 5 children of app:7 have a request (they sleep), and further requests queue");
    let title = |title: &str, processes| TitleGroup { process: "app:7".into(), title: title.into(), processes };
    profile.titles = vec![title("app: master process", 1.0), title("app: pool www", 5.0)];
    let named = "all 5 children of app:7 (pool www) have a request (they sleep), and further requests queue";
    assert_eq!(waits(&profile, &[])[0].sentence, named);
    profile.groups[1].threads = 3.0;
    profile.groups[0].threads = 3.0;
    assert!(causes(&profile).is_empty(), "some workers are idle");
}

/// The figures come from gunicorn with three sync workers. The parent process has two threads: one waits for events of
/// a control socket, and the other for a lock. The parent also has an epoll descriptor. An earlier version of loadline
/// therefore concluded that the workers are a blocked event loop.
#[test]
fn workers_whose_parent_has_an_event_loop_are_a_used_up_pool() {
    let mut profile = process(3.0, &[(ThreadState::Sleep, "", 2.7), (ThreadState::OnCpu, "", 0.3)]);
    let row = |process: &str, processes: f64, epoll| run::WaitProcess {
        process: process.into(),
        processes,
        threads: if epoll { 2.0 } else { processes },
        epoll,
        children: !epoll,
        ..run::WaitProcess::default()
    };
    profile.processes = vec![row("gunicorn", 3.0, false), row("gunicorn:10", 1.0, true)];
    profile.groups.iter_mut().for_each(|group| group.process = "gunicorn".into());
    let parent =
        |state| run::WaitGroup { process: "gunicorn:10".into(), state, threads: 1.0, ..profile.groups[0].clone() };
    let groups = [ThreadState::Events, ThreadState::Futex].map(parent);
    profile.groups.extend(groups);
    profile.clients = Some(clients(3.0, 18.0));
    let found = waits(&profile, &[]);
    let sentence = "all 3 children of gunicorn have a request (they sleep), and further requests queue";
    assert_eq!((found.len(), found[0].sentence.as_str()), (1, sentence), "{found:#?}");
}

/// The figures come from PHP-FPM behind nginx. The parent has an event loop and the listener, so its own entry contains
/// a process ID. It is unknown if nginx has read most requests, but its connections to the parent's listener are busy.
#[test]
fn requests_on_the_way_to_the_parent_of_workers_queue_for_the_workers() {
    let mut profile = process(5.0, &[(ThreadState::Sleep, "", 4.62), (ThreadState::Runnable, "", 0.38)]);
    let row = |process: &str, processes: f64, children: bool| WaitProcess {
        process: process.into(),
        processes,
        threads: processes,
        behind: true,
        epoll: !children,
        children,
        ..WaitProcess::default()
    };
    profile.processes = vec![row("app", 5.0, true), row("app:10", 1.0, false)];
    profile.groups.iter_mut().for_each(|group| group.process = "app".into());
    profile.titles = vec![TitleGroup { process: "app".into(), title: "app: pool www".into(), processes: 5.0 }];
    profile.clients = Some(clients(3.75, 0.0));
    profile.peers = vec![PeerConnections { to: "app:10".into(), ..peer("nginx", 63.0, 63.0) }];
    let found = waits(&profile, &[]);
    let sentence = "all 5 children of app (pool www) have a request (they sleep), and further requests queue";
    assert!(found.iter().any(|finding| finding.sentence == sentence), "{found:#?}");
}

/// This test repeats a situation that was observed with Apache: the parent of four workers sleeps for a second between
/// two checks of its workers.
#[test]
fn a_parent_that_sleeps_is_no_worker() {
    let states =
        [(ThreadState::Peer, "10.0.0.2:80", 3.8), (ThreadState::Sleep, "", 1.0), (ThreadState::Events, "", 0.2)];
    let mut profile = process(5.0, &states);
    profile.processes[0].processes = 5.0;
    profile.clients = Some(clients(30.0, 0.0));
    let found = waits(&profile, &[]);
    assert_eq!((found[0].of, found[0].counted), (4.0, run::CountedKind::Children), "{found:#?}");
}

/// The number of child processes changed while threads were sampled. An earlier version of loadline said "all 3.43
/// children".
#[test]
fn a_number_of_children_that_changed_is_told_as_a_range() {
    let said = |children: f64| waits(&super::tests::sleeping_children(children, 6.0), &[])[0].sentence.clone();
    assert!(said(3.43).starts_with("all 3 to 4 children of app have a request"), "{}", said(3.43));
    assert!(said(4.0).starts_with("all 4 children of app have a request"), "{}", said(4.0));
}
