//! Repeatability of `find` while another program (the neighbour) uses one of the two CPUs fully for 8 of 30 s. The
//! neighbour's start time and CPU are random, but a fixed seed makes them equal in every benchmark. A `find` without
//! the neighbour and a `find` beside it alternate. The server is nginx.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use testkit::Hog;

use super::found_capacity::FoundCapacity;
use super::generator::json;
use super::shared::Shared;
use crate::compare::{Compared, median};
use crate::programs::{self, CLIENT_CPU, SERVER_CPU};

/// Seed of the neighbour's random start times and CPUs.
const SEED: u64 = 36;
/// Time budget of each `find`, seconds.
const BUDGET_S: f64 = 30.0;
/// Time during which the neighbour keeps a CPU fully busy, seconds.
const BURN_S: f64 = 8.0;
/// Maximum difference between a capacity and the median of the undisturbed capacities, as a share of this median.
const MAX_DISTANCE: f64 = 0.1;

/// Result of one `find`.
#[derive(Clone, Copy, Debug)]
struct Found {
    capacity: FoundCapacity,
    /// True if a warning of the run states the share of the CPUs that other programs took.
    named: bool,
}

/// Results of all runs of `find`. All rows of this file use these results.
#[derive(Clone, Debug, Default)]
struct Finds {
    /// Capacities that `find` measured without the neighbour, requests per second.
    alone: Vec<f64>,
    /// Results of `find` beside the neighbour.
    beside: Vec<Found>,
}

static FINDS: Shared<Finds> = Shared::new();

/// Measures the percentage of disturbed finds whose capacity is near the median of the undisturbed capacities.
pub(crate) fn near(rounds: usize) -> Result<Compared> {
    let finds = finds(rounds)?;
    let alone = median(&finds.alone);
    let distance = |found: &Found| found.capacity.rate / alone - 1.0;
    let distances = finds.beside.iter().map(|found| format!("{:+.0}", 100.0 * distance(found)));
    let more = format!("; undisturbed {alone:.0}/s; distances, %: {}", distances.collect::<Vec<_>>().join(" "));
    Ok(percentage(&finds, &more, |found| distance(found).abs() <= MAX_DISTANCE))
}

/// Measures the percentage of disturbed finds whose capacity interval contains the median of the undisturbed
/// capacities.
pub(crate) fn covers(rounds: usize) -> Result<Compared> {
    let finds = finds(rounds)?;
    let alone = median(&finds.alone);
    Ok(percentage(&finds, "", |found| found.capacity.covers(alone)))
}

/// Measures the percentage of disturbed finds that warn of other programs and state their share of the CPUs.
pub(crate) fn named(rounds: usize) -> Result<Compared> {
    Ok(percentage(&finds(rounds)?, "", |found| found.named))
}

/// Returns the percentage of disturbed finds for which `is_right` returns true.
fn percentage(finds: &Finds, more: &str, is_right: impl Fn(&Found) -> bool) -> Compared {
    let count = finds.beside.iter().filter(|found| is_right(found)).count();
    Compared::percentage(count, finds.beside.len(), more)
}

/// Returns the results of `rounds` rounds. In each round, `find` runs once without the neighbour and once beside it.
fn finds(rounds: usize) -> Result<Finds> {
    FINDS.get_or_measure(rounds, || {
        let nginx = programs::nginx()?;
        let url = format!("http://{}/file", nginx.addr);
        let (mut finds, mut random) = (Finds::default(), fastrand::Rng::with_seed(SEED));
        for _ in 0..rounds {
            finds.alone.push(FoundCapacity::read(&find(&url)?)?.rate);
            let (start_s, cpu) = disturbance(&mut random);
            let neighbour = thread::spawn(move || burn(start_s, cpu));
            let run = find(&url);
            let _ = neighbour.join();
            finds.beside.push(found(&run?)?);
        }
        Ok(finds)
    })
}

/// Returns a random start of the neighbour, in seconds after the start of `find`, and a random CPU for it.
fn disturbance(random: &mut fastrand::Rng) -> (f64, u32) {
    let start_s = random.f64() * (BUDGET_S - BURN_S);
    (start_s, if random.bool() { SERVER_CPU } else { CLIENT_CPU })
}

fn burn(start_s: f64, cpu: u32) {
    thread::sleep(Duration::from_secs_f64(start_s));
    let neighbour = Hog::on(cpu, 1);
    thread::sleep(Duration::from_secs_f64(BURN_S));
    drop(neighbour);
}

fn find(url: &str) -> Result<Value> {
    json(&["find", url, "--json", "--budget"], &format!("{BUDGET_S}s"))
}

fn found(run: &Value) -> Result<Found> {
    let warnings = run["findings"]["trust"]["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    let names = |warning: &Value| warning.as_str().is_some_and(|text| text.contains("other programs took"));
    Ok(Found { capacity: FoundCapacity::read(run)?, named: warnings.iter().any(names) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn disturbances_fit_into_a_find_and_are_equal_in_every_benchmark() {
        let draw = || {
            let mut random = fastrand::Rng::with_seed(SEED);
            (0..20).map(|_| disturbance(&mut random)).collect::<Vec<_>>()
        };
        let all = draw();
        assert_eq!(all, draw());
        assert!(all.iter().all(|(start_s, _)| (0.0..=22.0).contains(start_s)), "{all:?}");
        for cpu in [CLIENT_CPU, SERVER_CPU] {
            assert!(all.iter().filter(|(_, burnt)| *burnt == cpu).count() >= 5, "{all:?}");
        }
    }

    #[test]
    fn shares_count_near_capacities_intervals_and_names() {
        let run = |rate: f64, warning: &str| {
            let capacity = json!({"rate": rate, "low": rate - 50.0, "high": rate + 50.0});
            found(&json!({"findings": {"capacity": capacity, "trust": {"warnings": [warning]}}})).unwrap()
        };
        let beside = vec![run(1040.0, "other programs took 52 % of the CPUs"), run(914.0, ""), run(1200.0, "")];
        let finds = Finds { alone: vec![900.0, 1000.0, 1100.0], beside };
        FINDS.get_or_measure(3, || Ok(finds)).unwrap();
        let figures = [near, covers, named].map(|row| row(3).unwrap());
        assert_eq!(figures.each_ref().map(|c| c.ours[0].round()), [67.0, 33.0, 33.0]);
        assert_eq!(figures[0].note, "2 of 3; undisturbed 1000/s; distances, %: +4 -9 +20");
        assert_eq!(figures[1].note, "1 of 3");
    }
}
