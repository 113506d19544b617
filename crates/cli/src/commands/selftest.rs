//! `loadline selftest`: measures the limits of this machine and the cost of loadline itself.

use std::time::Duration;

use run::{Intensity, Io, LoadPlan, ThinkTime};

use crate::{Exit, output};

/// Arguments of `selftest`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Generator threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: u32,
    /// Connections
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value_t = 64)]
    connections: u32,
}

/// Measures the limits of this machine and the cost of loadline itself, and prints them.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let descriptors = sys::limits::raise_descriptors().unwrap_or_else(|_| sys::limits::descriptors().0);
    let mut text = format!("files per process  {descriptors}\n");
    text.push_str(&format!("CPUs allowed       {:?}\n", sys::limits::allowed_cpus().unwrap_or_default()));
    let plan = LoadPlan {
        io: Io::Null,
        threads: args.threads,
        intensity: Intensity::Closed { connections: args.connections, pipeline: 1, think: ThinkTime::default() },
        duration_s: 0.5,
        ..LoadPlan::default()
    };
    let ceiling = load::ceiling(&plan)?;
    text.push_str(&format!(
        "generator's limit  {} requests/s, {:.3} µs of CPU each (null driver, {})\n",
        run::number::number(ceiling.rate),
        ceiling.cpu_us_per_request,
        run::number::prose::counted(f64::from(args.threads), "thread")
    ));
    let (samples, cost_us) = observe();
    text.push_str(&format!(
        "cost of observing  {:.0} µs per sample; with two per second {:.3} % of one CPU\n",
        cost_us / samples as f64,
        cost_us / samples as f64 * 2.0 / 1e4
    ));
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Samples all counters ten times. Returns the number of samples, and the total CPU time of all samples in
/// microseconds.
fn observe() -> (u32, f64) {
    let scope = probe::Scope { processes: vec![std::process::id()], ..probe::Scope::default() };
    let mut probe = probe::Probe::new(scope);
    const SAMPLES: u32 = 10;
    probe.sample(0.0);
    let before = probe.cost_us();
    for i in 0..SAMPLES {
        std::thread::sleep(Duration::from_millis(20));
        probe.sample(f64::from(i));
    }
    (SAMPLES, probe.cost_us() - before)
}
