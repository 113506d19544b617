mod locks;

use run::{FutexKind, MAX_WAIT_ROWS, PeerConnections};

use super::super::round::{FutexSample, PeerSample};
use super::*;

const LOCK: u64 = 0x5000;

fn thread(tid: u32, state: ThreadState, key: WaitKey) -> ThreadSample {
    let full_name = format!("worker-{tid}").into();
    ThreadSample { tid, name: "worker-#".into(), full_name, state, key, ..ThreadSample::default() }
}

/// Returns a round of four threads: one thread holds a lock and sleeps, and the other three wait for the lock.
fn locked(holder: u32) -> Round {
    let sleeping = thread(holder, ThreadState::Sleep, WaitKey::None);
    let all = (1..=4).map(|tid| match tid == holder {
        true => sleeping.clone(),
        false => thread(tid, ThreadState::Futex, WaitKey::Futex(LOCK)),
    });
    let threads = all.collect();
    let (kind, owner) = (FutexKind::OwnedMutex, Some(holder));
    let futex = FutexSample { process: 0, address: LOCK, kind, owner, holder: Some(sleeping) };
    Round {
        processes: vec![ProcessSample { pid: 7, name: "app".into(), ..ProcessSample::default() }],
        threads,
        weight: 1.0,
        is_torn: false,
        futexes: vec![futex],
        connections: None,
    }
}

fn profile(rounds: &[Round]) -> WaitProfile {
    let mut sums = ProfileSums::default();
    rounds.iter().for_each(|round| sums.add(round));
    sums.profile(&Names::default())
}

#[test]
fn a_process_behind_the_server_counts_from_the_round_that_found_it() {
    let behind = |round: Round, behind| {
        let processes = round.processes.iter().cloned().map(|p| ProcessSample { behind, ..p }).collect();
        Round { processes, ..round }
    };
    let found_late = |is_behind| {
        let empty = Round { weight: 1.0, ..Round::default() };
        let rounds = [vec![empty; 6], vec![behind(locked(1), is_behind); 2]].concat();
        let found = profile(&rounds);
        (found.processes[0].threads, found.groups[0].threads, found.futexes[0].contended)
    };
    assert_eq!(found_late(true), (4.0, 3.0, 1.0));
    assert_eq!(found_late(false), (1.0, 0.75, 0.25), "a child of the server that began late");
}

#[test]
fn an_idle_pool_beside_a_busy_stranger_has_no_active_user() {
    let mut round = locked(4);
    round.futexes[0] =
        FutexSample { kind: FutexKind::Semaphore, owner: None, holder: None, ..round.futexes[0].clone() };
    let found = profile(&vec![round; 10]);
    assert_eq!((found.futexes[0].users, found.futexes[0].active), (3, 0.0));
    assert_eq!(found.futexes[0].unheld, 0.0, "a thread with a user's name is active");
}

#[test]
fn threads_that_each_wait_for_their_own_futex_are_one_group_without_a_futex() {
    let mut round = locked(0);
    round.futexes.clear();
    for (at, thread) in round.threads.iter_mut().enumerate() {
        thread.key = WaitKey::Futex(LOCK + at as u64 * 64);
    }
    let found = profile(&[round]);
    assert!(found.futexes.is_empty());
    assert_eq!((found.groups.len(), found.groups[0].threads, found.groups[0].key.as_str()), (1, 4.0, ""));
}

#[test]
fn running_threads_are_divided_into_running_and_ready_ones() {
    let mut round = locked(0);
    round.threads.truncate(1);
    round.threads[0] = ThreadSample { on_cpu: Some(0.25), ..thread(1, ThreadState::OnCpu, WaitKey::None) };
    round.weight = 2.0;
    let states: Vec<(ThreadState, f64)> = profile(&[round]).groups.iter().map(|g| (g.state, g.threads)).collect();
    assert_eq!(states, [(ThreadState::Runnable, 1.5), (ThreadState::OnCpu, 0.5)]);
}

#[test]
fn strangers_cannot_make_a_profile_of_any_length() {
    let rounds: Vec<Round> = (0..200)
        .map(|n| {
            let mut round = locked(1);
            round.threads.push(thread(9, ThreadState::Disk, WaitKey::Text(format!("/file/{n}").into())));
            round.processes[0].title = Some(format!("title {n}").into());
            round
        })
        .collect();
    let found = profile(&rounds);
    assert_eq!((found.groups.len(), found.titles.len()), (MAX_WAIT_ROWS, MAX_WAIT_ROWS));
}

#[test]
fn connections_to_a_peer_have_means_a_maximum_and_the_process_there() {
    let reading = |open, busy, to: Option<&str>| {
        let (process, address) = ("app".into(), "db:5432".into());
        let peers = vec![PeerSample { process, address, open, busy, to: to.map(Into::into), ..PeerSample::default() }];
        Round {
            connections: Some(ConnectionSample { peers, is_full: true, ..ConnectionSample::default() }),
            ..locked(1)
        }
    };
    let part = |reading: Round| {
        let connections = reading.connections.map(|seen| ConnectionSample { is_full: false, ..seen });
        Round { connections, ..reading }
    };
    let mut rounds = vec![reading(2.0, 2.0, None), reading(4.0, 2.0, Some("db")), part(reading(3.0, 2.0, None))];
    // A reading without a peer does not count for the means of this peer.
    rounds.push(Round { connections: Some(ConnectionSample::default()), ..locked(1) });
    let peers = profile(&rounds).peers;
    let row = PeerConnections {
        process: "app:7".into(),
        address: "db:5432".into(),
        to: "db".into(),
        open: 3.0,
        busy: 2.0,
        max_open: 4.0,
        answers: None,
    };
    assert_eq!(peers, [row]);
    let none = ConnectionSample { is_full: true, ..ConnectionSample::default() };
    rounds.extend(vec![Round { connections: Some(none), ..locked(1) }; 3]);
    assert_eq!(profile(&rounds).peers[0].open, 1.5);
}

/// An overload adds requests and threads during the measurement. The clients' connections are read in fewer rounds than
/// the threads are.
#[test]
fn requests_and_waiting_threads_that_grow_are_counted_over_the_same_rounds() {
    let round = |waiting: u32, is_read: bool| {
        let mut round = locked(1);
        round.threads = (1..=waiting + 1)
            .map(|tid| ThreadSample { tid, ..locked(1).threads[usize::from(tid > 1)].clone() })
            .collect();
        let requests = f64::from(waiting + 1);
        let clients = Some([requests, requests, 0.0, 0.0, 0.0]);
        round.connections = is_read.then(|| ConnectionSample { clients, ..ConnectionSample::default() });
        round
    };
    let rounds: Vec<Round> = (0..9).map(|n| round(30 + 4 * n, matches!(n, 0 | 1 | 8))).collect();
    let found = profile(&rounds);
    let (waiting, clients) = (found.futexes[0].waiting, found.clients.unwrap());
    assert_eq!((waiting, clients.in_progress, clients.readings), (46.0, 47.0, 3));
}

#[test]
fn titles_that_change_and_those_of_workers_are_told() {
    let titled = |title: &str| {
        let mut round = locked(1);
        round.processes[0].title = Some(title.into());
        round
    };
    assert!(profile(&[titled("app"), titled("app")]).titles.is_empty());
    let mut workers = titled("app: pool www");
    workers.processes[0].is_child = true;
    assert_eq!(profile(&[workers]).titles[0].title, "app: pool www", "the title names the pool");
    let titles = profile(&[titled("UPDATE waiting"), titled("UPDATE waiting"), titled("idle")]).titles;
    assert_eq!((titles[0].title.as_str(), titles.len()), ("UPDATE waiting", 2));
}

/// A server forks a process with its own name and twenty threads for each job. For twelve hours, a sampling round every
/// four seconds finds the process of a new job, never the same process twice.
#[test]
fn twelve_hours_of_processes_that_come_and_go_take_no_more_than_four() {
    let (mut sums, mut entries) = (ProfileSums::default(), Vec::new());
    for n in 0..12 * 900_u32 {
        let name: Arc<str> = format!("job-{n}").into();
        let waits = |i: u32| match i {
            0 => thread(20 * n, ThreadState::OnCpu, WaitKey::None),
            _ => thread(20 * n + i, ThreadState::Futex, WaitKey::Futex(LOCK + u64::from(n))),
        };
        let process = ProcessSample { pid: 7 + n, name, title: Some("job".into()), ..ProcessSample::default() };
        let threads = (0..20).map(waits).collect();
        sums.add(&Round { processes: vec![process], threads, weight: 1.0, ..Round::default() });
        if [900, 4 * 900, 12 * 900].contains(&(n + 1)) {
            entries.push(sums.entries());
        }
    }
    assert!(entries[2] <= entries[1] + entries[1] / 10, "entries after 1, 4 and 12 hours: {entries:?}");
    assert_eq!(sums.profile(&Names::default()).futexes.len(), MAX_WAIT_ROWS);
    let one = locked(1);
    let mut forks = ProfileSums::default();
    for pid in 1..100_000 {
        let processes = one.processes.iter().map(|p| ProcessSample { pid, ..p.clone() }).collect();
        forks.add(&Round { processes, weight: 1.0, ..Round::default() });
    }
    assert!(forks.entries() < 10, "{}", forks.entries());
    assert_eq!(forks.instance(&"app".into()), "app", "several processes");
}

#[test]
fn a_server_and_an_upstream_that_run_the_same_program_are_two_processes() {
    let java = |pid, behind| {
        let (name, kernel_name) =
            if behind { ("java (upstream)".into(), Some("java".into())) } else { ("java".into(), None) };
        ProcessSample { pid, name, kernel_name, behind, ..ProcessSample::default() }
    };
    let found = |upstreams: &[u32]| {
        let mut round = locked(1);
        round.processes = vec![java(7, false)];
        round.processes.extend(upstreams.iter().map(|pid| java(*pid, true)));
        let found = profile(&[round]);
        let rows = found.processes.iter().map(|process| (process.process.clone(), process.behind, process.threads));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(found(&[8]), [("java:7".into(), false, 4.0), ("java:8".into(), true, 0.0)]);
    assert_eq!(found(&[8, 9]), [("java:7".into(), false, 4.0), ("java (upstream)".into(), true, 0.0)]);
}

#[test]
fn rounds_that_read_a_part_of_the_threads_estimate_how_often_threads_wait() {
    // Four threads always wait, and each round reads every eighth thread. Most rounds show no waiting thread.
    let turns: Vec<usize> = (0..8).cycle().take(64).collect();
    let with = |seen: usize| {
        let mut round = locked(1);
        round.futexes.clear();
        round.threads = (2..2 + seen as u32).map(|tid| thread(tid, ThreadState::Futex, WaitKey::Futex(LOCK))).collect();
        Round { weight: 8.0, ..round }
    };
    let found = |shown: [usize; 8]| {
        let rounds: Vec<Round> = turns.iter().map(|turn| with(shown[*turn])).collect();
        profile(&rounds).futexes[0].contended
    };
    assert_eq!(found([2, 1, 1, 0, 0, 0, 0, 0]), 0.8, "the mean is 4, and the mean square is 20");
    assert!(found([4, 0, 0, 0, 0, 0, 0, 0]) <= 0.2, "all may wait in few rounds only");
}

/// A router of uWSGI with an event loop, and four synchronous workers have one name.
#[test]
fn the_share_of_processes_with_several_connections_is_counted() {
    let of = |accepted: &[Option<Accepted>]| {
        let process = |(pid, accepted): (u32, &Option<Accepted>)| ProcessSample {
            pid,
            name: "uwsgi".into(),
            accepted: *accepted,
            ..ProcessSample::default()
        };
        let processes = (1..).zip(accepted).map(process).collect();
        profile(&[Round { processes, ..Round::default() }]).processes[0].multiplexing
    };
    let [none, one, several] = [Accepted::None, Accepted::OneEach, Accepted::Several].map(Some);
    assert_eq!(of(&[none, several, one, one, one, one]), Some(0.2));
    assert_eq!(of(&[none, several]), Some(1.0), "a master process and its event loop");
    assert_eq!((of(&[none]), of(&[None])), (Some(0.0), None));
}
