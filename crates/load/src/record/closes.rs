//! Records how the server closes connections, and the keep-alive races: requests that were sent just when the server
//! closed their connection.

use run::ErrorKind;

use super::Record;
use crate::answers_before_close::AnswersBeforeClose;
use crate::early_races::{EarlyRaces, Race};

/// Relative tolerance for the idle time after which a server closes connections. Timers of servers are accurate to some
/// milliseconds. A request may also be sent up to one round trip before the server's close arrives.
const IDLE_MARGIN: f64 = 0.1;

impl Record {
    /// Records that the server closed a connection that had been idle for `idle_ns`, after `answers` answers.
    pub(crate) fn closed_while_idle(&mut self, idle_ns: u64, answers: u64) {
        self.counts.closed_by_server += 1;
        if answers > 0 {
            self.answers_before_idle_close.add(answers);
        }
        self.shortest_idle_ns = self.shortest_idle_ns.into_iter().chain([idle_ns]).min();
    }

    /// Records that the server ended one of `open` connections, which had been idle for `idle_ns`.
    pub(crate) fn server_ended(&mut self, now_ns: u64, idle_ns: u64, open: u64) {
        self.server_ends.add(now_ns.saturating_sub(self.origin_ns), idle_ns, open);
    }

    /// Returns true if the server may have closed a connection because it was idle for `idle_ns`. If the server has
    /// closed no idle connection so far, returns true for every idle time.
    pub(crate) fn closes_after(&self, idle_ns: u64) -> bool {
        self.shortest_idle_ns.is_none_or(|shortest| idle_ns as f64 >= (1.0 - IDLE_MARGIN) * shortest as f64)
    }

    /// Records that the server closed a connection without reading the requests in flight on it. `answers` is the
    /// number of answers on the connection if the requests were sent right after an answer. `answers` is `None` if the
    /// requests were sent after an idle time.
    pub(crate) fn closed_unread(&mut self, answers: Option<u64>) {
        self.unread_closes += 1;
        answers.into_iter().for_each(|answers| self.answers_before_close.add(answers));
    }

    /// Returns true if all connections that the server closed right after an answer had `answers` answers. Also returns
    /// true if this holds for all connections that it closed while idle.
    pub(crate) fn closes_after_answers(&self, answers: u64) -> bool {
        self.answers_before_close.is(answers) || self.answers_before_idle_close.is(answers)
    }

    /// Returns true if the server may close connections after `answers` answers, although nothing proves it so far: all
    /// connections in use that ended until now had this number of answers, and fewer than `most` of them ended.
    pub(crate) fn may_close_after_answers(&self, answers: u64, most: u64) -> bool {
        let closes = [self.answers_before_close, self.answers_before_idle_close];
        let EarlyRaces { closed, reset } = self.counts.busy_races;
        closes == [AnswersBeforeClose::Unknown; 2]
            && self.busy_answers.is_none_or(|known| known == answers)
            && closed.connections + reset.connections < most
    }

    /// Returns true if the connections in use that ended before any proof ended after the number of answers after which
    /// the server always closes.
    pub(super) fn busy_races_are_sure(&self) -> bool {
        self.busy_answers.is_some_and(|answers| self.closes_after_answers(answers))
    }

    /// Returns the number of connections that the server closed while they were idle, or without reading their
    /// requests.
    pub(crate) fn closes_without_request(&self) -> u64 {
        self.counts.closed_by_server + self.unread_closes
    }

    /// Returns true if keep-alive races are certain. One sign is that the server closed a connection that was idle or
    /// had only unread requests. Another sign is that the server ended all connections at the same moment, as in a
    /// restart.
    pub(super) fn races_are_sure(&self) -> bool {
        self.closes_without_request() > 0 || self.server_ends.most().is_some_and(|ends| ends.is_restart())
    }

    /// Counts a keep-alive race on one connection.
    pub(crate) fn raced(&mut self, race: &Race) {
        let is_early = race.unproven_answers.is_some() || self.closes_without_request() == 0;
        if is_early && self.measuring && race.is_first_resent {
            let times = self.early_times.get_or_insert_default();
            let times = if race.unproven_answers.is_some() { &mut times.busy } else { &mut times.idle };
            times.record_ns(race.lost_ns);
        }
        self.busy_answers = self.busy_answers.or(race.unproven_answers);
        let counts = &mut self.counts;
        counts.keep_alive_races += 1;
        counts.resent += u64::from(race.is_first_resent) + race.behind_resent;
        counts.fail(ErrorKind::KeepAliveRace, u64::from(!race.is_first_resent) + race.behind_failed);
        match race.unproven_answers {
            Some(_) => counts.busy_races.add(race),
            None if is_early => counts.early_races.add(race),
            None => {}
        }
    }
}
