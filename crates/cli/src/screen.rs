//! The screen during a run. On a terminal, a progress bar shows the latest step. With --verbose, each step gets its own
//! line.

mod step_lines;
mod watch;

use std::cell::{Cell, RefCell};
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::ProgressBar;
use lab::Watch as _;

use crate::args::{OutArgs, SeeArgs};
use crate::feeds::json_lines::JsonLines;
use crate::feeds::otlp::Otlp;
use crate::live::{Model, Shared, View};
use crate::metrics;
use crate::progress_lines::ProgressLines;
use step_lines::head;

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
        // The time in front of the line fills ten columns.
        let room = sys::terminal::width().unwrap_or(80).saturating_sub(10);
        let line = self.shared.as_ref().filter(|_| due).and_then(|shared| shared.lock().line(room));
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

/// Returns the title of the view: the command of a plan, and its target.
pub(crate) fn title(plan: &run::Plan) -> String {
    let target = if plan.target.url.is_empty() { "the embedded server" } else { &plan.target.url };
    format!("loadline {} {target}", plan.command)
}
