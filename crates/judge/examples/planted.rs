//! Prints what judge says of every planted run: for whoever changes a rule or its words.
//! `cargo run -p loadline-judge --features planted --example planted [ID]`

fn main() {
    let only = std::env::args().nth(1);
    for p in loadline_judge::planted::PLANTED.iter().filter(|p| only.as_deref().is_none_or(|id| id == p.id)) {
        let mut run = (p.run)();
        loadline_judge::judge(&mut run);
        let (f, b) = (&run.findings, &run.findings.bottleneck);
        println!("=== {}: {}", p.id, p.story);
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
}
