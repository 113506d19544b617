//! Adds notes, warnings and hosts to the run.

use run::{HostInfo, MediumInfo, Note};
use testbed::named::Joining;

use super::Lab;

impl Lab<'_> {
    /// Adds a note to the run, unless the run already has this note.
    pub fn note(&mut self, sentence: impl Into<String>) {
        self.add_note(sentence.into(), false);
    }

    /// Adds a warning to the run, unless the run already has it. Warnings are shown next to the result.
    pub fn warn(&mut self, sentence: impl Into<String>) {
        self.add_note(sentence.into(), true);
    }

    /// Adds a note to the run, and shows it at once.
    pub(crate) fn announce(&mut self, sentence: String) {
        self.watch.alert(&sentence);
        self.run.notes.push(Note { text: sentence, is_warning: false });
    }

    fn add_note(&mut self, sentence: String, is_warning: bool) {
        let text = self.run.plan.load.secrets.scrub(&sentence);
        if !self.run.notes.iter().any(|n| n.text == text) {
            self.watch.note(&text);
            self.run.notes.push(Note { text, is_warning });
        }
    }

    /// Adds to the run a machine or a network namespace that the run uses.
    pub fn host(&mut self, host: HostInfo) {
        if !self.run.hosts.iter().any(|h| h.name == host.name) {
            self.run.hosts.push(host);
        }
    }

    /// Records that client and server are on hosts of a testbed.
    pub(crate) fn joined(&mut self, testbed: &Joining) {
        let Joining { name, hosts, medium, made_of, shared_wire, .. } = testbed.clone();
        let [here, there] = &hosts;
        self.note(format!("{here} and {there} are hosts of the testbed {name}, joined by {medium} ({made_of})"));
        self.run.medium = Some(MediumInfo { testbed: name, hosts, medium, made_of, shared_wire });
    }
}
