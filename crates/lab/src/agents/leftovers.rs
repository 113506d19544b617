//! Clean-up of changes, servers and control groups that killed loadline processes of this user left on this host.

use super::left_servers;
use crate::levers;

/// Undoes changes of killed experiments, ends servers that killed loadline processes left, and removes their control
/// groups. Returns a sentence for the user about each of these actions.
pub fn put_back() -> Vec<String> {
    let mut notes = levers::put_back();
    notes.extend(left_servers::end());
    notes.extend(crate::servers::remove_left_groups());
    notes
}
