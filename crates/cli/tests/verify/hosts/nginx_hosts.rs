//! The hosts of [`testkit::stage`] with the program under test.

use std::sync::MutexGuard;

pub(super) use testkit::stage::{Nginx, incidents, names, names_of_loads, notes, said};
use testkit::{SshHosts, binary};

pub(super) fn stage(test: &str, medium: &str) -> Option<(SshHosts, Nginx, MutexGuard<'static, ()>)> {
    testkit::stage::stage(test, binary!(), medium)
}

pub(super) fn stage_of_many(test: &str, medium: &str) -> Option<(SshHosts, Nginx)> {
    testkit::stage::stage_of_many(test, binary!(), medium)
}

pub(super) fn args<'a>(command: &'a str, url: &'a str, engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    testkit::stage::args(binary!(), command, url, engine, more)
}
