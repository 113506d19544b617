//! Both sides as curves: throughput against clients where several numbers of them were tried, and response times in full.

use run::{BothAt, ComparedCurves, Hist};

use super::percentiles::{Pair, responses};
use super::resample::average;
use crate::number::positive;
use crate::single::{clients, closed, good};

/// Shares of the requests at which both response times are told.
const SHARES: [f64; 12] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999];
/// Fewest requests beyond a share that make it worth telling.
const BEYOND: f64 = 5.0;

pub(super) fn curves(pairs: &[Pair<'_>]) -> ComparedCurves {
    ComparedCurves { rates: rates(pairs), response_us: response_us(pairs) }
}

/// One point a number of clients; empty where fewer than two were tried.
fn rates(pairs: &[Pair<'_>]) -> Vec<BothAt> {
    let mean = |side: &[&run::Trial]| average(&side.iter().map(|t| good(t)).collect::<Vec<_>>());
    let closed = pairs.iter().filter(|(a, _)| a.iter().all(|t| closed(t)));
    let mut points: Vec<BothAt> =
        closed.map(|(a, b)| BothAt { at: clients(a[0]), old: mean(a), new: mean(b) }).collect();
    points.sort_by(|a, b| a.at.total_cmp(&b.at));
    points.dedup_by(|a, b| a.at == b.at);
    if points.len() < 2 { Vec::new() } else { points }
}

/// Of the condition with the most requests: response times of different loads do not add up to anything.
fn response_us(pairs: &[Pair<'_>]) -> Vec<BothAt> {
    let whole = |side: &[&run::Trial]| {
        let mut all = Hist::new();
        side.iter().filter_map(|t| responses(t)).for_each(|hist| all.merge(hist));
        all
    };
    let requests = |(a, b): &&Pair<'_>| {
        let of = |side: &[&run::Trial]| side.iter().filter_map(|t| responses(t)).map(Hist::len).sum::<u64>();
        of(a).min(of(b))
    };
    let Some((a, b)) = pairs.iter().max_by_key(requests) else { return Vec::new() };
    let (a, b) = (whole(a), whole(b));
    let least = a.len().min(b.len()) as f64;
    let told = SHARES.into_iter().filter(|share| (1.0 - share) * least >= BEYOND);
    let point =
        |share| Some(BothAt { at: share, old: positive(a.quantile_us(share))?, new: positive(b.quantile_us(share))? });
    told.filter_map(point).collect()
}
