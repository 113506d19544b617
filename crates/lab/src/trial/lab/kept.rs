//! Adds load tests to the run, and writes the run's file.

use run::{RequestPlan, Run, Tally, Trial};

use super::Lab;
use crate::LabError;

impl Lab<'_> {
    /// Adds a single request, such as the request before any load, to the counts of the next load test that is kept.
    pub fn count(&mut self, single: &Tally) {
        self.single.merge(single);
    }

    /// Adds a single request to the counts of a load test, and counts it as a test request.
    fn add_single(&self, single: &Tally, trial: &mut Trial) {
        self.count_class(single, trial);
        trial.tally.merge(single);
        trial.test_requests += single.sent;
    }

    /// Adds a single request to the counts of the class to which the first request of the plan's set belongs. If the
    /// load test does not have the class of the first request, adds to the last class.
    fn count_class(&self, single: &Tally, trial: &mut Trial) {
        let first = self.run.plan.load.requests.as_ref().and_then(|set| set.requests.first());
        let Some(name) = first.map(RequestPlan::class_name) else { return };
        let at = trial.classes.iter().position(|class| class.name == name);
        let Some(class) = at.or(trial.classes.len().checked_sub(1)).map(|at| &mut trial.classes[at]) else { return };
        class.total.begun += single.sent;
        class.total.completed += single.completed;
        class.total.unexpected_status += single.unexpected_status;
    }

    /// Adds a request that followed the last load test to the counts of that load test.
    pub(crate) fn count_afterwards(&mut self, single: &Tally) {
        let Some(mut trial) = self.run.trials.pop() else { return };
        self.add_single(single, &mut trial);
        self.run.trials.push(trial);
    }

    /// Adds a load test to the run, computes its counters and costs, and writes the run. The run's conclusions are
    /// computed only when they are needed (see [`Lab::save`]).
    pub fn keep(&mut self, mut trial: Trial) -> Result<&Trial, LabError> {
        let began_s = self.elapsed_s();
        trial.repeat = self.repeat;
        if self.run.plan.repeat_count() > 1 {
            trial.label += &format!(", repeat {}", self.repeat + 1);
        }
        let single = std::mem::take(&mut self.single);
        self.add_single(&single, &mut trial);
        self.host_watch.iter_mut().for_each(|watch| watch.record(&mut trial));
        trial.notes.iter_mut().for_each(|note| *note = self.run.plan.load.secrets.scrub(note));
        // A server's answer may contain secrets that are not in the plan.
        let secrets = &self.run.plan.load.secrets;
        let reasons = trial.first_failures.iter_mut().map(|failure| &mut failure.reason);
        reasons.for_each(|reason| *reason = run::hide_tokens(&secrets.scrub(reason)));
        self.run.trials.push(trial);
        drop_other_profiles(&mut self.run);
        judge::derive_last(&mut self.run);
        self.write();
        self.clock.kept(self.elapsed_s() - began_s);
        let last = self.run.trials.len() - 1;
        self.watch.trial(&self.run.trials[last]);
        self.watch.so_far(&self.run);
        Ok(&self.run.trials[last])
    }

    /// Judges the run so far and writes `run.json`. If writing fails, tells the user once, and continues the run. The
    /// file is marked as interrupted until the run is finished, because this process may be killed.
    pub fn save(&mut self) -> Result<(), LabError> {
        let began_s = self.elapsed_s();
        // The last repeat of an interrupted run is incomplete, so judge ignores it.
        self.run.interrupted = self.is_unfinished();
        if self.finished {
            judge::judge(&mut self.run)
        } else {
            judge::judge_so_far(&mut self.run)
        }
        self.write();
        self.clock.judged(self.elapsed_s() - began_s);
        Ok(())
    }

    /// Writes `run.json`. If writing fails, tells the user once.
    fn write(&mut self) {
        self.run.elapsed_s = self.elapsed_s();
        self.run.interrupted = self.is_unfinished();
        if let Some(Err(error)) = self.dir.as_ref().map(|dir| dir.save(&self.run)) {
            self.warn_unsaved(&error);
        }
    }

    fn is_unfinished(&self) -> bool {
        self.stopped || !self.finished
    }

    /// Tells the user once that the run cannot be written, for example because the disk is full. The measurement
    /// continues, and its result is shown.
    fn warn_unsaved(&mut self, error: &run::RunDirError) {
        if !self.unsaved {
            // The error message at the end of the run gives the path of the run, and advice.
            self.watch.alert(&format!("not saved so far, to be tried again at the end: {}", error.why_unwritten()));
            self.unsaved = true;
        }
    }
}

/// To save space, drops the sampled threads and databases of all load tests except those that the findings describe.
fn drop_other_profiles(run: &mut Run) {
    let kept = [run.sampled_trial(), run.cpu_sampled_trial()];
    let others = run.trials.iter_mut().enumerate().filter(|(at, _)| !kept.contains(&Some(*at)));
    for (_, trial) in others {
        trial.databases.clear();
        trial.server.iter_mut().for_each(|server| server.waits = None);
    }
}
