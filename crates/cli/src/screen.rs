//! The screen during a run. On a terminal, a progress bar shows the latest step. With --verbose, each step gets its own
//! line.

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::{LiveProgress, Watch};
use report::{Unit, quantity};
use run::{Run, SummaryFigure, Tick, Trial};

use crate::args::{OutArgs, SeeArgs};
use crate::feeds::json_lines::JsonLines;
use crate::feeds::otlp::Otlp;
use crate::live::{Model, Shared, View};
use crate::metrics;
use crate::progress_lines::{ProgressLines, time};

/// A run or a step that is expected to last longer than this has a progress bar, seconds.
const WORTH_A_BAR_S: f64 = 2.0;

/// The user's screen. The crate [`lab`] reports the progress of a run through this type.
pub(crate) struct Screen {
    /// True if the lines about steps go to standard error, because standard output is for JSON.
    json: bool,
    /// True if each step gets its own line.
    steps: bool,
    /// Number of lines printed so far.
    lines: Cell<usize>,
    /// Latest step of the run, which the progress bar shows.
    last: String,
    began: bool,
    bar: Option<ProgressBar>,
    terminal: bool,
    /// Expected length of the whole run in seconds; 0 if unknown.
    budget_s: f64,
    start: std::time::Instant,
    broken_pipe: AtomicBool,
    /// State of the run, for the view and for the programs that receive figures; `None` if there is neither a view nor
    /// such a program.
    shared: Option<Shared>,
    /// True if the full-screen view will start with the first step.
    live: bool,
    view: Option<View>,
    /// Lines to print when the view has ended.
    waiting: RefCell<Vec<String>>,
    /// Writer of one line of JSON per second (`--json-lines`).
    json_lines: Option<JsonLines>,
    otlp: Option<Otlp>,
    /// Time in the run at which the previous line was printed, seconds. `None` if loadline prints no line per second.
    told_s: Option<f64>,
    /// Progress lines on standard error; `None` if a terminal or another output already shows the progress.
    progress_lines: Option<ProgressLines>,
}

impl Screen {
    /// Returns the screen of a run, with the full-screen view and the receivers of figures that the flags request.
    /// `title` names the command and the target.
    pub(crate) fn seen(out: &OutArgs, see: &SeeArgs, budget_s: f64, title: &str) -> anyhow::Result<Self> {
        let live = see.live(out, budget_s);
        let model = || Model::new(run::visible(title).into_owned(), head(), budget_s);
        let shared = (live || see.feeds()).then(|| Shared::new(model()));
        if let Some((at, shared)) = see.metrics.zip(shared.as_ref()) {
            metrics::serve(at, shared)?;
        }
        Self { live, shared, ..Self::new(out, budget_s) }.feeding(see)
    }

    /// Returns the screen for a server that is only watched: the full-screen view, or one line per second.
    pub(crate) fn watching(out: &OutArgs, see: &SeeArgs, seconds: Option<f64>, title: &str) -> anyhow::Result<Self> {
        let budget_s = seconds.unwrap_or(0.0);
        let live = see.live(out, seconds.unwrap_or(f64::INFINITY));
        let mut model = Model::new(run::visible(title).into_owned(), String::new(), budget_s);
        model.watches = true;
        let shared = Shared::new(model);
        see.metrics.map(|at| metrics::serve(at, &shared)).transpose()?;
        let told_s = Some(0.0).filter(|_| !see.json_lines);
        Self { live, shared: Some(shared), told_s, ..Self::new(out, budget_s) }.feeding(see)
    }

    /// Starts the writers of figures for other programs (`--json-lines`, `--otlp`).
    fn feeding(mut self, see: &SeeArgs) -> anyhow::Result<Self> {
        let wanted = self.shared.as_ref().filter(|_| see.json_lines);
        self.json_lines = wanted.map(JsonLines::start).transpose()?;
        self.json |= see.json_lines;
        let receiver = see.otlp.as_ref().zip(self.shared.as_ref());
        self.otlp = receiver.map(|(url, shared)| Otlp::start(url, shared)).transpose()?;
        Ok(self)
    }

    /// Records in the view's state that this run searches for a capacity. `limit_us` is the limit on the 99th
    /// percentile of the response time, microseconds. Without another display of progress, the search writes progress
    /// lines.
    #[must_use]
    pub(crate) fn searching(mut self, limit_us: Option<f64>) -> Self {
        let is_silent = !self.terminal && !self.steps && !self.live && self.json_lines.is_none();
        self.progress_lines = ProgressLines::of(self.budget_s).filter(|_| is_silent);
        if let Some(mut model) = self.shared.as_ref().map(Shared::lock) {
            (model.searches, model.limit_us) = (true, limit_us);
        }
        self
    }

    /// Lets the user change the rate of an open loop. `rate` is the planned rate.
    #[must_use]
    pub(crate) fn by_hand(self, rate: Option<f64>) -> Self {
        self.shared.iter().for_each(|shared| shared.lock().rate = rate);
        self
    }

    /// Prints one line per second about a watched server, unless the full-screen view is shown.
    fn told(&mut self, t_s: f64) {
        let due = self.told_s.is_some_and(|told_s| t_s >= told_s + 1.0) && self.view.is_none();
        let line = self.shared.as_ref().filter(|_| due).and_then(|shared| shared.lock().line());
        if let Some(line) = line {
            self.told_s = Some(t_s.floor());
            self.line(&format!("{t_s:6.0} s  {line}"));
        }
    }

    /// Returns the screen for a run of about `budget_s` seconds, without a view.
    pub(crate) fn new(out: &OutArgs, budget_s: f64) -> Self {
        Self { json: out.json, steps: out.json || out.verbose, ..Self::of_bar(budget_s) }
    }

    /// Returns the screen for a run of about `budget_s` seconds that shows only a progress bar, on a terminal.
    pub(crate) fn of_bar(budget_s: f64) -> Self {
        Self {
            json: false,
            steps: false,
            lines: Cell::new(0),
            last: String::new(),
            began: false,
            bar: None,
            terminal: std::io::stderr().is_terminal(),
            budget_s,
            start: std::time::Instant::now(),
            broken_pipe: AtomicBool::new(false),
            shared: None,
            live: false,
            view: None,
            waiting: RefCell::default(),
            json_lines: None,
            otlp: None,
            told_s: None,
            progress_lines: None,
        }
    }

    /// Tells the user, before a run, how long it will take. `name` names the run.
    pub(crate) fn planned(&self, name: &str, seconds: f64) {
        let time = if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} minutes", seconds / 60.0) };
        self.line(&format!("{name} takes about {time}"));
    }

    /// Writes a line of the run. If the program that reads the output has closed the pipe, the run ends as with Ctrl-C:
    /// without a message, and its measurements are stored.
    fn line(&self, text: &str) {
        // Names and responses come from other programs, so invisible characters in the text are made visible.
        let text = run::visible(text);
        if self.view.is_some() {
            return self.waiting.borrow_mut().push(text.into_owned());
        }
        self.lines.set(self.lines.get() + 1);
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

    /// Ends the view or the progress bar, prints the waiting lines, and returns the number of printed lines.
    pub(crate) fn done(&mut self) -> usize {
        drop((self.view.take(), self.json_lines.take()));
        let warning = self.otlp.take().and_then(Otlp::end);
        warning.into_iter().for_each(|text| self.alert(&text));
        self.waiting.take().iter().for_each(|line| self.line(line));
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.lines.get()
    }
}

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

/// Returns the title of the view: the command of a plan, and its target.
pub(crate) fn title(plan: &run::Plan) -> String {
    let target = if plan.target.url.is_empty() { "the embedded server" } else { &plan.target.url };
    format!("loadline {} {target}", plan.command)
}

/// Returns the heading of the lines about steps.
fn head() -> String {
    row("step", ["completed", "p50", "p99", "errors"], "busiest")
}

fn row(label: &str, figures: [&str; 4], busiest: &str) -> String {
    let [rate, p50, p99, errors] = figures;
    // The line has at most 80 characters with a label of up to 25 characters and a device such as `server thread 99.9
    // %`.
    let line = format!("{label:<25} {rate:>9} {p50:>7} {p99:>7} {errors:>6}  {busiest}");
    line.trim_end().to_string()
}

/// Formats the line of a trial with load.
fn loaded(trial: &Trial) -> String {
    let figures = [
        quantity(trial.rates.completed_rate, Unit::PerSecond),
        time(trial, SummaryFigure::P50),
        time(trial, SummaryFigure::P99),
        judge::failed_share(trial).map_or_else(|| "n/a".into(), |share| quantity(share, Unit::Share)),
    ];
    let busiest = report::busiest_device(&judge::devices(trial)).unwrap_or_default();
    row(&trial.label, figures.each_ref().map(String::as_str), &busiest)
}

/// Formats the line of a trial without load, such as timed calls. Unlike the line of a load, this line is not divided
/// into columns.
fn unloaded(trial: &Trial) -> String {
    let summary = trial.results.summary.as_ref();
    summary.map_or_else(|| trial.label.clone(), |summary| format!("{}: {summary}", trial.label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hung_server_has_no_response_times_and_only_failed_requests() {
        let mut trial = Trial { label: "8 connections".into(), ..Trial::default() };
        (trial.tally.attempted, trial.tally.connected, trial.tally.sent) = (8, 8, 8);
        (trial.tally.unanswered, trial.measured.tally.unanswered) = (8, 8);
        (trial.measured.tally.sent, trial.measured.tally.attempted) = (8, 8);
        assert_eq!(
            loaded(&trial).split_whitespace().collect::<Vec<_>>(),
            ["8", "connections", "0/s", "n/a", "n/a", "100", "%"]
        );
        trial.measured.tally = run::Tally::default();
        trial.tally.unanswered = 0;
        assert_eq!(
            loaded(&trial).split_whitespace().collect::<Vec<_>>(),
            ["8", "connections", "0/s", "n/a", "n/a", "n/a"]
        );
    }

    #[test]
    fn a_step_without_load_names_the_timed_calls_and_has_no_columns() {
        let mut trial = Trial { label: "epoll, 750 cold".into(), ..Trial::default() };
        assert_eq!(unloaded(&trial), "epoll, 750 cold");
        trial.results.summary = Some("1.79 µs a call, 10000 calls".into());
        assert_eq!(unloaded(&trial), "epoll, 750 cold: 1.79 µs a call, 10000 calls");
    }
}
