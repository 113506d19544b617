//! Server strategies, which decide which connections are served, how much is read in one turn, and which connections
//! are closed.
//!
//! Each strategy has one file and one entry in [`STRATEGIES`]. The entry of a strategy converts the user's options into
//! a [`Policy`], which the I/O models follow.

mod high_connections;
pub(crate) mod high_throughput;
pub(crate) mod limits;
mod policy;

use run::ServePlan;

use crate::error::find;
use crate::{ModelSpec, Options, ServeError};

pub(crate) use policy::{Active, LimitHit, Limits, Policy, ReadTurn, Refuse, head_ms};

/// Entry of [`STRATEGIES`].
#[derive(Clone, Copy)]
pub struct StrategySpec {
    /// Name, as in `--strategy NAME`.
    pub name: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Name of the strategy in the Windows study (Jones and Deshpande, 2000).
    pub original: &'static str,
    make: fn(&Options<'_>) -> Result<Policy, ServeError>,
}

/// All strategies of the servers.
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

/// Returns the policy of the strategy that `plan` names, with the user's settings. Returns an error with the reason if
/// the model does not support the strategy.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MODELS;

    fn plan(model: &str, strategy: &str, options: &[(&str, &str)]) -> ServePlan {
        let options = options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        ServePlan { model: model.into(), strategy: strategy.into(), options, ..ServePlan::default() }
    }

    fn policy(plan: &ServePlan) -> Result<Policy, ServeError> {
        let model = MODELS.iter().find(|m| m.name == plan.model).unwrap();
        choose(plan, model, &Options::new(&plan.options)?)
    }

    #[test]
    fn every_model_accepts_exactly_the_strategies_of_its_row() {
        for model in MODELS {
            assert!(policy(&plan(model.name, "", &[])).is_ok(), "{}", model.name);
            for strategy in STRATEGIES {
                let honoured = model.strategies.contains(&strategy.name);
                let outcome = policy(&plan(model.name, strategy.name, &[]));
                assert_eq!(outcome.is_ok(), honoured, "{} {}", model.name, strategy.name);
                if let Err(e) = outcome {
                    assert!(e.to_string().contains(model.cannot) && !model.cannot.is_empty(), "{e}");
                }
            }
        }
    }

    #[test]
    fn an_unknown_strategy_is_refused_with_the_valid_names() {
        let error = policy(&plan("epoll", "fast", &[])).unwrap_err().to_string();
        assert!(STRATEGIES.iter().all(|s| error.contains(s.name)), "{error}");
    }

    #[test]
    fn the_defaults_are_those_of_the_windows_study() {
        let limits = policy(&plan("epoll", "limits", &[])).unwrap().limits.unwrap();
        assert_eq!((limits.sends, limits.unsent_ms, limits.silent_ms), (200, 5000, 30_000));
        let active = policy(&plan("epoll", "high-throughput", &[])).unwrap().active.unwrap();
        assert_eq!((active.slots, active.idle_ms, active.waiting, active.refuse), (100, 1000, None, Refuse::Busy));
        let many = policy(&plan("epoll", "high-connections", &[])).unwrap();
        assert!(many.lazy_buffers && many.read.drain && many.read.bytes == 256 * 1024);
        let none = policy(&plan("epoll", "", &[])).unwrap();
        assert!(!none.lazy_buffers && !none.read.drain && none.limits.is_none() && none.active.is_none());
    }

    #[test]
    fn options_set_the_limits_of_a_strategy() {
        let options = [("active", "0"), ("active_idle_ms", "5"), ("waiting", "7"), ("refuse", "reset")];
        let active = policy(&plan("epoll", "high-throughput", &options)).unwrap().active.unwrap();
        assert_eq!((active.slots, active.idle_ms, active.waiting, active.refuse), (1, 5, Some(7), Refuse::Reset));
        let options = [("sends", "0"), ("unsent_ms", "1"), ("silent_ms", "2"), ("header_timeout_ms", "3")];
        let policy_of_limits = policy(&plan("epoll", "limits", &options)).unwrap();
        let limits = policy_of_limits.limits.unwrap();
        assert_eq!((limits.sends, limits.unsent_ms, limits.silent_ms), (1, 1, 2));
        assert_eq!(policy_of_limits.head_ms, 3);
        let wrong = policy(&plan("epoll", "high-throughput", &[("refuse", "politely")])).unwrap_err().to_string();
        assert!(wrong.contains("busy, close or reset"), "{wrong}");
    }
}
