//! Number of answers after which a server closes its connections without an announcement.
//!
//! Some servers close each connection after the same number of answers. If the next request is not acknowledged, the
//! server closed the connection before it received the request. If the next request arrives just before the close, the
//! client gets a reset instead. If both kinds of closes follow the same number of answers, they have the same cause. A
//! server that fails or dies ends its connections after varying numbers of answers, or only after it received a
//! request.

/// Number of answers after which a server closes a connection, if this number is always the same. One value covers only
/// connections of one kind: closed right after an answer, or closed while idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnswersBeforeClose {
    /// The server closed no connection of the counted kind.
    #[default]
    Unknown,
    /// The server closed every counted connection after the same number of answers, which is the value.
    Equal(u64),
    /// The server closed its connections after different numbers of answers.
    Different,
}

impl AnswersBeforeClose {
    /// Records a connection that the server closed right after `answers` answers.
    pub(crate) fn add(&mut self, answers: u64) {
        *self = match *self {
            Self::Unknown => Self::Equal(answers),
            Self::Equal(known) if known == answers => Self::Equal(known),
            _ => Self::Different,
        };
    }

    /// Returns true if the server always closes connections after `answers` answers.
    pub(crate) fn is(self, answers: u64) -> bool {
        self == Self::Equal(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_numbers_of_answers_are_a_rule_of_the_server() {
        let mut closes = AnswersBeforeClose::default();
        assert!(!closes.is(0));
        closes.add(10);
        closes.add(10);
        assert!(closes.is(10) && !closes.is(9));
        closes.add(9);
        closes.add(9);
        assert!(!closes.is(10) && !closes.is(9));
    }
}
