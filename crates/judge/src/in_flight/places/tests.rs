use crate::planted::{PlantedRun, Who};
use run::Upstream;

/// Adds a working process to the server's host: a child of the process with the ID `parent`.
fn child(planted: PlantedRun, name: &str, parent: f64) -> PlantedRun {
    let planted = planted.per_s(Who::Server, "process.cpu", name, |p| p.x * 10.0);
    planted.level(Who::Server, "process.parent", name, parent)
}

/// Makes a proxy that reads every request immediately. The proxy's upstream, a service with `children` child processes,
/// uses a pool of `pool` database connections.
fn chain(x_max: f64, children: u32, pool: f64) -> PlantedRun {
    let mut planted = PlantedRun::new(20_000.0, x_max).shared();
    let mut workers: Vec<String> = vec!["app:200".into()];
    for pid in 201..=200 + children {
        let name = format!("app:{pid}");
        planted = child(planted, &name, 200.0);
        workers.push(name);
    }
    planted
        .per_s(Who::Server, "process.cpu", "app:200", |_| 0.0)
        .per_s(Who::Server, "process.cpu", "postgres:300", |p| p.x * 10.0)
        .level(Who::Server, "behind.connections", "127.0.0.1:9000", 64.0)
        .level(Who::Server, "behind.connections", "127.0.0.1:5432", pool)
        .change(move |t, _| {
            let behind = |address: &str, depth, from: &str, processes: &[String]| Upstream {
                address: address.into(),
                depth,
                from: from.into(),
                processes: processes.to_vec(),
                ..Upstream::default()
            };
            t.server.iter_mut().for_each(|side| {
                side.behind = vec![
                    behind("127.0.0.1:9000", 1, "", &workers),
                    behind("127.0.0.1:5432", 2, "127.0.0.1:9000", &["postgres:300".to_string()]),
                ];
            });
        })
}

#[test]
fn children_that_match_the_places_are_named_and_so_is_a_pool() {
    let b = chain(254.0, 5, 23.0).verdict();
    let first = b.counted.first().map(|c| (c.what.nouns(), c.count, c.of.as_str()));
    assert_eq!((b.id.as_str(), first), ("server-concurrency", Some(("children", 5.0, "app"))), "{b:#?}");
    assert!(b.sentence.contains("app has 5 children") && b.confidence >= 0.7, "{b:#?}");
    assert!(b.advice.iter().any(|a| a.contains("Raise the number of children of app (now 5)")), "{:?}", b.advice);
    let b = chain(162.0, 12, 3.0).verdict();
    assert!(b.sentence.contains("app has 3 connections to postgres 127.0.0.1:5432"), "{b:#?}");
    assert_eq!(b.counted.len(), 1, "{:?}", b.counted);
}

/// One nginx worker stands in front of a slow application. An earlier version of loadline advised: "nginx has 1 child:
/// raise the number of children".
#[test]
fn a_child_that_holds_many_connections_is_no_worker_for_one_request() {
    let holding = |each: f64| {
        let mut planted = chain(254.0, 5, 23.0);
        for pid in 201..=205 {
            let name = format!("app:{pid}");
            planted = planted.per_s(Who::Server, "process.fds", &name, move |p| 10.0 + each * (p.n - 1.0) / 5.0);
        }
        planted.verdict().counted
    };
    assert_eq!(holding(0.0).first().map(|c| c.count), Some(5.0));
    assert!(holding(1.0).is_empty(), "{:?}", holding(1.0));
}

/// nginx, with one worker per CPU, also passes all requests on to four workers on another host, as the proxy in this
/// test does. With few clients, each nginx worker has hardly more connections than without load. An earlier version of
/// loadline advised more nginx workers.
#[test]
fn workers_that_pass_all_requests_on_are_no_workers_for_one_request() {
    let before = |passed_on: fn(f64) -> f64| {
        let mut planted = PlantedRun::new(20_000.0, 200.0).steps(&[1, 2, 4, 8, 16]).rates(&[]).shared();
        let mut workers: Vec<String> = vec!["srv:100".into()];
        for name in ["srv:101", "srv:102", "srv:103", "srv:104"] {
            planted = child(planted, name, 100.0);
            workers.push(name.into());
        }
        let planted = planted
            .none(Who::Server, "thread.cpu")
            .per_s(Who::Server, "process.cpu", "srv:100", |_| 0.0)
            .per_s(Who::Server, "behind.connections", "10.0.0.9:8000", |p| p.n)
            .per_s(Who::Server, "behind.busy", "10.0.0.9:8000", move |p| passed_on(p.n))
            .change(move |trial, _| {
                let upstream = Upstream { address: "10.0.0.9:8000".into(), depth: 1, ..Upstream::default() };
                trial.server.iter_mut().for_each(|side| {
                    (side.processes, side.behind) = (workers.clone(), vec![upstream.clone()]);
                });
            });
        planted.verdict()
    };
    let (proxy, workers) = (before(|n| n), before(|n| n.min(4.0)));
    assert!(proxy.id == "server-concurrency" && proxy.counted.is_empty(), "{proxy:#?}");
    assert!(proxy.confidence <= 0.5 && !proxy.sentence.contains("children"), "{proxy:#?}");
    assert!(workers.sentence.contains("srv has 4 children") && workers.confidence >= 0.7, "{workers:#?}");
}

/// In this test, the requests of a Java server wait for one lock. One connection of the server always awaits the reply
/// to a long poll for new settings.
#[test]
fn a_connection_on_which_the_server_polls_for_news_is_no_pool() {
    let with_poll = |sent: fn(f64) -> f64| {
        PlantedRun::new(2000.0, 500.0)
            .rates(&[])
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .level(Who::Server, "behind.connections", "10.0.0.7:8848", 1.0)
            .level(Who::Server, "behind.busy", "10.0.0.7:8848", 1.0)
            .per_s(Who::Server, "behind.data_out", "10.0.0.7:8848", move |p| sent(p.x))
            .change(|trial, _| {
                let upstream = Upstream { address: "10.0.0.7:8848".into(), depth: 1, ..Upstream::default() };
                trial.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
            })
            .verdict()
    };
    let (poll, pool) = (with_poll(|_| 0.0), with_poll(|x| x));
    assert!(poll.id == "server-concurrency" && poll.counted.is_empty(), "{poll:#?}");
    assert!(!poll.advice.iter().any(|advice| advice.contains("8848")), "{poll:#?}");
    assert!(pool.advice[0].contains("Raise the number of connections from srv to 10.0.0.7:8848 (now 1)"), "{pool:#?}");
}

#[test]
fn a_pool_with_busy_connections_is_named_instead_of_the_database_s_children() {
    // Makes a database that has one child process for each of three connections.
    let with_children = |busy: Option<f64>| {
        let mut planted = chain(162.0, 12, 3.0).level(Who::Server, "process.parent", "postgres:300", 1.0);
        for pid in 301..=303 {
            let name = format!("postgres:{pid}");
            planted = child(planted, &name, 300.0);
        }
        if let Some(busy) = busy {
            planted = planted.level(Who::Server, "behind.busy", "127.0.0.1:5432", busy);
        }
        planted.change(|t, _| {
            let postgres = t.server.iter_mut().filter_map(|side| side.behind.last_mut());
            postgres.for_each(|b| b.processes = (300..=303).map(|pid| format!("postgres:{pid}")).collect());
        })
    };
    let b = with_children(Some(2.9)).verdict();
    assert_eq!(b.counted.len(), 1, "{:?}", b.counted);
    assert!(b.sentence.contains("app has 3 connections to postgres 127.0.0.1:5432"), "{b:#?}");
    let b = with_children(None).verdict();
    assert!(b.counted.len() == 1 && b.sentence.contains("postgres has 3 children"), "{b:#?}");
}

#[test]
fn if_most_workers_wait_more_workers_are_not_advised() {
    let b = chain(75.0, 8, 9.0).verdict();
    assert!(b.id == "server-concurrency" && b.counted.is_empty(), "{b:#?}");
    assert!(b.advice.iter().any(|a| a.contains("More workers will not help: app has 8 children")), "{:?}", b.advice);
    assert!(!b.advice.iter().any(|a| a.contains("Raise the number")), "{:?}", b.advice);
}

/// Makes a server in which five threads ran: three of one name, one of another name, and the process's first thread.
fn three_threads_of_one_name() -> PlantedRun {
    let names = [("http-exec-1", 104), ("http-exec-2", 105), ("http-exec-13", 106), ("gc", 107), ("srv", 100)];
    let planted = PlantedRun::new(20_000.0, 152.0).none(Who::Server, "thread.cpu").shared();
    names.iter().fold(planted, |planted, (name, tid)| {
        planted.per_s(Who::Server, "thread.cpu", &format!("{name}:100/{tid}"), |p| p.x)
    })
}

#[test]
fn threads_of_one_name_are_one_kind_of_place() {
    let b = three_threads_of_one_name().verdict();
    assert!(b.sentence.contains("3 worker threads of http-exec of srv ran"), "{b:#?}");
}

/// This test repeats an observed case: a Go server behind a limit that delays answers. Three threads of the Go runtime
/// ran, but they were not a pool of workers.
#[test]
fn threads_that_samples_show_to_be_no_pool_are_not_counted() {
    let sampled = three_threads_of_one_name().change(|trial, _| {
        let idle = crate::waits::tests::process(4.0, &[(run::ThreadState::Futex, "", 4.0)]);
        trial.server.iter_mut().for_each(|side| side.waits = Some(Box::new(idle.clone())));
    });
    let b = sampled.verdict();
    assert!(b.counted.is_empty() && !b.sentence.contains("worker threads"), "{b:#?}");
}

/// With one client, a response takes 20 ms (R1), and 17 ms of this time are the network round trip. A request on the
/// network occupies no worker, so Xmax × R1 (highest rate times R1) does not give the number of workers.
#[test]
fn a_long_round_trip_gives_no_number_of_workers() {
    let far = chain(254.0, 5, 23.0).level(Who::Server, "connection.min_rtt", "", 17_000.0).level(
        Who::Server,
        "connection.rtt",
        "",
        17_000.0,
    );
    let b = far.verdict();
    assert!(b.counted.is_empty() && b.confidence <= 0.5, "{b:#?}");
}
