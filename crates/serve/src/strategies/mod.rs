//! Server strategies: whom operations are posted for, how much is taken at once, and whom the server protects itself
//! from. One file each, one row in [`STRATEGIES`]; models act on the [`Policy`] that a row makes of the options.

mod high_connections;
pub(crate) mod high_throughput;
pub(crate) mod limits;
mod policy;

use run::ServePlan;

use crate::error::find;
use crate::{ModelSpec, Options, ServeError};

pub(crate) use policy::{Active, LimitHit, Limits, Policy, ReadTurn, Refuse, head_ms};

/// One row of [`STRATEGIES`].
#[derive(Clone, Copy)]
pub struct StrategySpec {
    /// Name, as in `--strategy NAME`.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// What the source calls it.
    pub original: &'static str,
    make: fn(&Options<'_>) -> Result<Policy, ServeError>,
}

/// Every strategy.
pub const STRATEGIES: &[StrategySpec] = &[
    StrategySpec {
        name: "high-throughput",
        help: "many connections are accepted, but operations are posted for a few of them at a time; further ones may be refused",
        original: "high throughput: receives posted on a subset, FIFO",
        make: high_throughput::policy,
    },
    StrategySpec {
        name: "high-connections",
        help: "an idle connection holds no buffer; a ready one is read up to a bound",
        original: "high connections: a zero-byte receive, then receives until would-block",
        make: high_connections::policy,
    },
    StrategySpec {
        name: "limits",
        help: "bounds outstanding operations; closes peers that do not read or are silent",
        original: "outstanding sends counted (200), peers that flood or stay silent closed",
        make: limits::policy,
    },
];

/// The policy of a plan; an error when the model cannot honour it.
pub(crate) fn choose(plan: &ServePlan, model: &ModelSpec, options: &Options<'_>) -> Result<Policy, ServeError> {
    let head_ms = head_ms(options)?;
    if plan.strategy.is_empty() {
        return Ok(Policy { head_ms, ..Policy::NONE });
    }
    let row = find(STRATEGIES, "strategy", &plan.strategy, |s| s.name)?;
    if !model.strategies.contains(&row.name) {
        let why = format!("model {} cannot honour strategy {}: {}", model.name, row.name, model.cannot);
        return Err(ServeError::Combination(why));
    }
    Ok(Policy { head_ms, ..(row.make)(options)? })
}
