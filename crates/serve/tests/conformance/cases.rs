//! The combinations that are checked: services, models and strategies.

use std::path::Path;

use crate::harness::{Variant, alone, each};
use crate::talk::{self, Talk, talks};

/// Services that represent all others when strategies are tested: one echoes, one answers requests, one sends without
/// requests.
const KINDS: [&str; 3] = ["echo", "http", "source"];

/// Checks every service with every model, and one service of each kind with every strategy. Services and strategies are
/// combined only in the state machine of a connection, which has tests of its own.
pub(crate) fn all(check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    each_of(&KINDS, check);
}

/// Does the same checks as [`all`], but tests the strategies with these services.
pub(crate) fn each_of(kinds: &[&str], check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    let (_alone, root, talks) = (alone(), tempfile::tempdir().unwrap(), talks());
    talk::write_files(root.path());
    each(|model, strategy| {
        let here = talks.iter().filter(|talk| strategy.is_empty() || kinds.contains(&talk.service));
        here.for_each(|talk| check(talk, model, strategy, root.path()));
    });
}
