//! Reference servers: servers with known behaviour, against which loadline is tested. Each I/O model (way of waiting
//! for sockets) can serve almost every service, with each strategy that the model supports.
//!
//! Comments call one paper "the Windows study": A. Jones, A. Deshpande, *Windows Sockets 2.0: Write Scalable Winsock
//! Apps Using Completion Ports* (2000). The Windows study describes the servers that most models in this crate
//! reproduce on Linux.
//!
//! [`start`] runs a server with given settings. The tables [`MODELS`], [`SERVICES`], [`STRATEGIES`], [`BEHAVIOURS`] and
//! [`OPTIONS`] list all models, services, strategies, behaviours and options.

mod acceptor;
mod behaviours;
mod completion;
mod connection;
mod control;
mod error;
mod h3;
mod listener;
mod models;
mod options;
mod proxy;
mod ready;
mod server;
mod service;
mod services;
mod shard;
mod slab;
mod stats;
mod strategies;

pub use behaviours::{BEHAVIOURS, BehaviourSpec};
pub use error::ServeError;
pub use models::{MODELS, ModelSpec, default_model};
pub use options::{OPTIONS, OptionSpec, Options};
pub use proxy::{CallTimer, TimingGoal, Timings, start_timed};
pub use server::Server;
pub use service::Service;
pub use services::{Open, SERVICES, ServiceKind, ServiceSpec};
pub use stats::Stats;
pub use strategies::{STRATEGIES, StrategySpec};

use run::ServePlan;

use error::find;

/// Starts a server with the settings in `plan`. The server runs in threads of this process until [`Server::stop`].
pub fn start(plan: &ServePlan) -> Result<Server, ServeError> {
    let options = Options::new(&plan.options)?;
    let row = find(SERVICES, "service", &plan.service, |s| s.name)?;
    let open = match row.kind {
        ServiceKind::Sessions(open) => open,
        ServiceKind::Standalone(start) => return start(plan),
    };
    let service = open(plan, &options)?;
    let (name, note) = models::choose(plan, &options, service.is_timed())?;
    let model = find(MODELS, "model", name, |m| m.name)?;
    let strategy = strategies::choose(plan, model, &options)?;
    let (service, tls_note) = services::tls::wrap(service, row.alpn, &options)?;
    let mut server = models::start(plan, model, service.clone(), strategy, &options)?;
    server.add_counts_of(service);
    note.into_iter().chain(tls_note).for_each(|note| server.note(note));
    Ok(server)
}
