//! Percentiles through merged histograms: a window of 50 requests has no p99.9 of its own, a hundred such windows have one.
//!
//! Of each condition the histograms of all windows are added up on either side, and the ratio is that of the two quantiles;
//! conditions count alike. The interval is a bootstrap over windows, whose histograms are added up anew in each draw.

use std::collections::BTreeMap;

use run::{Hist, Trial};

use super::resample::{RESAMPLES, Random, average};
use crate::number::positive;
use crate::sample::Sample;

/// Windows of both sides under each condition.
pub(super) type Pair<'a> = (Vec<&'a Trial>, Vec<&'a Trial>);

/// One percentile of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Merged {
    /// The old one and the new one, microseconds: geometric means over the conditions.
    pub(super) old_us: f64,
    pub(super) new_us: f64,
    /// Standard error of the logarithm of the ratio.
    pub(super) error: f64,
}

/// The response times of a trial.
fn responses(trial: &Trial) -> Option<&Hist> {
    trial.histograms.get("response").filter(|hist| !hist.is_empty())
}

/// Both sides of every condition, each added up once for all percentiles.
pub(super) struct Sides(Vec<[Side; 2]>);

impl Sides {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        Self(pairs.iter().map(|(a, b)| [Side::of(a), Side::of(b)]).collect())
    }

    /// A quantile of both sides; `None` where a window kept no histogram, as in runs that were cut down or made elsewhere.
    pub(super) fn merged(&self, quantile: f64) -> Option<Merged> {
        self.0.iter().flatten().all(|side| side.complete).then(|| merged(&self.0, quantile))?
    }

    /// Old and new of the condition with the most requests.
    pub(super) fn fullest(&self) -> Option<&[Side; 2]> {
        self.0.iter().max_by_key(|[a, b]| a.requests().min(b.requests()))
    }
}

fn merged(conditions: &[[Side; 2]], quantile: f64) -> Option<Merged> {
    let ends = |of: &dyn Fn(&Side) -> f64| -> [f64; 2] {
        [0, 1].map(|side| average(&conditions.iter().map(|c| of(&c[side]).ln()).collect::<Vec<_>>()))
    };
    let [old, new] = ends(&|side| side.whole(quantile));
    let mut random = Random(fastrand::Rng::with_seed(2));
    let alone = conditions.iter().all(|c| c.iter().all(|side| side.windows.len() == 1));
    let draw = |_| match alone {
        true => {
            let drawn: Vec<f64> = (0..conditions.len())
                .map(|_| &conditions[random.0.usize(..conditions.len())])
                .map(|[a, b]| (b.whole(quantile) / a.whole(quantile)).ln())
                .collect();
            average(&drawn)
        }
        false => {
            let each = conditions.iter().map(|[a, b]| {
                let a = a.again(quantile, &mut random);
                (b.again(quantile, &mut random) / a).ln()
            });
            average(&each.collect::<Vec<_>>())
        }
    };
    let draws: Vec<f64> = (0..RESAMPLES).map(draw).collect();
    let error = Sample::of(&draws)?.sd;
    let [old_us, new_us] = [positive(old.exp())?, positive(new.exp())?];
    error.is_finite().then_some(Merged { old_us, new_us, error })
}

/// The windows of a side as counts in common buckets: a draw only adds up.
pub(super) struct Side {
    /// Upper ends of the buckets, microseconds, in order.
    ends_us: Vec<f64>,
    /// Of each window: bucket and count.
    windows: Vec<Vec<(usize, u64)>>,
    /// Every window had a histogram.
    complete: bool,
}

impl Side {
    fn of(trials: &[&Trial]) -> Self {
        let counts = |hist: &Hist| -> Vec<(u64, u64)> {
            hist.histogram().iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect()
        };
        let all: Vec<Vec<(u64, u64)>> = trials.iter().filter_map(|t| responses(t)).map(counts).collect();
        let mut places: BTreeMap<u64, usize> = all.iter().flatten().map(|(ns, _)| (*ns, 0)).collect();
        places.values_mut().enumerate().for_each(|(at, place)| *place = at);
        let ends_us = places.keys().map(|ns| *ns as f64 / 1e3).collect();
        let windows: Vec<Vec<_>> = all.iter().map(|w| w.iter().map(|(ns, n)| (places[ns], *n)).collect()).collect();
        Self { ends_us, complete: windows.len() == trials.len(), windows }
    }

    /// Requests of all windows.
    pub(super) fn requests(&self) -> u64 {
        self.windows.iter().flatten().map(|(_, n)| n).sum()
    }

    /// A quantile of all windows together, microseconds; NaN where there was no request.
    pub(super) fn whole(&self, quantile: f64) -> f64 {
        self.quantile(self.windows.iter(), quantile)
    }

    fn again(&self, quantile: f64, random: &mut Random) -> f64 {
        let drawn: Vec<_> =
            (0..self.windows.len()).map(|_| &self.windows[random.0.usize(..self.windows.len())]).collect();
        self.quantile(drawn.into_iter(), quantile)
    }

    fn quantile<'a>(&self, windows: impl Iterator<Item = &'a Vec<(usize, u64)>>, quantile: f64) -> f64 {
        let mut counts = vec![0u64; self.ends_us.len()];
        windows.flatten().for_each(|(at, n)| counts[*at] += n);
        let all: u64 = counts.iter().sum();
        let wanted = (quantile * all as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let at = counts.iter().position(|n| {
            seen += n;
            seen >= wanted
        });
        at.map_or(f64::NAN, |at| self.ends_us[at])
    }
}
