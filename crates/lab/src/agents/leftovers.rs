//! Clean-up of changes, servers and control groups that killed loadline processes of this user left on this host.

use super::left_servers;
use crate::levers;

/// Undoes changes that killed experiments made, ends servers that killed loadline processes left, and removes the
/// control groups of such servers. Returns sentences for the user about everything that was undone, ended or removed.
pub fn put_back() -> Vec<String> {
    let mut notes = levers::put_back();
    notes.extend(left_servers::end());
    notes.extend(crate::servers::remove_left_groups());
    notes
}
