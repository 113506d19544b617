//! What observing costs, by source. Not a test of speed (that is `make bench`): run it by hand with
//! `cargo test --release -p loadline-probe --test cost -- --ignored --nocapture`.

use std::net::{TcpListener, TcpStream};

use std::time::Duration;

use loadline_probe::{Probe, Sampler, Scope};

#[test]
#[ignore = "prints figures; run by hand"]
fn cost_by_source() {
    let sockets: usize = std::env::var("SOCKETS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let _held: Vec<_> = (0..sockets).map(|_| (TcpStream::connect(addr).unwrap(), server.accept().unwrap())).collect();
    let _threads: Vec<_> =
        (0..8).map(|_| std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(60)))).collect();
    let pids = vec![std::process::id()];
    let mut probe = Probe::new(Scope { processes: pids, listen: Some(addr), ..Scope::default() });
    probe.sample(0.0);
    let first: Vec<(&str, f64)> = probe.costs_us().collect();
    let mut edge = std::collections::BTreeMap::new();
    for t in 0..20 {
        probe.sample(f64::from(t));
        for (name, cost) in probe.costs_us() {
            *edge.entry(name).or_insert(0.0) += cost / 20.0;
        }
    }
    let mut sums = std::collections::BTreeMap::new();
    let (rounds, before) = (200, probe.cost_us());
    for t in 0..rounds {
        probe.sample_series(f64::from(t));
        for (name, cost) in probe.costs_us() {
            *sums.entry(name).or_insert(0.0) += cost / f64::from(rounds);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let series = (probe.cost_us() - before) / f64::from(rounds);
    let before = probe.cost_us();
    for t in 0..20 {
        probe.sample(f64::from(t));
    }
    let full = (probe.cost_us() - before) / 20.0;
    println!("source        first us  edge us  series us");
    for (name, first) in &first {
        println!("{name:12} {first:9.1} {:8.1} {:10.1}", edge[name], sums[name]);
    }
    println!("first sample {:.1} us", first.iter().map(|(_, cost)| cost).sum::<f64>());
    println!(
        "a sample of the series {series:.1} us, {:.3} % of a processor at 2 a second; a full one {full:.1} us",
        series * 2.0 / 1e4
    );
    // What counts: two samples a second for five seconds, with the caches as cold as the rest of the machine makes them.
    probe.take();
    let before = probe.cost_us();
    let sampler = Sampler::start(probe, Duration::from_millis(500), sys::clock::monotonic_ns()).unwrap();
    sampler.edge();
    std::thread::sleep(Duration::from_secs(5));
    sampler.edge();
    let (recording, probe) = sampler.finish_keeping().unwrap();
    let (cost, samples) = (probe.cost_us() - before, recording.t_s.len());
    println!("sampler: {samples} samples in 5 s cost {cost:.0} us: {:.3} % of a processor", cost / 5e4);
}
