//! A server to measure: an I/O model with its options.

use std::collections::BTreeMap;

use lab::CpuSplit;
use run::ServePlan;

use crate::Parameters;

/// An I/O model, with at most one option and one strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contender {
    /// Name in the plan, such as `select-array:accept_all` or `uring+high-connections`.
    pub(super) name: String,
    /// Name of the I/O model: a row of `MODELS` in the crate `serve`.
    pub(super) model: String,
    /// Name of the server option that is turned on; `None` for none.
    pub(super) option: Option<String>,
    /// Name of the strategy: a row of `STRATEGIES` in the crate `serve`; empty for none.
    pub(super) strategy: String,
}

impl Contender {
    /// Parses a name from the plan. `MODEL:OPTION` turns on an option, and `MODEL+STRATEGY` selects a strategy.
    pub(super) fn read(name: &str) -> Self {
        let (model, strategy) = name.split_once('+').unwrap_or((name, ""));
        let (model, option) = model.split_once(':').map_or((model, None), |(model, option)| (model, Some(option)));
        Self { name: name.into(), model: model.into(), option: option.map(String::from), strategy: strategy.into() }
    }

    /// Returns the plan of the server. If there are enough CPUs, the clients do not use the server's CPUs.
    pub(super) fn server(&self, parameters: &Parameters, places: &CpuSplit) -> ServePlan {
        let mut options =
            BTreeMap::from([("max_threads".to_string(), parameters.count("max_threads", 16_000).to_string())]);
        options.extend(self.option.iter().map(|option| (option.clone(), "1".to_string())));
        ServePlan {
            service: "echo".into(),
            model: self.model.clone(),
            strategy: self.strategy.clone(),
            backlog: parameters.count("backlog", 4096),
            cpus: places.server.clone(),
            options,
            ..ServePlan::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_and_strategy_follow_the_model() {
        let read = |name: &str| {
            let Contender { model, option, strategy, .. } = Contender::read(name);
            (model, option.unwrap_or_default(), strategy)
        };
        let of = |model: &str, option: &str, strategy: &str| (model.into(), option.into(), strategy.into());
        assert_eq!(read("uring"), of("uring", "", ""));
        assert_eq!(read("uring-groups:literal"), of("uring-groups", "literal", ""));
        assert_eq!(read("uring+high-connections"), of("uring", "", "high-connections"));
        assert_eq!(read("uring:fair+limits"), of("uring", "fair", "limits"));
    }
}
