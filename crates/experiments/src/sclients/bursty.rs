//! `lab bursty`: how peaks affect a server whose mean load is well below its capacity. At a peak, the rate is `a` times
//! the mean rate for a share `b` of the time, and the listen queue overflows. The server is idle between the peaks, but
//! cannot make up for the requests that it dropped.

use run::Relation::AtLeast;
use run::{Arrival, Check, Key, LoadPlan, Run, Trial};

use super::plans::{paced, server};
use super::test_setup::TestSetup;
use super::values::{LOST_SHARE, MEAN_RATE, PEAK, SHARE};
use crate::Parameters;
use crate::experiment::{AROUND_TRIAL_S, BUILD_S};
use lab::{Lab, LabError};

/// Default mean rates, as shares of the capacity.
const MEAN_SHARES: [f64; 3] = [0.4, 0.6, 0.8];
/// Warm-up of each trial, seconds.
const WARMUP_S: f64 = 0.5;

/// Returns the planned time of the experiment, seconds.
pub(crate) fn planned_s(parameters: &Parameters) -> f64 {
    let trials = parameters.numbers("mean_shares", &MEAN_SHARES).len() * arrivals(parameters).len();
    BUILD_S + trials as f64 * (WARMUP_S + seconds(parameters) + AROUND_TRIAL_S)
}

/// Runs the experiment `lab bursty`. Each mean rate is offered as a steady load, as bursty loads, and as self-similar
/// arrivals. The bursty loads differ in peak rate and in time at the peak.
pub(crate) fn run(lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let (capacity, plan) = server(parameters);
    let mut setup = TestSetup::build(lab, &parameters.text("medium", "switch"), parameters.count("hosts", 4), &plan)?;
    setup.server_sysctl("net.ipv4.tcp_syncookies", "0")?;
    for share in parameters.numbers("mean_shares", &MEAN_SHARES) {
        for (name, peak, at_peak, arrival) in arrivals(parameters) {
            if lab.stopped() {
                return Ok(());
            }
            let mean = share * capacity;
            let label = format!("{name}, mean {mean:.0}/s");
            let key =
                Key { line: Some(name), ..Key::default() }.with(MEAN_RATE, mean).with(PEAK, peak).with(SHARE, at_peak);
            let trial = setup.trial(lab, &label, key, &offering(parameters, mean, peak, arrival))?;
            lab.keep(trial)?;
        }
    }
    put_losses(&mut lab.run);
    conclude(&mut lab.run);
    Ok(())
}

/// Returns the arrival processes to compare, the steady one first. Each arrival process is given as: name, peak rate
/// divided by the mean rate, share of time at the peak. For self-similar arrivals, the peak rate and the share of time
/// are given as 0.
fn arrivals(parameters: &Parameters) -> Vec<(String, f64, f64, Arrival)> {
    let period_s = parameters.number("period_s", 5.0);
    let (peaks, shares) =
        (parameters.numbers("peaks", &[6.0, 6.0, 3.0, 10.0]), parameters.numbers("shares", &[0.05, 0.1, 0.1, 0.05]));
    let bursts = peaks.into_iter().zip(shares).map(|(peak, share)| {
        let name = format!("peaks {peak} x {:.0} %", share * 100.0);
        (name, peak, share, Arrival::Bursty { peak, share, period_s })
    });
    let steady = ("steady".to_string(), 1.0, 1.0, Arrival::Poisson);
    let similar =
        ("self-similar".to_string(), 0.0, 0.0, Arrival::SelfSimilar { hurst: parameters.number("hurst", 0.85) });
    std::iter::once(steady).chain(bursts).chain(std::iter::once(similar)).collect()
}

/// Returns the duration of the measured window of a trial, seconds.
fn seconds(parameters: &Parameters) -> f64 {
    parameters.number("periods", 2.0) * parameters.number("period_s", 5.0)
}

/// Returns the load plan of a trial. Each arrival is one connect of an S-Client. The S-Client gives up after the
/// timeout T, and does not try again. Unlike the clients of source 1, these clients do not wait for a think time
/// between two connects. The trial lasts a whole number of periods, and all its requests are counted.
fn offering(parameters: &Parameters, rate: f64, peak: f64, arrival: Arrival) -> LoadPlan {
    // Self-similar arrivals have no maximum rate, but in practice their rate stays below eight times the mean.
    let peak = if peak > 0.0 { peak } else { 8.0 };
    LoadPlan { duration_s: seconds(parameters), warmup_s: WARMUP_S, ..paced(parameters, rate, peak, arrival) }
}

/// Stores in each trial which share of throughput is lost, compared with a steady load of the same mean rate.
fn put_losses(run: &mut Run) {
    let steady: Vec<(f64, f64)> = run
        .trials
        .iter()
        .filter(|t| t.key.get(PEAK) == Some(1.0))
        .filter_map(|t| Some((t.key.get(MEAN_RATE)?, done(t))))
        .collect();
    for trial in &mut run.trials {
        let base = steady.iter().find(|(mean, _)| trial.key.get(MEAN_RATE) == Some(*mean)).map(|(_, base)| base);
        trial.results.put(LOST_SHARE, base.map(|base| 1.0 - done(trial) / base));
    }
}

/// Returns the share of the due requests that completed, over the whole trial. The whole trial counts, because a
/// measured window could miss late effects of a peak.
fn done(trial: &Trial) -> f64 {
    trial.tally.completed as f64 / (trial.tally.due as f64).max(1.0)
}

fn conclude(run: &mut Run) {
    let lost = |t: &Trial| t.results.get(LOST_SHARE).unwrap_or(0.0);
    let bursts: Vec<&Trial> = run.trials.iter().filter(|t| t.key.get(PEAK).is_some_and(|p| p > 1.0)).collect();
    let Some(worst) = bursts.iter().max_by(|a, b| lost(a).total_cmp(&lost(b))) else { return };
    let published = bursts.iter().filter(|t| t.key.get(PEAK) == Some(6.0) && t.key.get(SHARE) == Some(0.05));
    let six_five = published.map(|t| lost(t)).reduce(f64::max).map(|lost| {
        format!(
            "Peaks of (6, 5 %) cost up to {:.0} % of the throughput of a steady load of the same mean; the source reports 12 to 20 %.",
            lost * 100.0
        )
    });
    let costliest = format!(
        "The costliest of all: {}, {:.0} % lost. The mean load says little about what a server loses.",
        worst.label,
        lost(worst) * 100.0
    );
    let mut checks = vec![Check::new(
        "largest share of throughput lost to peaks at a mean below capacity",
        lost(worst),
        AtLeast,
        0.02,
    )];
    checks.extend(longer_costs_more(&bursts).map(|least| {
        Check::new(
            "peaks that last longer cost more: least difference of the shares lost, mean by mean",
            least,
            AtLeast,
            0.0,
        )
    }));
    run.findings.checks.extend(checks);
    run.findings.conclusions = six_five.into_iter().chain([costliest]).collect();
}

/// Returns the additional loss of longer peaks, compared with shorter peaks of the same height and mean rate. With
/// several pairs of longer and shorter peaks, returns the smallest additional loss. Returns `None` if no two of the
/// loads differ only in the length of their peaks.
fn longer_costs_more(bursts: &[&Trial]) -> Option<f64> {
    let same =
        |a: &Trial, b: &Trial| (a.key.get(PEAK), a.key.get(MEAN_RATE)) == (b.key.get(PEAK), b.key.get(MEAN_RATE));
    let lost = |t: &Trial| t.results.get(LOST_SHARE).unwrap_or(f64::NAN);
    let pairs = bursts.iter().flat_map(|long| bursts.iter().map(move |short| (long, short)));
    let pairs = pairs.filter(|(long, short)| same(long, short) && long.key.get(SHARE) > short.key.get(SHARE));
    pairs.map(|(long, short)| lost(long) - lost(short)).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(peak: f64, share: f64, mean: f64, lost: f64) -> Trial {
        let key = Key::default().with(PEAK, peak).with(SHARE, share).with(MEAN_RATE, mean);
        let results = run::Results::default().with(LOST_SHARE, lost);
        Trial { key, results, ..Trial::default() }
    }

    #[test]
    fn only_peaks_that_were_offered_are_compared_with_the_source() {
        let words = |trial: Trial| {
            let mut run = Run { trials: vec![trial], ..Run::default() };
            conclude(&mut run);
            run.findings.conclusions.join(" ")
        };
        assert!(words(trial(6.0, 0.05, 52.0, 0.1)).contains("(6, 5 %) cost up to 10 %"));
        let other = words(trial(3.0, 0.1, 52.0, 0.1));
        assert!(!other.contains("(6, 5 %)") && other.contains("costliest"), "{other}");
    }

    #[test]
    fn peaks_of_one_height_and_mean_are_compared() {
        let all = [trial(6.0, 0.05, 52.0, 0.1), trial(6.0, 0.1, 52.0, 0.3), trial(3.0, 0.2, 52.0, 0.0)];
        assert_eq!(longer_costs_more(&all.each_ref()), Some(0.3 - 0.1));
        assert_eq!(longer_costs_more(&[&all[0], &all[2]]), None);
        let more = [trial(6.0, 0.05, 78.0, 0.2), trial(6.0, 0.1, 78.0, 0.1)];
        let both: Vec<&Trial> = all.iter().chain(&more).collect();
        assert_eq!(longer_costs_more(&both), Some(0.1 - 0.2));
    }
}
