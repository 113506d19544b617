//! The full-screen view of a run. The thread that conducts the run updates the state, and a separate thread draws the
//! view four times per second. The conducting thread has to wait only while the drawing thread copies the state.

mod axis;
mod backend;
mod draw;
mod fit;
mod history;
mod keys;
mod model;
mod parts;
mod sides;
mod spread;
mod totals;

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui_core::terminal::Terminal;
use report::{Unit, quantity};
use sys::terminal::FullScreen;

pub(crate) use model::Model;
pub(crate) use sides::SideNow;
#[cfg(test)]
pub(crate) use sides::Uses;
pub(crate) use totals::Totals;

/// Time between two drawings of the view.
const DRAW_EVERY: Duration = Duration::from_millis(250);
/// Maximum time between two checks for the end of the run.
const LOOK: Duration = Duration::from_millis(50);

/// State of a run, which the conducting thread and the view share.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<Model>>);

impl Shared {
    pub(crate) fn new(model: Model) -> Self {
        Self(Arc::new(Mutex::new(model)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Model> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
struct Flags {
    /// True if the run has ended. The thread that draws the view must end as soon as the flag is set.
    end: AtomicBool,
    /// True if the user has asked to end the run.
    quit: AtomicBool,
    /// Number of times that the user raised the rate, minus the number of times that the user lowered the rate.
    steps: AtomicI32,
}

/// Factor by which one key press raises or lowers the rate.
const STEP: f64 = 1.1;
/// Maximum number of steps by which the user can raise or lower the planned rate.
const MOST_STEPS: i32 = 48;

impl Flags {
    fn step(&self, by: i32) {
        let steps = self.steps.load(Ordering::Relaxed).saturating_add(by);
        self.steps.store(steps.clamp(-MOST_STEPS, MOST_STEPS), Ordering::Relaxed);
    }

    fn factor(&self) -> f64 {
        STEP.powi(self.steps.load(Ordering::Relaxed))
    }
}

/// Handle of the view on the screen. Dropping this handle ends the view and restores the terminal.
#[derive(Debug)]
pub(crate) struct View {
    flags: Arc<Flags>,
    thread: Option<JoinHandle<()>>,
}

impl View {
    /// Switches the terminal to the full-screen view, and starts the thread that draws. Returns `None` if there is no
    /// usable terminal.
    pub(crate) fn begin(shared: &Shared) -> Option<Self> {
        give_back_in_a_panic();
        let taken = FullScreen::take().ok()?;
        let terminal = Terminal::new(backend::Ansi::new(crate::output::colors())).ok()?;
        let flags = Arc::new(Flags::default());
        let (theirs, shared) = (Arc::clone(&flags), shared.clone());
        let by_hand = shared.lock().rate.is_some();
        let body =
            move || Painter { taken, terminal, shared, flags: theirs, frozen: None, by_hand, explains: false }.work();
        let thread = std::thread::Builder::new().name("loadline-view".into()).spawn(body).ok()?;
        Some(Self { flags, thread: Some(thread) })
    }

    /// Returns the factor by which the user has changed the planned rate.
    pub(crate) fn factor(&self) -> f64 {
        self.flags.factor()
    }

    /// Returns true if the user has asked to end the run.
    pub(crate) fn quits(&self) -> bool {
        self.flags.quit.load(Ordering::Relaxed)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.flags.end.store(true, Ordering::Relaxed);
        // If the drawing thread panics, the panic hook has already restored the terminal.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
        sys::terminal::give_back();
    }
}

/// Installs a panic hook that restores the terminal before the panic's message is printed.
fn give_back_in_a_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            sys::terminal::give_back();
            before(info);
        }));
    });
}

/// State of the thread that draws the view.
struct Painter {
    taken: FullScreen,
    terminal: Terminal<backend::Ansi>,
    shared: Shared,
    flags: Arc<Flags>,
    /// State of the run when the user paused the view; `None` while the view is not paused.
    frozen: Option<Model>,
    /// True if the user may change the rate.
    by_hand: bool,
    /// True while the view explains the keys.
    explains: bool,
}

impl Painter {
    fn work(mut self) {
        let mut due = Instant::now();
        while !self.flags.end.load(Ordering::Relaxed) {
            if Instant::now() >= due {
                due = Instant::now() + DRAW_EVERY;
                if self.paint().is_err() {
                    // Drawing fails after the user closed the terminal. When the terminal closes, the signal SIGHUP
                    // ends the run.
                    return;
                }
            }
            match self.taken.key(LOOK) {
                Some(b'q' | b'Q') => self.flags.quit.store(true, Ordering::Relaxed),
                // The keys = and _ work like + and -, because many keyboards have = and + on one key, and _ and - on
                // another.
                Some(b'+' | b'=') if self.by_hand => self.flags.step(1),
                Some(b'-' | b'_') if self.by_hand => self.flags.step(-1),
                Some(b'?' | b'h') => self.explains = !self.explains,
                Some(b' ') => self.frozen = if self.frozen.is_some() { None } else { Some(self.shared.lock().clone()) },
                _ => {}
            }
        }
    }

    fn paint(&mut self) -> std::io::Result<()> {
        self.judge();
        let keys = self.keys();
        let explained = if self.explains { keys::lines(self.by_hand) } else { Vec::new() };
        // Holds the lock on the shared state only while it copies the state, not during the drawing.
        let model = self.frozen.clone().unwrap_or_else(|| self.shared.lock().clone());
        self.terminal.draw(|frame| draw::draw(frame, &model, &keys, explained)).map(|_| ())
    }

    /// Judges the trials that the run has so far. The thread that conducts the run does not wait until the trials are
    /// judged.
    fn judge(&self) {
        let unjudged = self.shared.lock().unjudged.take();
        if let Some(mut run) = unjudged {
            judge::judge_so_far(&mut run);
            let found = report::so_far(&run);
            let mut model = self.shared.lock();
            model.so_far = found;
            model.limit_us = run.findings.limits.p99_us.or(model.limit_us);
        }
    }

    fn keys(&self) -> String {
        let rate = self.shared.lock().rate.filter(|_| self.by_hand);
        // Like all other lines of the view, the text about the keys fits into 80 columns.
        let rate = rate.map(|rate| format!("   + - rate {}", quantity(rate * self.flags.factor(), Unit::PerSecond)));
        let keys = match (self.taken.has_keys(), self.flags.quit.load(Ordering::Relaxed), self.frozen.is_some()) {
            (_, true, _) => return "ending: the measurements are saved".into(),
            (false, ..) => return "Ctrl-C ends the run and saves the measurements".into(),
            (_, _, true) => "paused: space continues   q ends the run and saves it   ? keys",
            _ => "q ends the run and saves it   space pauses the view   ? keys",
        };
        format!("{keys}{}", rate.unwrap_or_default())
    }
}
