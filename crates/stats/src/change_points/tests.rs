use proptest::prelude::*;

use super::*;

fn places(values: &[f64]) -> Vec<usize> {
    change_points(values, 0.0).iter().map(|point| point.at).collect()
}

#[test]
fn a_step_is_found_at_its_place_with_its_size() {
    let values: Vec<f64> = (0..40).map(|i| f64::from(i % 3) + if i < 25 { 100.0 } else { 110.0 }).collect();
    let [point] = change_points(&values, 0.0)[..] else { panic!("{:?}", change_points(&values, 0.0)) };
    let Difference { change, error, p, .. } = point.difference;
    assert!(point.at == 25 && (change - 10.0).abs() < 0.2 && error < 0.5 && p < 1e-9, "{point:?}");
}

#[test]
fn constant_values_few_values_and_undefined_values_have_no_change() {
    assert_eq!(places(&[]), [0; 0]);
    assert_eq!(places(&[5.0; 100]), [0; 0]);
    assert_eq!(places(&[1.0, 1.0, 9.0, 9.0, 9.0]), [0; 0]);
    assert_eq!(places(&[1.0, 1.0, 1.0, f64::NAN, 9.0, 9.0, 9.0]), [0; 0]);
    assert_eq!(places(&[f64::MAX, f64::MIN, f64::MAX, f64::MIN, f64::MAX, f64::MIN, 0.0]), [0; 0]);
}

#[test]
fn a_change_needs_three_values_and_a_step_below_the_resolution_is_none() {
    let mut values = vec![1.0; 20];
    values.extend([2.0; 2]);
    assert_eq!(places(&values), [0; 0]);
    values.push(2.0);
    assert_eq!(places(&values), [20]);
    assert!(change_points(&values, 1.0).is_empty());
}

#[test]
fn single_outliers_are_no_changes_and_hide_none() {
    let mut values: Vec<f64> = (0..60).map(|i| f64::from(7 * i % 4) + if i < 30 { 100.0 } else { 104.0 }).collect();
    for outlier in [7, 8, 19, 40, 58] {
        values[outlier] += 500.0;
    }
    assert_eq!(places(&values), [30]);
}

#[test]
fn windows_do_not_lose_changes_of_a_long_series() {
    let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 5) + 20.0 * f64::from(i / 90 % 2)).collect();
    assert_eq!(places(&values), (1..12).map(|step| step * 90).collect::<Vec<_>>());
}

/// Returns the energy distance of a split at `at` of the values before `end`, computed from the definition.
fn energy(values: &[f64], [at, end]: [usize; 2]) -> f64 {
    let sum = |a: &[f64], b: &[f64]| a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum::<f64>();
    let (a, b) = (&values[..at], &values[at..end]);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let mean = 2.0 * sum(a, b) / (n * m) - sum(a, a) / (n * (n - 1.0)) - sum(b, b) / (m * (m - 1.0));
    n * m / (n + m) * mean
}

/// Returns the largest energy distance of all splits and all ends.
fn largest_energy(values: &[f64]) -> f64 {
    let ends = |at: usize| at + MIN_SEGMENT..=values.len();
    let all = (MIN_SEGMENT..=values.len() - MIN_SEGMENT).flat_map(|at| ends(at).map(move |end| [at, end]));
    all.map(|split| energy(values, split)).fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_split_has_the_largest_energy_distance(values in prop::collection::vec(0.0_f64..1.0, 6..25)) {
        // Two splits may have the same energy distance, except for the rounding of sums.
        let found = energy(&values, best_split(&values).unwrap());
        prop_assert!((found - largest_energy(&values)).abs() < 1e-9, "{found}");
    }

    #[test]
    fn changes_are_ordered_apart_and_significant(
        values in prop::collection::vec(-1e3_f64..1e3, 0..80), step in 0.0_f64..1e4, at in 0_usize..80,
    ) {
        let values: Vec<f64> = values.iter().enumerate().map(|(i, v)| if i < at { *v } else { v + step }).collect();
        let points = change_points(&values, 0.0);
        let bounds: Vec<usize> =
            std::iter::once(0).chain(points.iter().map(|point| point.at)).chain([values.len()]).collect();
        prop_assert!(points.is_empty() || bounds.windows(2).all(|pair| pair[1] - pair[0] >= MIN_SEGMENT));
        prop_assert!(points.iter().all(|point| point.difference.p < LEVEL && point.difference.error > 0.0));
        prop_assert_eq!(&points, &change_points(&values, 0.0));
    }

    #[test]
    fn a_mirrored_series_has_mirrored_changes(values in prop::collection::vec(-1.0_f64..1.0, 20..60), at in 5_usize..15) {
        let values: Vec<f64> = values.iter().enumerate().map(|(i, v)| if i < at { *v } else { v + 9.0 }).collect();
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        prop_assert_eq!(places(&values), places(&mirrored));
    }

    #[test]
    fn any_values_are_accepted(values in prop::collection::vec(prop::num::f64::ANY, 0..40), resolution in prop::num::f64::ANY) {
        change_points(&values, resolution);
    }
}

/// Medians of response times, in microseconds, of a server that works twice as long from the eleventh run on. The
/// values drift slowly, so an earlier version of loadline took the step as a part of the drift.
#[test]
fn a_step_is_found_beside_a_drift() {
    let drift = [361.0, 343.0, 348.0, 340.0, 333.0, 338.0, 329.0, 343.0, 363.0, 387.0];
    let other = [374.0, 404.0, 382.0, 372.0, 344.0, 347.0, 379.0, 306.0, 344.0, 377.0];
    let after = [580.0, 563.0, 568.0, 572.0, 578.0, 593.0, 634.0_f64];
    for before in [drift, other] {
        let values: Vec<f64> = before.iter().chain(&after).map(|us: &f64| us.ln()).collect();
        let found: Vec<usize> = change_points(&values, 0.005).iter().map(|point| point.at).collect();
        assert_eq!(found, [10], "{before:?}");
        assert!(change_points(&values[..10], 0.005).is_empty(), "a drift alone is no step");
    }
}

/// Random walks of 20 values with a step of 0.45 at index 14. Each interval must exclude no change. At least 75 of 100
/// intervals must contain the true step of 0.45. The intervals aim at 95 of 100 and reach fewer, because a drift can
/// look like outliers, or like a change between two levels. Intervals around the difference of the means of all values,
/// to which the drift contributes, would contain it in 64 of 100 series.
#[test]
fn the_interval_of_a_step_beside_a_drift_holds_the_step() {
    let (step, mut found, mut held) = (0.45, 0, 0);
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut level = 0.0;
        let walk = (0..20).map(|at| {
            level += 0.04 * crate::normal(&mut random);
            if at < 14 { level } else { level + step }
        });
        let points = change_points(&walk.collect::<Vec<f64>>(), 0.001);
        for Difference { change, error, freedom, .. } in points.iter().filter(|p| p.at == 14).map(|p| p.difference) {
            let half = crate::student::t95(freedom) * error;
            assert!(change > half, "{change} {half}");
            found += 1;
            held += usize::from((change - step).abs() <= half);
        }
    }
    println!("{held} of {found} intervals hold the step");
    assert!(found >= 200 && held * 100 >= found * 75, "{held} of {found}");
}
