//! Searches on a machine without disturbances.

use crate::disturbances::undisturbed;
use crate::known::{BIAS, Found, Known, SEEDS, lowest_sure_failure};
use crate::models::{
    bucket, long_limit, long_limit_of_random_work, m_d_1, m_m_1, m_m_8, mean, own_objective, together,
};

/// A search in a third of the usual time finds the same capacity, but with a wider interval.
#[test]
fn m_m_1_is_found_and_in_ten_seconds_less_sharply() {
    let whole = m_m_1().holds(SEEDS, undisturbed);
    in_ten_seconds(m_m_1(), &whole);
}

fn in_ten_seconds(mut known: Known, whole: &Found) {
    known.plan.search.budget_s = 10.0;
    let found = known.found(SEEDS, undisturbed);
    println!("{:<26} in 10 s {found}", known.name);
    let slack = 2.0 * found.sd() / (SEEDS as f64).sqrt();
    assert!((found.mean() - 1.0).abs() <= BIAS + slack, "{}: {found}", known.name);
    let near = found.0.iter().filter(|r| (r.rate - 1.0).abs() <= 0.05).count();
    assert!(near as f64 >= 0.75 * SEEDS as f64, "{near} of {SEEDS} within 5 %: {found}");
    assert!(found.half() > whole.half(), "{found} and in 30 s {whole}");
}

/// The measurements are too short for response times to reach the objective's limit on the 99th percentile.
#[test]
fn find_s_own_objective_has_no_bias_and_in_ten_seconds_is_less_sharp() {
    let whole = own_objective().holds(SEEDS, undisturbed);
    in_ten_seconds(own_objective(), &whole);
}

#[test]
fn m_d_1_is_found() {
    m_d_1().holds(SEEDS, undisturbed);
}

#[test]
fn eight_slots_are_found() {
    m_m_8().holds(SEEDS, undisturbed);
}

#[test]
fn a_mean_is_found() {
    mean().holds(SEEDS, undisturbed);
}

#[test]
fn the_limit_that_breaks_first_of_two_is_found() {
    assert!(together().exact() < 10_000.0 - 1e6 / 400.0, "the mean gives way first");
    together().holds(SEEDS, undisturbed);
}

#[test]
fn a_token_bucket_is_found() {
    bucket().holds(SEEDS, undisturbed);
}

/// The limit is so long that requests exceed it only in measurements with a rate far beyond the capacity.
#[test]
fn a_capacity_is_found_for_a_limit_nearly_as_long_as_a_window() {
    long_limit().holds(SEEDS, undisturbed);
    long_limit_of_random_work().holds(SEEDS, undisturbed);
}

/// The windows of a search may disagree by chance as if the machine's speed had changed. Where windows disagree, a
/// single failed window is not certain.
#[test]
fn an_interval_hardly_ever_contains_a_rate_that_certainly_failed() {
    let (mut failed, mut inside) = (0, 0);
    for known in [m_m_1(), m_m_8(), own_objective()] {
        for run in (1..=SEEDS).map(|seed| known.at(seed).find().unwrap()) {
            let high = run.findings.capacity.as_ref().and_then(|capacity| capacity.high);
            let Some((lowest, high)) = lowest_sure_failure(&run).zip(high) else { continue };
            (failed, inside) = (failed + 1, inside + usize::from(high > lowest));
        }
    }
    println!("{inside} of {failed} intervals contain a rate that certainly failed");
    assert!(failed > 0 && 10 * inside <= failed, "{inside} of {failed}");
}
