//! Counts and times for each class (kind) of requests. Nothing is recorded if the load plan has only one request class.

use proto::{Done, Outcome};
use run::{ClassPart, ClassTally, UnansweredTimes};

use crate::class_times::{ClassTimes, rounded};

/// Counts and times of all request classes. Data that every request changes is stored close together in memory.
#[derive(Debug)]
pub(crate) struct Classes {
    counts: Box<[ClassTally]>,
    times: ClassTimes,
    unanswered: Box<[UnansweredTimes]>,
    /// Counts at the start of the measured window.
    begin: Box<[ClassTally]>,
    end: Option<Box<[ClassTally]>>,
}

impl Classes {
    /// Creates counts and response times for each of `classes` request classes. If there is only one request class,
    /// nothing is recorded per class.
    pub(crate) fn new(classes: usize) -> Self {
        let classes = if classes > 1 { classes } else { 0 };
        let counts: Box<[ClassTally]> = vec![ClassTally::default(); classes].into();
        let unanswered = vec![UnansweredTimes::default(); classes].into();
        Self { begin: counts.clone(), counts, times: ClassTimes::new(classes), unanswered, end: None }
    }

    /// Returns true if no request classes are recorded, because the load plan has only one class.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Begins the measured window.
    pub(crate) fn open(&mut self) {
        self.begin.copy_from_slice(&self.counts);
        self.end = None;
        self.times.clear();
        self.unanswered.fill(UnansweredTimes::default());
    }

    /// Counts a request that started.
    #[inline]
    pub(crate) fn begun(&mut self, class: u16) {
        self.counts.get_mut(usize::from(class)).into_iter().for_each(|counts| counts.begun += 1);
    }

    /// Counts a request that failed because its connection failed.
    pub(crate) fn failed(&mut self, class: u16) {
        self.counts.get_mut(usize::from(class)).into_iter().for_each(|counts| counts.failed += 1);
    }

    /// Returns the waiting times of a class's unanswered requests, or `None` if no request classes are recorded.
    pub(crate) fn unanswered(&mut self, class: u16) -> Option<&mut UnansweredTimes> {
        self.unanswered.get_mut(usize::from(class))
    }

    /// Counts a request that ended. `response_ns` is the request's response time if this time was measured.
    #[inline]
    pub(crate) fn ended(&mut self, class: u16, done: &Done, response_ns: Option<u64>) {
        let Some(counts) = self.counts.get_mut(usize::from(class)) else { return };
        counts.bytes += done.bytes;
        if let Outcome::Failed(_) = done.outcome {
            counts.failed += 1;
            return;
        }
        counts.completed += 1;
        if done.outcome == Outcome::Unexpected {
            counts.unexpected_status += 1;
            if let (Some(ns), Some(times)) = (response_ns, self.unanswered.get_mut(usize::from(class))) {
                *times.refused.entry(rounded(ns)).or_default() += 1;
            }
            return;
        }
        response_ns.into_iter().for_each(|ns| self.times.record(class, ns));
    }

    /// Ends the measured window.
    pub(crate) fn close(&mut self) {
        self.end = Some(self.counts.clone());
    }

    /// Returns the result of each request class.
    pub(crate) fn parts(self) -> Vec<ClassPart> {
        let end = self.end.unwrap_or_else(|| self.begin.clone());
        let counts = self.counts.iter().zip(self.begin.iter().zip(&end));
        let times = self.times.hists().into_iter().zip(self.unanswered);
        let part = |((total, (begin, end)), (response, unanswered)): (
            (&ClassTally, (&ClassTally, &ClassTally)),
            (_, UnansweredTimes),
        )| ClassPart {
            name: String::new(),
            total: *total,
            measured: end.since(begin),
            response,
            unanswered,
        };
        counts.zip(times).map(part).collect()
    }
}
