//! Made-up runs with a verdict that an experiment then tests.

use run::Run;

use crate::planted::{PlantedRun, Point, Who, planted};

/// Makes a run of a server with eight threads on four CPUs. Only one of the eight threads runs at a time, so the
/// threads together use one CPU.
pub(crate) fn takes_turns() -> Run {
    let mut run = PlantedRun::new(10_000.0, 100.0).per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 9_800.0);
    for thread in 101..109 {
        run = run.per_s(Who::Server, "thread.cpu", &format!("srv:100/{thread}"), |p| p.x * 1_225.0);
    }
    run.run()
}

/// Makes a run of a server with four full threads on four CPUs.
pub(crate) fn full() -> Run {
    planted("server-cpu").unwrap_or_default()
}

/// Makes a run of a server with four sleeping workers. The server reads at most four requests, and all further
/// requests, of 64 bytes each, wait unread.
pub(crate) fn sleeps() -> Run {
    unread(60.0)
}

/// Makes a run of a server with four sleeping workers, and with `bytes` unread bytes per connection.
pub(crate) fn unread(bytes: f64) -> Run {
    PlantedRun::new(20_000.0, 200.0)
        .level(Who::Server, "connection.receive_queue", "", bytes)
        .change(|trial, _| {
            let tally = &mut trial.measured.tally;
            (tally.bytes_sent, tally.bytes_received) = (tally.sent * 64, tally.completed * 64);
        })
        .run()
}

/// Makes a run of a server on 16 CPUs with a thread for each connection, under one and eight clients. A request
/// computes for the share `busy` of its response time, so nothing is full.
pub(crate) fn few_clients(busy: f64) -> Run {
    let used = move |p: &Point| p.n * busy * 1e6;
    let planted = PlantedRun::new(5000.0, 1e9).steps(&[1, 8]).rates(&[]);
    let planted = planted
        .level(Who::Server, "cpu.online", "", 16.0)
        .level(Who::Server, "process.cpus_allowed", "srv:100", 16.0)
        .per_s(Who::Server, "cpu.user", "total", used)
        .per_s(Who::Server, "cpu.system", "total", |_| 0.0)
        .per_s(Who::Server, "cpu.idle", "total", move |p| 16e6 - used(p))
        .per_s(Who::Server, "process.cpu", "srv:100", used);
    let of_connection = |planted: PlantedRun, at: u32| {
        let thread = format!("srv:100/{}", 101 + at);
        planted.per_s(Who::Server, "thread.cpu", &thread, move |p| if f64::from(at) < p.n { busy * 1e6 } else { 0.0 })
    };
    (0..8).fold(planted, of_connection).run()
}

/// Makes a run of a server that handles three requests at a time. No counter shows the queue, or the cause of the limit
/// of three requests.
pub(super) fn unseen_queue() -> Run {
    PlantedRun::new(20_000.0, 150.0).run()
}

/// Makes a run with lost packets and with a full listen queue.
pub(crate) fn loses_beside_a_full_queue() -> Run {
    let high = |p: &Point| if p.x >= 0.5 * p.capacity { p.x } else { 0.0 };
    PlantedRun::new(3000.0, 2000.0)
        .per_s(Who::Server, "tcp.retrans_segs", "", move |p| high(p) * 0.2)
        .per_s(Who::Server, "connection.retrans", "", move |p| high(p) * 0.4 / p.n)
        .level(Who::Server, "listen.queue", "0.0.0.0:8080", 5.0)
        .level(Who::Server, "listen.limit", "0.0.0.0:8080", 4.0)
        .run()
}
