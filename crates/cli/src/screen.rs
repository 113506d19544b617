//! What a run shows while it goes on: one line a step, a bar where standard error is a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::Watch;
use report::{Unit, quantity};
use run::{Tick, Trial};

/// Shorter phases get no bar.
const WORTH_A_BAR_S: f64 = 2.0;

/// The user's screen, as [`lab`] sees it.
pub(crate) struct Screen {
    /// Step lines go to standard error, because standard output belongs to the JSON text.
    json: bool,
    began: bool,
    bar: Option<ProgressBar>,
    terminal: bool,
    /// The whole run is expected to take so many seconds; 0 is unknown.
    budget_s: f64,
    start: std::time::Instant,
    broken_pipe: AtomicBool,
}

impl Screen {
    /// A screen for a run of about so many seconds.
    pub(crate) fn new(json: bool, budget_s: f64) -> Self {
        Self {
            json,
            began: false,
            bar: None,
            terminal: std::io::stderr().is_terminal(),
            budget_s,
            start: std::time::Instant::now(),
            broken_pipe: AtomicBool::new(false),
        }
    }

    /// Writes a line where this run's lines go. A reader that left ends the run as Ctrl-C does: quietly, and saved.
    fn line(&self, text: &str) {
        let write = || {
            if self.json {
                writeln!(std::io::stderr().lock(), "{text}")
            } else {
                let mut out = std::io::stdout().lock();
                writeln!(out, "{text}").and_then(|()| out.flush())
            }
        };
        let result = match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        };
        if result.is_err() {
            self.broken_pipe.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the bar away.
    pub(crate) fn done(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Screen {
    fn phase(&mut self, name: &str, expected_s: f64) {
        if !self.terminal || self.budget_s.max(expected_s) <= WORTH_A_BAR_S {
            return;
        }
        let length_ms = (self.budget_s.max(expected_s) * 1e3) as u64;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(length_ms);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {elapsed:>4}  {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        bar.set_message(name.to_string());
        bar.set_position(self.start.elapsed().as_millis() as u64);
    }

    fn tick(&mut self, _: &Tick) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.start.elapsed().as_millis() as u64);
        }
    }

    fn trial(&mut self, trial: &Trial) {
        if trial.tally.attempted == 0 && trial.tally.completed == 0 {
            return self.line(&unloaded(trial));
        }
        if !self.began {
            self.began = true;
            self.line(&row("step", ["completed", "p50", "p99", "errors"], "busiest"));
        }
        let time = |us: f64| quantity(us, Unit::Micros);
        let figures = [
            quantity(trial.rates.completed_rate, Unit::PerSecond),
            time(trial.latency_us.p50),
            time(trial.latency_us.p99),
            quantity(error_share(trial), Unit::Share),
        ];
        let busiest = report::busiest_device(trial).unwrap_or_default();
        self.line(&row(&trial.label, figures.each_ref().map(String::as_str), &busiest));
    }

    fn note(&mut self, sentence: &str) {
        self.line(&format!("note: {sentence}"));
    }

    fn stop(&self) -> bool {
        sys::interrupt::seen() > 0 || self.broken_pipe.load(Ordering::Relaxed)
    }
}

fn row(label: &str, figures: [&str; 4], busiest: &str) -> String {
    let [rate, p50, p99, errors] = figures;
    // 80 characters with a label of up to 25 and a device such as `server thread 99.9 %`.
    let line = format!("{label:<25} {rate:>9} {p50:>7} {p99:>7} {errors:>6}  {busiest}");
    line.trim_end().to_string()
}

/// A step without load, which timed calls, say: it has none of the figures of the others, so no columns either.
fn unloaded(trial: &Trial) -> String {
    let axis = |name: &str| trial.axes.get(name).copied();
    let time = axis("call_us").or_else(|| axis("median_us"));
    let calls = axis("calls").map_or_else(String::new, |n| format!(", {n:.0} calls"));
    match time {
        Some(us) => format!("{}: {} a call{calls}", trial.label, quantity(us, Unit::Micros)),
        None => trial.label.clone(),
    }
}

fn error_share(trial: &Trial) -> f64 {
    let m = &trial.measured.tally;
    let failed = (m.error_count() + m.unexpected_status) as f64;
    let all = (m.completed + m.error_count()) as f64;
    if all > 0.0 { failed / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_load_says_what_it_timed_and_stands_under_no_columns() {
        let mut trial = Trial { label: "epoll, 750 cold".into(), ..Trial::default() };
        assert_eq!(unloaded(&trial), "epoll, 750 cold");
        trial.axes = [("call_us", 1.79), ("calls", 10_000.0)].map(|(name, v)| (name.to_string(), v)).into();
        assert_eq!(unloaded(&trial), "epoll, 750 cold: 1.79 µs a call, 10000 calls");
    }
}
