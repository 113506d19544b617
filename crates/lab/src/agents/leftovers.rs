//! Clean-up of changes, servers, control groups and connections that killed loadline processes of this user left on
//! this host.

use super::left_servers;
use crate::levers;

/// Undoes changes of killed experiments, ends servers of killed loadline processes, and removes their control groups
/// and ssh folders. Returns sentences for the user about everything that was undone, ended or removed.
pub fn put_back() -> Vec<String> {
    let mut notes = levers::put_back();
    notes.extend(left_servers::end());
    notes.extend(crate::servers::remove_left_groups());
    crate::via::remove_left_folders();
    notes
}
