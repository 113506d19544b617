//! Tests of runs in which a disk is busy, but hardly any request waits for it. The kernel writes pages back, or counts
//! the disk as busy for too long. In other runs, requests do wait for the full disk.

use run::{Bottleneck, Upstream};

use super::{PlantedRun, Point, Who};

/// Returns the throughput of a load, divided by the highest throughput, 0 to 1.
fn share(p: &Point) -> f64 {
    (p.x / p.capacity).min(1.0)
}

/// Makes a run of a server with a pool of eight connections to a remote database. The server reads (`is_read`) or
/// writes nearly all bytes of a disk that is busy for the share `busy` of the time. A thread of the server waits for a
/// disk for the share `waits`, and a thread of the host for the share `stalled`.
fn pool_of_eight(is_read: bool, busy: f64, waits: f64, stalled: f64) -> PlantedRun {
    let address = "10.0.0.9:5432";
    let [own, moved, other] = match is_read {
        true => ["process.read_bytes", "disk.read_bytes", "disk.write_bytes"],
        false => ["process.write_bytes", "disk.write_bytes", "disk.read_bytes"],
    };
    PlantedRun::new(4000.0, 2000.0)
        .level(Who::Server, "behind.connections", address, 8.0)
        .per_s(Who::Server, "behind.busy", address, |p| p.n.min(8.0))
        .per_s(Who::Server, own, "srv:100", |p| p.x * 40_000.0)
        .per_s(Who::Server, moved, "vda", |p| p.x * 41_000.0)
        .per_s(Who::Server, other, "vda", |_| 0.0)
        .per_s(Who::Server, "disk.busy", "vda", move |p| share(p) * busy * 1e6)
        .per_s(Who::Server, "pressure.io_some", "", move |p| share(p) * stalled * 1e6)
        .per_s(Who::Server, "process.disk_wait", "srv:100", move |p| share(p) * waits)
        .change(move |trial, _| {
            let pool = Upstream { address: address.into(), depth: 1, ..Upstream::default() };
            trial.server.iter_mut().for_each(|side| side.behind = vec![pool.clone()]);
        })
}

/// A server writes its log or uploads to the page cache. The kernel's flusher keeps the disk full, and itself waits for
/// the disk.
#[test]
fn pages_that_the_kernel_writes_back_hold_up_no_request() {
    for (busy, stalled) in [(0.95, 0.3), (0.99, 0.9), (0.9, 0.05)] {
        let pool = pool_of_eight(false, busy, 0.0, stalled).verdict();
        assert_eq!(pool.id, "server-concurrency", "{busy} {stalled}: {pool:#?}");
        let why = pool.ruled_out.iter().find(|out| out.id == "server-disk").map(|out| out.why.as_str());
        assert!(why.is_some_and(|why| why.contains("write pages back")), "{why:?}");
    }
}

#[test]
fn a_full_disk_that_threads_of_the_server_wait_for_is_the_limit() {
    for is_read in [true, false] {
        let full = pool_of_eight(is_read, 0.98, 1.0, 0.97).verdict();
        assert!(full.id == "server-disk" && full.confidence >= 0.85, "{full:#?}");
        assert!(full.evidence.iter().any(|line| line.text.contains("a thread of the server waited")), "{full:#?}");
    }
}

/// A database reads with Linux AIO or io_uring, so its threads do not sleep for the disk.
#[test]
fn a_disk_that_is_full_of_asynchronous_reads_may_be_the_limit() {
    let reads = pool_of_eight(true, 0.99, 0.0, 0.0).verdict();
    assert!(reads.id == "server-disk" && (0.5..=0.6).contains(&reads.confidence), "{reads:#?}");
}

/// Linux 5.0 to 6.9 may count a whole clock tick (4 ms) as busy for each short write. With these kernels, a disk with
/// 1,000 writes of 80 µs per second is counted as 98 % busy, although a write is in progress for only 8 % of the time.
#[test]
fn a_disk_is_busy_for_no_longer_than_requests_are_in_progress() {
    let in_flight = |requests: f64| {
        pool_of_eight(false, 0.98, 0.5, 0.6).per_s(Who::Server, "disk.in_flight", "vda", move |p| share(p) * requests)
    };
    let ticks = in_flight(0.08).verdict();
    assert_eq!(ticks.id, "server-concurrency", "{ticks:#?}");
    let why = ticks.ruled_out.iter().find(|out| out.id == "server-disk").map(|out| out.why.as_str());
    assert!(why.is_some_and(|why| why.contains("busy 8")), "{why:?}");
    let one = in_flight(0.99).per_s(Who::Server, "process.disk_wait", "srv:100", share).verdict();
    assert!(one.id == "server-disk" && one.confidence >= 0.85, "{one:#?}");
}

/// A server has a pool of ten connections to PostgreSQL on its host, which writes a checkpoint. The checkpointer waits
/// for the full disk for the share `checkpointer` of the time, and each of the ten backends for the share `backend`.
fn checkpoint(checkpointer: f64, backend: f64) -> Bottleneck {
    let address = "127.0.0.1:5432";
    let names: Vec<String> = (0..11).map(|n| format!("postgres:{}", 300 + n)).collect();
    let planted = PlantedRun::new(5000.0, 2000.0)
        .level(Who::Server, "behind.connections", address, 10.0)
        .per_s(Who::Server, "behind.busy", address, |p| p.n.min(10.0))
        .per_s(Who::Server, "process.write_bytes", &names[0], |p| p.x * 60_000.0)
        .per_s(Who::Server, "disk.read_bytes", "vda", |_| 0.0)
        .per_s(Who::Server, "disk.write_bytes", "vda", |p| p.x * 61_000.0)
        .per_s(Who::Server, "disk.busy", "vda", |p| share(p) * 0.97e6)
        .per_s(Who::Server, "pressure.io_some", "", |p| share(p) * 0.7e6);
    let wait = |planted: PlantedRun, (at, name): (usize, &String)| {
        let waits = if at == 0 { checkpointer } else { backend };
        let planted = planted.per_s(Who::Server, "process.cpu", name, |p| p.x * 20.0);
        planted.per_s(Who::Server, "process.disk_wait", name, move |p| share(p) * waits)
    };
    let planted = names.iter().enumerate().fold(planted, wait);
    planted
        .change(move |trial, _| {
            let processes = names.clone();
            let behind = Upstream { address: address.into(), depth: 1, processes, ..Upstream::default() };
            trial.server.iter_mut().for_each(|side| side.behind = vec![behind.clone()]);
        })
        .verdict()
}

/// With group commit, the backends of PostgreSQL take turns to flush the log for all others.
#[test]
fn a_checkpoint_of_an_upstream_holds_up_no_request_and_its_backends_do() {
    let pool = checkpoint(0.1, 0.0);
    assert!(pool.id == "server-concurrency" && !pool.sentence.contains("disk"), "{pool:#?}");
    let backends = checkpoint(0.0, 0.1);
    assert!(backends.confidence >= 0.8 && backends.sentence.contains("the full disk of its host"), "{backends:#?}");
}
