//! Changes that killed experiments left behind. Each run undoes the changes of killed experiments before its first
//! request.

use run::AgentSpec;

use crate::agents::ask;
use crate::{Host, Lab, levers};

/// Undoes changes that killed experiments left on this host and on the server's host. Adds a note to the run for each
/// undone change.
pub(crate) fn put_back(lab: &mut Lab<'_>, server: &dyn Host) {
    let mut notes = levers::put_back();
    if server.is_remote() {
        match ask(server, lab.program(), "undo", &AgentSpec::RestoreLevers) {
            Ok(ready) => notes.extend(ready.notes.iter().map(|note| format!("on {}, {note}", server.name()))),
            Err(why) => notes.push(format!("changes left by a killed experiment were not looked for: {why}")),
        }
    }
    notes.into_iter().for_each(|note| lab.note(note));
}
