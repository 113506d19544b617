//! Tests with windows of simulated loads whose true percentiles are known.

use super::*;

/// The test draws random response times. The simulated load hides some response times. A timeout cuts off long times,
/// some requests are reset early, and the window cuts off requests in flight at its start and end. A percentile that is
/// reported as exact must not be below the true percentile, apart from random scatter. A reported lower bound must not
/// be above the true percentile.
#[test]
fn percentiles_of_simulated_windows_are_never_below_the_truth() {
    const CLIENTS: usize = 40;
    let mut random = fastrand::Rng::with_seed(31);
    let (mut exact, mut bounds) = (0, 0);
    for draw in 0..300 {
        let mean_ms = 5.0 + random.f64() * 20.0;
        let (timeout_ms, resets) = (mean_ms * (1.0 + 4.0 * random.f64()), 0.02 * f64::from(draw % 3));
        let window_ms = mean_ms * 60.0;
        let (mut answered, mut failed, mut end, mut begin) = (vec![], vec![], vec![], vec![]);
        let ns = |ms: f64| (ms * 1e6) as u64;
        for _ in 0..CLIENTS {
            let mut at_ms = -20.0 * mean_ms * (1.0 + random.f64());
            while at_ms < window_ms {
                let truth_ms = -random.f64().max(1e-12).ln() * mean_ms;
                let reset = random.f64() < resets;
                let ends = reset || truth_ms > timeout_ms;
                let took_ms = if reset { 0.1 } else { truth_ms.min(timeout_ms) };
                let ended_ms = at_ms + took_ms;
                if at_ms < 0.0 && ended_ms > 0.0 {
                    begin.push((ns(-at_ms), 1));
                }
                if ended_ms > window_ms {
                    end.push((ns(window_ms - at_ms), 1));
                } else if ended_ms > 0.0 {
                    if ends { failed.push((ns(took_ms), 1)) } else { answered.push((ns(took_ms), 1)) }
                }
                at_ms = ended_ms;
            }
        }
        let n = (answered.len() + failed.len()) as f64;
        let times = CensoredTimes::default().answered(answered).unanswered(failed).in_flight(end, begin);
        for q in [0.5, 0.9, 0.99, 0.999] {
            // Reset requests count as requests that never end, so their times are longer than all other times. Quantile
            // `q` of all requests is therefore the quantile `q / (1 - resets)` of the requests that were not reset.
            let share = 1.0 - (1.0 - q - resets) / (1.0 - resets);
            let truth_us = if share < 1.0 { -(1.0 - share).ln() * mean_ms * 1e3 } else { f64::INFINITY };
            // The rank of a quantile may be wrong by five standard errors.
            let rank = (share - 5.0 * (share * (1.0 - share).max(1.0 / n) / n).sqrt()).clamp(0.0, 1.0 - 1e-12);
            let low_us = -(1.0 - rank).ln() * mean_ms * 1e3;
            match times.percentile(q) {
                TimeFigure::Exact(us) => {
                    exact += 1;
                    assert!(us >= low_us.min(truth_us), "{draw} p{q}: {us} below {truth_us}");
                    assert!(truth_us / 1e3 <= timeout_ms * 1.2, "{draw} p{q}: {us} cannot be known");
                }
                TimeFigure::AtLeast(us) => {
                    bounds += 1;
                    assert!(us <= timeout_ms * 1e3 * 1.01 && us <= truth_us * 1.2, "{draw} p{q}: {us} > {truth_us}");
                }
                TimeFigure::Unknown => unreachable!("there are answers"),
            }
        }
    }
    println!("{exact} exact figures and {bounds} bounds");
    assert!(exact > 300 && bounds > 300, "{exact} {bounds}");
}

/// Response times are long and exponentially distributed. The window is so short that it cuts off as many requests as
/// it fully contains.
#[test]
fn the_ends_of_a_short_window_do_not_shift_the_median() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut sum = 0.0;
    for _ in 0..200 {
        let mut hists: [Vec<(u64, u64)>; 3] = Default::default();
        for _ in 0..300 {
            let mut at = -30.0;
            while at < 3.0 {
                let ends = at - random.f64().max(1e-12).ln();
                let ns = |s: f64| (s * 1e9) as u64;
                if at < 0.0 && ends > 0.0 {
                    hists[2].push((ns(-at), 1));
                }
                match ends {
                    e if e > 3.0 => hists[1].push((ns(3.0 - at), 1)),
                    e if e > 0.0 => hists[0].push((ns(e - at), 1)),
                    _ => {}
                }
                at = ends;
            }
        }
        let [answered, end, begin] = hists;
        let times = CensoredTimes::default().answered(answered).in_flight(end, begin);
        sum += times.percentile(0.5).exact().unwrap() / 1e6;
    }
    let median = sum / 200.0;
    assert!((median / 2f64.ln() - 1.0).abs() < 0.02, "{median}");
}
