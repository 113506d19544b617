//! Tests of estimates from time slots whose true elasticities are known. A lever is a temporary change that an
//! experiment makes, such as slowing a CPU.

use run::{ElasticityBasis, LeverSlots, ProofTrial};

use super::super::network::{Network, coverage};
use super::estimate;
use stats::queueing::Station;

fn network(demands: &[f64], delay_s: f64, clients: u32) -> Network {
    let stations = demands.iter().map(|d| Station::queue(*d)).collect();
    Network { stations, delay_s, clients, left: 0.8, slot_s: 40.0, slowed: demands.len() }
}

#[test]
fn intervals_cover_the_exact_elasticities_of_networks() {
    for network in [
        network(&[1.0], 2.0, 8),
        network(&[1.0, 0.6], 0.0, 6),
        network(&[1.0, 0.8, 0.5], 2.0, 8),
        network(&[1.0, 0.9, 0.7, 0.3], 4.0, 10),
    ] {
        let covered = coverage(&network, 200);
        let enough = covered.each.iter().chain([&covered.remainder]).all(|n| *n >= 186);
        assert!(enough, "{network:?}: {covered:?}");
        assert!(covered.bias.iter().all(|b| b.abs() < 0.04), "{network:?}: {covered:?}");
    }
}

/// The slowed station is nearly as slow as another station, which no lever slows. With many clients, the slowed station
/// hardly limits, but becomes the limit as soon as its lever is on.
#[test]
fn intervals_cover_elasticities_that_the_dose_changes() {
    for (slower, clients) in [0.85, 0.9, 0.93, 0.96].into_iter().flat_map(|slower| [8, 16, 64].map(|n| (slower, n))) {
        let slot_s = 10.0 * f64::from(clients);
        let network = Network { left: 0.75, slot_s, slowed: 1, ..network(&[slower, 1.0], 0.0, clients) };
        let covered = coverage(&network, 100);
        assert!(covered.each[0] >= 93 && covered.remainder >= 93, "{network:?}: {covered:?}");
    }
}

/// The slowed station is the only bottleneck. The utilizations of the stations must hardly ever lower the lower end of
/// the interval of the slowed station's elasticity.
#[test]
fn a_full_station_keeps_its_low_end() {
    for (demands, delay_s) in [(vec![1.0], 2.0), (vec![1.0, 0.6], 0.0), (vec![1.0, 0.7, 0.5], 2.0)] {
        let network = Network { left: 0.75, slot_s: 160.0, slowed: 1, ..network(&demands, delay_s, 16) };
        let lowered = |seed: &u64| {
            let without = estimate(&network.trial(*seed).0).unwrap().elasticities[0].low;
            network.estimated(*seed).elasticities[0].low < without - 0.05
        };
        let count = (0..40).filter(lowered).count();
        assert!(count <= 2, "{network:?}: lowered in {count} of 40");
    }
}

#[test]
fn the_elasticity_of_a_resource_is_at_most_its_utilization() {
    let on = |step: usize| (0..96).map(|t: usize| (t * step + t / 5).is_multiple_of(3)).collect::<Vec<bool>>();
    let idle = LeverSlots { taken: Some(0.97), ..slots(on(7), |on| if on { 0.995 } else { 1.0 }) };
    let busy = slots(on(11), |on| if on { 0.75 } else { 1.0 });
    let rate = |t: usize| 1000.0 + (t * 7919 % 13) as f64;
    let completed_rate: Vec<f64> = (0..96).map(rate).collect();
    let of = |levers| estimate(&ProofTrial { completed_rate: completed_rate.clone(), levers, ..ProofTrial::default() });
    let both = of(vec![idle.clone(), busy]).unwrap();
    assert!(
        (both.elasticities[0].high - 0.03).abs() < 1e-9
            && both.doses[0] == 0.97
            && both.bases[0] == ElasticityBasis::Wanted,
        "{both:?}"
    );
    assert!(both.elasticities[1].value.abs() < 0.05 && both.remainder.low > 0.9, "{both:?}");
    let alone = of(vec![idle]).unwrap();
    assert!((alone.remainder.low - 0.97).abs() < 1e-9 && alone.remainder.high == 1.0, "{alone:?}");
    assert!(alone.ratios[0].low < 1.0 && alone.ratios[0].high > 1.0, "{alone:?}");
}

/// This test repeats a situation that was observed while a compiler ran on the machine. The generator's CPU thief (a
/// busy loop) took 80 % of a CPU, but the generator's threads lost only 0.6 % of their speed.
#[test]
fn a_lever_that_took_much_and_slowed_nothing_bounds_its_resource_beside_other_programs() {
    let on = |step: usize| (0..96).map(|t: usize| (t * step + t / 5).is_multiple_of(3)).collect::<Vec<bool>>();
    let client = LeverSlots { taken: Some(0.8), ..slots(on(7), |on| if on { 0.994 } else { 1.0 }) };
    let server = LeverSlots { taken: Some(0.25), ..slots(on(11), |on| if on { 0.75 } else { 1.0 }) };
    let rate = |t: usize| (1000.0 + (t * 7919 % 13) as f64) * if server.on[t] { 0.75 } else { 1.0 };
    let completed_rate = (0..96).map(rate).collect();
    let levers = vec![client, server.clone()];
    let found = estimate(&ProofTrial { completed_rate, levers, ..ProofTrial::default() }).unwrap();
    assert!((found.elasticities[0].high - 0.2).abs() < 1e-9 && found.elasticities[0].low == 0.0, "{found:?}");
    assert!(found.elasticities[1].low > 0.9 && found.remainder.high >= 0.0, "{found:?}");
}

/// This test repeats a situation that was observed with a single-threaded application that moved between two CPUs. The
/// application used half of each CPU, and only the application limited throughput. No lever slowed the application.
#[test]
fn a_resource_that_is_always_wanted_has_no_bound_on_its_elasticity() {
    let on: Vec<bool> = (0..96).map(|t: usize| (t * 7 + t / 5).is_multiple_of(3)).collect();
    let of = |wanted| {
        let lever = LeverSlots { taken: Some(0.25), wanted, ..slots(on.clone(), |_| 1.0) };
        let trial = ProofTrial { completed_rate: vec![1000.0; 96], levers: vec![lever], ..ProofTrial::default() };
        estimate(&trial).unwrap().elasticities[0].high
    };
    assert!((of(Some(1.0)) - 1.0).abs() < 1e-9 && (of(None) - 0.75).abs() < 1e-9);
}

/// This test repeats a situation that was observed with a quota of 0.2 CPUs. The generator needed its CPU for a small
/// part of the time, and the CPU thief (a busy loop) hardly slowed the generator.
#[test]
fn a_hardly_wanted_resource_is_bounded_though_other_programs_use_the_rest() {
    let on = |step: usize| (0..96).map(|t: usize| (t * step + t / 5).is_multiple_of(3)).collect::<Vec<bool>>();
    let felt = |on: bool| if on { 0.95 } else { 1.0 };
    let client = LeverSlots { taken: Some(0.5), wanted: Some(0.2), ..slots(on(7), felt) };
    let quota = slots(on(11), |on| if on { 0.75 } else { 1.0 });
    let mut random = fastrand::Rng::with_seed(5);
    let rate = |t: usize| (1000.0 + 331.0 * random.f64()) * if quota.on[t] { 0.75 } else { 1.0 };
    let completed_rate = (0..96).map(rate).collect();
    let levers = vec![client, quota.clone()];
    let found = estimate(&ProofTrial { completed_rate, levers, ..ProofTrial::default() }).unwrap();
    assert!((found.elasticities[0].high - 0.2).abs() < 1e-9 && found.elasticities[0].low == 0.0, "{found:?}");
    assert!(found.elasticities[1].low > 0.6, "{found:?}");
}

/// This test repeats a situation that was observed with a CPU quota of 20 %. In this test, the lever on the generator
/// slowed the server's CPU more than the server's own lever did. The estimate must still attribute nearly the whole
/// effect to the quota. The share of each CPU must not exceed its upper bound.
#[test]
fn a_lever_that_bites_beside_others_leaves_them_their_parts() {
    let on = |step: usize| (0..96).map(|t: usize| (t * step + t / 5).is_multiple_of(3)).collect::<Vec<bool>>();
    let server_on = on(7);
    // The client's lever is mostly off while the server's lever is on. A part of the effect of the client's lever
    // therefore looks like an effect of the server's lever.
    let client_on: Vec<bool> = (0..96).map(|t| if t % 5 < 3 { !server_on[t] } else { on(2)[t] }).collect();
    let mut server = LeverSlots { taken: Some(0.3), wanted: Some(0.2), ..slots(server_on, |_| 1.0) };
    for (t, speed) in server.speed.iter_mut().enumerate() {
        *speed = if server.on[t] { 0.975 } else { 1.0 } * if client_on[t] { 0.96 } else { 1.0 };
    }
    let client = LeverSlots { taken: Some(0.95), ..slots(client_on, |on| if on { 0.9 } else { 1.0 }) };
    let quota = slots(on(11), |on| if on { 0.75 } else { 1.0 });
    let mut random = fastrand::Rng::with_seed(3);
    let rate = |t: usize| (1000.0 + 13.0 * random.f64()) * if quota.on[t] { 0.75 } else { 1.0 };
    let completed_rate = (0..96).map(rate).collect();
    let levers = vec![server, client, quota.clone()];
    let found = estimate(&ProofTrial { completed_rate, levers, ..ProofTrial::default() }).unwrap();
    assert!(found.elasticities[0].high <= 0.2 + 1e-9 && found.elasticities[1].high <= 0.05 + 1e-9, "{found:?}");
    assert!(found.elasticities[2].low > 0.9, "{found:?}");
}

/// A single-threaded application moves between the CPUs of server and generator, which are mostly idle. The CPU thieves
/// (busy loops) of the levers on these CPUs therefore also slow the application. The estimate must separate the effects
/// of the CPU thieves from the effect of the application's own lever. One of the idle CPU thieves was more often on
/// together with the application's lever. A simpler estimate would attribute a part of this lever's effect to that
/// thief.
#[test]
fn effects_of_idle_levers_are_separated_from_those_of_a_busy_one() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut covered = 0;
    for _ in 0..200 {
        let mut on = || (0..40).map(|_| random.bool()).collect::<Vec<bool>>();
        let (a, b, own) = (on(), on(), on());
        let idle = |on: &Vec<bool>| LeverSlots { taken: Some(0.25), wanted: Some(0.01), ..slots(on.clone(), |_| 1.0) };
        let left = |on: bool, left: f64| if on { left } else { 1.0 };
        let takes = |t: usize| left(a[t], 0.85) * left(b[t], 0.85) * left(own[t], 0.7);
        let mut busy = LeverSlots { taken: Some(0.25), wanted: Some(1.0), ..slots(own.clone(), |_| 1.0) };
        busy.speed = (0..40).map(|t| takes(t) * (1.0 + 0.04 * (random.f64() - 0.5))).collect();
        let completed_rate = (0..40).map(|t| 100.0 * takes(t) * (1.0 + 0.04 * (random.f64() - 0.5))).collect();
        let levers = vec![idle(&a), idle(&b), busy];
        let found = estimate(&ProofTrial { completed_rate, levers, ..ProofTrial::default() }).unwrap();
        let (of_own, lost) = (found.elasticities[2], found.ratios[2].value.ln() / (1.0 - found.doses[2]).ln());
        assert!((0.8..1.2).contains(&lost), "throughput and dose are of one equation: {found:?}");
        covered += usize::from(of_own.low <= 1.0 && of_own.high >= 1.0);
    }
    assert!(covered >= 186, "{covered} of 200 intervals hold the truth");
}

/// This test repeats a situation that was observed with a quota of 0.2 CPUs. Threads that waited for the quota counted
/// as waiting for a CPU. An earlier version of loadline therefore attributed a part of the quota's effect to the CPU.
#[test]
fn a_lower_quota_leaves_the_part_of_the_cpu_unchanged() {
    let on = |step: usize| (0..96).map(|t: usize| (t * step + t / 5).is_multiple_of(3)).collect::<Vec<bool>>();
    let quota = slots(on(11), |on| if on { 0.75 } else { 1.0 });
    let mut server = LeverSlots { taken: Some(0.25), wanted: Some(0.5), ..slots(on(7), |_| 1.0) };
    server.speed = quota.on.iter().map(|on| if *on { 0.15 } else { 0.2 }).collect();
    let mut random = fastrand::Rng::with_seed(3);
    let rate = |t: usize| (1000.0 + 13.0 * random.f64()) * if quota.on[t] { 0.75 } else { 1.0 };
    let completed_rate = (0..96).map(rate).collect();
    let levers = vec![server, quota.clone()];
    let found = estimate(&ProofTrial { completed_rate, levers, ..ProofTrial::default() }).unwrap();
    let of_quota = found.elasticities[1];
    assert!(of_quota.low > 0.8 && of_quota.high < 1.2, "{of_quota:?}");
}

fn slots(on: Vec<bool>, speed: impl Fn(bool) -> f64) -> LeverSlots {
    let speed = on.iter().map(|on| speed(*on)).collect();
    LeverSlots { lever: "server-cpu".into(), host: "localhost".into(), on, speed, ..LeverSlots::default() }
}

#[test]
fn trials_without_an_estimate_say_why() {
    let on: Vec<bool> = (0..64).map(|t| (t * 7 + t / 5) % 3 == 0).collect();
    let of = |levers: Vec<LeverSlots>| {
        let completed_rate = vec![1000.0; 64];
        estimate(&ProofTrial { completed_rate, levers, ..ProofTrial::default() }).unwrap_err()
    };
    assert!(of(vec![]).contains("no lever"));
    let same = || slots(on.clone(), |on| if on { 0.7 } else { 1.0 });
    assert!(of(vec![same(), same()]).contains("cannot be separated"));
    assert!(of(vec![LeverSlots { on: vec![true], ..same() }]).contains("do not match"));
}

/// This test repeats a situation that was observed with a generator in a control group with a CPU quota. In the
/// generator's control group, the CPU thief (a busy loop) got only 0.028 of a CPU.
#[test]
fn a_lever_that_took_much_less_than_ordered_leaves_its_resource_open() {
    let on = |step: usize| (0..96).map(|t: usize| (t * step + t / 5).is_multiple_of(3)).collect::<Vec<bool>>();
    let starved =
        LeverSlots { taken: Some(0.028), wanted: Some(0.1), ..slots(on(7), |on| if on { 0.97 } else { 1.0 }) };
    let server = LeverSlots { taken: Some(0.25), ..slots(on(11), |on| if on { 0.75 } else { 1.0 }) };
    let of = |client: LeverSlots| {
        let completed_rate = (0..96).map(|t| 1000.0 + (t * 7919 % 13) as f64).collect();
        estimate(&ProofTrial { completed_rate, levers: vec![client, server.clone()], ..ProofTrial::default() }).unwrap()
    };
    for client in [starved.clone(), LeverSlots { ordered: Some(0.25), ..starved.clone() }] {
        let found = of(client);
        assert_eq!((found.bases[0], found.bases[1]), (ElasticityBasis::Open, ElasticityBasis::Measured), "{found:?}");
        assert_eq!((found.elasticities[0].low, found.elasticities[0].high), (0.0, 1.0), "{found:?}");
        assert!(found.remainder.low < 0.05 && found.remainder.high > 0.95 && found.doses[0] == 0.028, "{found:?}");
    }
    let told = of(LeverSlots { ordered: Some(0.03), ..starved });
    assert_eq!(told.bases[0], ElasticityBasis::Wanted, "three percent were ordered: {told:?}");
}

/// A lever on a quota lowers the quota instead of running a CPU thief (a busy loop). Such a lever takes no CPU time
/// that could be recorded, so its dose is the measured loss of speed.
#[test]
fn a_lever_without_a_thief_is_checked_by_its_measured_speed() {
    let on: Vec<bool> = (0..96).map(|t: usize| (t * 7 + t / 5).is_multiple_of(3)).collect();
    let of = |left: f64| {
        let lever = LeverSlots { ordered: Some(0.25), ..slots(on.clone(), |on| if on { left } else { 1.0 }) };
        let rate = |t: usize| (1000.0 + (t * 7919 % 13) as f64) * if on[t] { left } else { 1.0 };
        let completed_rate = (0..96).map(rate).collect();
        estimate(&ProofTrial { completed_rate, levers: vec![lever], ..ProofTrial::default() }).unwrap().bases[0]
    };
    assert_eq!((of(0.75), of(0.95)), (ElasticityBasis::Measured, ElasticityBasis::Open));
}

/// Client and server share the same CPUs, so each lever's CPU thief (a busy loop) slows both sides.
#[test]
fn levers_on_the_same_cpus_tell_the_sum_and_a_bound() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut on = || (0..160).map(|_| random.bool()).collect::<Vec<bool>>();
    let (a, b) = (on(), on());
    let left = |on: bool, left: f64| if on { left } else { 1.0 };
    let side = |own: &[bool], other: &[bool], felt: f64, wanted: f64| {
        let speed = (0..160).map(|t| left(own[t], 0.75) * left(other[t], felt)).collect();
        LeverSlots { speed, wanted: Some(wanted), ..slots(own.to_vec(), |_| 1.0) }
    };
    let of = |share: f64, felt: f64, wanted: f64| {
        let rate = |t: usize| {
            let all = left(a[t], 0.75) * left(b[t], felt);
            (1000.0 + (t * 7919 % 13) as f64) * all.powf(share)
        };
        let levers = vec![side(&a, &b, felt, 1.0), side(&b, &a, felt, wanted)];
        let completed_rate = (0..160).map(rate).collect();
        estimate(&ProofTrial { completed_rate, levers, ..ProofTrial::default() }).unwrap()
    };
    let open = of(1.0, 0.78, 1.0);
    assert!(open.elasticities[0].low < 0.15 && open.elasticities[1].high > 0.9, "only the sum is known: {open:?}");
    assert!(open.bases[0] == ElasticityBasis::Joint || open.bases[1] == ElasticityBasis::Joint, "{open:?}");
    assert!(open.remainder.low < 0.05 && open.remainder.high > -0.05, "{open:?}");
    for wanted in [0.1, 0.25] {
        let known = of(1.0, 0.78, wanted);
        let server = known.elasticities[0];
        assert!(server.low > 0.65 && server.low < 1.0 - 0.8 * wanted && server.high > 0.95, "{known:?}");
        assert!(known.elasticities[1].high <= wanted, "{known:?}");
    }
    let idle = of(0.0, 0.78, 1.0);
    assert!(idle.elasticities.iter().all(|e| e.high < 0.1) && idle.remainder.low > 0.9, "{idle:?}");
    let apart = of(1.0, 0.97, 1.0);
    assert!(apart.bases.iter().all(|basis| *basis == ElasticityBasis::Measured), "{apart:?}");
}
