//! Searches on machines that stop or change their speed, and searches of servers that stop.

use crate::disturbances::{drifting, pausing, stalling, stuttering, undisturbed, wandering};
use crate::known::SEEDS;
use crate::models::{m_m_1, mean, median, own_objective, slow_application};

#[test]
fn a_limit_on_the_mean_forgives_pauses_of_the_machine() {
    mean().holds(SEEDS, pausing);
}

#[test]
fn many_short_pauses_are_no_figure_of_the_server() {
    own_objective().holds(SEEDS, stuttering);
}

#[test]
fn pauses_of_the_machine_are_no_figure_of_the_server() {
    m_m_1().holds(SEEDS, pausing);
}

/// Contradictory windows widen the interval until it contains the machine's average capacity.
#[test]
fn a_median_is_found_and_on_a_machine_whose_speed_changes_less_sharply() {
    let (alone, changing) = (median().holds(SEEDS, undisturbed), median().holds(SEEDS, drifting));
    assert!(changing.half() > 1.5 * alone.half(), "{changing} and alone {alone}");
}

#[test]
fn a_machine_whose_speed_changes_slowly_causes_no_bias() {
    own_objective().holds(SEEDS, wandering);
}

/// A stop of 1.5 s that the pause meter does not see spoils one or two windows of a slow server, but the other windows
/// outweigh them.
#[test]
fn one_stall_of_a_slow_server_bends_little() {
    slow_application().holds(SEEDS, undisturbed);
    slow_application().holds(SEEDS, stalling);
}

/// The pauses that are left out are counted, and the capacity including them is reported, too.
#[test]
fn a_run_has_both_figures_with_the_pauses_and_without() {
    let run = pausing(m_m_1().at(1)).find().unwrap();
    let capacity = run.findings.capacity.as_ref().unwrap();
    let left_out = capacity.left_out.unwrap_or_else(|| panic!("{capacity:?}"));
    let (with, interval) = (left_out.rate.unwrap(), left_out.interval.unwrap());
    assert!(left_out.pauses > 0 && left_out.seconds > 0.1, "{left_out:?}");
    assert!(interval.low < with && with < interval.high && (with - capacity.rate).abs() > 1.0, "{capacity:?}");
    assert_eq!(m_m_1().at(1).find().unwrap().findings.capacity.and_then(|c| c.left_out), None);
}

/// If a firewall drops a connect, the client waits for a second. The first window then had no completed request, and an
/// earlier version of the search ended there.
#[test]
fn a_first_window_in_a_pause_of_the_server_is_repeated() {
    let run = m_m_1().at(1).stalled(0.05, 1.2).find().unwrap();
    let rates: Vec<f64> = run.trials.iter().map(|trial| trial.rates.completed_rate).collect();
    assert!(rates[0] == 0.0 && rates[1] > 0.0, "{rates:?}");
    assert_eq!(run.trials[1].label, "1 connection");
    assert!(run.findings.capacity.is_some_and(|capacity| capacity.rate > 0.0));
}
