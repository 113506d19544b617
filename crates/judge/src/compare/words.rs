//! A word for each figure, and one for all.

use run::{Compared, ComparedWord};

use super::contrast::FEWEST;
use super::figures::decides;

/// A word needs a chance below this that it is none, over all figures: below the 5 % of the intervals, which it has to agree with.
const SURE: f64 = 0.03;

/// How much narrower an interval must be for a word than for one figure alone: Holm's of seven figures, about.
const OF_SEVERAL: f64 = 1.5;
/// Where the interval would do and the chance would not, somewhat more does.
const LEAST_MORE: f64 = 1.5;

/// Those that are sure, the surest first, each with what is left of the doubt (Holm). What tells of speed is a family of its own:
/// thirty costs beside it must not make it harder to be sure of.
fn sure(all: &[Compared], deciding: bool) -> Vec<usize> {
    let chance = |i: &usize| all[*i].p.unwrap_or(1.0);
    let family = |i: &usize| all[*i].p.is_some() && decides(&all[*i].figure) == deciding;
    let mut order: Vec<usize> = (0..all.len()).filter(family).collect();
    order.sort_by(|a, b| chance(a).total_cmp(&chance(b)));
    let looked = order.len();
    let sure = order.into_iter().enumerate().take_while(|(at, i)| chance(i) * (looked - at) as f64 <= SURE);
    sure.map(|(_, i)| i).collect()
}

/// Gives each figure its word.
pub(super) fn words(all: &mut [Compared], threshold: f64) {
    let sure = [sure(all, true), sure(all, false)].concat();
    for (i, c) in all.iter_mut().enumerate() {
        let Some((low, high)) = c.low.zip(c.high) else {
            let alike = (c.ratio - 1.0).abs() <= threshold && !decides(&c.figure);
            c.word = if alike { ComparedWord::Same } else { ComparedWord::NotEnough };
            // So many times as much makes an interval possible; what it will be is not known yet.
            let fewest = c.windows.0.min(c.windows.1).max(1);
            c.more = (!alike && fewest < FEWEST).then(|| (FEWEST as f64 / fewest as f64).ceil());
            continue;
        };
        let apart = low > 1.0 || high < 1.0;
        let within = low >= 1.0 / (1.0 + threshold) && high <= 1.0 + threshold;
        c.word = match (apart && sure.contains(&i), within) {
            (true, _) if (c.ratio > 1.0) == c.more_is_better => ComparedWord::Faster,
            (true, _) => ComparedWord::Slower,
            (false, true) => ComparedWord::Same,
            (false, false) => ComparedWord::NotEnough,
        };
        if c.word == ComparedWord::NotEnough {
            c.more = more(c.ratio.ln().abs(), (high / low).ln() / 2.0, threshold);
        }
    }
}

/// So many times as much would do: the interval has to become as narrow as the distance from 1, with what several figures ask
/// beyond it, or as what is left of the threshold.
fn more(apart: f64, half: f64, threshold: f64) -> Option<f64> {
    let narrow = (apart / OF_SEVERAL).max((1.0 + threshold).ln() - apart);
    Some((half / narrow).powi(2).max(LEAST_MORE)).filter(|more| more.is_finite())
}

/// The word of all: what became worse counts before what became better; the surest of them decided.
pub(super) fn verdict(all: &[Compared]) -> (ComparedWord, Option<String>) {
    let surest = |word: ComparedWord| {
        let of = all.iter().filter(|c| c.word == word && decides(&c.figure));
        of.min_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0))).map(|c| c.figure.clone())
    };
    for word in [ComparedWord::Slower, ComparedWord::Faster] {
        if let Some(figure) = surest(word) {
            return (word, Some(figure));
        }
    }
    // Of equal servers the steadiest figures say so, which come first; a p99.9 never does.
    let same = all.iter().find(|c| c.word == ComparedWord::Same && decides(&c.figure));
    same.map_or((ComparedWord::NotEnough, None), |c| (ComparedWord::Same, Some(c.figure.clone())))
}
