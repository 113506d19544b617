//! Drives one plan against an address, and prints the result. The example shows how the generator runs without the
//! conductor (the process that otherwise controls the generators).
//!
//! Usage: `drive ADDR SECONDS PLAN.toml`. The third argument may also be the load plan itself, as TOML text. The
//! example starts each phase at the time at which a conductor (controlling process) would start it.

use std::sync::mpsc::channel;
use std::time::Duration;

use run::{AgentCommand, AgentReport, LoadPlan, Phase};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let addr: run::Address = args.next().ok_or("give an address")?.parse()?;
    let seconds: f64 = args.next().ok_or("give seconds")?.parse()?;
    let text = args.next().ok_or("give a plan")?;
    let text = if text.ends_with(".toml") { std::fs::read_to_string(text)? } else { text };
    let plan: LoadPlan = toml::from_str(&text)?;
    let (control, commands) = channel();
    std::thread::spawn(move || {
        for (phase, s) in [(Phase::WarmUp, 0.3), (Phase::Measure, seconds), (Phase::Drain, plan.drain_s + 1.0)] {
            let _ = control.send(AgentCommand::Enter { phase, at_ns: None });
            std::thread::sleep(Duration::from_secs_f64(s));
        }
    });
    let plan: LoadPlan = toml::from_str(&text)?;
    let part = loadline_load::run(&plan, addr, loadline_load::Start::AtOnce, commands, &mut |report| {
        if let AgentReport::Ready { io, notes, .. } = report {
            println!("io {io} {notes:?}");
        }
    })?;
    let (m, s) = (&part.measured, part.measured_s);
    println!("total    {:?}", part.total);
    println!("measured {m:?}");
    println!(
        "attempted/s {:.0} completed/s {:.0} concurrency {:.1} cpu us/request {:.2} us/attempt {:.2} busy {:.2}",
        m.attempted as f64 / s,
        m.completed as f64 / s,
        part.in_flight_s / s,
        (part.cpu_us.0 + part.cpu_us.1) / m.completed.max(1) as f64,
        (part.cpu_us.0 + part.cpu_us.1) / m.attempted.max(1) as f64,
        (part.cpu_us.0 + part.cpu_us.1) / 1e6 / s,
    );
    for (name, hist) in &part.histograms {
        let h = run::Summary::of(hist);
        println!("{name:12} n {} mean {:.1} p50 {:.1} p99 {:.1} max {:.1} us", h.count, h.mean, h.p50, h.p99, h.max);
    }
    println!("notes {:?}", part.notes);
    Ok(())
}
