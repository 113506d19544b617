//! One figure of both: the ratio over all conditions with its interval, and the chance of such a difference of ranks.

use run::{Compared, FigureUnit, Run, Trial};

use super::figures::FigureSpec;
use super::percentiles::{Merged, Pair, Sides};
use super::ranks::mann_whitney;
use super::resample::{Logs, RESAMPLES, Random, SideOf, average};
use crate::fit::student_t95;
use crate::number::positive;
use crate::sample::Sample;

/// Fewest windows of each side that an interval is made of.
pub(super) const FEWEST: usize = 3;

/// One line of the table; `None` where no condition has it on both sides.
pub(super) fn of_figure(figure: &FigureSpec, runs: [&[Run]; 2], pairs: &[Pair<'_>], sides: &Sides) -> Option<Compared> {
    let merged = figure.quantile.and_then(|quantile| sides.merged(quantile));
    let compared = match figure.level {
        true => level(runs, pairs, figure.of),
        false => over(&known(pairs, figure.of), merged, true),
    };
    Some(Compared { figure: figure.name.into(), unit: figure.unit, more_is_better: figure.more_is_better, ..compared? })
}

/// A cost of the server that has no line of its own in the table.
pub(super) fn of_cost(
    name: &str,
    unit: FigureUnit,
    pairs: &[Pair<'_>],
    of: &dyn Fn(&Trial) -> Option<f64>,
) -> Option<Compared> {
    let compared = over(&known(pairs, of), None, true)?;
    Some(Compared { figure: name.into(), unit, beside: true, ..compared })
}

/// A level stays with a process, so each run is one look at it; of a single run on either side there is no interval.
fn level(runs: [&[Run]; 2], pairs: &[Pair<'_>], of: fn(&Trial) -> Option<f64>) -> Option<Compared> {
    let mean = |run: &Run| {
        let seen: Vec<f64> = run.trials.iter().filter_map(of).collect();
        positive(average(&seen)).map(f64::ln)
    };
    let [old, new] = runs.map(|runs| runs.iter().filter_map(mean).collect::<Vec<f64>>());
    let repeated = old.len() >= FEWEST && new.len() >= FEWEST;
    over(&if repeated { vec![(old, new)] } else { known(pairs, of) }, None, repeated)
}

/// The logarithms of a figure under every condition where both sides have it.
fn known(pairs: &[Pair<'_>], of: impl Fn(&Trial) -> Option<f64>) -> Vec<Logs> {
    let values = |trials: &[&Trial]| trials.iter().filter_map(|t| of(t)).map(f64::ln).collect::<Vec<f64>>();
    let all = pairs.iter().map(|(a, b)| (values(a), values(b)));
    all.filter(|(a, b)| !a.is_empty() && !b.is_empty()).collect()
}

/// The ratio over conditions; `None` without one.
fn over(known: &[Logs], merged: Option<Merged>, windows: bool) -> Option<Compared> {
    if known.is_empty() {
        return None;
    }
    let (n, m) = known.iter().fold((0, 0), |(n, m), (a, b)| (n + a.len(), m + b.len()));
    let about: Vec<Logs> = known.iter().map(|(a, b)| centred(a, b)).collect();
    let mean = |side: SideOf| (known.iter().map(|p| middle(side(p))).sum::<f64>() / known.len() as f64).exp();
    let enough = n >= FEWEST && m >= FEWEST && windows;
    let (old, new, ln_ratio, error) = match merged {
        Some(of) => (of.old_us, of.new_us, (of.new_us / of.old_us).ln(), of.error),
        None => {
            let error = if enough { standard_error(&about) } else { f64::NAN };
            (mean(|p| &p.0), mean(|p| &p.1), ratio_ln(&about), error)
        }
    };
    let half = enough.then(|| error * student_t95(n + m - 2));
    let flat = |side: SideOf| about.iter().flat_map(side).copied().collect::<Vec<f64>>();
    Some(Compared {
        old,
        new,
        ratio: ln_ratio.exp(),
        low: half.map(|h| (ln_ratio - h).exp()),
        high: half.map(|h| (ln_ratio + h).exp()),
        p: mann_whitney(&flat(|p| &p.0), &flat(|p| &p.1)).filter(|_| enough),
        windows: (n, m),
        ..Compared::default()
    })
}

/// The mean of the middle three fifths: a window that the machine disturbed is outvoted, and next to nothing is lost where none
/// was (Tukey 1960).
fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = values.len() / 5;
    average(&sorted[cut..values.len() - cut])
}

/// Both sides of one condition about its mean, each side counting alike.
fn centred(a: &[f64], b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mean = f64::midpoint(middle(a), middle(b));
    let off = |v: &[f64]| v.iter().map(|x| x - mean).collect();
    (off(a), off(b))
}

fn ratio_ln(pairs: &[Logs]) -> f64 {
    let all = |side: SideOf| middle(&pairs.iter().flat_map(side).copied().collect::<Vec<_>>());
    all(|p| &p.1) - all(|p| &p.0)
}

/// Standard error of the ratio's logarithm. Windows are drawn again within their condition; where conditions have one window a
/// side, whole conditions are.
fn standard_error(pairs: &[Logs]) -> f64 {
    let mut random = Random(fastrand::Rng::with_seed(1));
    let alone = pairs.iter().all(|(a, b)| a.len() == 1 && b.len() == 1);
    let draws: Vec<f64> = (0..RESAMPLES).map(|_| ratio_ln(&random.again(pairs, alone))).collect();
    let n: usize = if alone { pairs.len() } else { pairs.iter().map(|(a, b)| a.len().min(b.len())).sum() };
    // A bootstrap of n draws has n - 1 in the place of n.
    let few = n as f64 / (n as f64 - 1.0).max(1.0);
    Sample::of(&draws).map_or(f64::NAN, |sample| few.sqrt() * sample.sd)
}
