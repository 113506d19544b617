//! The conductor: starts agents, leads them through the phases of a trial, searches for the capacity, and runs the
//! experiments of the sources. It decides what to try; what came out is judged by `judge` and shown by `report`.

pub mod agent;
pub mod cold;
mod conduct;
mod error;
pub mod experiments;
mod eye;
mod eyes;
mod find;
mod ground;
mod host;
#[allow(clippy::module_inception)]
mod lab;
mod load_once;
mod media;
mod merge;
mod place;
pub mod preflight;
mod pulse;
pub mod search;
mod split;
pub mod target;
mod told;
mod typed;
mod vigil;
mod watch;
pub mod workload;

pub use conduct::Load;
pub use error::LabError;
pub use experiments::EXPERIMENTS;
pub use eyes::{Scene, Watched};
pub use find::find;
pub use ground::{Ground, start_server};
pub use host::{Host, Local};
pub use lab::Lab;
pub use load_once::load;
pub use media::Guest;
pub use merge::Point;
pub use place::{Places, cpus_of};
pub use told::Teller;
pub use watch::{Nobody, Watch};
