//! Judgement: what a run means. Pure functions of a [`run::Run`]: no clock, no file, no network, and no panic on any run.
//!
//! [`judge`] fills in what is derived (counters of the measured window, costs per request) and what is concluded
//! (capacity, knee, fits, bottleneck, trust, argument). It can be run again on its own result, by newer code too.
//!
//! The method is that of R. Blake, *Optimizing Windows NT* (1993): demands from ratios of counters, the largest demand
//! is the suspect, adding concurrency shows whether the suspicion is right, and every step is said aloud.

#[cfg(test)]
mod arbitrary;
mod argument;
mod capacity;
mod costs;
pub mod counters_csv;
mod demand;
mod facts;
pub mod fit;
mod knee;
mod laws;
mod number;
mod objective;
mod phantoms;
mod principles;
mod rules;
mod sides;
mod steady;
mod sweep;
mod trust;
mod verdict;
mod view;

#[cfg(any(test, feature = "planted"))]
pub mod planted;

pub use costs::{COSTS, CostSpec, Part, Rest};
pub use demand::{Demand, demands};
pub use facts::{Facts, disturbed, stolen};
pub use objective::{Limits, holds, limits, paused};
pub use principles::{PRINCIPLES, Principle};
pub use rules::{RULES, Rule, Verdict};
pub use steady::steady;
pub use sweep::{FLAT, Plateau};
pub use view::{Host, Task, View};

use run::Run;

/// Derives and concludes: see the head of the crate. `findings.checks`, `findings.conclusions`, fits that an experiment made, and the measured
/// `trust.generator_ceiling` are kept; everything else in `findings` is made anew.
pub fn judge(run: &mut Run) {
    sides::derive(run);
    costs::derive(run);
    let facts = Facts::of(run);
    let mut findings = run::Findings {
        capacity: capacity::capacity(&facts),
        knee: knee::knee(&facts),
        bottleneck: verdict::verdict(&facts),
        checks: run.findings.checks.clone(),
        conclusions: run.findings.conclusions.clone(),
        fits: run.findings.fits.clone(),
        trust: trust::trust(&facts),
        argument: Vec::new(),
    };
    findings.fits.remove("usl");
    findings.fits.extend(fit::usl_of(&facts).map(|f| ("usl".to_string(), f)));
    findings.argument = argument::argument(&facts, &findings);
    run.findings = findings;
}
