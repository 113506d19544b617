//! Functions with the largest shares of the server's CPU time, from the sampled stacks.

use std::collections::BTreeMap;

use run::{HotFunction, Run, StackProfile};

use crate::thresholds::HOT_SHARE;

/// Maximum number of functions. A reader looks at the first few; the flame graph has all.
const MAX_FUNCTIONS: usize = 10;

/// Returns the hottest functions of the run.
pub(crate) fn of_run(run: &Run) -> Vec<HotFunction> {
    run.cpu_stacks().map(hot).unwrap_or_default()
}

/// Returns the first function if it has a name and a share of the CPU time that is large beyond the sampling error.
pub(crate) fn first<'a>(run: &Run, functions: &'a [HotFunction]) -> Option<&'a HotFunction> {
    let (first, samples) = (functions.first()?, run.cpu_stacks()?.cpu_samples as f64);
    let error = stats::NORMAL_95 * (first.share * (1.0 - first.share) / samples.max(1.0)).sqrt();
    (first.share - error >= HOT_SHARE && !is_module(&first.function)).then_some(first)
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

/// Returns true for a module in brackets, which stands for a function without a name.
fn is_module(function: &str) -> bool {
    function.starts_with('[')
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

    #[test]
    fn one_function_among_many_is_not_named() {
        let named = |share: f64, samples: u64, function: &str| {
            let sum = |stack: String, weight| StackSum { stack, weight };
            let others = (0..20).map(|i| sum(format!("app;main;f{i}"), (1.0 - share) / 20.0));
            let cpu = others.chain([sum(format!("app;main;{function}"), share)]).collect();
            let stacks = Some(StackProfile { cpu_samples: samples, cpu, ..StackProfile::default() });
            let waits = Some(Box::new(run::WaitProfile { rounds: 9, stacks, ..run::WaitProfile::default() }));
            let server = Some(run::Side { waits, ..run::Side::default() });
            let run = run::Run { trials: vec![run::Trial { server, ..run::Trial::default() }], ..run::Run::default() };
            first(&run, &of_run(&run)).map(|hot| hot.function.clone())
        };
        assert_eq!(named(0.6, 100, "deflate").as_deref(), Some("deflate"));
        assert_eq!(named(0.15, 10_000, "deflate"), None, "a small share");
        assert_eq!(named(0.3, 20, "deflate"), None, "few samples");
        assert_eq!(named(0.6, 100, "[nginx]"), None, "a module is no function");
    }
}
