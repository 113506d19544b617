//! Prints the cost of observing on this machine, by source: `cargo run --release -p loadline-probe --example cost
//! [SOCKETS]`. SOCKETS is the number of connections to the observed server (default 100). `tests/cost.rs` checks the
//! properties that hold on any machine.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use loadline_probe::{Probe, ProcessWatch, Sampler, Scope};

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let sockets: usize = std::env::args().nth(1).map_or(Ok(100), |n| n.parse())?;
    let server = TcpListener::bind("127.0.0.1:0")?;
    let addr = server.local_addr()?;
    let open = |_| Ok((TcpStream::connect(addr)?, server.accept()?));
    let _held: Vec<_> = (0..sockets).map(open).collect::<Result<_, std::io::Error>>()?;
    let _threads: Vec<_> = (0..8).map(|_| std::thread::spawn(|| std::thread::sleep(Duration::from_secs(60)))).collect();
    let mut probe = watch(addr);
    by_source(&mut probe);
    in_a_trial(probe)
}

fn watch(addr: SocketAddr) -> Probe {
    Probe::new(Scope { processes: vec![std::process::id()], listen: Some(addr.into()), ..Scope::default() })
}

/// Returns the mean cost of a sample by source, in microseconds.
fn mean(probe: &mut Probe, rounds: u32, mut sample: impl FnMut(&mut Probe, f64)) -> BTreeMap<&'static str, f64> {
    let mut sums = BTreeMap::new();
    for t in 0..rounds {
        sample(probe, f64::from(t));
        for (name, cost) in probe.costs_us() {
            *sums.entry(name).or_insert(0.0) += cost / f64::from(rounds);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    sums
}

fn by_source(probe: &mut Probe) {
    let first = mean(probe, 1, Probe::sample);
    let edge = mean(probe, 20, Probe::sample);
    let series = mean(probe, 200, Probe::sample_series);
    println!("source        first us  edge us  series us");
    for (name, first) in &first {
        println!("{name:12} {first:9.1} {:8.1} {:10.1}", edge[name], series[name]);
    }
    let [first, edge, series] = [first, edge, series].map(|by| by.values().sum::<f64>());
    println!("first sample {first:.1} us, one at an edge {edge:.1} us");
    println!("one of the series {series:.1} us, {:.3} % of a processor at 2 a second", series * 2.0 / 1e4);
}

/// Measures realistic costs: two samples per second for five seconds. Other programs may evict the caches between
/// samples, as in a trial.
fn in_a_trial(mut probe: Probe) -> Result<(), Error> {
    probe.take();
    let before = probe.cost_us();
    let sampler = Sampler::start(
        probe,
        ProcessWatch::default(),
        Duration::from_millis(500),
        sys::clock::Origin::after(Duration::ZERO),
    )?;
    sampler.edge();
    std::thread::sleep(Duration::from_secs(5));
    sampler.edge();
    let ended = sampler.finish_keeping().ok_or("the sampler's thread died")?;
    let (cost, samples) = (ended.probe.cost_us() - before, ended.recording.t_s.len());
    println!("sampler: {samples} samples in 5 s cost {cost:.0} us: {:.3} % of a processor", cost / 5e4);
    Ok(())
}
