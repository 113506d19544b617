//! The full-screen view of a run. It only looks: the conductor's thread hands over what is known, a thread of its own draws
//! it four times a second, and nothing waits for either.

mod backend;
mod draw;
mod history;
mod model;
mod sides;

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui_core::terminal::Terminal;
use report::{Unit, quantity};
use sys::terminal::FullScreen;

pub(crate) use model::Model;

/// Between two drawings.
const DRAW_EVERY: Duration = Duration::from_millis(250);
/// Between two looks at the end of the run.
const LOOK: Duration = Duration::from_millis(50);

/// What is known of a run, shared between who learns it and who shows it.
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
    /// The run is over.
    end: AtomicBool,
    /// The user wants it to be.
    quit: AtomicBool,
    /// Steps by which the user changed the rate: up less down.
    steps: AtomicI32,
}

/// A step of the rate by hand, and the most of them.
const STEP: f64 = 1.1;
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

/// A view that is shown, until it is dropped.
#[derive(Debug)]
pub(crate) struct View {
    flags: Arc<Flags>,
    thread: Option<JoinHandle<()>>,
}

impl View {
    /// Takes the terminal and begins to draw; none where the terminal cannot be had.
    pub(crate) fn begin(shared: &Shared) -> Option<Self> {
        give_back_in_a_panic();
        let taken = FullScreen::take().ok()?;
        let terminal = Terminal::new(backend::Ansi::new(crate::output::colors())).ok()?;
        let flags = Arc::new(Flags::default());
        let (theirs, shared) = (Arc::clone(&flags), shared.clone());
        let by_hand = shared.lock().rate.is_some();
        let body = move || Painter { taken, terminal, shared, flags: theirs, frozen: None, by_hand }.work();
        let thread = std::thread::Builder::new().name("loadline-view".into()).spawn(body).ok()?;
        Some(Self { flags, thread: Some(thread) })
    }

    /// How many times the planned rate the user wants.
    pub(crate) fn factor(&self) -> f64 {
        self.flags.factor()
    }

    /// Whether the user asked to end.
    pub(crate) fn quits(&self) -> bool {
        self.flags.quit.load(Ordering::Relaxed)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.flags.end.store(true, Ordering::Relaxed);
        // A thread that panicked gave the terminal back in its hook.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
        sys::terminal::give_back();
    }
}

/// A panic says what it has to say on the screen that the user keeps.
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

/// What the drawing thread owns.
struct Painter {
    taken: FullScreen,
    terminal: Terminal<backend::Ansi>,
    shared: Shared,
    flags: Arc<Flags>,
    /// The view as it was when it was paused.
    frozen: Option<Model>,
    /// The rate may be changed by hand.
    by_hand: bool,
}

impl Painter {
    fn work(mut self) {
        let mut due = Instant::now();
        while !self.flags.end.load(Ordering::Relaxed) {
            if Instant::now() >= due {
                due = Instant::now() + DRAW_EVERY;
                if self.paint().is_err() {
                    // A terminal that went away is heard of by SIGHUP.
                    return;
                }
            }
            match self.taken.key(LOOK) {
                Some(b'q' | b'Q') => self.flags.quit.store(true, Ordering::Relaxed),
                // As they lie on the keys, without shift.
                Some(b'+' | b'=') if self.by_hand => self.flags.step(1),
                Some(b'-' | b'_') if self.by_hand => self.flags.step(-1),
                Some(b' ') => self.frozen = if self.frozen.is_some() { None } else { Some(self.shared.lock().clone()) },
                _ => {}
            }
        }
    }

    fn paint(&mut self) -> std::io::Result<()> {
        let keys = self.keys();
        // The copy is made under the lock, the drawing is not.
        let model = self.frozen.clone().unwrap_or_else(|| self.shared.lock().clone());
        self.terminal.draw(|frame| draw::draw(frame, &model, &keys)).map(|_| ())
    }

    fn keys(&self) -> String {
        let rate = self.shared.lock().rate.filter(|_| self.by_hand);
        // As wide as the others: 80 columns hold all of it.
        let rate = rate.map(|rate| format!("   + - rate {}", quantity(rate * self.flags.factor(), Unit::PerSecond)));
        let keys = match (self.taken.has_keys(), self.flags.quit.load(Ordering::Relaxed), self.frozen.is_some()) {
            (_, true, _) => return "ending: what was measured is kept".into(),
            (false, ..) => return "Ctrl-C ends and keeps what was measured".into(),
            (_, _, true) => "paused: space goes on   q ends and keeps what was measured",
            _ => "q ends and keeps what was measured   space pauses the view",
        };
        format!("{keys}{}", rate.unwrap_or_default())
    }
}
