//! Flags that several commands share. The commands put the values of these shared flags into the plan of a run.

mod blocks;
pub(crate) mod defaults;
pub(crate) mod foreign;
mod form;
mod headers;
mod hosts;
mod label;
mod load;
pub(crate) mod mix;
pub(crate) mod mix_checks;
mod names;
mod objective;
mod observe;
mod out;
mod protocol;
mod rate;
mod repeat;
mod request;
pub(crate) mod request_set;
mod reroute;
mod rows;
mod see;
mod stray_target;
mod stream;
mod target;
mod tls;
pub(crate) mod units;
pub(crate) mod usage_errors;

pub(crate) use blocks::BlockArgs;
pub(crate) use form::{FormArgs, form_of_file};
pub(crate) use headers::{SecretHeaderArgs, read as read_header};
pub(crate) use hosts::{HostArgs, ServerHostArgs};
pub(crate) use load::{LoadArgs, apply_deadline};
pub(crate) use names::Names;
pub(crate) use objective::ObjectiveArgs;
pub(crate) use observe::{BehindArgs, ObserveArgs};
pub(crate) use out::OutArgs;
pub(crate) use protocol::set_protocol;
pub(crate) use rate::{Rate, rate};
pub(crate) use repeat::RepeatArgs;
pub(crate) use request::{RequestArgs, SetFlagArgs};
pub(crate) use rows::{arrival, arrival_help};
pub(crate) use see::SeeArgs;
pub(crate) use stream::StreamArgs;
pub(crate) use target::{MAX_PLAN_BYTES, TargetArgs, plan_of_file};
pub(crate) use tls::TlsArgs;

/// Default connect timeout of S-Clients, milliseconds (T in Banga and Druschel, USITS 1997).
pub(crate) const T_MS: f64 = 500.0;

/// Default maximum number of connections of an open loop.
pub(crate) const POOL: u32 = 10_000;
