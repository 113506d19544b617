//! Tests that the loop of a load allocates no memory while it measures, with both drivers and all kinds of load. The
//! tests use an allocator that counts its calls.

mod common;

use common::{Behaviour, Server, closed, conduct, drivers, plan};
use loadline_load as _;
use run::{Arrival, Intensity, LoadPlan, ThinkTime};
use sys::alloc;

#[global_allocator]
static COUNTING: alloc::CountingAllocator = alloc::CountingAllocator;

#[test]
fn the_measured_loop_takes_no_memory() {
    // The test first checks that the allocator counts allocations of load threads, and only while counting is on. All
    // checks are in one test, because the allocator counts for the whole process.
    let body = || (0..10).map(|i| vec![i; 100]).map(|v| std::hint::black_box(v).len()).sum::<usize>();
    alloc::arm();
    let name = |name: &str| std::thread::Builder::new().name(name.into()).spawn(body).unwrap().join().unwrap();
    name("other");
    assert_eq!(alloc::disarm(), 0);
    alloc::arm();
    name("load-x");
    assert!(alloc::disarm() >= 10);
    measured_loops();
}

fn measured_loops() {
    let sclients = Intensity::SClients {
        descriptors: 8,
        connect_timeout_ms: 200.0,
        think: ThinkTime { mean_ms: 5.0, exponential: true },
        pace: None,
    };
    let open = Intensity::Open {
        rate: 2000.0,
        arrival: Arrival::SelfSimilar { hurst: 0.8 },
        max_connections: 32,
        pipeline: 1,
    };
    for io in drivers() {
        for (intensity, new_connections) in
            [(closed(8, 4), false), (closed(4, 1), true), (open.clone(), false), (sclients.clone(), false)]
        {
            let server = Server::start(Behaviour::Proper);
            let what = format!("{io:?} {intensity:?}");
            let plan = LoadPlan { new_connections, ..plan(io, intensity) };
            let mut calls = None;
            let measures = || {
                alloc::arm();
                std::thread::sleep(std::time::Duration::from_millis(60));
                calls = Some(alloc::disarm());
            };
            let part = conduct(&plan, server.addr, 200, measures, |begin, now| now.completed > begin.completed + 50);
            assert!(part.measured.completed > 20, "{what}: {:?}", part.measured);
            assert_eq!(calls, Some(0), "{what}");
        }
    }
}
