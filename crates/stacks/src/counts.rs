//! Adds up equal stacks. The sums can be printed as folded text, or as the functions whose own code uses the most CPU
//! time.

use std::collections::{BTreeMap, HashMap};

use crate::frame::Frame;

/// Maximum number of different stacks. The weights of all further stacks are added up without their frames.
const MAX_STACKS: usize = 1 << 16;

/// Name of the root under which stacks beyond [`MAX_STACKS`] are counted.
const OTHER: &str = "[other stacks]";

/// Sums of equal stacks, by folded stack. A folded stack is the name of the process and the functions from the
/// outermost to the innermost, separated by ";".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StackCounts(BTreeMap<String, f64>);

/// A function, and the share of all samples that were taken in its own code, without the functions that it called.
#[derive(Clone, Debug, PartialEq)]
pub struct HotFunction {
    /// Name of the process.
    pub process: String,
    /// Name of the function, or name of its module in brackets if the function has no name.
    pub function: String,
    /// Share of all samples, from 0 to 1.
    pub share: f64,
}

impl StackCounts {
    /// Adds `weight` for a stack of `process`. `frames` has the innermost frame first. A function without a name counts
    /// as its nearest named caller in the module, because a stripped library names only exported functions.
    pub fn add(&mut self, process: &str, frames: &[Frame], weight: f64) {
        let mut stack = crate::names::printable(process).to_string();
        let mut caller: Option<&Frame> = None;
        for frame in frames.iter().rev() {
            if frame.function.is_none() && caller.is_some_and(|caller| caller.module == frame.module) {
                continue;
            }
            stack.push(';');
            stack.push_str(&frame.label());
            caller = Some(frame).filter(|frame| frame.function.is_some());
        }
        self.add_folded(stack, weight);
    }

    /// Adds `weight` for a stack that is already in folded form.
    pub fn add_folded(&mut self, stack: String, weight: f64) {
        let known = self.0.len() < MAX_STACKS || self.0.contains_key(&stack);
        *self.0.entry(if known { stack } else { OTHER.to_owned() }).or_default() += weight;
    }

    /// Returns each stack with its sum, in the alphabetical order of the folded stacks.
    pub fn stacks(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(stack, weight)| (stack.as_str(), *weight))
    }

    /// Returns the sum of all stacks.
    pub fn total(&self) -> f64 {
        self.0.values().sum()
    }

    /// Returns the text that flame graph tools read: a stack and its rounded sum per line.
    pub fn folded(&self) -> String {
        self.stacks().map(|(stack, weight)| format!("{stack} {:.0}\n", weight.max(1.0))).collect()
    }

    /// Returns the functions, the one with the largest share of samples in its own code first. Leaves out functions
    /// with a share below `min_share`.
    pub fn hot(&self, min_share: f64) -> Vec<HotFunction> {
        let mut own: HashMap<(&str, &str), f64> = HashMap::new();
        for (stack, weight) in self.stacks() {
            let (process, rest) = stack.split_once(';').unwrap_or((stack, stack));
            *own.entry((process, rest.rsplit(';').next().unwrap_or(rest))).or_default() += weight;
        }
        let total = self.total();
        let shares = own.into_iter().map(|((process, function), weight)| (process, function, weight / total));
        let mut hot: Vec<HotFunction> = shares
            .filter(|(.., share)| *share >= min_share)
            .map(|(process, function, share)| HotFunction {
                process: process.to_owned(),
                function: function.to_owned(),
                share,
            })
            .collect();
        hot.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.function.cmp(&b.function)));
        hot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str) -> Frame {
        Frame { function: Some(function.into()), module: "m".into(), file: None, line: None }
    }

    #[test]
    fn equal_stacks_are_added_and_functions_ordered_by_their_own_share() {
        let mut counts = StackCounts::default();
        counts.add("nginx", &[frame("deflate"), frame("main")], 3.0);
        counts.add("nginx", &[frame("deflate"), frame("worker"), frame("main")], 1.0);
        counts.add("nginx", &[frame("main")], 1.0);
        let hot = counts.hot(0.0);
        assert_eq!((hot[0].function.as_str(), hot[0].share), ("deflate", 0.8));
        assert_eq!((hot[1].function.as_str(), hot[1].share), ("main", 0.2));
        assert_eq!(counts.hot(0.5).len(), 1);
        assert_eq!(counts.folded(), "nginx;main 1\nnginx;main;deflate 3\nnginx;main;worker;deflate 1\n");
    }

    #[test]
    fn functions_without_a_name_belong_to_their_librarys_function() {
        let nameless = |module: &str| Frame { function: None, module: module.into(), file: None, line: None };
        let deflate = Frame { module: "libz".into(), ..frame("deflate") };
        let mut counts = StackCounts::default();
        let frames = [nameless("libz"), nameless("libz"), deflate, nameless("nginx"), frame("main")];
        counts.add("nginx", &frames, 1.0);
        assert_eq!(counts.folded(), "nginx;main;[nginx];deflate 1\n");
    }

    #[test]
    fn the_number_of_stacks_is_bounded() {
        let mut counts = StackCounts::default();
        (0..MAX_STACKS + 10).for_each(|i| counts.add_folded(format!("p;{i}"), 1.0));
        assert_eq!((counts.stacks().count(), counts.total()), (MAX_STACKS + 1, (MAX_STACKS + 10) as f64));
    }
}
