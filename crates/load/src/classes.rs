//! What is kept of each class of a mix of requests; nothing where a plan has one class.

use proto::{Done, Outcome};
use run::{ClassPart, ClassTally, Hist};

/// The record of one class.
#[derive(Debug, Default)]
pub(crate) struct Class {
    pub(crate) counts: ClassTally,
    response: Hist,
    begin: ClassTally,
    end: Option<ClassTally>,
}

impl Class {
    /// Records for so many classes; none for one.
    pub(crate) fn records(classes: usize) -> Box<[Self]> {
        std::iter::repeat_with(Self::default).take(if classes > 1 { classes } else { 0 }).collect()
    }

    /// The measured window opens.
    pub(crate) fn open(&mut self) {
        (self.begin, self.end) = (self.counts, None);
        self.response.clear();
    }

    /// A request ended; its response time where it is measured.
    pub(crate) fn ended(&mut self, done: &Done, response_ns: Option<u64>) {
        self.counts.bytes += done.bytes;
        if let Outcome::Failed(_) = done.outcome {
            self.counts.failed += 1;
            return;
        }
        self.counts.completed += 1;
        self.counts.unexpected_status += u64::from(done.outcome == Outcome::Unexpected);
        response_ns.into_iter().for_each(|ns| self.response.record_ns(ns));
    }

    /// The measured window closes.
    pub(crate) fn close(&mut self) {
        self.end = Some(self.counts);
    }

    /// The part of the trial that was found of it.
    pub(crate) fn part(self) -> ClassPart {
        let measured = self.end.unwrap_or(self.begin).since(&self.begin);
        ClassPart { name: String::new(), total: self.counts, measured, response: self.response }
    }
}
