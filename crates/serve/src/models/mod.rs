//! I/O models: the ways in which a server waits for its sockets. Each model has one module and one entry in [`MODELS`].
//! Every model serves every service, with one exception: the models in [`WITHOUT_TIMERS`] cannot serve services that
//! need timers.

mod blocking;
mod epoll;
mod event;
mod event_groups;
mod groups;
mod launch;
mod poll;
mod select;
mod select_array;
mod sigio;
mod uring;
mod uring_groups;
mod workers;

use std::net::SocketAddr;
use std::sync::Arc;

use run::ServePlan;

use self::launch::Launch;
pub use self::launch::ModelSpec;
use crate::acceptor::Pace;
use crate::control::Control;
use crate::strategies::Policy;
use crate::{Options, ServeError, Server, Service, behaviours};

const ALL: &[&str] = &["high-throughput", "high-connections", "limits"];

/// Models that cannot serve a timed service, because they have no timers for connections. A timed service also sends at
/// planned times, and not only in response to input.
const WITHOUT_TIMERS: &[&str] = &["blocking", "uring", "uring-sharded", "uring-groups", "workers"];

/// All I/O models of the reference servers.
pub const MODELS: &[ModelSpec] = &[
    ModelSpec {
        name: "blocking",
        original: "blocking sockets",
        cost: "per request a recv, a send and two thread switches; two threads per connection",
        strategies: &["limits"],
        cannot: "each thread blocks in the receive of its connection and holds a buffer",
        start: blocking::start,
    },
    ModelSpec {
        name: "select",
        original: "non-blocking sockets with select",
        cost: "each wait scans bit sets up to the highest descriptor; one thread",
        strategies: ALL,
        cannot: "",
        start: select::start,
    },
    ModelSpec {
        name: "select-array",
        original: "non-blocking sockets with select, sets as arrays",
        cost: "each wait searches arrays, which takes time that grows with the square of the connections; one thread",
        strategies: ALL,
        cannot: "",
        start: select_array::start,
    },
    ModelSpec {
        name: "poll",
        original: "non-blocking sockets with select",
        cost: "each wait copies a list of all connections to the kernel and back; one thread",
        strategies: ALL,
        cannot: "",
        start: poll::start,
    },
    ModelSpec {
        name: "sigio",
        original: "WSAAsyncSelect",
        cost: "a system call for each queued signal, then recv until it would block; one thread",
        strategies: ALL,
        cannot: "",
        start: sigio::start,
    },
    ModelSpec {
        name: "event-groups",
        original: "WSAEventSelect",
        cost: "each wait scans 64 entries for one event; one thread per 63 connections",
        strategies: ALL,
        cannot: "",
        start: event_groups::start,
    },
    ModelSpec {
        name: "uring-groups",
        original: "overlapped I/O with events",
        cost: "one io_uring_enter for all operations of a group that complete together; one thread per 62 connections",
        strategies: ALL,
        cannot: "",
        start: uring_groups::start,
    },
    ModelSpec {
        name: "uring",
        original: "overlapped I/O with a completion port",
        cost: "requests share one io_uring_enter; one receive is posted per connection, sends beyond 200 outstanding are queued",
        strategies: ALL,
        cannot: "",
        start: uring::single,
    },
    ModelSpec {
        name: "uring-sharded",
        original: "none in the source (a completion port per thread)",
        cost: "as uring, with a ring and a listener per thread; one receive is posted for a connection's whole life",
        strategies: ALL,
        cannot: "",
        start: uring::sharded,
    },
    ModelSpec {
        name: "epoll",
        original: "none in the source",
        cost: "one epoll_wait for up to 1024 events, then a recv and a send for each; level-triggered",
        strategies: ALL,
        cannot: "",
        start: epoll::level,
    },
    ModelSpec {
        name: "epoll-et",
        original: "none in the source",
        cost: "as epoll, edge-triggered: interest is declared once and never changed",
        strategies: ALL,
        cannot: "",
        start: epoll::edge,
    },
    ModelSpec {
        name: "epoll-sharded",
        original: "none in the source",
        cost: "as epoll, with a listening socket per thread (SO_REUSEPORT): threads share nothing",
        strategies: ALL,
        cannot: "",
        start: epoll::sharded,
    },
    ModelSpec {
        name: "event",
        original: "none in the source; the event API of Banga, Mogul and Druschel",
        cost: "one get_next_event for up to 256 events, then a recv and a send for each; option `events` chooses the back end",
        strategies: ALL,
        cannot: "",
        start: event::start,
    },
    ModelSpec {
        name: "workers",
        original: "none in the source",
        cost: "per event a wait, a recv, a send and a re-arm (epoll_ctl); a fixed number of threads",
        strategies: &[],
        cannot: "its threads take connections one event at a time and keep no list of them",
        start: workers::start,
    },
];

/// Returns the model that needs the least CPU time per request, according to `make bench`: `uring-sharded` if io_uring
/// is allowed, otherwise `epoll-sharded`. The model name `auto` selects the returned model, unless other options need
/// another model.
pub fn default_model() -> &'static str {
    if crate::completion::probe().is_ok() { "uring-sharded" } else { "epoll-sharded" }
}

/// Returns the name of the model for these settings, and a note if the choice may surprise the user. `is_timed` is true
/// if the service also sends when no input has arrived.
pub(crate) fn choose<'a>(
    plan: &'a ServePlan,
    options: &Options<'_>,
    is_timed: bool,
) -> Result<(&'a str, Option<String>), ServeError> {
    if is_timed {
        return choose_timed(plan).map(|model| (model, None));
    }
    let workers = options.get::<u32>("workers")?.is_some();
    if plan.model != "auto" {
        if workers && plan.model != "workers" {
            let why = format!("option workers needs model workers, not {}", plan.model);
            return Err(ServeError::Combination(why));
        }
        return Ok((&plan.model, None));
    }
    if workers {
        return Ok(("workers", Some("option workers: model workers serves".into())));
    }
    if Pace::from(options)?.is_some() {
        return Ok(("epoll-sharded", Some("option accept_every_ms: model epoll-sharded serves".into())));
    }
    let name = default_model();
    let note = "io_uring is not allowed here: model epoll-sharded serves";
    Ok((name, (name == "epoll-sharded").then(|| note.into())))
}

/// Returns the name of the model for a service that also sends when no input has arrived.
fn choose_timed(plan: &ServePlan) -> Result<&str, ServeError> {
    match plan.model.as_str() {
        "auto" => Ok("epoll-sharded"),
        model if WITHOUT_TIMERS.contains(&model) => Err(ServeError::Combination(format!(
            "service {} sends at times of its own, which model {model} cannot do: use a model that waits for readiness, \
             such as epoll",
            plan.service
        ))),
        model => Ok(model),
    }
}

/// Starts an I/O model.
pub(crate) fn start(
    plan: &ServePlan,
    model: &'static ModelSpec,
    service: Arc<dyn Service>,
    policy: Policy,
    options: &Options<'_>,
) -> Result<Server, ServeError> {
    // With many connections, descriptors run out before any other resource. By default, the soft limit on descriptors
    // is raised to the hard limit, because the hard limit is the user's choice. The option `descriptors` sets another
    // soft limit.
    let _ = match options.get("descriptors")? {
        Some(soft) => sys::limits::set_soft_descriptors(soft),
        None => sys::limits::raise_descriptors().map(drop),
    };
    let service = behaviours::wrap(service, options, plan.threads)?;
    let control = Control::new(&plan.cpus, options.get("max_threads")?);
    let launch = Launch { plan, options, control: control.clone(), service, policy };
    let started = (model.start)(&launch);
    // From here on, dropping `Server` stops the threads, even if starting the model failed.
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let server = Server::new(*started.as_ref().unwrap_or(&any), model.name, control);
    started.map(|_| server)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(model: &str, options: &[(&str, &str)]) -> Result<(String, Option<String>), ServeError> {
        let options = options.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        let plan = ServePlan { model: model.into(), options, ..ServePlan::default() };
        choose(&plan, &Options::new(&plan.options)?, false).map(|(name, note)| (name.to_owned(), note))
    }

    #[test]
    fn auto_chooses_a_model_that_supports_the_options_and_adds_a_note() {
        assert_eq!(chosen("auto", &[]).unwrap().0, default_model());
        for (options, model) in [(("accept_every_ms", "50"), "epoll-sharded"), (("workers", "2"), "workers")] {
            let (name, note) = chosen("auto", &[options]).unwrap();
            assert_eq!(name, model);
            assert!(note.unwrap().contains(options.0));
        }
    }

    #[test]
    fn a_named_model_is_used_unless_an_option_requires_another() {
        assert_eq!(chosen("poll", &[]).unwrap(), ("poll".into(), None));
        assert_eq!(chosen("workers", &[("workers", "2")]).unwrap().0, "workers");
        assert!(chosen("epoll", &[("workers", "2")]).unwrap_err().to_string().contains("needs model workers"));
    }

    #[test]
    fn a_timed_service_gets_a_model_with_timers() {
        let chosen =
            |model: &str| choose_timed(&ServePlan { model: model.into(), ..ServePlan::default() }).map(str::to_owned);
        assert_eq!((chosen("auto").unwrap(), chosen("poll").unwrap()), ("epoll-sharded".into(), "poll".into()));
        for model in WITHOUT_TIMERS {
            assert!(MODELS.iter().any(|row| row.name == *model));
            assert!(chosen(model).unwrap_err().to_string().contains("such as epoll"));
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = MODELS.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), MODELS.len());
    }
}
