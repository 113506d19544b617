//! Tests of the rule `server-memory`.

use crate::planted::{PlantedRun, Who};

#[test]
fn memory_that_others_are_short_of_is_not_the_server_s() {
    let short = |faults: f64| {
        let mut run = PlantedRun::new(5000.0, 800.0)
            .per_s(Who::Server, "pressure.memory_some", "", |p| 500.0 * p.x)
            .per_s(Who::Server, "process.major_faults", "srv:100", move |p| p.x * faults)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let own = short(3.0);
    assert!(own.id == "server-memory" && own.confidence >= 0.8, "{own:#?}");
    let b = short(0.0);
    assert_ne!(b.id, "server-memory", "{b:#?}");
    assert!(b.ruled_out.iter().any(|r| r.id == "server-memory" && r.why.contains("other processes")), "{b:#?}");
}
/// A search server maps its index, and reads pages of it for the first time. Lucene, RocksDB and LMDB read mapped
/// files, too.
#[test]
fn first_reads_of_a_mapped_file_are_no_lack_of_memory() {
    let reads = |faults: f64, stalled: f64| {
        let run = crate::planted::PLANTED.iter().find(|planted| planted.id == "server-cpu").unwrap();
        (run.plant)()
            .per_s(Who::Server, "process.major_faults", "srv:100", move |p| p.x * faults)
            .per_s(Who::Server, "pressure.memory_some", "", move |_| stalled * 1e6)
            .verdict()
    };
    for faults in [0.12, 3.0] {
        let first = reads(faults, 0.0);
        assert!(first.id == "server-cpu" && first.confidence >= 0.9, "{first:#?}");
        let why = first.ruled_out.iter().find(|out| out.id == "server-memory").map(|out| out.why.as_str());
        assert!(why.is_some_and(|why| why.contains("for the first time")), "{why:?}");
        assert_eq!(reads(faults, 0.4).id, "server-memory", "evicted pages are read again");
    }
}

/// A server reads a mapped file of 128 MiB at random, with a memory limit of 48 MiB. Nearly all pages that it reads
/// were evicted long ago.
#[test]
fn page_faults_in_a_full_control_group_are_a_lack_of_memory() {
    let with_limit = |limit: f64| {
        PlantedRun::new(20_000.0, 200.0)
            .per_s(Who::Server, "process.major_faults", "srv:100", |p| p.x * 72.0)
            .per_s(Who::Server, "pressure.memory_some", "", |_| 0.03e6)
            .level(Who::Server, "cgroup.memory", "/srv", 48e6)
            .level(Who::Server, "cgroup.memory_limit", "/srv", limit)
            .per_s(Who::Server, "cgroup.memory_max_events", "/srv", move |_| if limit > 48e6 { 0.0 } else { 400.0 })
            .verdict()
    };
    assert_eq!((with_limit(48e6).id.as_str(), with_limit(1e9).id.as_str()), ("server-memory", "server-concurrency"));
}

/// A server with a memory limit of 48 MiB reads a mapped file. The kernel evicts pages all the time, because the memory
/// use of the server's control group is at the limit. Only the refaults show that the server reads evicted pages again.
fn in_full_group(faults: f64, refaults: f64) -> PlantedRun {
    PlantedRun::new(20_000.0, 200.0)
        .per_s(Who::Server, "process.major_faults", "srv:100", move |p| p.x * faults)
        .per_s(Who::Server, "pressure.memory_some", "", |_| 0.013e6)
        .level(Who::Server, "cgroup.memory", "/srv", 48e6)
        .level(Who::Server, "cgroup.memory_limit", "/srv", 48e6)
        .per_s(Who::Server, "cgroup.memory_max_events", "/srv", |_| 400.0)
        .per_s(Who::Server, "cgroup.refaults", "/srv", move |p| p.x * refaults)
}

#[test]
fn pages_that_a_full_group_reads_again_are_a_lack_of_memory_and_first_reads_are_none() {
    let again = in_full_group(72.0, 40.0).verdict();
    assert!(again.id == "server-memory" && again.confidence >= 0.8, "{again:#?}");
    assert!(again.evidence.iter().any(|line| line.counter.as_str() == "cgroup.refaults"), "{again:#?}");
    let waits = in_full_group(72.0, 40.0).level(Who::Server, "process.disk_wait", "srv:100", 0.9).verdict();
    assert!(waits.sentence.contains("40 pages per request again"), "{waits:#?}");
    let first = in_full_group(72.0, 0.0).verdict();
    assert_ne!(first.id, "server-memory", "{first:#?}");
    let why = first.ruled_out.iter().find(|out| out.id == "server-memory").map(|out| out.why.as_str());
    assert!(why.is_some_and(|why| why.contains("for the first time")), "{why:?}");
}

/// Another program in the server's control group reads evicted pages again. The server itself reads nothing.
#[test]
fn refaults_of_another_program_in_the_group_are_not_the_server_s() {
    let b = in_full_group(0.0, 40.0).verdict();
    assert_ne!(b.id, "server-memory", "{b:#?}");
}

/// A server without a control group of its own serves files with `read`, which causes no page faults. Without a memory
/// limit, the refaults are attributed to the server only if it read most of the bytes. If another program read most of
/// the bytes, the refaults may come from that program.
#[test]
fn files_larger_than_the_host_s_memory_are_read_again_without_page_faults() {
    let reads = |of_disk: f64, refaults: f64| {
        PlantedRun::new(20_000.0, 200.0)
            .per_s(Who::Server, "process.read_bytes", "srv:100", |p| p.x * 65_536.0)
            .per_s(Who::Server, "disk.read_bytes", "vda", move |p| p.x * 65_536.0 * of_disk)
            .per_s(Who::Server, "memory.refaults", "", move |p| p.x * refaults)
            .level(Who::Server, "process.disk_wait", "srv:100", 0.9)
            .verdict()
    };
    let again = reads(1.0, 12.0);
    assert!(again.id == "server-memory" && again.sentence.contains("12 pages per request again"), "{again:#?}");
    assert_ne!(reads(1.0, 0.0).id, "server-memory", "a cold cache");
    assert_ne!(reads(5.0, 12.0).id, "server-memory", "another program reads most");
}

/// A server with a memory limit of 60 MB serves 300 MB of files. None of three samples shows a thread of the server in
/// a wait for the disk, but threads of the host wait for disks half of the time. An earlier version of loadline named
/// the number of workers.
#[test]
fn waits_that_few_samples_of_the_threads_miss_are_in_the_counters_of_the_host() {
    let reads = |waited: f64, of_disk: f64| {
        in_full_group(0.0, 200.0)
            .per_s(Who::Server, "process.read_bytes", "srv:100", |p| p.x * 837_221.0)
            .per_s(Who::Server, "disk.read_bytes", "vda", move |p| p.x * 837_221.0 * of_disk)
            .per_s(Who::Server, "pressure.io_some", "", move |_| waited * 1e6)
            .level(Who::Server, "process.disk_wait", "srv:100", 0.0)
            .verdict()
    };
    let again = reads(0.49, 1.0);
    assert!(again.id == "server-memory" && again.sentence.contains("200 pages per request again"), "{again:#?}");
    assert_ne!(reads(0.02, 1.0).id, "server-memory", "nothing waits for a disk");
    assert_ne!(reads(0.49, 5.0).id, "server-memory", "another program reads most");
}

/// A server reads 640 KiB per request from a disk, and the kernel counts 12 pages per request that were read again. An
/// earlier version of loadline assumed pages of 4 KiB on every host.
#[test]
fn the_page_size_of_the_host_decides_how_many_pages_the_server_read() {
    let with_pages = |page_bytes: Option<u32>| {
        PlantedRun::new(20_000.0, 200.0)
            .per_s(Who::Server, "process.read_bytes", "srv:100", |p| p.x * 655_360.0)
            .per_s(Who::Server, "disk.read_bytes", "vda", |p| p.x * 655_360.0)
            .per_s(Who::Server, "memory.refaults", "", |p| p.x * 12.0)
            .level(Who::Server, "process.disk_wait", "srv:100", 0.9)
            .change(move |trial, _| trial.server.iter_mut().for_each(|side| side.page_bytes = page_bytes))
            .verdict()
    };
    assert!(with_pages(Some(4096)).sentence.contains("12 pages per request again"));
    assert!(with_pages(Some(65_536)).sentence.contains("10 pages per request again"), "it read only ten");
    for unknown in [None, Some(0)] {
        assert_ne!(with_pages(unknown).id, "server-memory", "{unknown:?}");
    }
}

/// At the beginning of the window, the server's control group is not yet full. The mean memory use of the group is
/// therefore far below its limit.
#[test]
fn a_group_that_becomes_full_within_the_window_is_full() {
    let fills = |side: &mut run::Side| {
        let used = side.recording.columns.iter_mut().filter(|column| column.counter.as_str() == "cgroup.memory");
        used.for_each(|column| column.values.iter_mut().take(1).for_each(|first| *first = Some(10e6)));
    };
    let verdict = in_full_group(72.0, 40.0)
        .none(Who::Server, "cgroup.refaults")
        .change(move |trial, _| trial.server.iter_mut().for_each(fills))
        .verdict();
    assert_eq!(verdict.id, "server-memory", "{verdict:#?}");
}

/// The server's control group uses 20 MB, and the groups of other programs use the rest. The groups share one ancestor
/// group with a memory limit of 48 MB, which is full.
#[test]
fn groups_that_fill_the_limit_of_their_ancestor_together_are_full() {
    let with = |limited: Option<f64>| {
        let planted = in_full_group(72.0, 40.0).none(Who::Server, "cgroup.refaults").level(
            Who::Server,
            "cgroup.memory",
            "/srv",
            20e6,
        );
        match limited {
            Some(used) => planted.level(Who::Server, "cgroup.limited_memory", "/srv", used).verdict(),
            None => planted.verdict(),
        }
    };
    let full = with(Some(48e6));
    assert!(full.id == "server-memory" && full.sentence.contains("100 % full"), "{full:#?}");
    assert_ne!(with(Some(30e6)).id, "server-memory");
    assert_ne!(with(None).id, "server-memory", "a run of an older version");
}

/// The server's workers are in a control group that is full, and its master process is in a large group.
#[test]
fn use_and_limit_of_different_control_groups_are_not_compared() {
    let with_groups = |[first, second]: [(f64, f64); 2]| {
        PlantedRun::new(20_000.0, 200.0)
            .per_s(Who::Server, "process.major_faults", "srv:100", |p| p.x * 72.0)
            .per_s(Who::Server, "pressure.memory_some", "", |_| 0.03e6)
            .level(Who::Server, "cgroup.memory", "/srv", first.0)
            .level(Who::Server, "cgroup.memory_limit", "/srv", first.1)
            .per_s(Who::Server, "cgroup.memory_max_events", "/srv", |_| 400.0)
            .level(Who::Server, "cgroup.memory", "/other", second.0)
            .level(Who::Server, "cgroup.memory_limit", "/other", second.1)
            .verdict()
            .id
    };
    assert_eq!(with_groups([(48e6, 48e6), (1e9, 16e9)]), "server-memory");
    assert_ne!(with_groups([(48e6, 16e9), (16e9, 16e9)]), "server-memory", "no full group reached its limit");
}

/// In this test, slow clients stop the senders of downloads under any load. TCP memory ran short once, for a moment.
#[test]
fn one_entry_into_tcp_memory_pressure_needs_windows_that_shrank() {
    let pressed = |stopped: fn(f64) -> f64| {
        PlantedRun::new(20_000.0, 200.0)
            .per_s(Who::Server, "tcp.memory_pressures", "", |_| 0.5)
            .per_s(Who::Server, "connection.rwnd_limited", "", move |p| stopped(p.n))
            .verdict()
    };
    assert_eq!(pressed(|_| 0.2).id, "server-concurrency");
    assert_eq!(pressed(|n| if n > 2.0 { 0.5 } else { 0.2 }).id, "server-memory");
}

/// Another program fills TCP's memory once, while a server with full CPUs closes one of a million idle connections.
#[test]
fn one_failed_request_makes_no_lack_of_tcp_memory() {
    let with = |failed: u64| {
        let run = crate::planted::PLANTED.iter().find(|planted| planted.id == "server-cpu").unwrap();
        (run.plant)()
            .per_s(Who::Server, "tcp.memory_pressures", "", |p| if p.n > 2.0 { 1.0 } else { 0.0 })
            .change(move |t, p| {
                let failed = if p.n > 2.0 { failed } else { 0 };
                t.tally.errors.0.insert(run::ErrorKind::Reset, failed);
            })
            .verdict()
    };
    let (one, many) = (with(1), with(2000));
    assert_eq!((one.id.as_str(), many.id.as_str()), ("server-cpu", "server-memory"), "{one:#?} {many:#?}");
}
