//! Putting placeholders for the secrets of a plan and of a run.

use crate::{Plan, Run};

impl Plan {
    /// Puts placeholders for everything that is secret: user information, token-like query values, headers that are secret
    /// by nature or by one of `names`, bodies of a set of requests. A second time changes nothing.
    pub fn seal(&mut self, names: &[String]) {
        let secrets = &mut self.load.secrets;
        self.target.url = secrets.redact_url(&self.target.url);
        secrets.redact_protocol(&mut self.load.protocol, names);
        self.load.requests.iter_mut().for_each(|set| secrets.redact_requests(set, names));
    }
}

impl Run {
    /// Seals a run that an older version wrote down with its secrets.
    pub(crate) fn seal(&mut self) {
        self.plan.redact_secrets(&[]);
        let secrets = &self.plan.load.secrets;
        let notes = self.notes.iter_mut().map(|note| &mut note.text);
        let of_trials = self.trials.iter_mut().flat_map(|trial| &mut trial.notes);
        for text in std::iter::once(&mut self.command).chain(notes).chain(of_trials) {
            *text = secrets.scrub(text);
        }
    }
}
