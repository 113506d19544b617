//! Functions with the largest shares of the server's CPU time, from sampled call stacks.

use std::collections::{BTreeMap, BTreeSet};

use run::{HotFunction, Run, StackProfile};

use super::runtime_frames::{collects_garbage, runs_program};
use crate::Facts;
use crate::context::view::{View, names};
use crate::thresholds::{HOT_EVERYTHING, HOT_INCLUSIVE, HOT_SHARE, WORKS};

/// Maximum number of functions in the list. A reader looks at the first few functions only; the flame graph shows all
/// functions.
const MAX_FUNCTIONS: usize = 10;

/// Name that stands for all functions of a garbage collector in a stack. As in the name of a module, the brackets show
/// that it is no function.
pub(super) const GARBAGE_COLLECTION: &str = "[garbage collection]";

/// Name of a process, and name of a function.
type FunctionId<'a> = (&'a str, &'a str);

/// A sampled stack.
pub(super) struct Stack<'a> {
    pub(super) process: &'a str,
    /// Functions, from the outermost to the innermost. All functions of a garbage collector are merged into one entry.
    pub(super) functions: Vec<&'a str>,
    /// Share of all samples in which this stack was found, 0 to 1.
    pub(super) share: f64,
}

/// Sums over all stacks that contain one function.
#[derive(Default)]
struct Inclusive<'a> {
    share: f64,
    /// Sum over all stacks with the function: the function's depth times the stack's share.
    depth: f64,
    /// Outermost functions of all stacks that contain this function.
    roots: BTreeSet<&'a str>,
}

/// Returns the functions of the run that use the most CPU time.
pub(crate) fn of_run(run: &Run) -> Vec<HotFunction> {
    run.cpu_stacks().map(hot).unwrap_or_default()
}

/// Returns the function whose own code explains the CPU time. If there is none, returns a function that explains the
/// CPU time together with the functions that it calls. Returns `None` if the process spends most of its CPU time in the
/// kernel, for which stacks show only the calling functions.
pub(crate) fn first<'a>(facts: &Facts<'_>, functions: &'a [HotFunction]) -> Option<&'a HotFunction> {
    let samples = facts.run.cpu_stacks()?.cpu_samples;
    let found = by_own_code(functions, samples).or_else(|| functions.iter().find(|f| f.inclusive.is_some()));
    found.filter(|function| !facts.full_server().is_some_and(|view| is_mostly_kernel(&view, &function.process)))
}

/// Returns true if a process, or all processes with one name, spend most of their CPU time in the kernel.
fn is_mostly_kernel(view: &View<'_>, process: &str) -> bool {
    let time = |counter: &'static str| -> f64 {
        let own = view.instances(counter).into_iter().filter(|(name, _)| names(process, name));
        own.map(|(_, us)| us).sum()
    };
    time("process.system") > time("process.user")
}

/// Returns the functions by the share of their own code, the largest first. Leaves out functions whose share may be
/// chance. If no function has a large share of own code, appends a function with a large inclusive share. The inclusive
/// share counts a function's own code and all that it calls.
pub fn hot(profile: &StackProfile) -> Vec<HotFunction> {
    let stacks = stacks(profile);
    let mut own: BTreeMap<FunctionId<'_>, f64> = BTreeMap::new();
    for stack in &stacks {
        *own.entry((stack.process, stack.functions.last().copied().unwrap_or_default())).or_default() += stack.share;
    }
    let share_of = |id: &FunctionId<'_>| own.get(id).copied().unwrap_or_default();
    let function = |id: FunctionId<'_>| HotFunction {
        process: id.0.into(),
        function: id.1.into(),
        share: share_of(&id),
        inclusive: None,
    };
    let mut functions: Vec<HotFunction> = own.keys().map(|id| function(*id)).collect();
    functions.retain(|function| is_seen_often(function.share, profile.cpu_samples));
    functions.sort_by(|a, b| b.share.total_cmp(&a.share));
    functions.truncate(MAX_FUNCTIONS);
    if by_own_code(&functions, profile.cpu_samples).is_none()
        && let Some((id, inclusive)) = by_inclusive(&stacks, profile.cpu_samples)
    {
        functions.retain(|known| (known.process.as_str(), known.function.as_str()) != id);
        functions.push(HotFunction { inclusive: Some(inclusive), ..function(id) });
        functions.sort_by(|a, b| b.share.total_cmp(&a.share));
    }
    functions
}

/// Returns the stacks that were sampled while code ran on a CPU.
pub(super) fn stacks(profile: &StackProfile) -> Vec<Stack<'_>> {
    let sums = || profile.cpu.iter().filter(|sum| sum.weight.is_finite() && sum.weight > 0.0);
    let total: f64 = sums().map(|sum| sum.weight).sum();
    sums().map(|sum| Stack::of(&sum.stack, sum.weight / total)).collect()
}

/// Returns the first function if it has a name, and a large share of own code even after the sampling error is
/// subtracted.
fn by_own_code(functions: &[HotFunction], samples: u64) -> Option<&HotFunction> {
    let first = functions.first()?;
    (is_beyond(first.share, HOT_SHARE, samples) && !is_no_function(&first.function)).then_some(first)
}

/// Returns the function with the smallest inclusive share of at least one half, and this share. Leaves out functions
/// without a name, and functions in nearly all stacks with the same outermost function. Of several functions with a
/// large inclusive share, the one with the smallest share says most precisely where the time goes. Of functions with
/// equal shares, returns the deepest one, below which the calls go to different functions.
fn by_inclusive<'a>(stacks: &[Stack<'a>], samples: u64) -> Option<(FunctionId<'a>, f64)> {
    let mut roots: BTreeMap<FunctionId<'_>, f64> = BTreeMap::new();
    for stack in stacks {
        *roots.entry((stack.process, stack.root())).or_default() += stack.share;
    }
    let is_beside_others = |process: &str, sums: &Inclusive<'_>| {
        let all: f64 = sums.roots.iter().filter_map(|root| roots.get(&(process, *root))).sum();
        sums.share <= HOT_EVERYTHING * all
    };
    let explains = |(id, sums): &(FunctionId<'_>, Inclusive<'_>)| {
        !is_no_function(id.1) && is_beyond(sums.share, HOT_INCLUSIVE, samples) && is_beside_others(id.0, sums)
    };
    let deepest = inclusive(stacks).into_iter().filter(explains).min_by(|(_, a), (_, b)| {
        a.share.total_cmp(&b.share).then_with(|| (b.depth / b.share).total_cmp(&(a.depth / a.share)))
    });
    deepest.map(|(id, sums)| (id, sums.share))
}

/// Adds up the samples of all stacks in which a function occurs, for each function. A function that occurs several
/// times in a stack (recursion) is counted once. Leaves out the callers of an interpreter, because they run the whole
/// program.
fn inclusive<'a>(stacks: &[Stack<'a>]) -> BTreeMap<FunctionId<'a>, Inclusive<'a>> {
    let mut all: BTreeMap<FunctionId<'a>, Inclusive<'a>> = BTreeMap::new();
    for stack in stacks {
        let mut seen = BTreeSet::new();
        let interpreter = stack.functions.iter().rposition(|function| runs_program(function)).unwrap_or(0);
        let inner = stack.functions.iter().enumerate().skip(interpreter);
        for (depth, function) in inner.filter(|(_, function)| seen.insert(**function)) {
            let sums = all.entry((stack.process, function)).or_default();
            sums.share += stack.share;
            sums.depth += stack.share * depth as f64;
            sums.roots.insert(stack.root());
        }
    }
    all
}

impl<'a> Stack<'a> {
    /// Splits a folded stack (`process;outer;…;inner`). Replaces the outermost function of a garbage collector, and all
    /// functions inside it, by one entry. A text without `;` names both the process and its only function.
    fn of(folded: &'a str, share: f64) -> Self {
        let (process, functions) = folded.split_once(';').unwrap_or((folded, folded));
        let mut functions: Vec<&str> = functions.split(';').collect();
        if let Some(at) = functions.iter().position(|function| collects_garbage(function)) {
            functions.truncate(at);
            functions.push(GARBAGE_COLLECTION);
        }
        Self { process, functions, share }
    }

    /// Returns the outermost function of the stack.
    fn root(&self) -> &'a str {
        self.functions.first().copied().unwrap_or_default()
    }
}

/// Returns true if a share is at least `limit`, even at the lower end of its sampling error. A single sample is never
/// enough to return true.
pub(super) fn is_beyond(share: f64, limit: f64, samples: u64) -> bool {
    samples > 1 && stats::shares::wilson(share.clamp(0.0, 1.0), samples.max(1) as f64, stats::NORMAL_95).low >= limit
}

/// Returns true if at least two samples contain a function, and its share is that of a working function. The share must
/// be large enough even at the lower end of its sampling error.
fn is_seen_often(share: f64, samples: u64) -> bool {
    (share * samples as f64).round() as u64 >= 2 && is_beyond(share, WORKS, samples)
}

/// Returns true if a name does not name a function of the program. Examples are a module in brackets (its function is
/// unknown), a garbage collector, and the frames of a runtime that run the whole program.
fn is_no_function(function: &str) -> bool {
    function.starts_with('[') || runs_program(function)
}

#[cfg(test)]
mod tests;
