//! A value of a trial by its path: what a figure's row can put on an axis.
//!
//! | path | value |
//! |---|---|
//! | `axis NAME` | what the experiment placed in `axes` |
//! | `completed_rate`, `offered_rate`, `sent_rate`, `goodput`, `concurrency` | of the measured window |
//! | `tally attempted`, `tally connected`, `tally completed`, `tally errors` | counts of the whole trial |
//! | `sent_bytes`, `received_bytes` | bytes per second of the window, as the client counts them |
//! | `asked` | connections or descriptors that were asked for |
//! | `response mean` … `connect p99` | microseconds of a summary |
//! | `client cost ID`, `server cost ID` | a cost per request |
//! | `client counter ID`, `server counter ID` | a counter over the window |
//! | `client rate ID`, `server rate ID` | its growth per second |
//! | `client busy min`, `mean`, `max`, and `server busy …` | busy share of the host's processors over the samples |
//! | `client privileged`, `server privileged` | share of the host's processor time in the kernel and in interrupts |

use run::{Recording, Side, Summary, Trial, Window};

use crate::pages::pick;

/// The value at a path; `None` where the trial has none.
pub(super) fn value(trial: &Trial, path: &str) -> Option<f64> {
    let words: Vec<&str> = path.split_whitespace().collect();
    let found = match words.as_slice() {
        ["axis", name] => trial.axes.get(*name).copied(),
        ["completed_rate"] => Some(trial.rates.completed_rate),
        ["offered_rate"] => Some(trial.rates.offered_rate),
        ["sent_rate"] => Some(trial.rates.sent_rate),
        ["goodput"] => Some(trial.rates.goodput),
        ["concurrency"] => Some(pick::concurrency(trial)),
        ["tally", count] => of_tally(trial, count),
        ["sent_bytes"] => Some(trial.measured.tally.bytes_sent as f64 / positive(trial.measured.length_s)?),
        ["received_bytes"] => Some(trial.measured.tally.bytes_received as f64 / positive(trial.measured.length_s)?),
        ["asked"] => pick::asked(trial),
        ["response", figure] => of_summary(&trial.latency_us, figure),
        ["service", figure] => of_summary(&trial.service_us, figure),
        ["connect", figure] => of_summary(&trial.connect_us, figure),
        [side, rest @ ..] => of_side(self::side(trial, side)?, trial, rest),
        [] => None,
    };
    found.filter(|v| v.is_finite())
}

fn side<'a>(trial: &'a Trial, name: &str) -> Option<&'a Side> {
    match name {
        "client" => Some(&trial.client),
        "server" => trial.server.as_ref(),
        _ => None,
    }
}

fn of_tally(trial: &Trial, count: &str) -> Option<f64> {
    let tally = &trial.tally;
    Some(match count {
        "attempted" => tally.attempted,
        "connected" => tally.connected,
        "completed" => tally.completed,
        "errors" => tally.error_count(),
        _ => return None,
    } as f64)
}

fn of_summary(s: &Summary, figure: &str) -> Option<f64> {
    if s.count == 0 {
        return None;
    }
    match figure {
        "mean" => Some(s.mean),
        "p50" => Some(s.p50),
        "p90" => Some(s.p90),
        "p99" => Some(s.p99),
        "p99_9" => Some(s.p99_9),
        "max" => Some(s.max),
        _ => None,
    }
}

fn of_side(side: &Side, trial: &Trial, words: &[&str]) -> Option<f64> {
    let counter = |id: &str| side.counters.iter().find(|(known, _)| known.as_str() == id)?.1.value();
    match words {
        ["cost", id] => side.costs.get(*id)?.per_request.value(),
        ["counter", id] => counter(id),
        ["rate", id] => Some(counter(id)? / positive(trial.measured.length_s)?),
        ["busy", which] => busy(&side.recording, trial, which),
        ["privileged"] => privileged(&side.recording, trial),
        _ => None,
    }
}

fn privileged(rec: &Recording, trial: &Trial) -> Option<f64> {
    let part = |id: &str| rec.reading(id, "total", trial.measured.window).value();
    let kernel = part("cpu.system")? + part("cpu.irq").unwrap_or(0.0) + part("cpu.softirq").unwrap_or(0.0);
    let rest = part("cpu.user").unwrap_or(0.0) + part("cpu.idle")? + part("cpu.iowait").unwrap_or(0.0);
    Some(kernel / positive(kernel + rest)?)
}

/// Least, mean or most busy share of the host's processors between two samples of the window.
fn busy(rec: &Recording, trial: &Trial, which: &str) -> Option<f64> {
    let window = trial.measured.window;
    let inside: Vec<f64> = rec.t_s.iter().copied().filter(|t| window.holds(*t)).collect();
    let share = |begin_s: f64, end_s: f64| {
        let part = |id: &str| rec.reading(id, "total", Window { begin_s, end_s }).value();
        let idle = part("cpu.idle")? + part("cpu.iowait").unwrap_or(0.0);
        let busy: f64 = BUSY.iter().filter_map(|id| part(id)).sum();
        Some(busy / positive(busy + idle)?)
    };
    let shares = || inside.windows(2).filter_map(|w| share(w[0], w[1]));
    match which {
        "min" => shares().reduce(f64::min),
        "max" => shares().reduce(f64::max),
        "mean" => share(window.begin_s, window.end_s),
        _ => None,
    }
}

/// The counters of busy time.
const BUSY: &[&str] = &["cpu.user", "cpu.system", "cpu.irq", "cpu.softirq", "cpu.steal"];

fn positive(v: f64) -> Option<f64> {
    (v > 0.0).then_some(v)
}
