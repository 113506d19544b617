//! Shows the progress that the crate [`lab`] reports.

use std::io::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::{LiveProgress, Watch};
use report::{Unit, quantity};
use run::{Run, Tick, Trial};

use super::Screen;
use super::step_lines::{head, loaded, unloaded};
use crate::feeds::json_lines::JsonLines;
use crate::live::View;

/// Minimum expected length of a run or a step with a progress bar, seconds.
const WORTH_A_BAR_S: f64 = 2.0;

impl Watch for Screen {
    fn looks(&self) -> bool {
        self.shared.is_some()
    }

    fn progress(&mut self, now: LiveProgress) {
        let t_s = now.tick.t_s;
        if let Some(shared) = &self.shared {
            shared.lock().progress(now);
        }
        self.told(t_s);
    }

    fn phase(&mut self, name: &str, expected_s: f64) {
        if let Some(shared) = &self.shared {
            shared.lock().phase(name, expected_s);
            if std::mem::take(&mut self.live) {
                self.view = View::begin(shared);
            }
        }
        if self.view.is_some() || self.told_s.is_some() {
            return;
        }
        if !self.terminal || self.budget_s.max(expected_s) <= WORTH_A_BAR_S {
            return;
        }
        let length_ms = (self.budget_s.max(expected_s) * 1e3) as u64;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(length_ms);
            let left = if self.budget_s > 0.0 { ", {eta} left" } else { "" };
            if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:30}} {{elapsed:>4}}{left}  {{msg}}")) {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        bar.set_message(run::visible(&format!("{name}{}", self.last)).into_owned());
        bar.set_position(self.start.elapsed().as_millis() as u64);
    }

    fn tick(&mut self, _: &Tick) {
        if let Some(bar) = &self.bar {
            bar.set_position(self.start.elapsed().as_millis() as u64);
        }
    }

    fn trial(&mut self, trial: &Trial) {
        if let Some(shared) = &self.shared {
            shared.lock().trial(trial, &loaded(trial));
        }
        if self.told_s.is_some() {
            return;
        }
        let at_s = self.start.elapsed().as_secs_f64();
        let progress = self.progress_lines.as_mut().and_then(|lines| lines.line(at_s, trial));
        // If standard error is closed, the run continues, because the result goes to standard output.
        progress.into_iter().for_each(|line| drop(writeln!(std::io::stderr().lock(), "{}", run::visible(&line))));
        if !self.steps {
            let rate = quantity(trial.rates.completed_rate, Unit::PerSecond);
            self.last = format!("  (last: {}, {rate})", trial.label);
            return;
        }
        if trial.tally.attempted == 0 && trial.tally.completed == 0 {
            return self.line(&unloaded(trial));
        }
        if !self.began {
            self.began = true;
            self.line(&head());
        }
        self.line(&loaded(trial));
    }

    fn so_far(&mut self, run: &Run) {
        let seen = self.shared.as_ref().filter(|_| self.view.is_some());
        seen.into_iter().for_each(|shared| shared.lock().unjudged = Some(Box::new(run.clone())));
    }

    /// Shows a note in the view, and with --verbose also prints it. The report of the run contains all notes.
    fn note(&mut self, sentence: &str) {
        if let Some(shared) = &self.shared {
            shared.lock().note(sentence);
        }
        if self.steps {
            self.alert(sentence);
        }
    }

    fn alert(&mut self, sentence: &str) {
        // Wraps notes at the width of the terminal. If the output is a file or a pipe, does not wrap notes.
        let room = sys::terminal::width().map_or(usize::MAX, |width| width.saturating_sub(6));
        for (i, line) in report::wrap(sentence, room).iter().enumerate() {
            self.line(&format!("{}{line}", if i == 0 { "note: " } else { "      " }));
        }
    }

    fn factor(&self) -> f64 {
        self.view.as_ref().map_or(1.0, View::factor)
    }

    fn stop(&self) -> bool {
        let quits = self.view.as_ref().is_some_and(View::quits);
        let unread = self.json_lines.as_ref().is_some_and(JsonLines::closed);
        quits || unread || sys::interrupt::seen() > 0 || self.broken_pipe.load(Ordering::Relaxed)
    }
}
