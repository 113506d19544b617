//! CPU cost per request of each class, estimated by regression over short windows. In some windows of `find`, each
//! class of requests has its share of the planned mix. In every other window, one class has a larger share than in the
//! planned mix.
//!
//! A window's CPU time per completed request is the sum of the classes' costs, each weighted by the share of its class.
//! Batches, caches and queues make the costs scatter, which widens the intervals.

use run::{ClassCosts, ClassFinding, CpuEstimate, Run, Trial, TrialKind};

use crate::context::view::View;
use crate::number::{finite, ratio};
use crate::thresholds::FEWEST_REQUESTS;
use stats::fit::{Coefficient, proportional};

/// One window: the share of each column in the requests, the server's CPU time per completed request in microseconds,
/// and the number of completed requests. A column stands for one class, or for all other classes together.
type Window = (Vec<f64>, f64, f64);

/// Sets the CPU costs of the classes whose share was raised in some window. Returns the method of the cost estimate and
/// its summary.
pub(crate) fn tell(run: &Run, classes: &mut [ClassFinding]) -> Option<ClassCosts> {
    let sound = |t: &&Trial| t.kind == TrialKind::Classes && t.broken().is_none();
    let trials: Vec<&Trial> = run.trials.iter().filter(sound).collect();
    let raised = |class: &ClassFinding| trials.iter().any(|t| t.key.class.as_ref() == Some(&class.name));
    let places: Vec<usize> = (0..classes.len()).filter(|at| raised(&classes[*at])).collect();
    let names: Vec<&str> = places.iter().map(|at| classes[*at].name.as_str()).collect();
    let windows: Vec<Window> = trials.iter().filter_map(|trial| window(trial, &names)).collect();
    let told = regress(&windows)?;
    // CPU time is measured per completed request, so each class has its share of the completed requests.
    let completed: f64 = classes.iter().filter_map(|class| class.rate).sum();
    let share = |at: &usize| ratio(classes[*at].rate.unwrap_or_default(), completed).unwrap_or_default();
    let mix: Vec<f64> = places.iter().map(share).collect();
    let parts = parts(&told, &mix);
    let whole: f64 = parts.iter().map(|part| part.value.max(0.0)).sum();
    for (at, (told, part)) in places.iter().zip(told.iter().zip(&parts)) {
        classes[*at].server_cpu = Some(cpu(*told));
        classes[*at].server_cpu_share = ratio(part.value.max(0.0), whole);
    }
    let (dearest, sure) = dearest(&parts[..places.len()]);
    let how = how(windows.len(), places.len(), classes.len());
    Some(ClassCosts { windows: windows.len(), dearest: dearest.map(|at| places[at]), sure, how })
}

/// Returns the shares of the named classes in a trial, followed by the share of all other classes. Also returns the
/// server's CPU time per request, and the number of completed requests.
fn window(trial: &Trial, names: &[&str]) -> Option<Window> {
    let completed = trial.measured.tally.completed;
    let cpu_us = cpu_us(trial).filter(|_| completed >= FEWEST_REQUESTS)?;
    let of = |name: &&str| trial.classes.iter().find(|class| class.name == **name);
    let share = |name| of(name).map_or(0.0, |class| class.measured.completed as f64 / completed as f64);
    let mut shares: Vec<f64> = names.iter().map(share).collect();
    shares.push((1.0 - shares.iter().sum::<f64>()).max(0.0));
    Some((shares, cpu_us, completed as f64))
}

/// Returns the CPU time of the server's processes per completed request, microseconds. The result is the growth of the
/// CPU counters divided by the number of requests, so the exact length of the window does not matter. On a busy
/// machine, taking one sample can last for a tenth of a short window, so a rate per second would be inexact.
fn cpu_us(trial: &Trial) -> Option<f64> {
    let server = View::new("server", trial, trial.server.as_ref()?);
    ratio(server.value("process.cpu")?, trial.measured.tally.completed as f64)
}

/// Returns the cost per request of each column (a class, or all other classes together). The last column, for all other
/// classes, gets a cost only if those classes had requests.
fn regress(windows: &[Window]) -> Option<Vec<Coefficient>> {
    let others = windows.iter().any(|(shares, ..)| shares.last().is_some_and(|rest| *rest > 1e-9));
    let columns = windows.first()?.0.len() - usize::from(!others);
    let rows: Vec<Vec<f64>> = windows.iter().map(|(shares, ..)| shares[..columns].to_vec()).collect();
    let y: Vec<f64> = windows.iter().map(|(_, cpu_us, _)| *cpu_us).collect();
    let sizes: Vec<f64> = windows.iter().map(|(.., completed)| *completed).collect();
    proportional(&y, &rows, &sizes).filter(|told| told.len() > 1)
}

/// Returns the CPU time that each column (a class, or all other classes together) contributes to an average request of
/// the planned mix.
fn parts(told: &[Coefficient], mix: &[f64]) -> Vec<Coefficient> {
    let others = (1.0 - mix.iter().sum::<f64>()).max(0.0);
    let shares = mix.iter().copied().chain([others]);
    told.iter()
        .zip(shares)
        .map(|(told, share)| Coefficient { value: told.value * share, half: told.half * share })
        .collect()
}

/// Returns the index of the class that contributes the most CPU time. Also returns true if the class is certainly
/// first: its interval lies above all other intervals.
fn dearest(parts: &[Coefficient]) -> (Option<usize>, bool) {
    let Some((at, most)) = parts.iter().enumerate().max_by(|a, b| a.1.value.total_cmp(&b.1.value)) else {
        return (None, false);
    };
    let others = parts.iter().enumerate().filter(|(other, _)| *other != at);
    let sure = others.map(|(_, part)| part.value + part.half).all(|high| most.value - most.half > high);
    (Some(at), sure)
}

fn cpu(told: Coefficient) -> CpuEstimate {
    let end = |us: f64| finite(us.max(0.0));
    CpuEstimate { us: told.value.max(0.0), low: end(told.value - told.half), high: end(told.value + told.half) }
}

fn how(windows: usize, raised: usize, classes: usize) -> String {
    let others = match classes - raised {
        0 => "",
        _ => "; the rarest classes are merged",
    };
    format!(
        "an estimate: a regression over {windows} short windows of a closed loop, in which each class in turn had a larger \
         part of the mix{others}"
    )
}

#[cfg(test)]
mod tests {
    use run::{ClassPart, ClassTally};

    use super::*;
    use crate::planted::{PlantedRun, Point, Who};

    /// Draws a number from the standard normal distribution.
    fn normal(random: &mut fastrand::Rng) -> f64 {
        (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos()
    }

    /// A simulated server: the CPU cost of a request of each class (microseconds), the share of each class, and two
    /// kinds of scatter. `noise` changes from window to window, and `drift` is a slow change of the cost through all
    /// windows.
    struct Server {
        costs: Vec<f64>,
        mix: Vec<f64>,
        noise: f64,
        drift: f64,
        /// Share of windows with a far too large or small CPU time, because the machine paused at the start or end of
        /// the window.
        off: f64,
    }

    /// Draws the number of requests of each class in one window. `raised` is a class that gets more requests than its
    /// share of the mix, as in the windows of `loadline find`.
    fn drawn(mix: &[f64], raised: Option<usize>, requests: u64, random: &mut fastrand::Rng) -> Vec<u64> {
        let share = |at: usize| match raised {
            Some(class) => 0.5 * mix[at] + if at == class { 0.5 } else { 0.0 },
            None => mix[at],
        };
        let mut counts = vec![0; mix.len()];
        for _ in 0..requests {
            let mut left = random.f64();
            let at = (0..mix.len() - 1).find(|at| {
                left -= share(*at);
                left < 0.0
            });
            counts[at.unwrap_or(mix.len() - 1)] += 1;
        }
        counts
    }

    /// Makes the windows of `loadline find`. Each round has one window with the plain mix, and one window for each
    /// class. In every second round, the windows are in reverse order.
    fn windows(server: &Server, rounds: usize, random: &mut fastrand::Rng) -> Vec<Window> {
        let kinds: Vec<Option<usize>> = [None].into_iter().chain((0..server.mix.len()).map(Some)).collect();
        let all = rounds * kinds.len();
        let window = |at: usize| {
            let (round, turn) = (at / kinds.len(), at % kinds.len());
            let kind = kinds[if round % 2 == 0 { turn } else { kinds.len() - 1 - turn }];
            let counts = drawn(&server.mix, kind, 400, random);
            let shares: Vec<f64> = counts.iter().map(|n| *n as f64 / 400.0).collect();
            let cost: f64 = shares.iter().zip(&server.costs).map(|(share, cost)| share * cost).sum();
            let drift = 1.0 + server.drift * (at as f64 / all as f64 - 0.5);
            let far = if random.f64() < server.off { 0.5 + 2.0 * random.f64() } else { 1.0 };
            let cpu_us = cost * drift * far * (1.0 + server.noise * normal(random));
            ([shares, vec![0.0]].concat(), cpu_us, 400.0)
        };
        (0..all).map(window).collect()
    }

    #[test]
    fn the_interval_of_each_class_holds_its_cost_in_95_of_100() {
        let of = |costs: &[f64], mix: &[f64], [noise, drift, off]: [f64; 3]| Server {
            costs: costs.into(),
            mix: mix.into(),
            noise,
            drift,
            off,
        };
        for (server, rounds) in [
            (of(&[100.0, 500.0], &[0.5, 0.5], [0.03, 0.0, 0.0]), 3),
            (of(&[100.0, 500.0], &[0.95, 0.05], [0.05, 0.04, 0.0]), 3),
            (of(&[20.0, 20.0, 2000.0], &[0.6, 0.3, 0.1], [0.1, 0.05, 0.0]), 4),
            (of(&[50.0, 60.0, 70.0, 80.0, 900.0, 10.0], &[0.4, 0.2, 0.2, 0.1, 0.05, 0.05], [0.05, 0.05, 0.0]), 3),
            (of(&[100.0, 500.0], &[0.5, 0.5], [0.03, 0.0, 0.1]), 3),
            (of(&[100.0, 300.0, 900.0], &[0.5, 0.3, 0.2], [0.05, 0.05, 0.05]), 3),
        ] {
            let (mut held, mut asked) = (0, 0);
            for seed in 0..200 {
                let told = regress(&windows(&server, rounds, &mut fastrand::Rng::with_seed(seed))).unwrap();
                assert_eq!(told.len(), server.costs.len());
                held += told.iter().zip(&server.costs).filter(|(t, cost)| (t.value - **cost).abs() <= t.half).count();
                asked += told.len();
            }
            assert!(held * 100 >= asked * 93, "{:?}: {held} of {asked}", server.costs);
            assert!(held * 1000 <= asked * 985, "{:?}: {held} of {asked}: too wide", server.costs);
        }
    }

    /// Makes a run with one window per entry of `shares`. An entry contains the class whose share is raised, if any,
    /// and the share of the class `search`. All other requests are of the class `page`.
    fn run(shares: &[(Option<&'static str>, f64)]) -> Run {
        let mut all = Run::default();
        for (at, (raised, search)) in shares.iter().enumerate() {
            let (raised, search, noise) = (*raised, *search, if at % 2 == 0 { 1.01 } else { 0.99 });
            let put = move |t: &mut Trial, _: &Point| {
                t.kind = TrialKind::Classes;
                t.key.class = raised.map(str::to_owned);
                t.classes = classes(t.measured.tally.completed, search);
            };
            let planted = PlantedRun::new(1000.0, 1e9)
                .steps(&[4])
                .rates(&[])
                .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * noise * (100.0 + 400.0 * search))
                .change(put);
            all.trials.extend(planted.run().trials);
        }
        let mut shown = all.trials[0].clone();
        (shown.kind, shown.key.class) = (TrialKind::Fixed, None);
        shown.classes = classes(shown.measured.tally.completed, 0.4);
        all.trials.push(shown);
        crate::judge(&mut all);
        all
    }

    fn classes(completed: u64, search: f64) -> Vec<ClassPart> {
        let part = |name: &str, share: f64| {
            let completed = (completed as f64 * share).round() as u64;
            let tally = ClassTally { begun: completed, completed, ..ClassTally::default() };
            ClassPart { name: name.into(), total: tally, measured: tally, ..ClassPart::default() }
        };
        vec![part("page", 1.0 - search), part("search", search)]
    }

    #[test]
    fn the_class_that_takes_most_is_named_with_its_cost_and_share() {
        let (page, search) = (Some("page"), Some("search"));
        let turns = [(None, 0.4), (page, 0.2), (search, 0.7), (search, 0.7), (page, 0.2), (None, 0.4)];
        let found = run(&turns).findings;
        let costs = found.class_costs.expect("windows tell");
        assert_eq!((costs.windows, costs.dearest, costs.sure), (6, Some(1), true), "{:?}", found.classes);
        assert!(costs.how.contains("estimate") && costs.how.contains("6 short windows"), "{}", costs.how);
        let [page, search] = &found.classes[..] else { panic!("two classes") };
        let (page_us, search_us) = (page.server_cpu.unwrap(), search.server_cpu.unwrap());
        assert!(page_us.low.unwrap() <= 100.0 && 100.0 <= page_us.high.unwrap(), "{page_us:?}");
        assert!(search_us.low.unwrap() <= 500.0 && 500.0 <= search_us.high.unwrap(), "{search_us:?}");
        let share = search.server_cpu_share.unwrap();
        assert!((share - 0.77).abs() < 0.03, "{share}: 0.4 * 500 of 0.6 * 100 + 0.4 * 500");
    }

    #[test]
    fn windows_that_do_not_vary_or_are_too_few_tell_nothing() {
        let page = Some("page");
        assert_eq!(run(&[(page, 0.4), (Some("search"), 0.4), (None, 0.4), (None, 0.4)]).findings.class_costs, None);
        assert_eq!(run(&[(page, 0.2), (Some("search"), 0.7), (None, 0.4)]).findings.class_costs, None);
        let found = run(&[(None, 0.4)]).findings;
        assert!(found.class_costs.is_none() && found.classes.iter().all(|class| class.server_cpu.is_none()));
    }
}
