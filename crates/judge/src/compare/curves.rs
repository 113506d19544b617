//! Curves of both sides: throughput by number of clients, and response time by quantile.

use run::{ComparedCurves, CurvePoint};

use super::percentiles::Sides;
use super::windows::{Pair, Window};
use crate::context::single::{clients, closed, good};
use crate::number::positive;
use stats::average;

/// Quantiles of the response time in the curve.
const SHARES: [f64; 12] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999];
/// Minimum number of requests that must be slower than a quantile, so that the curve shows this quantile.
const BEYOND: f64 = 5.0;

/// Makes the throughput curve and the response-time curve of each side. `swept` contains the windows of both sides for
/// each condition with a number of clients. For two live servers, the conditions are the steps of their searches.
pub(super) fn curves(swept: &[Pair<'_>], sides: &Sides) -> ComparedCurves {
    ComparedCurves { rates: rates(swept), response_us: response_us(sides) }
}

/// Returns one point for each number of clients. Returns an empty list if fewer than two numbers of clients were
/// measured.
fn rates(pairs: &[Pair<'_>]) -> Vec<CurvePoint> {
    let mean = |side: &[Window<'_>]| average(&side.iter().map(|w| good(w.trial)).collect::<Vec<_>>());
    let closed = pairs.iter().filter(|[a, _]| a.iter().all(|w| closed(w.trial)));
    let mut points: Vec<CurvePoint> =
        closed.map(|[a, b]| CurvePoint { at: clients(a[0].trial), old: mean(a), new: mean(b) }).collect();
    points.sort_by(|a, b| a.at.total_cmp(&b.at));
    // If several conditions have the same number of clients, the curve shows the mean of their rates.
    let of = |group: &[CurvePoint]| {
        let mean = |side: fn(&CurvePoint) -> f64| average(&group.iter().map(side).collect::<Vec<_>>());
        CurvePoint { at: group[0].at, old: mean(|p| p.old), new: mean(|p| p.new) }
    };
    let points: Vec<CurvePoint> = points.chunk_by(|a, b| a.at == b.at).map(of).collect();
    if points.len() < 2 { Vec::new() } else { points }
}

/// Returns the response times of both sides under the condition with the most requests. Response times under different
/// loads cannot be merged.
fn response_us(sides: &Sides) -> Vec<CurvePoint> {
    let Some([a, b]) = sides.fullest() else { return Vec::new() };
    let least = a.requests().min(b.requests()) as f64;
    let told = SHARES.into_iter().filter(|share| (1.0 - share) * least >= BEYOND);
    let point = |share| Some(CurvePoint { at: share, old: positive(a.whole(share))?, new: positive(b.whole(share))? });
    told.filter_map(point).collect()
}
