//! The cases of every check: which service is tested with which model and strategy.

use std::path::Path;

use crate::harness::{Variant, alone, each};
use crate::talk::{self, Talk, talks};

/// Services that represent all others in tests of strategies: one echoes, one answers requests, one sends without a
/// request.
const KINDS: [&str; 3] = ["echo", "http", "source"];

/// Checks every service with every model, and one service of each kind with every strategy as well. Services and
/// strategies meet only in the state machine of a connection, which has its own tests.
pub(crate) fn all(check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    each_of(&KINDS, check);
}

/// Checks as [`all`] does, but tests the strategies with these services.
pub(crate) fn each_of(kinds: &[&str], check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    let (_alone, root, talks) = (alone(), tempfile::tempdir().unwrap(), talks());
    talk::write_files(root.path());
    each(|model, strategy| {
        let here = talks.iter().filter(|talk| strategy.is_empty() || kinds.contains(&talk.service));
        here.for_each(|talk| check(talk, model, strategy, root.path()));
    });
}
