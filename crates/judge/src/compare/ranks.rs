//! The rank test of Mann and Whitney (1947), two-sided, with midranks for ties and the normal approximation with a correction
//! for continuity. For fewer than four on a side no difference of ranks means anything, so there is no answer.

use crate::sample::normal_tail;

/// Chance that two equal servers' values differ so much in rank; `None` with too few values.
pub(crate) fn mann_whitney(old: &[f64], new: &[f64]) -> Option<f64> {
    let (n, m) = (old.len() as f64, new.len() as f64);
    if old.len() < 4 || new.len() < 4 {
        return None;
    }
    let mut all: Vec<(f64, bool)> =
        old.iter().map(|v| (*v, true)).chain(new.iter().map(|v| (*v, false))).filter(|v| v.0.is_finite()).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut ties, mut i) = (0.0, 0.0, 0);
    while i < all.len() {
        let same = all[i..].iter().take_while(|v| v.0 == all[i].0).count();
        let rank = i as f64 + (same as f64 + 1.0) / 2.0;
        ranks += rank * all[i..i + same].iter().filter(|v| v.1).count() as f64;
        ties += (same as f64).powi(3) - same as f64;
        i += same;
    }
    let u = ranks - n * (n + 1.0) / 2.0;
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    Some((2.0 * normal_tail(z)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_overlap_is_told_and_what_is_mixed_is_not() {
        let (low, high): (Vec<f64>, Vec<f64>) = ((0..10).map(f64::from).collect(), (10..20).map(f64::from).collect());
        let p = mann_whitney(&low, &high).unwrap();
        assert!((p - 1.8e-4).abs() < 2e-5, "R gives 0.00018 for this: {p}");
        assert!(mann_whitney(&low, &low).unwrap() > 0.999);
        assert!(mann_whitney(&[1.0; 8], &[1.0; 8]).unwrap() > 0.999);
        assert_eq!(mann_whitney(&[1.0, 2.0, 3.0], &high), None);
        assert!((normal_tail(1.959_964) - 0.025).abs() < 1e-6);
    }
}
