//! Compares `find` with a budget of 10 s and with a budget of 30 s, on servers with a planted bottleneck.

use anyhow::Result;
use serde_json::Value;

use super::found_capacity::FoundCapacity;
use super::generator::json;
use crate::compare::Compared;
use crate::programs;

/// Maximum difference between the two capacities, as a share of the capacity from the longer `find`.
const MAX_DIFFERENCE: f64 = 0.05;

/// Servers with planted bottlenecks, each with its name and its arguments for `serve http`.
const PLANTED: [(&str, &[&str]); 5] = [
    ("work", &["--option", "work_us=200"]),
    ("workers", &["--model", "workers", "--option", "workers=4", "--option", "sleep_ms=5"]),
    ("lock", &["--model", "blocking", "--option", "lock=2"]),
    ("pool", &["--model", "blocking", "--option", "pool=4", "--option", "pool_ms=5"]),
    ("refusals", &["--option", "reject_over=2000", "--option", "reject_status=429"]),
];

/// Conclusions of one `find`.
#[derive(Debug, PartialEq)]
struct Conclusions {
    bottleneck: String,
    rate: f64,
}

/// Measures the percentage of rounds in which the short and the long `find` agree on the bottleneck and on the
/// capacity. Each round uses the next server of [`PLANTED`].
pub(crate) fn agreement(rounds: usize) -> Result<Compared> {
    let (mut agreeing, mut notes) = (0, Vec::new());
    for (round, (name, args)) in (0..rounds).zip(PLANTED.iter().cycle()) {
        let server = programs::serve("http", args)?;
        let url = format!("http://{}/", server.addr);
        let budgets = if round % 2 == 0 { ["10s", "30s"] } else { ["30s", "10s"] };
        let mut pair = [find(&url, budgets[0])?, find(&url, budgets[1])?];
        if round % 2 == 1 {
            pair.reverse();
        }
        agreeing += usize::from(agree(&pair));
        notes.push(format!("{name} {}", told(&pair)));
    }
    Ok(Compared::percentage(agreeing, rounds, &format!(": {}", notes.join(", "))))
}

fn find(url: &str, budget: &str) -> Result<Conclusions> {
    conclusions(&json(&["find", url, "--json", "--budget"], budget)?)
}

fn conclusions(run: &Value) -> Result<Conclusions> {
    Ok(Conclusions { bottleneck: testkit::bottleneck(run).to_owned(), rate: FoundCapacity::read(run)?.rate })
}

fn agree([short, long]: &[Conclusions; 2]) -> bool {
    short.bottleneck == long.bottleneck && (short.rate / long.rate - 1.0).abs() <= MAX_DIFFERENCE
}

/// Describes the difference between the capacities in percent, and the bottlenecks.
fn told([short, long]: &[Conclusions; 2]) -> String {
    let difference = format!("{:+.1} %", 100.0 * (short.rate / long.rate - 1.0));
    match short.bottleneck == long.bottleneck {
        true => format!("{difference} {}", long.bottleneck),
        false => format!("{difference} {} instead of {}", short.bottleneck, long.bottleneck),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_bottleneck_and_the_capacity_must_agree() {
        let at = |rate: f64, id: &str| {
            conclusions(&json!({"findings": {"bottleneck": {"id": id}, "capacity": {"rate": rate}}})).unwrap()
        };
        let same = [at(96.0, "server-cpu"), at(100.0, "server-cpu")];
        assert!(agree(&same));
        assert_eq!(told(&same), "-4.0 % server-cpu");
        assert!(!agree(&[at(94.0, "server-cpu"), at(100.0, "server-cpu")]));
        let other = [at(100.0, "unknown"), at(100.0, "server-cpu")];
        assert!(!agree(&other));
        assert_eq!(told(&other), "+0.0 % unknown instead of server-cpu");
    }
}
