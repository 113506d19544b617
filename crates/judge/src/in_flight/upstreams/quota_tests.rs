//! Tests of upstreams that use up their CPU quota or fill a disk.

use run::{Run, Upstream, UpstreamLimit};

use crate::planted::{PlantedRun, Who};

/// Makes a run of a proxy in front of an application. The application uses four fifths of its quota. Of the ten quota
/// periods per second, the quota runs out in `out`. A disk is busy for `disk_us` microseconds per request, and the
/// application and the proxy write `app_bytes` and `own_bytes` per request.
fn held(out: f64, disk_us: f64, app_bytes: f64, own_bytes: f64) -> Run {
    held_under(&[], out, disk_us, app_bytes, own_bytes)
}

/// Makes a run like [`held`], with a sweep over the given numbers of clients; an empty list gives the usual sweep.
fn held_under(steps: &[u32], out: f64, disk_us: f64, app_bytes: f64, own_bytes: f64) -> Run {
    let behind = Upstream {
        address: "127.0.0.1:8001".into(),
        depth: 1,
        processes: vec!["python3:812".into()],
        pids: vec![812],
        ..Upstream::default()
    };
    let planted_run = PlantedRun::new(20_000.0, 200.0);
    let planted_run = if steps.is_empty() { planted_run } else { planted_run.steps(steps).rates(&[]) };
    let mut run = planted_run
        .level(Who::Server, "connection.receive_queue", "", 60.0)
        .level(Who::Server, "behind.connections", "127.0.0.1:8001", 24.0)
        .level(Who::Server, "behind.cpu_quota", "127.0.0.1:8001", 0.2)
        .per_s(Who::Server, "behind.cpu_periods", "127.0.0.1:8001", |_| 10.0)
        .per_s(Who::Server, "behind.cpu_throttled_periods", "127.0.0.1:8001", move |_| out)
        .per_s(Who::Server, "process.cpu", "python3:812", |p| p.x * 800.0)
        .per_s(Who::Server, "process.write_bytes", "python3:812", move |p| p.x * app_bytes)
        .per_s(Who::Server, "process.write_bytes", "srv:100", move |p| p.x * own_bytes)
        .per_s(Who::Server, "disk.busy", "vda", move |p| p.x * disk_us)
        .per_s(Who::Server, "pressure.io_some", "", move |p| p.x * disk_us)
        .change(move |t, _| t.server.iter_mut().for_each(|side| side.behind = vec![behind.clone()]))
        .run();
    crate::judge(&mut run);
    run
}

#[test]
fn a_quota_behind_the_server_is_what_it_waits_for() {
    let found = held(9.0, 0.0, 0.0, 0.0).findings;
    let (verdict, load) = (&found.bottleneck, &found.behind[0]);
    assert_eq!((load.limit, load.cpu_quota), (Some(UpstreamLimit::Quota), Some(0.2)), "{verdict:#?}");
    assert!(load.throttled.is_some_and(|share| (0.85..=0.95).contains(&share)), "{load:?}");
    assert!(verdict.sentence.contains("its CPU quota of 0.200 CPUs ran out in 90"), "{}", verdict.sentence);
    assert!(verdict.advice.iter().any(|advice| advice.starts_with("Raise the CPU quota")), "{:?}", verdict.advice);
    let one_load = held_under(&[64], 9.0, 0.0, 0.0, 0.0).findings.bottleneck;
    assert!(one_load.id == "server-concurrency" && one_load.sentence.contains("CPU quota"), "{one_load:#?}");
    let seldom = held(1.0, 0.0, 0.0, 0.0).findings;
    assert_eq!((seldom.behind[0].limit, &seldom.bottleneck.waits_for), (None, &None));
}

#[test]
fn a_full_disk_that_the_process_behind_writes_to_is_what_the_server_waits_for() {
    let found = held(0.0, 4900.0, 4096.0, 0.0).findings;
    assert_eq!(found.behind[0].limit, Some(UpstreamLimit::Disk), "{:#?}", found.bottleneck);
    assert!(found.bottleneck.sentence.contains("the full disk of its host"), "{}", found.bottleneck.sentence);
    assert_eq!(held(0.0, 4900.0, 0.0, 0.0).findings.behind[0].limit, None, "somebody else's disk");
    let own = held(0.0, 4900.0, 4096.0, 8192.0).findings;
    assert_eq!((own.bottleneck.id.as_str(), own.behind[0].limit), ("server-disk", None));
}
