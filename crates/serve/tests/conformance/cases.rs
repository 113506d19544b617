//! The cases that every check goes through: which service is tried under which model and strategy.

use std::path::Path;

use crate::harness::{Variant, alone, each};
use crate::talk::{self, Talk, talks};

/// Services that stand for all others under the strategies: one that is mirrored, one that answers, one that sends unasked.
const KINDS: [&str; 3] = ["echo", "http", "source"];

/// Checks every service under every model, and one service of each kind under every strategy too. Services and strategies
/// meet only in the state machine of a connection, which has its own tests.
pub(crate) fn all(check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    each_of(&KINDS, check);
}

/// Checks as [`all`] does, with these services under the strategies.
pub(crate) fn each_of(kinds: &[&str], check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    let (_alone, root, talks) = (alone(), tempfile::tempdir().unwrap(), talks());
    talk::write_files(root.path());
    each(|model, strategy| {
        let here = talks.iter().filter(|talk| strategy.is_empty() || kinds.contains(&talk.service));
        here.for_each(|talk| check(talk, model, strategy, root.path()));
    });
}
