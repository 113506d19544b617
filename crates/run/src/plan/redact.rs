//! Replaces the secrets of a plan or a run by placeholders.

use crate::{Plan, Run};

impl Plan {
    /// Replaces all secrets by placeholders: user names and passwords in URLs, secret query values, bodies of request
    /// sets, and database passwords. Also replaces the values of well-known secret headers and of the headers in
    /// `names`. Calling this function a second time changes nothing.
    pub fn redact_secrets(&mut self, names: &[String]) {
        let secrets = &mut self.load.secrets;
        self.observe
            .behind
            .iter()
            .filter_map(|behind| behind.password.reveal())
            .for_each(|word| drop(secrets.redact(word)));
        self.target.url = secrets.redact_url(&self.target.url);
        secrets.redact_protocol(&mut self.load.protocol, names);
        self.load.requests.iter_mut().for_each(|set| secrets.redact_requests(set, names));
    }
}

impl Run {
    /// Replaces the secrets in a run that an older version stored in plain text.
    pub(crate) fn redact_secrets(&mut self) {
        self.plan.redact_secrets(&[]);
        let secrets = &self.plan.load.secrets;
        let notes = self.notes.iter_mut().map(|note| &mut note.text);
        let of_trials = self.trials.iter_mut().flat_map(|trial| &mut trial.notes);
        for text in std::iter::once(&mut self.command).chain(notes).chain(of_trials) {
            *text = secrets.scrub(text);
        }
    }
}
