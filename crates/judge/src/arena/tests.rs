//! Tests on simulated comparisons of servers whose true CPU times are known.

use run::{
    ArenaBuild, ArenaCapacity, ArenaEntry, ArenaPlace, ArenaPlan, ArenaProfile, ArenaRefusal, ArenaRefusalKind,
    ArenaSearch, ArenaState, ArenaTurn,
};
use stats::normal;

use super::*;

const ROUNDS: u32 = 12;

/// Makes a finished comparison under one load. `costs` are the CPU times per request of the servers in microseconds.
/// The first server takes part twice, so that the comparison measures the noise between two starts.
fn simulated(costs: &[f64], sd: f64, seed: u64) -> ArenaState {
    let mut random = fastrand::Rng::with_seed(seed);
    let entry = |i: usize| ArenaEntry { name: format!("s{i}"), ..ArenaEntry::default() };
    let plan = ArenaPlan {
        entries: (0..costs.len()).map(entry).collect(),
        profiles: vec![ArenaProfile { name: "hello".into(), ..ArenaProfile::default() }],
        ..ArenaPlan::default()
    };
    let place = |entry| ArenaPlace { entry, profile: 0 };
    let search = |(entry, cost): (usize, &f64)| {
        let rate = 1e6 / cost;
        let capacity = Some(ArenaCapacity { rate, low: 0.95 * rate, high: 1.05 * rate });
        ArenaSearch { place: place(entry), capacity, bottleneck: Some("server-cpu".into()), ..ArenaSearch::default() }
    };
    let searches = costs.iter().enumerate().map(search).collect();
    let mut state = ArenaState { plan, searches, done: true, ..ArenaState::default() };
    for round in 0..ROUNDS {
        let speed = 0.03 * normal(&mut random);
        for (twin, entry) in (0..costs.len()).map(|entry| (false, entry)).chain([(true, 0)]) {
            let cpu_us = Some(costs[entry] * (speed + sd * normal(&mut random)).exp());
            let p99_us = cpu_us.map(|us| 5.0 * us);
            state.turns.push(ArenaTurn {
                place: place(entry),
                twin,
                round,
                rate: 1.0,
                cpu_us,
                p99_us,
                ..ArenaTurn::default()
            });
        }
    }
    state
}

fn groups(state: &ArenaState) -> Vec<(String, Option<u32>)> {
    result(state).cells.into_iter().map(|cell| (cell.entry, cell.group)).collect()
}

#[test]
fn ten_servers_from_20_to_22_us_come_out_in_planted_order_and_groups() {
    let costs = [21.0, 22.0, 20.0, 22.0, 20.0, 21.0, 20.0, 22.0, 21.0, 21.0];
    let planted = |entry: &str| costs[entry[1..].parse::<usize>().unwrap()];
    let right = (0..200).filter(|seed| {
        let found = groups(&simulated(&costs, 0.005, *seed));
        let in_order = found.is_sorted_by(|a, b| planted(&a.0) <= planted(&b.0));
        in_order && found.iter().all(|(entry, group)| *group == Some((planted(entry) - 19.0) as u32))
    });
    let right = right.count();
    println!("{right} of 200 arenas come out as planted");
    assert!(right >= 190, "{right} of 200");
}

/// The expensive server missed the last five rounds, and the cheapest server missed the first three. An earlier version
/// of loadline ranked the cheapest server second, although it was cheaper in each round in which both took part.
#[test]
fn a_server_that_missed_other_rounds_than_an_expensive_one_keeps_its_rank() {
    let mut state = simulated(&[20.0, 22.0, 100.0], 0.0, 1);
    for turn in state.turns.iter_mut().filter(|turn| !turn.twin) {
        if turn.place.entry == 0 && turn.round < 3 || turn.place.entry == 2 && turn.round >= 7 {
            turn.refused = Some(ArenaRefusal { kind: ArenaRefusalKind::Stall, text: "why".into() });
        }
    }
    let found = groups(&state);
    assert_eq!(found, [("s0".into(), Some(1)), ("s1".into(), Some(2)), ("s2".into(), Some(3))]);
}

#[test]
fn a_capacity_of_a_closed_loop_is_noted() {
    let mut state = simulated(&[20.0, 40.0], 0.0, 1);
    let before = result(&state).notes;
    state.searches[1].closed_loop = Some(run::ClosedLoopSource { open_held: Some(900.0) });
    let added: Vec<String> = result(&state).notes.into_iter().filter(|note| !before.contains(note)).collect();
    assert_eq!(added.len(), 1, "{added:?}");
    assert!(
        added[0].starts_with("the capacity of s1 is not comparable") && added[0].contains("closed loop"),
        "{added:?}"
    );
    // Without another capacity, there is nothing to compare with.
    state.searches[0].capacity = None;
    let alone = result(&state).notes;
    let said = "the capacity of s1 is only known for a closed loop: in an open loop";
    assert!(alone.iter().any(|note| note.starts_with(said)), "{alone:?}");
    assert!(!alone.iter().any(|note| note.contains("the others")), "{alone:?}");
}

#[test]
fn an_interrupted_comparison_goes_on_and_a_finished_one_needs_more_time() {
    let mut state = simulated(&[20.0, 40.0], 0.0, 1);
    state.turns.retain(|turn| turn.round < 2);
    let advice = |state: &ArenaState| result(state).cells[0].refused.clone().unwrap_or_default();
    assert!(advice(&state).contains("--budget"), "{}", advice(&state));
    state.done = false;
    assert!(advice(&state).contains("--resume") && !advice(&state).contains("--budget"), "{}", advice(&state));
}

#[test]
fn equal_servers_share_one_group_and_both_starts_of_the_first_tie() {
    let (mut one_group, mut tied) = (0, 0);
    for seed in 0..300 {
        let result = result(&simulated(&[20.0; 6], 0.01, seed));
        one_group += usize::from(result.profiles[0].groups == 1);
        tied += usize::from(result.noise[0].tied);
        assert_eq!(result.notes.len(), usize::from(!result.noise[0].tied), "{:?}", result.notes);
    }
    println!("{one_group} of 300 in one group, {tied} of 300 A/A pairs tie");
    assert!(one_group >= 285 && tied >= 278, "{one_group} and {tied} of 300");
}

#[test]
fn a_chain_of_ties_is_one_group_that_names_its_differences() {
    let costs: Vec<f64> = (0..6).map(|i| 20.0 * 1.004_f64.powi(i)).collect();
    let result = result(&simulated(&costs, 0.006, 3));
    assert_eq!(result.profiles[0].groups, 1, "{:#?}", result.cells);
    let first = result.cells.iter().find(|cell| cell.entry == "s0").unwrap();
    assert!(first.differs_from.contains(&"s5".to_owned()), "{first:?}");
}

#[test]
fn refused_cells_have_figures_but_no_group() {
    let refusal = |kind| Some(ArenaRefusal { kind, text: "why".into() });
    let mut state = simulated(&[20.0, 30.0, 40.0, 50.0, 60.0, 70.0], 0.002, 1);
    state.searches[1].refused = refusal(ArenaRefusalKind::Generator);
    state.searches[2].refused = refusal(ArenaRefusalKind::WrongAnswer);
    state.turns.retain(|turn| turn.place.entry != 2);
    state.builds = vec![ArenaBuild { entry: 3, failed: Some("no go".into()) }];
    let spoiled = state.turns.iter_mut().filter(|turn| turn.place.entry == 4 && turn.round > 2);
    spoiled.for_each(|turn| turn.refused = refusal(ArenaRefusalKind::Stall));
    state.turns.iter_mut().filter(|turn| turn.place.entry == 5).for_each(|turn| turn.cpu_us = None);
    let result = result(&state);
    let of = |entry: &str| result.cells.iter().find(|cell| cell.entry == entry).unwrap();
    assert_eq!((of("s0").group, of("s0").refused_kind), (Some(1), None));
    for (entry, kind) in [
        ("s1", ArenaRefusalKind::Generator),
        ("s2", ArenaRefusalKind::WrongAnswer),
        ("s3", ArenaRefusalKind::Failed),
        ("s4", ArenaRefusalKind::Stall),
        ("s5", ArenaRefusalKind::NoCounters),
    ] {
        assert_eq!((of(entry).group, of(entry).refused_kind), (None, Some(kind)), "{entry}");
    }
    assert!(of("s1").cpu_us_per_request.is_some() && of("s2").cpu_us_per_request.is_none());
    state.searches.truncate(1);
    let cells = super::result(&state).cells;
    assert_eq!(cells.last().unwrap().refused_kind, Some(ArenaRefusalKind::NotMeasured));
}

#[test]
fn the_common_rate_is_half_of_the_smallest_capacity_or_the_stated_one() {
    let mut state = simulated(&[20.0, 50.0, 100.0], 0.01, 1);
    let lowest = 0.95 * 1e4;
    assert!((common_rate(&state, 0).unwrap() / (0.5 * lowest) - 1.0).abs() < 1e-9);
    state.searches[2].refused = Some(ArenaRefusal { kind: ArenaRefusalKind::Errors, text: "it fails".into() });
    assert!(common_rate(&state, 0).unwrap() > 0.9 * lowest, "a server without a capacity does not count");
    state.plan.profiles[0].rate = Some(30_000.0);
    let takes = |entry| takes_turns(&state, ArenaPlace { entry, profile: 0 });
    assert_eq!([takes(0), takes(1), takes(2)], [true, false, false]);
    assert_eq!(common_rate(&ArenaState::default(), 0), None);
}
