//! Wraps [`testkit::nginx_hosts`], with the loadline program that is tested.

use std::sync::MutexGuard;

pub(crate) use testkit::nginx_hosts::{Nginx, incidents, names, names_of_loads, notes, said};
use testkit::{SshHosts, binary};

pub(crate) fn nginx_hosts(test: &str, medium: &str) -> Option<(SshHosts, Nginx, MutexGuard<'static, ()>)> {
    testkit::nginx_hosts::nginx_hosts(test, binary!(), medium)
}

pub(crate) fn shared_nginx_hosts(test: &str, medium: &str) -> Option<(SshHosts, Nginx)> {
    testkit::nginx_hosts::shared_nginx_hosts(test, binary!(), medium)
}

pub(crate) fn args<'a>(command: &'a str, url: &'a str, engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    testkit::nginx_hosts::args(binary!(), command, url, engine, more)
}
