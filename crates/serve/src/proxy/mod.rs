//! The proxy of the paper on the event API (Banga, Mogul and Druschel, 1999). The backend of the event API can be
//! chosen. The proxy speaks HTTP/1.1 and has no cache.
//!
//! Each thread has its own listening socket, event queue, clients and kept upstream connections.

mod batching;
mod body;
mod counting;
mod end;
mod head;
mod io;
mod leaving;
mod pair;
mod settings;
mod timers;
mod timing;
mod watch;
mod worker;

use std::sync::Arc;

use run::ServePlan;

use crate::control::Control;
use crate::{Options, ServeError, Server, listener};
use settings::Settings;
use timing::Stopwatch;
pub use timing::{CallTimer, TimingGoal, Timings};
use worker::Worker;

/// Starts a proxy in front of an upstream server.
pub(crate) fn start(plan: &ServePlan) -> Result<Server, ServeError> {
    start_with(plan, None)
}

/// Starts a proxy with one thread. The returned timer measures the proxy's calls of the event API.
pub fn start_timed(plan: &ServePlan) -> Result<(Server, CallTimer), ServeError> {
    let (timer, clock) = CallTimer::new();
    let server = start_with(&ServePlan { threads: 1, ..plan.clone() }, Some(clock))?;
    Ok((server, timer))
}

fn start_with(plan: &ServePlan, mut clock: Option<Box<Stopwatch>>) -> Result<Server, ServeError> {
    let settings = Arc::new(Settings::from(plan)?);
    let _ = sys::limits::raise_descriptors();
    let control = Control::new(&plan.cpus, None);
    let threads = plan.threads.max(1);
    let (listeners, addr) = listener::open(&plan.listen, plan.backlog, threads, threads > 1, false, &control)?;
    listener::tune(&listeners, &Options::new(&plan.options)?)?;
    // From here on, dropping `Server` stops the threads, even if an error occurs.
    let server = Server::new(addr, settings.events.backend.spec().name, control.clone());
    for listener in listeners {
        let (settings, control) = (settings.clone(), control.clone());
        let waker = control.waker()?;
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (owner, clock) = (control.clone(), clock.take());
        owner.spawn("proxy", move || {
            // Each thread creates its own event queue, so an error of the kernel appears only in this thread.
            let worker = match Worker::new(settings, control, listener, waker, clock) {
                Ok(worker) => worker,
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return Ok(());
                }
            };
            let _ = ready.send(Ok(()));
            worker.run()
        })?;
        is_ready.recv().unwrap_or_else(|_| Err(ServeError::Combination("a proxy thread ended at once".into())))?;
    }
    Ok(server)
}
