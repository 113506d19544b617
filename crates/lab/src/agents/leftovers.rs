//! Clean-up of changes, servers, control groups and connections that killed loadline processes of this user left on
//! this host.

use super::left_servers;
use crate::levers;

/// Undoes changes that killed experiments made, ends servers that killed loadline processes left, and removes the
/// control groups of such servers and the empty folders of ssh connections. Returns sentences for the user about all
/// that was undone, about ended servers and about removed control groups.
pub fn put_back() -> Vec<String> {
    let mut notes = levers::put_back();
    notes.extend(left_servers::end());
    notes.extend(crate::servers::remove_left_groups());
    crate::via::remove_left_folders();
    notes
}
