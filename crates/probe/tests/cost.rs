//! Checks that the cost of observing is recorded, and that a periodic sample reads less than a sample at a phase start
//! or end. The tests compare values within one run.

use std::net::{TcpListener, TcpStream};

use loadline_probe::{Probe, Scope};

/// Number of connections of the observed server. The number is so large that the cost of reading all connections
/// becomes visible.
const SOCKETS: usize = 200;
/// Number of full samples that the test takes; the test also takes as many periodic samples.
const SAMPLES: u32 = 40;

#[test]
fn the_series_reads_less_than_edges_and_every_reading_is_counted() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let _held: Vec<_> = (0..SOCKETS).map(|_| (TcpStream::connect(addr).unwrap(), server.accept().unwrap())).collect();
    let scope = Scope { processes: vec![std::process::id()], listen: Some(addr.into()), ..Scope::default() };
    let mut probe = Probe::new(scope);
    probe.sample(0.0);
    let (whole, parts) = (probe.cost_us(), probe.costs_us().map(|(_, us)| us).sum::<f64>());
    assert!(parts > 0.0 && parts <= whole, "sources {parts} us, all of them {whole} us");
    probe.take();
    // Full samples and samples of the series alternate, so that other load on the machine affects both kinds.
    for turn in 1..=SAMPLES {
        probe.sample(f64::from(turn));
        probe.sample_series(f64::from(turn) + 0.5);
    }
    let recording = probe.take();
    // The test counts readings instead of comparing costs, because costs in microseconds vary on a shared machine.
    let everywhere = |c: &&run::Column| c.values.iter().step_by(2).all(Option::is_some);
    let read_at_edges: Vec<_> = recording.columns.iter().filter(everywhere).collect();
    let edges = read_at_edges.len() * SAMPLES as usize;
    let series: usize = read_at_edges.iter().map(|c| c.values.iter().skip(1).step_by(2).flatten().count()).sum();
    println!("{edges} values at {SAMPLES} edges, {series} of them in as many samples of the series");
    assert!(edges > 0 && series < edges, "series {series}, edges {edges}");
}
