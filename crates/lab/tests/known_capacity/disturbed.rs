//! Searches on machines that stop or change their speed, and searches on servers that stop.

use crate::disturbances::{
    beside_a_program, beside_many_programs, drifting, pausing, robbed, stalling, stuttering, swamped, undisturbed,
    wandering,
};
use crate::known::SEEDS;
use crate::models::{long_limit, m_m_1, mean, median, own_objective, slow_application};

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

/// Measurements that contradict each other widen the interval, until it contains the machine's average capacity.
#[test]
fn a_median_is_found_and_on_a_machine_whose_speed_changes_less_sharply() {
    let (alone, changing) = (median().holds(SEEDS, undisturbed), median().holds(SEEDS, drifting));
    assert!(changing.half() > 1.5 * alone.half(), "{changing} and alone {alone}");
}

#[test]
fn a_machine_whose_speed_changes_slowly_causes_no_bias() {
    own_objective().holds(SEEDS, wandering);
}

/// The server itself stops once for 1.5 s. The stop of the server is not recorded as a pause of the machine. The single
/// stop of the server spoils one or two measurements, but the other measurements outweigh them.
#[test]
fn one_stall_of_a_slow_server_bends_little() {
    slow_application().holds(SEEDS, undisturbed);
    slow_application().holds(SEEDS, stalling);
}

/// Another program takes half of the server's CPU during 8 of 30 s.
#[test]
fn a_program_that_runs_for_a_while_does_not_bend_the_capacity() {
    let found = own_objective().holds(SEEDS, beside_a_program);
    let near = found.0.iter().filter(|r| (r.rate - 1.0).abs() <= 0.1).count();
    assert!(near as f64 >= 0.9 * SEEDS as f64, "{near} of {SEEDS}: {found}");
}

#[test]
fn programs_that_come_and_go_do_not_bend_the_capacity() {
    m_m_1().holds(SEEDS, beside_many_programs);
}

/// Nobody knows the true capacity of a machine whose CPUs another program mostly takes. If a window failed above all
/// windows that held, the reported capacity must not be above the failed rate. The interval must contain the highest
/// rate that a window held.
#[test]
fn on_a_swamped_machine_no_capacity_is_far_above_every_rate_that_held() {
    for (known, seed) in (1..=SEEDS).flat_map(|seed| [(own_objective(), seed), (slow_application(), seed)]) {
        let run = swamped(known.at(seed)).find().unwrap();
        let Some(c) = run.findings.capacity.as_ref().filter(|c| c.held && c.closed_loop.is_none()) else { continue };
        let searched = |kind| matches!(kind, run::TrialKind::Search | run::TrialKind::Overload);
        let windows: Vec<_> = run.outcomes().filter(|(trial, _)| searched(trial.kind)).collect();
        let rate = |(trial, _): &(&run::Trial, _)| trial.rates.offered_rate;
        let most = windows.iter().filter(|(_, outcome)| outcome.held).map(rate).fold(0.0, f64::max);
        let failed = windows.iter().filter(|(_, outcome)| outcome.chance_held.is_some_and(|chance| chance < 0.1));
        let contradicts = failed.map(rate).any(|failed| (1.001 * most..c.rate).contains(&failed));
        let contains = c.low.is_none_or(|low| low <= 1.001 * most);
        assert!(!contradicts && contains, "{} {seed}: {most} {c:?}", known.name);
    }
}

/// The hypervisor gives half of the server's CPU to other virtual machines during 8 of 30 s. Overloads show the
/// capacity of this server, so each window with stolen CPU time would lower the estimate.
#[test]
fn windows_whose_cpu_time_was_stolen_do_not_bend_the_capacity() {
    let found = long_limit().holds(SEEDS, robbed);
    let near = found.0.iter().filter(|r| (r.rate - 1.0).abs() <= 0.1).count();
    assert!(near as f64 >= 0.9 * SEEDS as f64, "{near} of {SEEDS}: {found}");
}

/// The report must name the share of the CPU that other programs took, and say that disturbed measurements were left
/// out.
#[test]
fn a_run_beside_another_program_names_its_share() {
    let run = beside_a_program(m_m_1().at(1)).find().unwrap();
    let left_out = run.findings.capacity.as_ref().and_then(|c| c.left_out).unwrap();
    let share = left_out.others_cpu_s / left_out.others_s;
    assert!(left_out.pauses == 0 && left_out.others_s > 1.0 && (share - 0.53).abs() < 0.1, "{left_out:?}");
    let told =
        run.findings.trust.warnings.iter().any(|w| w.contains("other programs took 5") && w.contains("left out"));
    assert!(told, "{:?}", run.findings.trust.warnings);
}

/// The run must count the pauses that the search leaves out, and must also report the capacity including them.
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

/// If a firewall drops a connect, the client waits for a second. The first measurement therefore had no completed
/// request. An earlier version of loadline ended the search after such a measurement.
#[test]
fn a_first_window_in_a_pause_of_the_server_is_repeated() {
    let run = m_m_1().at(1).stalled(0.05, 1.2).find().unwrap();
    let rates: Vec<f64> = run.trials.iter().map(|trial| trial.rates.completed_rate).collect();
    assert!(rates[0] == 0.0 && rates[1] > 0.0, "{rates:?}");
    assert_eq!(run.trials[1].label, "1 connection");
    assert!(run.findings.capacity.is_some_and(|capacity| capacity.rate > 0.0));
}
