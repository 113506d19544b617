//! What observing costs is itself observed, and a sample between the edges reads less than one at an edge. Relations within
//! one run; `examples/cost.rs` prints what they cost.

use std::net::{TcpListener, TcpStream};

use loadline_probe::{Probe, Scope};

/// Connections of the server that is watched: enough that reading all of them shows.
const SOCKETS: usize = 200;
/// Samples of each kind.
const TURNS: u32 = 40;

#[test]
fn the_series_reads_less_than_edges_and_every_reading_is_accounted_for() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let _held: Vec<_> = (0..SOCKETS).map(|_| (TcpStream::connect(addr).unwrap(), server.accept().unwrap())).collect();
    let scope = Scope { processes: vec![std::process::id()], listen: Some(addr.into()), ..Scope::default() };
    let mut probe = Probe::new(scope);
    probe.sample(0.0);
    let (whole, parts) = (probe.cost_us(), probe.costs_us().map(|(_, us)| us).sum::<f64>());
    assert!(parts > 0.0 && parts <= whole, "sources {parts} us, all of them {whole} us");
    probe.take();
    // In turns, so that whatever else the machine does meets both.
    for turn in 1..=TURNS {
        probe.sample(f64::from(turn));
        probe.sample_series(f64::from(turn) + 0.5);
    }
    let recording = probe.take();
    // By count, not by time: what a microsecond costs changes from one moment of a shared machine to the next.
    let everywhere = |c: &&run::Column| c.values.iter().step_by(2).all(Option::is_some);
    let read_at_edges: Vec<_> = recording.columns.iter().filter(everywhere).collect();
    let edges = read_at_edges.len() * TURNS as usize;
    let series: usize = read_at_edges.iter().map(|c| c.values.iter().skip(1).step_by(2).flatten().count()).sum();
    println!("{edges} values at {TURNS} edges, {series} of them in as many samples of the series");
    assert!(edges > 0 && series < edges, "series {series}, edges {edges}");
}
