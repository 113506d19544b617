//! Prints the verdict on a planted run, on all planted runs, or on a run directory. A planted run is an invented run
//! with a known bottleneck, named by its ID. A developer who changes a rule uses this example to see the effect on the
//! verdicts. `cargo run -p loadline-judge --features planted --example say [ID | DIR]`

fn main() {
    let wanted = std::env::args().nth(1);
    if let Some(dir) = wanted.as_deref().filter(|w| std::path::Path::new(w).exists()) {
        match run::load_run(std::path::Path::new(dir)) {
            Ok(run) => say(run, dir),
            Err(error) => eprintln!("{error}"),
        }
        return;
    }
    let planted = loadline_judge::planted::PLANTED.iter();
    planted.filter(|p| wanted.as_deref().is_none_or(|id| id == p.id)).for_each(|p| say(p.run(), p.story));
}

fn say(mut run: run::Run, title: &str) {
    loadline_judge::judge(&mut run);
    let (f, b) = (&run.findings, &run.findings.bottleneck);
    println!("=== {title}");
    println!("{:.2} {}: {}", b.confidence, b.id, b.sentence);
    b.evidence.iter().for_each(|e| println!("  + {} [{} @ {}]", e.text, e.counter, e.place));
    b.ruled_out.iter().for_each(|r| println!("  - {}: {}", r.id, r.why));
    b.missing.iter().for_each(|m| println!("  ? {m}"));
    b.next.iter().for_each(|n| println!("  next {}: {}", n.id, n.why));
    f.capacity.iter().for_each(|c| println!("  capacity {:.1}/s ({}; {})", c.rate, c.objective, c.method));
    f.knee.iter().for_each(|k| println!("  knee {:.2}", k.concurrency));
    f.fits.iter().for_each(|(name, fit)| println!("  {name}: {:?}; {}", fit.coefficients, fit.quality));
    f.trust.warnings.iter().for_each(|w| println!("  ! {w}"));
    f.trust.held.iter().for_each(|h| println!("  ok {h}"));
    f.argument.iter().for_each(|a| println!("  > {a}"));
}
