//! Functions with the largest shares of the server's CPU time, from the sampled stacks.

use std::collections::BTreeMap;

use run::{HotFunction, StackProfile};

use crate::facts::Facts;

/// Maximum number of functions. A reader looks at the first few; the flame graph has all.
const MAX_FUNCTIONS: usize = 10;

/// Returns the hottest functions of the decisive trial, or of the last trial with stacks.
pub(crate) fn of_run(facts: &Facts<'_>) -> Vec<HotFunction> {
    let stacks = |trial: &'_ run::Trial| trial.server.as_ref()?.waits.as_ref()?.stacks.as_ref().map(hot);
    let decisive = facts.decisive.and_then(stacks);
    decisive.or_else(|| facts.run.trials.iter().rev().find_map(stacks)).unwrap_or_default()
}

/// Returns the functions by the share of their own code, the largest first.
pub fn hot(profile: &StackProfile) -> Vec<HotFunction> {
    let mut own: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let sums = profile.cpu.iter().filter(|sum| sum.weight.is_finite() && sum.weight > 0.0);
    for sum in sums {
        let (process, functions) = sum.stack.split_once(';').unwrap_or((&sum.stack, &sum.stack));
        *own.entry((process, functions.rsplit(';').next().unwrap_or(functions))).or_default() += sum.weight;
    }
    let total: f64 = own.values().sum();
    let function = |((process, function), weight): ((&str, &str), f64)| HotFunction {
        process: process.into(),
        function: function.into(),
        share: weight / total,
    };
    let mut functions: Vec<HotFunction> = own.into_iter().map(function).collect();
    functions.sort_by(|a, b| b.share.total_cmp(&a.share));
    functions.truncate(MAX_FUNCTIONS);
    functions
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::StackSum;

    #[test]
    fn a_function_has_the_share_of_its_own_code_in_all_stacks() {
        let sum = |stack: &str, weight| StackSum { stack: stack.into(), weight };
        let cpu = vec![
            sum("nginx;main;deflate", 0.5),
            sum("nginx;main;worker;deflate", 0.12),
            sum("nginx;main", 0.38),
            sum("broken", f64::NAN),
        ];
        let found = hot(&StackProfile { cpu_samples: 100, cpu, ..StackProfile::default() });
        assert_eq!((found[0].process.as_str(), found[0].function.as_str(), found[0].share), ("nginx", "deflate", 0.62));
        assert_eq!((found[1].function.as_str(), found.len()), ("main", 2));
        assert!(hot(&StackProfile::default()).is_empty());
    }
}
