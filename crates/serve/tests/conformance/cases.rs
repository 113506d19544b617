//! The combinations of services, models and strategies that are tested.

use std::path::Path;

use crate::harness::{Variant, alone, each};
use crate::talk::{self, Talk, talks};

/// Services that represent all other services in tests of strategies: one echoes, one answers requests, and one sends
/// without requests.
const KINDS: [&str; 3] = ["echo", "http", "source"];

/// Tests every I/O model with each of its services, and the three services of [`KINDS`] with every strategy. Not all
/// combinations need a test: services and strategies interact only in the state machine of a connection, which has its
/// own tests.
pub(crate) fn all(check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    each_of(&KINDS, check);
}

/// Tests the combinations of [`all`], but tests each strategy only with the services in `kinds`.
pub(crate) fn each_of(kinds: &[&str], check: impl Fn(&Talk, Variant, &'static str, &Path)) {
    let (_alone, root, talks) = (alone(), tempfile::tempdir().unwrap(), talks());
    talk::write_files(root.path());
    each(|model, strategy| {
        let here = talks.iter().filter(|talk| strategy.is_empty() || kinds.contains(&talk.service));
        here.for_each(|talk| check(talk, model, strategy, root.path()));
    });
}
