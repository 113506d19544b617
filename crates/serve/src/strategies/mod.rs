//! Server strategies: whom operations are posted for, how much is taken at once, and whom the server protects itself
//! from. One file each, one row in [`STRATEGIES`]; models act on the [`Policy`] that a row makes of the options.

mod high_connections;
pub(crate) mod high_throughput;
pub(crate) mod limits;

use run::ServePlan;

use crate::conn::ReadTurn;
use crate::{ModelSpec, Options, ServeError};

pub(crate) use high_throughput::{Active, Refuse};
pub(crate) use limits::Limits;

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
        help: "many may be connected, operations are posted for the first few in turn; further ones may be refused",
        original: "high throughput: receives posted on a subset, FIFO",
        make: high_throughput::policy,
    },
    StrategySpec {
        name: "high-connections",
        help: "no buffer waits with an idle connection; a ready one is drained with a bound",
        original: "high connections: a zero-byte receive, then receives until would-block",
        make: high_connections::policy,
    },
    StrategySpec {
        name: "limits",
        help: "bounds what is outstanding; closes peers that do not read or say nothing",
        original: "outstanding sends counted (200), peers that flood or stay silent closed",
        make: limits::policy,
    },
];

/// What a strategy asks of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) read: ReadTurn,
    /// Whether buffers are taken only once there is something to read (completion models).
    pub(crate) lazy_buffers: bool,
    pub(crate) active: Option<Active>,
    pub(crate) limits: Option<Limits>,
}

impl Policy {
    /// No strategy: read what one call gives, four pieces at most in a turn.
    pub(crate) const NONE: Self = Self {
        read: ReadTurn { bytes: 4 * crate::conn::PIECE, drain: false },
        lazy_buffers: false,
        active: None,
        limits: None,
    };
}

/// The policy of a plan; an error when the model cannot honour it.
pub(crate) fn choose(plan: &ServePlan, model: &ModelSpec, options: &Options<'_>) -> Result<Policy, ServeError> {
    if plan.strategy.is_empty() {
        return Ok(Policy::NONE);
    }
    let row = crate::find(STRATEGIES, "strategy", &plan.strategy, |s| s.name)?;
    if !model.strategies.contains(&row.name) {
        let why = format!("model {} cannot honour strategy {}: {}", model.name, row.name, model.cannot);
        return Err(ServeError::Combination(why));
    }
    (row.make)(options)
}
